//! The gate that every entry of a source passes: names, sizes and budgets before any content is read.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use super::{RawContent, RawFile, name};
use crate::error::one_line;
use crate::filter::{DropReason, Filters};
use crate::{Error, Result};

/// The largest license or metadata file looked at, in bytes.
const ASIDE_BYTES_MAX: u64 = 256 * 1024;

/// The most license or metadata files looked at.
const ASIDES_MAX: usize = 32;

/// Gathers the entries of one repository.
pub(crate) struct Collector<'a> {
    filters: &'a Filters,
    files: Vec<RawFile>,
    bytes_left: u64,
    symlinks: BTreeSet<String>,
    asides: BTreeMap<String, Vec<u8>>,
}

/// What to do with an entry.
pub(crate) enum Admission {
    /// The content is wanted, under this path.
    Read(String),
    /// The entry has its verdict; the content may still be looked at as a license or metadata file.
    Aside(String),
    /// The entry has its verdict.
    Done,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(filters: &'a Filters) -> Self {
        let bytes_left = filters.repository_bytes_max;
        Self { filters, files: Vec::new(), bytes_left, symlinks: BTreeSet::new(), asides: BTreeMap::new() }
    }

    /// Records an entry that is not a file to read.
    pub(crate) fn drop(&mut self, name: &[u8], bytes: u64, reason: DropReason, detail: &str) -> Result<()> {
        let path = match name::check(name) {
            Ok(path) => path,
            Err(_) => name::escape(name),
        };
        if reason == DropReason::Symlink {
            self.symlinks.insert(path.clone());
        }
        self.push(path, bytes, RawContent::Dropped(reason, one_line(detail)))
    }

    /// Decides from its name and stated size whether a file is read, and records the verdict if not.
    pub(crate) fn admit(&mut self, name: &[u8], bytes: u64) -> Result<Admission> {
        let path = match name::check(name) {
            Ok(path) => path,
            Err(phrase) => return self.drop(name, bytes, DropReason::BadName, phrase).map(|()| Admission::Done),
        };
        if let Err(reason) = self.filters.check_path(&path) {
            self.push(path.clone(), bytes, RawContent::Dropped(reason, String::new()))?;
            let is_aside = bytes <= ASIDE_BYTES_MAX && self.asides.len() < ASIDES_MAX && is_aside(&path);
            return Ok(if is_aside { Admission::Aside(path) } else { Admission::Done });
        }
        if bytes > self.filters.file_bytes_max {
            let detail = format!("{bytes} bytes");
            self.push(path, bytes, RawContent::Dropped(DropReason::TooLarge, detail))?;
            return Ok(Admission::Done);
        }
        Ok(Admission::Read(path))
    }

    /// Reads an admitted file, however much longer than stated it may turn out to be.
    pub(crate) fn read(&mut self, path: String, bytes: u64, reader: impl Read) -> Result<()> {
        let limit = self.filters.file_bytes_max;
        let budget = self.bytes_left.min(limit);
        let mut content = Vec::new();
        let result = reader.take(budget.saturating_add(1)).read_to_end(&mut content);
        let n = content.len() as u64;
        self.bytes_left = self.bytes_left.saturating_sub(n);
        let content = match result {
            Err(error) => RawContent::Dropped(DropReason::Unreadable, one_line(error)),
            Ok(_) if n > limit => {
                RawContent::Dropped(DropReason::TooLarge, format!("expands to more than {limit} bytes"))
            }
            Ok(_) if n > budget => {
                RawContent::Dropped(DropReason::RepositoryTooLarge, "the repository's budget is spent".to_owned())
            }
            Ok(_) => RawContent::Read(content),
        };
        self.push(path, bytes, content)
    }

    /// Records that an admitted file could not be opened.
    pub(crate) fn unreadable(&mut self, path: String, bytes: u64, detail: String) -> Result<()> {
        self.push(path, bytes, RawContent::Dropped(DropReason::Unreadable, one_line(detail)))
    }

    /// Keeps the content of a license or metadata file; one that cannot be read counts as absent.
    pub(crate) fn read_aside(&mut self, path: String, reader: impl Read) {
        let mut content = Vec::new();
        if reader.take(ASIDE_BYTES_MAX).read_to_end(&mut content).is_ok() {
            self.asides.insert(path, content);
        }
    }

    /// Returns the license or metadata files looked at, by path.
    pub(crate) fn asides(&self) -> impl Iterator<Item = (&str, String)> {
        self.asides.iter().map(|(path, content)| (path.as_str(), String::from_utf8_lossy(content).into_owned()))
    }

    /// Returns the license that the least deep license file grants.
    pub(crate) fn license(&self) -> Option<String> {
        let mut asides: Vec<_> = self.asides().filter(|(path, _)| !path.ends_with("/METADATA")).collect();
        asides.sort_by_key(|(path, _)| path.matches('/').count());
        asides.iter().find_map(|(_, text)| crate::license::of_text(text))
    }

