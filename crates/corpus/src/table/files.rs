//! `files.parquet`: the repositories with their clusters and splits, without loss.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array};
use repo::graph::Cluster;
use repo::source::{Repository, SourceFile};

use super::{Row, column_index, string_column};
use crate::crawl::{CrawledRepository, Provenance};
use crate::manifest::Split;
use crate::schema::Table;
use crate::{Error, Result};

/// Writes the files of all repositories. A repository without files leaves no row.
///
/// # Errors
///
/// Returns an error if the file cannot be written; the old one is then still there.
pub fn write_files(path: &Path, repositories: &[CrawledRepository]) -> Result<()> {
    let rows: Vec<FileRow> = repositories.iter().flat_map(rows).collect();
    super::write(path, Table::Files, &rows, |row| row.file.text.len(), columns)
}

/// Reads the repositories that were written.
///
/// # Errors
///
/// Returns an error if the file cannot be read, has another schema version, or has clusters that are incomplete.
pub fn read_files(path: &Path) -> Result<Vec<CrawledRepository>> {
    let rows = super::read(path, Table::Files, stored)?;
    let groups = rows.chunk_by(|a, b| a.repository == b.repository);
    let repositories = groups.map(repository).collect::<std::result::Result<_, _>>();
    repositories.map_err(|message| Error::Schema { path: path.to_path_buf(), message })
}

struct FileRow<'a> {
    crawled: &'a CrawledRepository,
    file: &'a SourceFile,
    split: Split,
    hash: &'a str,
    place: Option<(usize, usize)>,
}

fn rows(crawled: &CrawledRepository) -> Vec<FileRow<'_>> {
    let mut places = vec![None; crawled.hashes.len()];
    for (cluster, files) in crawled.clusters.iter().enumerate() {
        for (order, file) in files.files.iter().enumerate() {
            places[*file] = Some((cluster, order));
        }
    }
    let files = crawled.repository.files().iter().zip(&crawled.splits).zip(&crawled.hashes).zip(places);
    files.map(|(((file, split), hash), place)| FileRow { crawled, file, split: *split, hash, place }).collect()
}

fn columns(rows: &[FileRow]) -> Vec<ArrayRef> {
    let index = |value: fn((usize, usize)) -> usize| -> ArrayRef {
        Arc::new(rows.iter().map(|row| row.place.map(|place| column_index(value(place)))).collect::<Int32Array>())
    };
    vec![
        string_column(rows, |row| &row.crawled.repository.name),
        string_column(rows, |row| row.split.name()),
        string_column(rows, |row| &row.crawled.provenance.source),
        string_column(rows, |row| &row.crawled.provenance.version),
        string_column(rows, |row| &row.crawled.provenance.revision),
        string_column(rows, |row| &row.crawled.provenance.license),
        string_column(rows, |row| &row.file.path),
        string_column(rows, |row| row.file.language.name()),
        string_column(rows, |row| &row.file.text),
        string_column(rows, |row| row.hash),
        index(|(cluster, _)| cluster),
        index(|(_, order)| order),
    ]
}

struct StoredFile {
    repository: String,
    provenance: Provenance,
    file: SourceFile,
    split: Split,
    hash: String,
    place: Option<(usize, usize)>,
}

fn stored(row: &Row) -> std::result::Result<StoredFile, String> {
    let text = row.string("text");
    Ok(StoredFile {
        repository: row.string("repository"),
        provenance: Provenance {
            source: row.string("source"),
            version: row.string("version"),
            license: row.string("license"),
            revision: row.string("revision"),
        },
        file: SourceFile { path: row.string("path"), language: row.parse("language")?, text },
        split: row.parse("split")?,
        hash: row.string("content_hash"),
        place: row.index("cluster")?.zip(row.index("cluster_order")?),
    })
}

fn repository(rows: &[StoredFile]) -> std::result::Result<CrawledRepository, String> {
    let name = &rows[0].repository;
    let files: Vec<SourceFile> = rows.iter().map(|row| row.file.clone()).collect();
    let repository = Repository::new(name.clone(), files);
    if !repository.files().iter().zip(rows).all(|(file, row)| file.path == row.file.path)
        || repository.files().len() != rows.len()
    {
        return Err(format!("has the files of {name} out of order: build the dataset again"));
    }
    let mut places: Vec<(usize, usize, usize)> = Vec::new();
    for (file, row) in rows.iter().enumerate() {
        places.extend(row.place.map(|(cluster, order)| (cluster, order, file)));
    }
    places.sort_unstable();
    let groups: Vec<&[_]> = places.chunk_by(|a, b| a.0 == b.0).collect();
    let is_complete = |(index, group): (usize, &&[(usize, usize, usize)])| {
        group[0].0 == index && group.iter().enumerate().all(|(order, place)| place.1 == order)
    };
    if !groups.iter().enumerate().all(is_complete) {
        return Err(format!("has incomplete clusters of {name}: build the dataset again"));
    }
    let clusters = groups.iter().map(|group| Cluster { files: group.iter().map(|place| place.2).collect() }).collect();
    let splits = rows.iter().map(|row| row.split).collect();
    let hashes = rows.iter().map(|row| row.hash.clone()).collect();
    Ok(CrawledRepository { repository, provenance: rows[0].provenance.clone(), splits, clusters, hashes })
}
