//! A directory as a repository: walked without following any link.
//!
//! `.git` directories are the store of a repository, not its files, and are passed over. What a `.gitignore` of the tree
//! excludes is dropped by name; an excluded directory is one entry, its path ending in `/`, and is not entered.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::collector::Admission;
use super::{Collector, RawRepository};
use crate::filter::{DropReason, Filters};
use crate::{Error, Result};

/// The largest `.gitignore` obeyed, in bytes.
const GITIGNORE_BYTES_MAX: u64 = 1_000_000;

/// An entry of a directory.
pub(super) struct Child {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

/// What an entry is; a link is never looked through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File,
    Symlink,
    Other,
}

/// Returns the entries of a directory by name, without `.git`.
pub(super) fn children(directory: &Path) -> Result<Vec<Child>> {
    let entries = std::fs::read_dir(directory).map_err(Error::io("list the directory", directory))?;
    let mut children = Vec::new();
    for entry in entries {
        let entry = entry.map_err(Error::io("list the directory", directory))?;
        let file_type = entry.file_type().map_err(Error::io("look at", &entry.path()))?;
        let kind = match () {
            () if file_type.is_symlink() => Kind::Symlink,
            () if file_type.is_dir() => Kind::Directory,
            () if file_type.is_file() => Kind::File,
            () => Kind::Other,
        };
        if entry.file_name() != ".git" {
            children.push(Child { path: entry.path(), kind });
        }
    }
    children.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(children)
}

/// Reads the repository in a directory.
pub(super) fn read(root: &Path, filters: &Filters) -> Result<RawRepository> {
    let mut walk = Walk { root, collector: Collector::new(filters) };
    // Each directory waits with the rules of its ancestors, nearest last.
    let mut waiting = vec![(root.to_path_buf(), Vec::new())];
    while let Some((directory, mut rules)) = waiting.pop() {
        let entries = match children(&directory) {
            Ok(entries) => entries,
            Err(error) if directory == root => return Err(error),
            Err(error) => {
                walk.drop(&directory, 0, DropReason::Unreadable, &with_cause(&error))?;
                continue;
            }
        };
        if filters.gitignore {
            rules.extend(gitignore(&directory));
        }
        for child in entries {
            if walk.visit(&child, &rules)? {
                waiting.push((child.path, rules.clone()));
            }
        }
    }
    let license = walk.collector.license();
    Ok(RawRepository { license, files: walk.collector.finish(), ..RawRepository::default() })
}

struct Walk<'a> {
    root: &'a Path,
    collector: Collector<'a>,
}

impl Walk<'_> {
    /// Gives an entry its verdict, or returns true for a directory to enter.
    fn visit(&mut self, child: &Child, rules: &[Gitignore]) -> Result<bool> {
        let is_directory = child.kind == Kind::Directory;
        if is_ignored(&child.path, is_directory, rules) {
            self.drop(&child.path, 0, DropReason::Ignored, "excluded by a .gitignore")?;
            return Ok(false);
        }
        match child.kind {
            Kind::Directory => return Ok(true),
            Kind::Symlink => self.drop(&child.path, 0, DropReason::Symlink, "not followed")?,
            Kind::Other => self.drop(&child.path, 0, DropReason::NotAFile, "")?,
            Kind::File => self.read(&child.path)?,
        }
        Ok(false)
    }

    fn read(&mut self, path: &Path) -> Result<()> {
        let name = self.name(path);
        let metadata = match path.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) => return self.drop(path, 0, DropReason::Unreadable, &error.to_string()),
        };
        let bytes = metadata.len();
        match self.collector.admit(&name, bytes)? {
            Admission::Done => Ok(()),
            Admission::Aside(aside) => {
                if let Ok(file) = open(path, &metadata) {
                    self.collector.read_aside(aside, file);
                }
                Ok(())
            }
            Admission::Read(name) => match open(path, &metadata) {
                Ok(file) => self.collector.read(name, bytes, file),
                Err(error) => self.collector.unreadable(name, bytes, error.to_string()),
            },
        }
    }

    fn drop(&mut self, path: &Path, bytes: u64, reason: DropReason, detail: &str) -> Result<()> {
        let mut name = self.name(path);
        if path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
            name.push(b'/');
        }
        self.collector.drop(&name, bytes, reason, detail)
    }

    fn name(&self, path: &Path) -> Vec<u8> {
        let relative = path.strip_prefix(self.root).unwrap_or(path);
        let name = relative.as_os_str().as_encoded_bytes().to_vec();
        if std::path::MAIN_SEPARATOR == '/' {
            name
        } else {
            name.iter().map(|b| if *b == b'\\' { b'/' } else { *b }).collect()
        }
    }
}

/// Opens a file, if it still is the one that was looked at and not a link put in its place.
fn open(path: &Path, seen: &Metadata) -> std::io::Result<File> {
    let file = File::open(path)?;
    if is_same(seen, &file.metadata()?) {
        Ok(file)
    } else {
        Err(std::io::Error::other("was replaced while it was read"))
    }
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    a.file_type() == b.file_type() && a.len() == b.len()
}

/// Returns the rules of a directory's own `.gitignore`, if it has one that is a plain file.
fn gitignore(directory: &Path) -> Option<Gitignore> {
    let path = directory.join(".gitignore");
    let metadata = path.symlink_metadata().ok()?;
    if !metadata.is_file() || metadata.len() > GITIGNORE_BYTES_MAX {
        return None;
    }
    let mut builder = GitignoreBuilder::new(directory);
    // A line that is no pattern is passed over, as git does.
    drop(builder.add(&path));
    builder.build().ok()
}

/// Returns whether the nearest rule that says anything excludes the entry.
fn is_ignored(path: &Path, is_directory: bool, rules: &[Gitignore]) -> bool {
    let decision =
        rules.iter().rev().map(|rules| rules.matched(path, is_directory)).find(|decision| !decision.is_none());
    decision.is_some_and(|decision| decision.is_ignore())
}

fn with_cause(error: &Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}