    /// Takes a single top-level folder off the paths, if its name is no identifier.
    pub(crate) fn take_off_folder(&mut self) {
        let Some((folder, _)) = self.files.first().and_then(|file| file.path.split_once('/')) else { return };
        let folder = format!("{folder}/");
        let is_identifier = folder.trim_end_matches('/').chars().all(|c| c.is_alphanumeric() || c == '_');
        if is_identifier || !self.files.iter().all(|file| file.path.starts_with(&folder)) {
            return;
        }
        for file in &mut self.files {
            file.path.drain(..folder.len());
        }
        let below = |path: &String| path.strip_prefix(&folder).map(str::to_owned);
        self.symlinks = self.symlinks.iter().filter_map(below).collect();
    }

    /// Returns the entries by path. Of entries whose names differ in letter case only, the first by path is kept; of
    /// equal names, the first that was recorded.
    pub(crate) fn finish(mut self) -> Vec<RawFile> {
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for index in 0..self.files.len() {
            if !matches!(self.files[index].content, RawContent::Read(_)) {
                continue;
            }
            let path = self.files[index].path.clone();
            let verdict = if let Some(link) = ancestors(&path).find(|ancestor| self.symlinks.contains(*ancestor)) {
                Some((DropReason::BadName, format!("lies below the symbolic link {link}")))
            } else {
                let first = *seen.entry(path.to_lowercase()).or_insert(index);
                (first != index)
                    .then(|| (DropReason::NameCollision, format!("collides with {}", self.files[first].path)))
            };
            if let Some((reason, detail)) = verdict {
                self.files[index].content = RawContent::Dropped(reason, detail);
            }
        }
        self.files
    }

    fn push(&mut self, path: String, bytes: u64, content: RawContent) -> Result<()> {
        let limit = self.filters.entries_max;
        if self.files.len() >= limit {
            return Err(Error::TooManyEntries { limit });
        }
        self.files.push(RawFile { path, bytes, content });
        Ok(())
    }
}

fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

fn is_aside(path: &str) -> bool {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let name = name.to_ascii_uppercase();
    let is_license = ["LICENSE", "LICENCE", "COPYING"].iter().any(|start| name.starts_with(start));
    if directory.ends_with(".dist-info") { name == "METADATA" } else { is_license && !directory.contains('/') }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(collector: Collector) -> String {
        let lines = collector.finish().into_iter().map(|file| match file.content {
            RawContent::Read(content) => format!("{} read {}\n", file.path, content.len()),
            RawContent::Dropped(reason, detail) => format!("{} {reason} {detail}\n", file.path),
        });
        lines.collect()
    }

    fn offer(collector: &mut Collector, name: &str, stated: u64, content: &[u8]) {
        match collector.admit(name.as_bytes(), stated).unwrap() {
            Admission::Read(path) => collector.read(path, stated, content).unwrap(),
            Admission::Aside(path) => collector.read_aside(path, content),
            Admission::Done => {}
        }
    }

    #[test]
    fn every_entry_gets_one_verdict() {
        let filters = Filters { file_bytes_max: 8, repository_bytes_max: 20, ..Filters::default() };
        let mut collector = Collector::new(&filters);
        collector.drop(b"link", 0, DropReason::Symlink, "").unwrap();
        for (name, stated, content) in [
            ("b.py", 3, &b"abc"[..]),
            ("B.py", 3, b"abc"),
            ("b.py", 3, b"twice"),
            ("link/c.py", 1, b"x"),
            ("../d.py", 1, b"x"),
            ("e.py", 99, b"x"),
            ("lies.py", 1, b"123456789"),
            ("last.py", 2, b"xy"),
            ("LICENSE", 60, b"permission is hereby granted, free of charge, to any person obtaining a copy"),
        ] {
            offer(&mut collector, name, stated, content);
        }
        assert_eq!(collector.license().as_deref(), Some("MIT"));
        expect_test::expect![[r"
            ../d.py bad_name has a component that is a dot or two
            B.py read 3
            LICENSE unsupported_language 
            b.py name_collision collides with B.py
            b.py name_collision collides with B.py
            e.py too_large 99 bytes
            last.py repository_too_large the repository's budget is spent
            lies.py too_large expands to more than 8 bytes
            link symlink 
            link/c.py bad_name lies below the symbolic link link
        "]]
        .assert_eq(&verdicts(collector));
    }

    #[test]
    fn the_number_of_entries_is_bounded() {
        let filters = Filters { entries_max: 2, ..Filters::default() };
        let mut collector = Collector::new(&filters);
        collector.admit(b"a.md", 1).unwrap();
        collector.admit(b"b.md", 1).unwrap();
        assert!(matches!(collector.admit(b"c.md", 1), Err(Error::TooManyEntries { limit: 2 })));
    }
}
