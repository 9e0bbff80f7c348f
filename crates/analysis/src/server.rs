//! Programs of other people. Behind the trait: a Jedi worker and a client of language servers. Pylint, which answers one
//! question only, and [trials](trial), which run a repository's own tests, stand beside them.
//!
//! A tool is a program that reads a copy of the repository and answers one question at a time within a deadline. What
//! shields the machine from it is a value, [`Protection`]; what went wrong is counted, in [`Usage`].
//!
//! ```text
//! JediWorker, LanguageServer, Pylint -> tool (start, deadline, restart) -> connection (requests, framing) -> process
//!                                 \-> sandbox (copy of the repository, bubblewrap)
//! Trials -> process
//! ```

pub mod jedi;

pub mod lsp;

pub mod pylint;

pub mod sandbox;

pub mod trial;

mod tool;

mod connection;

mod json_rpc;

mod process;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use repo::Language;
use repo::identifiers::is_word;
use serde_json::Value;

use crate::caret::Caret;
use crate::position::{LineIndex, Position, Unit};

pub use jedi::{JediOptions, JediWorker};
pub use lsp::{LanguageServer, LanguageServerOptions};
pub use pylint::{Pylint, PylintOptions, PylintReport};
pub use sandbox::{Program, Protection};
pub use trial::{Trial, TrialLimits, TrialProtection, Trials, Verdict};

/// What a tool may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest time an answer may take.
    pub deadline: Duration,
    /// The longest time the tool may take until it can be asked, and then for its first answer, for which it may have
    /// to read the libraries.
    pub start_deadline: Duration,
    /// The most memory that the tool's processes may hold together, in bytes.
    pub memory_bytes_max: u64,
}

impl Default for Limits {
    /// Returns half a minute for an answer, two minutes for a start and 4 GiB.
    fn default() -> Self {
        let (deadline, start_deadline) = (Duration::from_secs(30), Duration::from_mins(2));
        Self { deadline, start_deadline, memory_bytes_max: 4 << 30 }
    }
}

/// What a tool was asked and how often it failed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usage {
    /// Questions asked.
    pub n_questions: u64,
    /// Starts after the first.
    pub n_restarts: u64,
    /// Answers that the tool itself calls incomplete.
    pub n_incomplete: u64,
    /// Failed questions by [kind](crate::Error::kind).
    pub failures: BTreeMap<&'static str, u64>,
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_failures: u64 = self.failures.values().sum();
        let Self { n_questions, n_restarts, n_incomplete, failures } = self;
        write!(f, "{n_questions} questions, {n_restarts} restarts, {n_incomplete} incomplete, {n_failures} failures")?;
        let kinds: Vec<String> = failures.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        if kinds.is_empty() { Ok(()) } else { write!(f, " ({})", kinds.join(", ")) }
    }
}

/// What stands at a caret behind which no identifier stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placeholder {
    /// Nothing: the tool sees the text as it is, as in the paper.
    #[default]
    None,
    /// One dummy identifier, without which a cut statement keeps many tools from reading the function around it.
    AtCaret,
}

/// The dummy identifier.
const DUMMY: &str = "retort_placeholder";

impl Placeholder {
    /// Returns the text to show to the tool for a question at the caret.
    fn text(self, caret: &Caret<'_>) -> String {
        let (before, after) = caret.text.split_at(caret.byte);
        match self {
            Self::AtCaret if !after.starts_with(is_word) => [before, DUMMY, after].concat(),
            _ => caret.text.clone().into_owned(),
        }
    }
}

/// Returns whether what a tool offers is an identifier that a caret behind `prefix` asks for.
fn is_suggestible(name: &str, prefix: &str, language: Language) -> bool {
    let is_identifier = name.chars().all(is_word) && name.starts_with(|c: char| !c.is_numeric());
    let is_dummy = name.strip_prefix(prefix).is_some_and(|rest| rest == DUMMY);
    is_identifier && name.starts_with(prefix) && !is_dummy && language.keywords().binary_search(&name).is_err()
}

/// Returns the byte of a line that a worker counts from one and of a column that it counts in characters from zero.
fn byte(lines: &LineIndex, text: &str, line: &Value, column: &Value) -> Option<usize> {
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let position = Position { line: number(line)?.checked_sub(1)?, column: number(column)? };
    Some(lines.byte(text, position, Unit::Character))
}

#[cfg(all(test, feature = "oracles"))]
mod oracles;

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn usage_names_every_kind_of_failure() {
        let failures = BTreeMap::from([("ended", 1), ("deadline", 2)]);
        let usage = Usage { n_questions: 9, n_restarts: 3, failures, ..Usage::default() };
        assert_eq!(usage.to_string(), "9 questions, 3 restarts, 0 incomplete, 3 failures (deadline 2, ended 1)");
        assert_eq!(Usage::default().to_string(), "0 questions, 0 restarts, 0 incomplete, 0 failures");
    }

    #[test]
    fn the_placeholder_stands_only_where_no_identifier_does() {
        let caret = |byte| Caret::new("a.py", Cow::Borrowed("x = é.y\n"), byte);
        assert_eq!(Placeholder::AtCaret.text(&caret(4)), "x = é.y\n");
        assert_eq!(Placeholder::AtCaret.text(&caret(8)), "x = é.yretort_placeholder\n");
        assert_eq!(Placeholder::AtCaret.text(&caret(3)), "x =retort_placeholder é.y\n");
        assert_eq!(Placeholder::None.text(&caret(3)), "x = é.y\n");
    }

    #[test]
    fn only_identifiers_are_suggested() {
        let suggestible = |name, prefix| is_suggestible(name, prefix, Language::Python);
        assert!(suggestible("größe", "grö") && suggestible("_", "") && suggestible("x1", "x1"));
        assert!(!suggestible("def", "") && !suggestible("Größe", "grö") && !suggestible("'key'", ""));
        assert!(!suggestible("", "") && !suggestible("a b", "") && !suggestible("1a", ""));
        assert!(!suggestible("sretort_placeholder", "s") && !suggestible("retort_placeholder", ""));
    }
}
