//! Pylint, the static check of the paper, in a Python process of its own.

use std::path::{Path, PathBuf};

use repo::Repository;
use serde_json::{Value, json};

use super::connection::Deaf;
use super::sandbox::Protection;
use super::tool::Tool;
use super::{Limits, Usage, byte};
use crate::diagnostics::{Diagnostic, DiagnosticKind};
use crate::error::{Error, Result};
use crate::position::LineIndex;

/// The worker's source. It runs pylint and adds nothing.
const WORKER: &str = include_str!("pylint_worker.py");

/// How pylint is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PylintOptions {
    /// The Python interpreter that has pylint installed. Its standard library is what the repository may import.
    pub python: PathBuf,
    /// What the worker may take.
    pub limits: Limits,
}

/// What pylint says of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PylintReport {
    /// Syntax errors, undefined variables and members that do not exist, by position.
    pub diagnostics: Vec<Diagnostic>,
    /// What it wrote to its standard error, which is empty unless it failed at the file.
    pub complaint: String,
}

/// A pylint process that checks files of one repository. It is started by the first question and stays: what it has
/// learned of the other files makes the next check many times faster, and of the file that was checked it keeps nothing.
#[derive(Debug)]
pub struct Pylint {
    tool: Tool,
}

impl Pylint {
    /// Copies the repository for a worker.
    ///
    /// # Errors
    ///
    /// Returns an error if the copy cannot be written.
    pub fn new(repository: &Repository, options: &PylintOptions) -> Result<Self> {
        let PylintOptions { python, limits } = options;
        Ok(Self { tool: Tool::python("pylint", python, WORKER, repository, *limits)? })
    }

    /// Returns what the worker is kept from.
    #[must_use]
    pub fn protection(&self) -> Protection {
        self.tool.sandbox.protection()
    }

    /// Returns what the worker was asked and how often it failed.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.tool.usage
    }

    /// Checks `text` as a file beside the one at `path`.
    ///
    /// # Errors
    ///
    /// Returns an error if pylint gives no answer.
    ///
    /// # References
    ///
    /// `ToolGen` (arXiv 2401.06391), the released `lint`: a temporary file beside the true one, with messages of
    /// convention, refactoring and warning off. There each file has a process of its own.
    pub fn check(&mut self, path: &str, text: &str) -> Result<PylintReport> {
        self.tool.usage.n_questions += 1;
        self.tool.start_worker()?;
        let name = sibling(path, self.tool.usage.n_questions);
        let beside = self.tool.sandbox.put_beside(path, &name, text).map_err(|error| self.failed(&error))?;
        let asked = json!({"path": beside});
        let answer = self.tool.ask(|connection, deadline| connection.request("check", asked, deadline, &mut Deaf));
        self.tool.sandbox.remove(&beside).map_err(|error| self.failed(&error))?;
        let answer = answer?;
        report(&answer, text).ok_or_else(|| self.tool.no_answer(&answer))
    }

    fn failed(&mut self, error: &std::io::Error) -> Error {
        let (tool, reason) = (self.tool.name.clone(), error.to_string());
        self.tool.counted(Error::Failed { tool, reason })
    }
}

/// Returns the name of a file beside the one at `path`.
fn sibling(path: &str, number: u64) -> String {
    let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    format!("{stem}_retort{number}.py")
}

fn report(answer: &Value, text: &str) -> Option<PylintReport> {
    let lines = LineIndex::new(text);
    let messages = answer.get("messages")?.as_array()?;
    let mut diagnostics: Vec<Diagnostic> =
        messages.iter().filter_map(|found| diagnostic(found, text, &lines)).collect();
    diagnostics.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end, diagnostic.kind as u8));
    Some(PylintReport { diagnostics, complaint: answer.get("complaint")?.as_str()?.to_owned() })
}

/// Reads a message: its symbol, then line and column of its start and of its end, which may be missing.
fn diagnostic(message: &Value, text: &str, lines: &LineIndex) -> Option<Diagnostic> {
    let kind = match message[0].as_str()? {
        "syntax-error" => DiagnosticKind::SyntaxError,
        "undefined-variable" => DiagnosticKind::UndefinedName,
        "no-member" => DiagnosticKind::NoMember,
        _ => return None,
    };
    let start = byte(lines, text, &message[1], &message[2])?;
    let end = byte(lines, text, &message[3], &message[4]).unwrap_or(start);
    Some(Diagnostic { span: start..end.max(start), kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_three_kinds_are_read() {
        let answer = json!({"complaint": "", "messages": [
            ["undefined-variable", 2, 4, 2, 8],
            ["no-member", 1, 0, 1, 5],
            ["import-error", 1, 0, 1, 5],
            ["syntax-error", 9, 1, null, null],
        ]});
        let found = report(&answer, "größe\nx = name\n").unwrap();
        let expected = [
            Diagnostic { span: 0..7, kind: DiagnosticKind::NoMember },
            Diagnostic { span: 12..16, kind: DiagnosticKind::UndefinedName },
            Diagnostic { span: 17..17, kind: DiagnosticKind::SyntaxError },
        ];
        assert_eq!(found, PylintReport { diagnostics: expected.into(), complaint: String::new() });
        assert_eq!(report(&json!([]), ""), None);
    }

    #[test]
    fn each_text_has_a_file_of_its_own() {
        assert_eq!(sibling("shop/stock.py", 3), "stock_retort3.py");
        assert_eq!(sibling("__init__.py", 1), "__init___retort1.py");
    }

    #[test]
    fn a_missing_interpreter_is_named_and_counted() {
        let repository = Repository::new("r", Vec::new());
        let options = PylintOptions { python: "no-python".into(), limits: Limits::default() };
        let mut pylint = Pylint::new(&repository, &options).unwrap();
        let error = pylint.check("a.py", "").unwrap_err();
        assert!(error.to_string().starts_with("cannot start `no-python -s -B "), "{error}");
        assert_eq!(pylint.usage().failures["start"], 1);
    }
}
