//! Parquet: writing and reading the tables of a dataset.
//!
//! Written with zstd, in row groups of bounded size, through a temporary file that is flushed and renamed. The same rows
//! always give the same bytes.

use std::fs::File;
use std::path::Path;

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::schema::{self, Table};
use crate::{Error, Result, atomic};

mod files;
mod functions;
mod inspect;
mod ledger;
mod samples;

pub use files::{read_files, write_files};
pub use functions::{read_functions, stream_functions, write_functions};
pub use inspect::inspect;
pub use ledger::{read_ledger, write_ledger};
pub use samples::{read_samples, write_samples};

/// The most rows and encoded bytes of a row group.
const ROW_GROUP_ROWS_MAX: usize = 16_384;
const ROW_GROUP_BYTES_MAX: usize = 64 << 20;

/// The most rows and text bytes handed to the writer at once.
const BATCH_ROWS_MAX: usize = 1_024;
const BATCH_BYTES_MAX: usize = 8 << 20;

/// The rows decoded at once.
const READ_ROWS: usize = 256;

/// The metadata keys of the table's name and the schema version.
const TABLE_KEY: &str = "retort.table";
const VERSION_KEY: &str = "retort.schema_version";

/// Writes rows as a table; `bytes` tells the text size of a row and `columns` turns rows into columns.
fn write<T>(
    path: &Path,
    table: Table,
    rows: &[T],
    bytes: impl Fn(&T) -> usize,
    columns: impl Fn(&[T]) -> Vec<ArrayRef>,
) -> Result<()> {
    write_groups(path, table, [Ok::<_, Error>(rows)], bytes, columns)
}

/// Writes a table as groups of rows come, up to the first that is an error.
fn write_groups<T, G: AsRef<[T]>, E: From<Error>>(
    path: &Path,
    table: Table,
    groups: impl IntoIterator<Item = std::result::Result<G, E>>,
    bytes: impl Fn(&T) -> usize,
    columns: impl Fn(&[T]) -> Vec<ArrayRef>,
) -> std::result::Result<(), E> {
    let failed = |source: ParquetError| Error::Parquet { action: "write", path: path.to_path_buf(), source };
    atomic::write_file(path, |file| {
        let schema = table.schema();
        let mut writer = ArrowWriter::try_new(file, schema.clone(), Some(properties(table))).map_err(failed)?;
        for group in groups {
            for batch in batches(group?.as_ref(), &bytes) {
                let batch =
                    RecordBatch::try_new(schema.clone(), columns(batch)).map_err(|error| failed(error.into()))?;
                writer.write(&batch).map_err(failed)?;
            }
        }
        Ok(writer.close().map(drop).map_err(failed)?)
    })
}

fn properties(table: Table) -> WriterProperties {
    let pair = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS_MAX))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES_MAX))
        .set_key_value_metadata(Some(vec![
            pair(TABLE_KEY, table.name().to_owned()),
            pair(VERSION_KEY, schema::VERSION.to_string()),
        ]))
        .build()
}

fn batches<T>(rows: &[T], bytes: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut batches = Vec::new();
    let (mut start, mut batch_bytes) = (0, 0);
    for (index, row) in rows.iter().enumerate() {
        let row_bytes = bytes(row);
        if index > start && (index - start == BATCH_ROWS_MAX || batch_bytes + row_bytes > BATCH_BYTES_MAX) {
            batches.push(&rows[start..index]);
            (start, batch_bytes) = (index, 0);
        }
        batch_bytes += row_bytes;
    }
    batches.push(&rows[start..]);
    batches
}

fn string_column<T>(rows: &[T], value: impl Fn(&T) -> &str) -> ArrayRef {
    std::sync::Arc::new(StringArray::from_iter_values(rows.iter().map(value)))
}

fn column_index(index: usize) -> i32 {
    i32::try_from(index).expect("a repository has fewer than 2^31 files")
}

