//! A Parquet file for people: what it holds and its first rows.

use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;

use crate::{Error, Result};

/// The most characters shown of a value.
const VALUE_CHARS_MAX: usize = 100;

/// The most values shown of a list.
const LIST_VALUES_MAX: usize = 20;

/// Returns a description of a table of any schema version: its metadata, its columns and its first `n_rows` rows.
///
/// # Errors
///
/// Returns an error if the file cannot be read as Parquet.
pub fn inspect(path: &Path, n_rows: usize) -> Result<String> {
    let failed = |source: ParquetError| Error::Parquet { action: "read", path: path.to_path_buf(), source };
    let file = File::open(path).map_err(Error::io("open", path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(failed)?;
    let metadata = builder.metadata().file_metadata();
    let mut text = format!("{} rows, {} row groups\n", metadata.num_rows(), builder.metadata().num_row_groups());
    for pair in metadata.key_value_metadata().into_iter().flatten().filter(|pair| pair.key.starts_with("retort.")) {
        line(&mut text, &pair.key, pair.value.as_deref().unwrap_or_default());
    }
    text.push('\n');
    for field in builder.schema().fields() {
        let nullable = if field.is_nullable() { ", nullable" } else { "" };
        line(&mut text, field.name(), &format!("{}{nullable}", field.data_type()));
    }
    for batch in builder.with_limit(n_rows).build().map_err(failed)? {
        let batch = batch.map_err(|error| failed(error.into()))?;
        (0..batch.num_rows()).for_each(|row| show(&mut text, &batch, row));
    }
    Ok(text)
}

fn show(text: &mut String, batch: &RecordBatch, row: usize) {
    text.push('\n');
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        line(text, field.name(), &value(column, row));
    }
}

fn value(column: &dyn Array, row: usize) -> String {
    match column.data_type() {
        _ if column.is_null(row) => "null".to_owned(),
        DataType::Utf8 => shortened(column.as_string::<i32>().value(row)),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::List(_) => list(&column.as_list::<i32>().value(row)),
        other => format!("({other})"),
    }
}

/// Returns the first values of a list, and how many it has if not all are shown.
fn list(values: &ArrayRef) -> String {
    let n = values.len();
    let shown: Vec<String> = (0..n.min(LIST_VALUES_MAX)).map(|index| value(values, index)).collect();
    let shown = shown.join(", ");
    if n > LIST_VALUES_MAX { format!("[{shown}, ...] ({n} values)") } else { format!("[{shown}]") }
}

/// Returns the value on one line, with its length if it is cut.
fn shortened(value: &str) -> String {
    let n = value.chars().count();
    let shown: String = value.chars().take(VALUE_CHARS_MAX).flat_map(char::escape_debug).collect();
    if n > VALUE_CHARS_MAX { format!("{shown} ... ({n} characters)") } else { shown }
}

fn line(text: &mut String, name: &str, value: &str) {
    writeln!(text, "{name:<22} {value}").expect("writing to a string does not fail");
}
