//! Benchmarks as published: the tasks in the files that their authors released.
//!
//! `CrossCodeEval` and `RepoEval` are JSON lines, our own samples are Parquet. All become [`BenchmarkTask`]s; what a format
//! leaves to the repositories it was drawn from (the files to retrieve from, and `RepoEval`'s text after the hole) is
//! read from a folder of them. [`check`] holds a file against its repositories before anything is measured with it.

pub mod check;

mod crosscodeeval;

pub mod export;

mod json_lines;

mod repoeval;

mod samples;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Component, Path};
use std::str::FromStr;

use repo::Language;

use crate::{Error, Result};

/// A file format of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `CrossCodeEval`, with or without the cross-file context that it gives.
    CrossCodeEval,
    /// `RepoEval`: line, API and function level.
    RepoEval,
    /// Our own `samples.parquet`, the recipe of `RLCoder`'s `GitHubEval`; the test split.
    Samples,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::CrossCodeEval, Self::RepoEval, Self::Samples];

    /// Returns the stable name: `crosscodeeval`, `repoeval` or `samples`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::CrossCodeEval => "crosscodeeval",
            Self::RepoEval => "repoeval",
            Self::Samples => "samples",
        }
    }

    /// Tells the format of a file by its name's end and by its first line.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or is of no known format.
    pub fn of(path: &Path) -> Result<Self> {
        if path.extension().is_some_and(|extension| extension == "parquet") {
            return Ok(Self::Samples);
        }
        json_lines::format(path)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        let found = Self::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| format!("unknown format `{name}`; the formats are {}", names()))
    }
}

/// A completion that a benchmark asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchmarkTask {
    /// The benchmark's own name for it, unique in a file.
    pub id: String,
    /// The repository, as the benchmark names it: the name of its folder.
    pub repository: String,
    /// The file within the repository.
    pub path: String,
    /// The file's language, by its name.
    pub language: Language,
    /// `line`, `api_call`, `span` or `function`.
    pub kind: String,
    /// What the model sees of the file before the target.
    pub left_context: String,
    /// The text to complete.
    pub target: String,
    /// Everything after the target, where it is known.
    pub right_context: Option<String>,
    /// The line of the file, from zero, at which the left context begins.
    pub first_line: usize,
    /// The cross-file context that the benchmark gives, where it does.
    pub given: Option<Given>,
}

impl BenchmarkTask {
    /// Returns what follows the target in the text of its file; nothing if the file does not hold the left context and
    /// the target where the task says.
    ///
    /// Most benchmarks were made from text as Python reads it, in which every line end is one newline: both readings
    /// are tried.
    #[must_use]
    pub fn rest_of(&self, text: &str) -> Option<String> {
        let rest = |text: &str| {
            let shown = from_line(text, self.first_line).strip_prefix(self.left_context.as_str())?;
            shown.strip_prefix(self.target.as_str()).map(str::to_owned)
        };
        rest(text).or_else(|| rest(&as_python(text)))
    }
}

/// Returns a text as Python reads it.
fn as_python(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Cross-file context as part of a benchmark.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// The text that stands before the left context in a prompt.
    pub text: String,
    /// The pieces of other files that it shows, most similar first.
    pub chunks: Vec<GivenChunk>,
}

/// A piece of another file.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenChunk {
    /// The file.
    pub path: String,
    /// Its text.
    pub text: String,
    /// How similar it was to the query, as the benchmark's retriever counts.
    pub score: f64,
}

/// Reads the tasks of a file.
///
/// # Errors
///
/// Returns an error that names the line and the field if the file is not what its format says, or asks for one task
/// twice, or for none.
pub fn read(path: &Path, format: Format) -> Result<Vec<BenchmarkTask>> {
    let tasks = match format {
        Format::CrossCodeEval => json_lines::read(path, crosscodeeval::task)?,
        Format::RepoEval => {
            let kind = repoeval::kind(&path.file_name().unwrap_or_default().to_string_lossy());
            json_lines::read(path, |line| repoeval::task(line, kind))?
        }
        Format::Samples => samples::read(path)?.into_iter().enumerate().collect(),
    };
    let mut ids = BTreeSet::new();
    for (line, task) in &tasks {
        if !ids.insert(task.id.as_str()) {
            return Err(problem(path, *line, format!("the task `{}` is there already", task.id)));
        }
    }
    if tasks.is_empty() {
        return Err(problem(path, 1, "the file has no task".into()));
    }
    Ok(tasks.into_iter().map(|(_, task)| task).collect())
}

fn problem(path: &Path, line: usize, problem: String) -> Error {
    Error::Line { path: path.to_owned(), line, problem }
}

/// Returns the language of a path within a repository.
fn language(field: &str, path: &str) -> std::result::Result<Language, String> {
    inside(field, path)?;
    Language::from_path(path).ok_or_else(|| format!("`{field}` must be a Python or Java file, not {path:?}"))
}

/// Refuses a path that may lead out of a folder.
fn inside(field: &str, path: &str) -> std::result::Result<(), String> {
    let is_inside = !path.is_empty() && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if is_inside { Ok(()) } else { Err(format!("`{field}` must be a path within a folder, not {path:?}")) }
}

/// Returns the text from a line, counted from zero, to the end; nothing if there are not so many lines.
fn from_line(text: &str, line: usize) -> &str {
    let mut starts = std::iter::once(0).chain(text.match_indices('\n').map(|(byte, _)| byte + 1));
    starts.nth(line).map_or("", |byte| &text[byte..])
}

/// Reads the file of a task; a byte order mark is not part of it.
///
/// # Errors
///
/// Returns an error if it cannot be read.
pub fn source_text(repositories: &Path, task: &BenchmarkTask) -> Result<String> {
    let path = repositories.join(&task.repository).join(&task.path);
    let bytes = std::fs::read(&path).map_err(|source| Error::Io { path, action: "reading", source })?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

#[cfg(test)]
mod tests;