/// Reads a table of this version and turns each row into a value.
fn read<T>(path: &Path, table: Table, row: impl FnMut(&Row) -> std::result::Result<T, String>) -> Result<Vec<T>> {
    rows(path, table, row)?.collect()
}

/// Opens a table of this version and turns each row into a value, as it is asked for.
fn rows<T>(
    path: &Path,
    table: Table,
    mut row: impl FnMut(&Row) -> std::result::Result<T, String>,
) -> Result<impl Iterator<Item = Result<T>>> {
    let path = path.to_path_buf();
    let failed =
        |path: &Path, source: ParquetError| Error::Parquet { action: "read", path: path.to_path_buf(), source };
    let wrong = |path: &Path, message: String| Error::Schema { path: path.to_path_buf(), message };
    let file = File::open(&path).map_err(Error::io("open", &path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| failed(&path, error))?;
    check(&builder, table).map_err(|message| wrong(&path, message))?;
    let mut batches = builder.with_batch_size(READ_ROWS).build().map_err(|error| failed(&path, error))?;
    let mut open: Option<(RecordBatch, usize)> = None;
    Ok(std::iter::from_fn(move || {
        loop {
            if let Some((batch, index)) = open.as_mut().filter(|(batch, index)| *index < batch.num_rows()) {
                let value = row(&Row { batch, index: *index }).map_err(|message| wrong(&path, message));
                *index += 1;
                return Some(value);
            }
            match batches.next()? {
                Ok(batch) => open = Some((batch, 0)),
                Err(error) => return Some(Err(failed(&path, error.into()))),
            }
        }
    }))
}

fn check(builder: &ParquetRecordBatchReaderBuilder<File>, table: Table) -> std::result::Result<(), String> {
    let metadata = builder.metadata().file_metadata().key_value_metadata();
    let stated = |key: &str| metadata.and_then(|pairs| pairs.iter().find(|pair| pair.key == key)?.value.as_deref());
    if stated(TABLE_KEY) != Some(table.name()) {
        return Err(format!("is not a table of {}: write it with this program", table.name()));
    }
    let version = schema::VERSION.to_string();
    if stated(VERSION_KEY) != Some(&version) {
        let stated = stated(VERSION_KEY).unwrap_or("none");
        return Err(format!("has the schema version {stated}, this program reads {version}: build the dataset again"));
    }
    let expected = table.schema();
    let same = |a: &arrow_schema::Field, b: &arrow_schema::Field| {
        (a.name(), a.data_type(), a.is_nullable()) == (b.name(), b.data_type(), b.is_nullable())
    };
    let fields = builder.schema().fields();
    if fields.len() == expected.fields().len() && fields.iter().zip(expected.fields()).all(|(a, b)| same(a, b)) {
        return Ok(());
    }
    Err("has other columns than its schema version says: build the dataset again".to_owned())
}

/// A row of a batch whose schema was checked.
struct Row<'a> {
    batch: &'a RecordBatch,
    index: usize,
}

impl<'a> Row<'a> {
    fn column<A: 'static>(&self, name: &str) -> &'a A {
        let column = self.batch.column_by_name(name).expect("the schema was checked");
        column.as_any().downcast_ref().expect("the schema was checked")
    }

    fn string(&self, name: &str) -> String {
        self.column::<StringArray>(name).value(self.index).to_owned()
    }

    fn parse<T: std::str::FromStr>(&self, name: &str) -> std::result::Result<T, String>
    where
        T::Err: std::fmt::Display,
    {
        self.column::<StringArray>(name).value(self.index).parse().map_err(|error: T::Err| wrong(name, &error))
    }

    fn count<T: TryFrom<i64>>(&self, name: &str) -> std::result::Result<T, String> {
        let value = self.column::<Int64Array>(name).value(self.index);
        T::try_from(value).map_err(|_| wrong(name, &format!("{value} is out of range")))
    }

