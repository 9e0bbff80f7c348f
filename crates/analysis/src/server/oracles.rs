//! Tests that ask the real tools, which `tests/oracles/completion.sh` installs.

mod language_servers;

mod pylint;

mod python;

use std::borrow::Cow;
use std::env;
use std::time::Instant;

use repo::{Language, Repository, SourceFile};

use crate::caret::Caret;
use crate::error::Result;
use crate::intelligence::{CodeIntelligence, Definition, Place, Suggestion};

/// Returns what an environment variable says, which the script that installs the tools prints.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `eval \"$(tests/oracles/completion.sh)\"`"))
}

fn repository(language: Language, files: &[(&str, &str)]) -> Repository {
    let file = |(path, text): &(&str, &str)| SourceFile { path: (*path).into(), language, text: (*text).into() };
    Repository::new("r", files.iter().map(file).collect())
}

/// Stands in a text where `|` is, which is taken out.
fn caret<'a>(path: &'a str, marked: &str) -> Caret<'a> {
    let byte = marked.find('|').expect("a mark");
    Caret::new(path, Cow::Owned(marked.replacen('|', "", 1)), byte)
}

fn names(suggestions: Vec<Suggestion>) -> Vec<String> {
    suggestions.into_iter().map(|suggestion| suggestion.name).collect()
}

/// Asserts that the suggestions at the mark hold all of `expected`, none of `unexpected`, and are sorted.
fn check_completions(
    tool: &mut impl CodeIntelligence,
    caret: &Caret<'_>,
    expected: &[&str],
    unexpected: &[&str],
) -> Vec<String> {
    let start = Instant::now();
    let names = names(tool.completions(caret).unwrap());
    tell(tool.name(), "completions", start);
    assert!(names.is_sorted(), "{names:?}");
    for name in expected {
        assert!(names.iter().any(|found| found == name), "{}: {name} is not in {names:?}", tool.name());
    }
    for name in unexpected {
        assert!(names.iter().all(|found| found != name), "{}: {name} is in {names:?}", tool.name());
    }
    names
}

/// Tells how long an answer took; shown with `--nocapture`.
#[expect(clippy::print_stderr, reason = "timings of real tools are for the reader of the test")]
fn tell(tool: &str, question: &str, start: Instant) {
    eprintln!("{tool}: {question} in {} ms", start.elapsed().as_millis());
}

/// Returns the paths, lines of text and names of definitions in the repository, and the modules of others.
fn describe(repository: &Repository, definitions: Result<Vec<Definition>>) -> Vec<String> {
    let describe = |Definition { name, place }: Definition| match place {
        Place::Outside { module } => format!("{name} in {module}"),
        Place::Repository { path, span } => {
            let found = &repository.file(&path).unwrap().text[span];
            format!("{name} at `{found}` of {path}")
        }
    };
    definitions.unwrap().into_iter().map(describe).collect()
}
