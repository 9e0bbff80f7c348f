//! One question to a tool about one place of a repository.

use std::io::Write;
use std::path::PathBuf;

use analysis::{Caret, CodeIntelligence, Diagnostic, Place, locality};
use anyhow::Context;
use clap::Args;
use corpus::source::SourceSpec;
use repo::functions::functions;
use repo::{Repository, SourceFile};
use serde_json::{Value, json};

use super::engine::{Engine, ToolArguments};

/// Which file a question is about, and who is asked.
#[derive(Debug, Args)]
pub(in crate::cli) struct FileArguments {
    /// The repository's root.
    #[arg(long, value_name = "DIR")]
    repo: PathBuf,
    /// The file, relative to the root.
    #[arg(long, value_name = "FILE")]
    file: String,
    /// native, jedi, jedi+placeholder, lsp:COMMAND or lsp:COMMAND+placeholder.
    #[arg(long, default_value = "native")]
    engine: Engine,
    #[command(flatten)]
    tool: ToolArguments,
    /// One JSON value instead of text.
    #[arg(long)]
    json: bool,
}

/// Which place a question is about, and who is asked.
#[derive(Debug, Args)]
pub(in crate::cli) struct PlaceArguments {
    #[command(flatten)]
    about: FileArguments,
    /// The place in the file's text as UTF-8, zero-based.
    #[arg(long, value_name = "N")]
    byte: usize,
    /// Ends the function around the place there, as while it is being written; the code after it is kept.
    #[arg(long)]
    truncate: bool,
}

/// What is asked about a place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Question {
    Completions,
    Definition,
    Type,
    Headers,
}

/// Answers a question about a place.
pub(super) fn place(question: Question, arguments: &PlaceArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let repository = open(&arguments.about.repo)?;
    let file = file(&repository, &arguments.about.file)?;
    let caret = caret(file, arguments.byte, arguments.truncate)?;
    let mut tool = arguments.about.tool.open(&arguments.about.engine, &repository, file.language)?;
    let answer = match question {
        Question::Completions => completions(tool.as_mut(), &caret, file)?,
        Question::Definition => definitions(tool.as_mut(), &caret)?,
        Question::Type => types(tool.as_mut(), &caret)?,
        Question::Headers => headers(tool.as_mut(), &caret)?,
    };
    remark(tool.as_ref());
    print(answer, arguments.about.json, out)
}

/// Tells what the answer does not: a text that was too much for the tool, a protection that was off.
pub(in crate::cli) fn remark(tool: &dyn CodeIntelligence) {
    for remark in tool.remarks() {
        tracing::info!("{}: {remark}", tool.name());
    }
}

/// Prints what is wrong in a file.
pub(super) fn diagnostics(arguments: &FileArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let repository = open(&arguments.repo)?;
    let file = file(&repository, &arguments.file)?;
    let mut tool = arguments.tool.open(&arguments.engine, &repository, file.language)?;
    let found = tool.diagnostics(&file.path, &file.text)?;
    remark(tool.as_ref());
    let rows = found.iter().map(|diagnostic| {
        let Diagnostic { span, kind } = diagnostic;
        let text = file.text.get(span.clone()).unwrap_or_default().lines().next().unwrap_or_default();
        let line = file.text[..span.start].matches('\n').count() + 1;
        Row {
            text: format!("{}:{line}: {} {text}", file.path, kind.name()),
            json: json!({ "span": [span.start, span.end], "line": line, "kind": kind.name(), "text": text }),
        }
    });
    print(rows.collect(), arguments.json, out)
}

/// Opens the one repository in a directory.
pub(in crate::cli) fn open(root: &std::path::Path) -> anyhow::Result<Repository> {
    let spec = SourceSpec::Directory(root.to_path_buf());
    let mut repositories = corpus::open(&spec, None)?;
    repositories.pop().with_context(|| format!("{} holds no Python and no Java file", root.display()))
}

/// Returns the file at a path of the repository.
pub(in crate::cli) fn file<'a>(repository: &'a Repository, path: &str) -> anyhow::Result<&'a SourceFile> {
    repository.file(path).with_context(|| format!("the repository has no file {path}; paths are relative to its root"))
}