    fn counts<T: TryFrom<i64>>(&self, name: &str) -> std::result::Result<Vec<T>, String> {
        let values = self.column::<ListArray>(name).value(self.index);
        let values = values.as_any().downcast_ref::<Int64Array>().expect("the schema was checked");
        let count = |&value: &i64| T::try_from(value).map_err(|_| wrong(name, &format!("{value} is out of range")));
        values.values().iter().map(count).collect()
    }

    fn index(&self, name: &str) -> std::result::Result<Option<usize>, String> {
        let column = self.column::<Int32Array>(name);
        let value = (!column.is_null(self.index)).then(|| column.value(self.index));
        value.map(|value| usize::try_from(value).map_err(|_| wrong(name, &format!("{value} is negative")))).transpose()
    }
}

fn wrong(name: &str, problem: &dyn std::fmt::Display) -> String {
    format!("has a bad value in the column `{name}`: {problem}: build the dataset again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::DropReason;
    use crate::ledger::LedgerEntry;

    fn row(detail: &str) -> LedgerEntry {
        LedgerEntry::of_repository("r", "dir:r", DropReason::EmptyRepository, detail.to_owned())
    }

    /// Writes an empty table with other metadata or another schema.
    fn write_other(path: &Path, pairs: &[(&str, &str)], schema: arrow_schema::SchemaRef) {
        let pairs = pairs.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), (*value).to_owned())).collect();
        let properties = WriterProperties::builder().set_key_value_metadata(Some(pairs)).build();
        ArrowWriter::try_new(File::create(path).unwrap(), schema, Some(properties)).unwrap().close().unwrap();
    }

    #[test]
    fn a_table_of_another_kind_version_or_schema_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t");
        let message = |pairs: &[(&str, &str)], schema| {
            write_other(&path, pairs, schema);
            read_ledger(&path).unwrap_err().to_string().replace(path.to_str().unwrap(), "t")
        };
        let messages = [
            message(&[], Table::Ledger.schema()),
            message(&[(TABLE_KEY, "files"), (VERSION_KEY, "1")], Table::Files.schema()),
            message(&[(TABLE_KEY, "ledger"), (VERSION_KEY, "7")], Table::Ledger.schema()),
            message(&[(TABLE_KEY, "ledger"), (VERSION_KEY, "1")], Table::Files.schema()),
        ];
        expect_test::expect![[r"
            t: is not a table of ledger: write it with this program
            t: is not a table of ledger: write it with this program
            t: has the schema version 7, this program reads 1: build the dataset again
            t: has other columns than its schema version says: build the dataset again"]]
        .assert_eq(&messages.join("\n"));
    }

    #[test]
    fn a_damaged_file_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger.parquet");
        write_ledger(&path, &[row("")]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for length in (0..bytes.len()).step_by(97) {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert!(matches!(read_ledger(&path), Err(Error::Parquet { .. })), "{length}");
        }
    }

    #[test]
    fn rows_beyond_a_batch_and_a_row_group_are_all_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger.parquet");
        let rows: Vec<LedgerEntry> = (0..ROW_GROUP_ROWS_MAX + 10).map(|i| row(&i.to_string())).collect();
        write_ledger(&path, &rows).unwrap();
        assert_eq!(read_ledger(&path).unwrap(), rows);
        let text = inspect(&path, 1).unwrap();
        assert!(text.starts_with("16394 rows, 2 row groups\n"), "{text}");
        assert!(text.contains("reason                 empty_repository\n"), "{text}");
    }

    #[test]
    fn batches_are_bounded_by_rows_and_by_bytes() {
        let sizes = |rows: &[usize]| batches(rows, |row| *row).iter().map(|batch| batch.len()).collect::<Vec<_>>();
        assert_eq!(sizes(&[]), [0]);
        assert_eq!(sizes(&vec![1; 2_500]), [1_024, 1_024, 452]);
        assert_eq!(sizes(&[BATCH_BYTES_MAX, 1, BATCH_BYTES_MAX - 1, 1]), [1, 2, 1]);
    }
}
