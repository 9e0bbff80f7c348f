//! The frozen Arrow schemas of the tables of a dataset.
//!
//! No column is nullable except the cluster of a file. Text columns are UTF-8, counts and positions 64-bit integers.
//! The Parquet metadata holds `retort.table` and `retort.schema_version`; a table of another version is refused. A
//! changed column means a new version.
//!
//! **`files.parquet`**: the files that passed all filters, by repository and path. Files with the verdict
//! `no_cross_file_dependency` are in it, with a null cluster, because resolving the imports of the others needs them;
//! every other row has the verdict `kept`.
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `repository` | string | the repository's name |
//! | `split` | string | `train`, `validation` or `test` |
//! | `source`, `version`, `revision`, `license` | string | provenance: the source in the manifest; the package version or git revision asked for; what pins the content; the license. Empty where unknown |
//! | `path` | string | relative, with `/` |
//! | `language` | string | `python` or `java` |
//! | `text` | string | decoded, line feeds only |
//! | `content_hash` | string | blake3 of `text` |
//! | `cluster` | int32, nullable | the index of the cluster in its repository |
//! | `cluster_order` | int32, nullable | the position in the cluster: a file comes after those it depends on |
//!
//! **`samples.parquet`**: one completion a row.
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `id` | string | `KIND:REPOSITORY/PATH:START-END` |
//! | `split`, `repository`, `source`, `version`, `revision`, `license`, `path`, `language` | string | as in `files.parquet` |
//! | `kind` | string | `span`, `line` or `api_call` |
//! | `span_start_bytes`, `span_end_bytes` | int64 | the target in `text`, 0-based and half-open |
//! | `cluster` | int32 | as in `files.parquet` |
//! | `left_context`, `target`, `right_context` | string | together the `text` of the file |
//! | `content_hash` | string | blake3 of that text |
//!
//! **`ledger.parquet`**: one row for every file seen, kept or not.
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `repository`, `source`, `path` | string | where; an empty path is the repository itself |
//! | `verdict` | string | `kept` or `dropped` |
//! | `reason` | string | the name of a [`DropReason`](crate::filter::DropReason), empty if kept |
//! | `detail` | string | the measurement behind the verdict, for a human |
//! | `bytes` | int64 | the size as stored |
//! | `encoding`, `line_endings` | string | how the bytes became text |
//! | `content_hash` | string | blake3 of the decoded text, empty if it was not decoded |
//!
//! **`functions.parquet`**: one documented function a row, with triggers; written by `train analyze triggers`.
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `split`, `repository`, `source`, `version`, `revision`, `license`, `path`, `language` | string | as in `files.parquet` |
//! | `class` | string | the class that the function is a member of, empty if none |
//! | `name` | string | the function's name |
//! | `span_start_bytes`, `span_end_bytes` | int64 | the function in the file's `text`, 0-based and half-open |
//! | `docstring` | string | the first sentence of the docstring, on one line |
//! | `docstring_raw` | string | the docstring as written: within `body` in Python, before the function in Java |
//! | `signature`, `body` | string | together the text of the function |
//! | `marked_body` | string | `body` with `<COMP>` before each marked identifier; neither text holds another `<COMP>` |
//! | `mark_offsets` | list of int64 | the marked identifiers, in bytes of `signature` + `body` |
//! | `mark_suggestions` | list of int64 | for each mark, how many identifiers the tool suggests there |
//! | `tool` | string | the name of the completion tool |
//! | `eligibility` | string | `paper` or `released`: which identifiers the tool was asked about |
//! | `context` | string | `intact` or `unfinished`: what the tool saw of the function |

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};

/// The version of the schemas.
pub const VERSION: u32 = 1;

/// A table of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// `files.parquet`.
    Files,
    /// `samples.parquet`.
    Samples,
    /// `ledger.parquet`.
    Ledger,
    /// `functions.parquet`.
    Functions,
}

impl Table {
    /// Returns the name in the Parquet metadata.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Samples => "samples",
            Self::Ledger => "ledger",
            Self::Functions => "functions",
        }
    }

    /// Returns the name of the file in a dataset directory.
    #[must_use]
    pub fn file_name(self) -> String {
        format!("{}.parquet", self.name())
    }

    /// Returns the columns.
    #[must_use]
    pub fn schema(self) -> SchemaRef {
        let fields = match self {
            Self::Files => files(),
            Self::Samples => samples(),
            Self::Ledger => ledger(),
            Self::Functions => functions(),
        };
        Arc::new(Schema::new(fields))
    }
}

fn files() -> Vec<Field> {
    let mut fields = strings(&[
        "repository",
        "split",
        "source",
        "version",
        "revision",
        "license",
        "path",
        "language",
        "text",
        "content_hash",
    ]);
    fields.extend(["cluster", "cluster_order"].map(|name| Field::new(name, DataType::Int32, true)));
    fields
}

fn samples() -> Vec<Field> {
    let mut fields =
        strings(&["id", "split", "repository", "source", "version", "revision", "license", "path", "language", "kind"]);
    fields.extend(["span_start_bytes", "span_end_bytes"].map(|name| Field::new(name, DataType::Int64, false)));
    fields.push(Field::new("cluster", DataType::Int32, false));
    fields.extend(strings(&["left_context", "target", "right_context", "content_hash"]));
    fields
}

fn ledger() -> Vec<Field> {
    let mut fields = strings(&["repository", "source", "path", "verdict", "reason", "detail"]);
    fields.push(Field::new("bytes", DataType::Int64, false));
    fields.extend(strings(&["encoding", "line_endings", "content_hash"]));
    fields
}

fn functions() -> Vec<Field> {
    let mut fields = strings(&[
        "split",
        "repository",
        "source",
        "version",
        "revision",
        "license",
        "path",
        "language",
        "class",
        "name",
    ]);
    fields.extend(["span_start_bytes", "span_end_bytes"].map(|name| Field::new(name, DataType::Int64, false)));
    fields.extend(strings(&["docstring", "docstring_raw", "signature", "body", "marked_body"]));
    let list = DataType::List(list_item());
    fields.extend(["mark_offsets", "mark_suggestions"].map(|name| Field::new(name, list.clone(), false)));
    fields.extend(strings(&["tool", "eligibility", "context"]));
    fields
}

/// Returns the field of what a list of integers holds.
pub(crate) fn list_item() -> Arc<Field> {
    Arc::new(Field::new("item", DataType::Int64, false))
}

fn strings(names: &[&str]) -> Vec<Field> {
    names.iter().map(|name| Field::new(*name, DataType::Utf8, false)).collect()
}
