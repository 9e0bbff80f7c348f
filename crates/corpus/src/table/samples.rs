//! `samples.parquet`.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, Int64Array};

use super::{Row, column_index, string_column};
use crate::Result;
use crate::samples::Sample;
use crate::schema::Table;

/// Writes samples.
///
/// # Errors
///
/// Returns an error if the file cannot be written; the old one is then still there.
pub fn write_samples(path: &Path, samples: &[Sample]) -> Result<()> {
    let bytes = |sample: &Sample| sample.left_context.len() + sample.target.len() + sample.right_context.len();
    super::write(path, Table::Samples, samples, bytes, columns)
}

/// Reads samples.
///
/// # Errors
///
/// Returns an error if the file cannot be read or has another schema version.
pub fn read_samples(path: &Path) -> Result<Vec<Sample>> {
    super::read(path, Table::Samples, sample)
}

fn columns(rows: &[Sample]) -> Vec<ArrayRef> {
    let position = |value: fn(&Sample) -> usize| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(
            rows.iter().map(|row| i64::try_from(value(row)).expect("positions in a text are below 2^63")),
        ))
    };
    vec![
        string_column(rows, |row| &row.id),
        string_column(rows, |row| row.split.name()),
        string_column(rows, |row| &row.repository),
        string_column(rows, |row| &row.source),
        string_column(rows, |row| &row.version),
        string_column(rows, |row| &row.revision),
        string_column(rows, |row| &row.license),
        string_column(rows, |row| &row.path),
        string_column(rows, |row| row.language.name()),
        string_column(rows, |row| row.kind.name()),
        position(|row| row.span.start),
        position(|row| row.span.end),
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|row| column_index(row.cluster)))),
        string_column(rows, |row| &row.left_context),
        string_column(rows, |row| &row.target),
        string_column(rows, |row| &row.right_context),
        string_column(rows, |row| &row.content_hash),
    ]
}

fn sample(row: &Row) -> std::result::Result<Sample, String> {
    Ok(Sample {
        id: row.string("id"),
        split: row.parse("split")?,
        repository: row.string("repository"),
        source: row.string("source"),
        version: row.string("version"),
        revision: row.string("revision"),
        license: row.string("license"),
        path: row.string("path"),
        language: row.parse("language")?,
        kind: row.parse("kind")?,
        span: row.count("span_start_bytes")?..row.count("span_end_bytes")?,
        cluster: row.index("cluster")?.unwrap_or_default(),
        left_context: row.string("left_context"),
        target: row.string("target"),
        right_context: row.string("right_context"),
        content_hash: row.string("content_hash"),
    })
}