fn caret(file: &SourceFile, byte: usize, truncate: bool) -> anyhow::Result<Caret<'_>> {
    anyhow::ensure!(
        file.text.is_char_boundary(byte),
        "byte {byte} is inside a character or past the end of {}, which has {} bytes",
        file.path,
        file.text.len()
    );
    if !truncate {
        return Ok(Caret::intact(file, byte));
    }
    let around = functions(file).into_iter().filter(|function| function.span.contains(&byte));
    let function = around.min_by_key(|function| function.span.len());
    let function = function.with_context(|| format!("no function stands around byte {byte}, so none can end there"))?;
    let written = &file.text[function.span.start..byte];
    Ok(Caret::unfinished(file, function.span, written))
}

fn completions(tool: &mut dyn CodeIntelligence, caret: &Caret<'_>, file: &SourceFile) -> anyhow::Result<Vec<Row>> {
    let mut suggestions = tool.completions(caret)?;
    locality::order(&mut suggestions, caret, file.language);
    let row = |found: &analysis::Suggestion| {
        let (name, origin) = (&found.name, found.origin.name());
        Row { text: format!("{name:<32} {origin}"), json: json!({ "name": name, "origin": origin }) }
    };
    Ok(suggestions.iter().map(row).collect())
}

fn definitions(tool: &mut dyn CodeIntelligence, caret: &Caret<'_>) -> anyhow::Result<Vec<Row>> {
    let row = |found: &analysis::Definition| Row {
        text: format!("{:<32} {}", found.name, place_text(&found.place)),
        json: json!({ "name": found.name, "place": place_json(&found.place) }),
    };
    Ok(tool.definitions(caret)?.iter().map(row).collect())
}

fn place_text(place: &Place) -> String {
    match place {
        Place::Repository { path, span } => format!("{path}, byte {}", span.start),
        Place::Outside { module } => format!("outside the repository, in {module}"),
    }
}

fn place_json(place: &Place) -> Value {
    match place {
        Place::Repository { path, span } => json!({ "path": path, "span": [span.start, span.end] }),
        Place::Outside { module } => json!({ "module": module }),
    }
}

fn types(tool: &mut dyn CodeIntelligence, caret: &Caret<'_>) -> anyhow::Result<Vec<Row>> {
    // A tool that knows only some of the three still tells those.
    let inferred = known(tool.inferred_type(caret))?.flatten();
    let expected = known(tool.expected_type(caret))?.flatten();
    let reachable = known(tool.reachable_types(caret))?.unwrap_or_default();
    let one = |question: &str, answer: Option<String>| Row {
        text: format!("{question:<10} {}", answer.as_deref().unwrap_or("not known")),
        json: json!({ "question": question, "type": answer }),
    };
    let definition = |found: &analysis::TypeDefinition| Row {
        text: format!("\n# {}\n{}", place_text(&found.place), found.declaration),
        json: json!({
            "question": "reachable",
            "type": found.name,
            "place": place_json(&found.place),
            "declaration": found.declaration,
        }),
    };
    let first = [one("inferred", inferred), one("expected", expected)];
    Ok(first.into_iter().chain(reachable.iter().map(definition)).collect())
}

fn known<T>(answer: analysis::Result<T>) -> anyhow::Result<Option<T>> {
    match answer {
        Err(analysis::Error::Unsupported { .. }) => Ok(None),
        answer => Ok(Some(answer?)),
    }
}

fn headers(tool: &mut dyn CodeIntelligence, caret: &Caret<'_>) -> anyhow::Result<Vec<Row>> {
    let row = |header: &analysis::Header| Row {
        text: format!("{:<10} {}", header.origin.name(), header.declaration),
        json: json!({ "name": header.name, "origin": header.origin.name(), "declaration": header.declaration }),
    };
    Ok(tool.headers(caret)?.iter().map(row).collect())
}

/// One finding, for people and for programs.
struct Row {
    text: String,
    json: Value,
}

/// Prints the rows as one JSON array or as lines.
fn print(rows: Vec<Row>, as_json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    if as_json {
        let values: Vec<Value> = rows.into_iter().map(|row| row.json).collect();
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&values)?)?);
    }
    for row in rows {
        writeln!(out, "{}", row.text)?;
    }
    Ok(())
}
