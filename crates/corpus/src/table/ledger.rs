//! `ledger.parquet`.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};

use super::{Row, string_column};
use crate::Result;
use crate::filter::Verdict;
use crate::ledger::LedgerEntry;
use crate::schema::Table;

/// Writes the ledger.
///
/// # Errors
///
/// Returns an error if the file cannot be written; the old one is then still there.
pub fn write_ledger(path: &Path, ledger: &[LedgerEntry]) -> Result<()> {
    super::write(path, Table::Ledger, ledger, |row| row.path.len() + row.detail.len(), columns)
}

/// Reads the ledger.
///
/// # Errors
///
/// Returns an error if the file cannot be read or has another schema version.
pub fn read_ledger(path: &Path) -> Result<Vec<LedgerEntry>> {
    super::read(path, Table::Ledger, entry)
}

fn columns(rows: &[LedgerEntry]) -> Vec<ArrayRef> {
    vec![
        string_column(rows, |row| &row.repository),
        string_column(rows, |row| &row.source),
        string_column(rows, |row| &row.path),
        string_column(rows, |row| if row.verdict == Verdict::Kept { "kept" } else { "dropped" }),
        string_column(rows, |row| match row.verdict {
            Verdict::Kept => "",
            Verdict::Dropped(reason) => reason.name(),
        }),
        string_column(rows, |row| &row.detail),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| i64::try_from(row.bytes).unwrap_or(i64::MAX)))),
        string_column(rows, |row| &row.encoding),
        string_column(rows, |row| &row.line_endings),
        string_column(rows, |row| &row.content_hash),
    ]
}

fn entry(row: &Row) -> std::result::Result<LedgerEntry, String> {
    let verdict = match row.string("verdict").as_str() {
        "kept" => Verdict::Kept,
        _ => Verdict::Dropped(row.parse("reason")?),
    };
    Ok(LedgerEntry {
        repository: row.string("repository"),
        source: row.string("source"),
        path: row.string("path"),
        verdict,
        detail: row.string("detail"),
        bytes: row.count("bytes")?,
        encoding: row.string("encoding"),
        line_endings: row.string("line_endings"),
        content_hash: row.string("content_hash"),
    })
}
