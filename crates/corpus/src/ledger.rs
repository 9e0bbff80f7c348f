//! The ledger: one row for every file a crawl saw, with its verdict.

use std::collections::BTreeMap;

use crate::filter::{DropReason, Verdict};

/// What became of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// The repository's name.
    pub repository: String,
    /// The source, as the manifest writes it.
    pub source: String,
    /// The path in the repository; bytes that are not UTF-8 and control characters are escaped. Empty for a row about
    /// the repository itself; ends in `/` for a directory that was not entered.
    pub path: String,
    /// What was decided.
    pub verdict: Verdict,
    /// The measurement behind the verdict, for a human; may be empty.
    pub detail: String,
    /// The size as stored, in bytes.
    pub bytes: u64,
    /// How the bytes became text: an encoding's name and, if it was not UTF-8, how it was found. Empty if it was not
    /// decoded.
    pub encoding: String,
    /// The line endings found: `lf`, `crlf`, `cr` or `mixed`; text is stored with `lf`. Empty if it was not decoded.
    pub line_endings: String,
    /// The blake3 hash of the decoded text, empty if it was not decoded.
    pub content_hash: String,
}

/// Returns how many files got each verdict, by the verdict's name, in the order of the names.
#[must_use]
pub fn count(ledger: &[LedgerEntry]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for entry in ledger {
        *counts.entry(entry.verdict.name()).or_insert(0) += 1;
    }
    counts
}

impl LedgerEntry {
    /// Returns the row of a repository as a whole, such as an empty one.
    pub(crate) fn of_repository(repository: &str, source: &str, reason: DropReason, detail: String) -> Self {
        Self {
            repository: repository.to_owned(),
            source: source.to_owned(),
            path: String::new(),
            verdict: Verdict::Dropped(reason),
            detail,
            bytes: 0,
            encoding: String::new(),
            line_endings: String::new(),
            content_hash: String::new(),
        }
    }
}
