//! `functions.parquet`, written and read as a stream: a table may hold more functions than memory does.

use std::path::Path;
use std::sync::Arc;

use analysis::triggers::Mark;
use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{ArrayRef, Int64Array};

use super::{Row, string_column};
use crate::functions::StoredFunction;
use crate::schema::{self, Table};
use crate::{Error, Result};

/// Writes functions as they come, one group after the other. The first error of `groups` ends the writing.
///
/// # Errors
///
/// Returns that error, or one that says why the file cannot be written; the old file is then still there.
pub fn write_functions<E: From<Error>>(
    path: &Path,
    groups: impl IntoIterator<Item = std::result::Result<Vec<StoredFunction>, E>>,
) -> std::result::Result<(), E> {
    super::write_groups(path, Table::Functions, groups, StoredFunction::n_bytes, columns)
}

/// Opens a table and returns its functions one by one.
///
/// # Errors
///
/// Returns an error if the file cannot be read or has another schema version; each function that cannot be read, or whose
/// marks do not fit it, is an error of its own.
pub fn stream_functions(path: &Path) -> Result<impl Iterator<Item = Result<StoredFunction>>> {
    super::rows(path, Table::Functions, function)
}

/// Reads all functions of a table.
///
/// # Errors
///
/// Returns an error if the file cannot be read, has another schema version, or holds marks that do not fit.
pub fn read_functions(path: &Path) -> Result<Vec<StoredFunction>> {
    stream_functions(path)?.collect()
}

fn columns(rows: &[StoredFunction]) -> Vec<ArrayRef> {
    let integer = |value: usize| i64::try_from(value).expect("positions in a text are below 2^63");
    let position = |value: fn(&StoredFunction) -> usize| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| integer(value(row)))))
    };
    let list = |value: fn(&Mark) -> usize| -> ArrayRef {
        let mut builder = ListBuilder::new(Int64Builder::new()).with_field(schema::list_item());
        for row in rows {
            builder.values().append_slice(&row.marks.iter().map(|mark| integer(value(mark))).collect::<Vec<_>>());
            builder.append(true);
        }
        Arc::new(builder.finish())
    };
    vec![
        string_column(rows, |row| row.split.name()),
        string_column(rows, |row| &row.repository),
        string_column(rows, |row| &row.source),
        string_column(rows, |row| &row.version),
        string_column(rows, |row| &row.revision),
        string_column(rows, |row| &row.license),
        string_column(rows, |row| &row.path),
        string_column(rows, |row| row.language.name()),
        string_column(rows, |row| &row.class),
        string_column(rows, |row| &row.name),
        position(|row| row.span.start),
        position(|row| row.span.end),
        string_column(rows, |row| &row.docstring),
        string_column(rows, |row| &row.docstring_raw),
        string_column(rows, |row| &row.signature),
        string_column(rows, |row| &row.body),
        string_column(rows, |row| &row.marked_body),
        list(|mark| mark.offset),
        list(|mark| mark.n_suggestions),
        string_column(rows, |row| &row.tool),
        string_column(rows, |row| row.eligibility.name()),
        string_column(rows, |row| row.context.name()),
    ]
}

fn function(row: &Row) -> std::result::Result<StoredFunction, String> {
    let (offsets, counts) = (row.counts("mark_offsets")?, row.counts("mark_suggestions")?);
    let marks = offsets.iter().zip(&counts).map(|(&offset, &n_suggestions)| Mark { offset, n_suggestions });
    let function = StoredFunction {
        split: row.parse("split")?,
        repository: row.string("repository"),
        source: row.string("source"),
        version: row.string("version"),
        revision: row.string("revision"),
        license: row.string("license"),
        path: row.string("path"),
        language: row.parse("language")?,
        class: row.string("class"),
        name: row.string("name"),
        span: row.count("span_start_bytes")?..row.count("span_end_bytes")?,
        docstring: row.string("docstring"),
        docstring_raw: row.string("docstring_raw"),
        signature: row.string("signature"),
        body: row.string("body"),
        marked_body: row.string("marked_body"),
        marks: marks.collect(),
        tool: row.string("tool"),
        eligibility: row.parse("eligibility")?,
        context: row.parse("context")?,
    };
    if offsets.len() == counts.len() && function.is_sound() {
        return Ok(function);
    }
    let (repository, path, name) = (&function.repository, &function.path, &function.name);
    Err(format!("has marks that do not fit {name} in {path} of {repository}: write it again"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::Split;
    use analysis::triggers::{Context, Eligibility, mark};
    use repo::language::Language;

    fn row(name: &str, offsets: &[usize]) -> StoredFunction {
        let (signature, body) = ("def f(x):", "\n    \"\"\"Does é.\"\"\"\n    return x");
        let own = |offset: &usize| offset.saturating_sub(signature.len());
        StoredFunction {
            split: Split::Train,
            repository: "r".into(),
            source: "dir:r".into(),
            version: String::new(),
            revision: "blake3:0".into(),
            license: "MIT".into(),
            path: "a.py".into(),
            language: Language::Python,
            class: "A".into(),
            name: name.into(),
            span: 7..7 + signature.len() + body.len(),
            docstring: "Does é.".into(),
            docstring_raw: "\"\"\"Does é.\"\"\"".into(),
            signature: signature.into(),
            body: body.into(),
            marked_body: mark(body, offsets.iter().map(own)),
            marks: offsets.iter().map(|&offset| Mark { offset, n_suggestions: 3 }).collect(),
            tool: "script".into(),
            eligibility: Eligibility::Paper,
            context: Context::Intact,
        }
    }

    #[test]
    fn groups_are_written_and_read_in_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("functions.parquet");
        let groups = [vec![row("a", &[28, 39]), row("b", &[])], vec![], vec![row("c", &[39])]];
        write_functions(&path, groups.iter().cloned().map(Ok::<_, Error>)).unwrap();
        assert_eq!(read_functions(&path).unwrap(), groups.concat());
        let text = super::super::inspect(&path, 1).unwrap();
        assert!(text.contains("retort.table           functions\n"), "{text}");
        assert!(text.contains("mark_offsets           [28, 39]\n"), "{text}");
        assert!(text.contains("mark_suggestions       [3, 3]\n"), "{text}");
        write_functions(&path, [] as [Result<Vec<StoredFunction>>; 0]).unwrap();
        assert_eq!(read_functions(&path).unwrap(), []);
    }

    #[test]
    fn an_error_on_the_way_leaves_the_old_table() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("functions.parquet");
        write_functions(&path, [Ok::<_, Error>(vec![row("a", &[])])]).unwrap();
        let failed = write_functions(&path, [Ok(vec![row("b", &[])]), Err(Error::Interrupted)]);
        assert!(matches!(failed, Err(Error::Interrupted)));
        assert_eq!(read_functions(&path).unwrap(), [row("a", &[])]);
    }

    #[test]
    fn marks_that_do_not_fit_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("functions.parquet");
        let wrong = StoredFunction { marked_body: "\n    return <COMP>x".into(), ..row("a", &[39]) };
        for function in [wrong, row("a", &[3])] {
            write_functions(&path, [Ok::<_, Error>(vec![function])]).unwrap();
            let error = read_functions(&path).unwrap_err().to_string();
            assert!(error.ends_with("has marks that do not fit a in a.py of r: write it again"), "{error}");
        }
    }
}
