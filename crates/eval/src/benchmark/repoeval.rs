//! `RepoEval` (Zhang et al., 2023): the prompt's lines stand before the hole, the true lines in it.
//!
//! A prompt is `lines[context_start_lineno:line_no]` of the file, joined by newlines; the newline before the hole may not
//! be part of it (the numbers of the lines tell) and is added here, as the released scripts do when they ask a model.

use serde::{Deserialize, Serialize};

use super::{BenchmarkTask, inside, language};

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) prompt: String,
    pub(super) metadata: Metadata,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Metadata {
    pub(super) task_id: String,
    pub(super) ground_truth: String,
    /// The repository, the folders, and the file.
    pub(super) fpath_tuple: Vec<String>,
    #[serde(default)]
    pub(super) context_start_lineno: usize,
    /// The first line of the hole, from zero; function level has `lineno`.
    #[serde(alias = "lineno")]
    pub(super) line_no: usize,
}

/// Tells the level by the name of the file, as the authors named them.
pub(super) fn kind(file_name: &str) -> &'static str {
    let levels = [("api_level", "api_call"), ("function_level", "function")];
    levels.into_iter().find(|(level, _)| file_name.contains(level)).map_or("line", |(_, kind)| kind)
}

pub(super) fn task(line: Line, kind: &str) -> Result<BenchmarkTask, String> {
    let Line { prompt, metadata } = line;
    let Some((repository, path)) = metadata.fpath_tuple.split_first().filter(|(_, path)| !path.is_empty()) else {
        return Err("`metadata.fpath_tuple` must name a repository and a file".into());
    };
    inside("metadata.fpath_tuple", repository)?;
    let path = path.join("/");
    let language = language("metadata.fpath_tuple", &path)?;
    if metadata.ground_truth.trim().is_empty() {
        return Err("`metadata.ground_truth` must not be blank".into());
    }
    if metadata.context_start_lineno > metadata.line_no {
        return Err("`metadata.context_start_lineno` must not be behind `metadata.line_no`".into());
    }
    let n_lines = metadata.line_no - metadata.context_start_lineno;
    let left_context = if prompt.matches('\n').count() < n_lines { prompt + "\n" } else { prompt };
    Ok(BenchmarkTask {
        id: metadata.task_id,
        repository: repository.clone(),
        path,
        language,
        kind: kind.into(),
        left_context,
        target: metadata.ground_truth,
        right_context: None,
        first_line: metadata.context_start_lineno,
        given: None,
    })
}
