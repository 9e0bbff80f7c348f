//! Zip archives: wheels and jars too.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use zip::ZipArchive;

use super::special;
use crate::filter::DropReason;
use crate::source::Collector;
use crate::source::collector::Admission;
use crate::{Error, Result};

/// The file type bits of a Unix mode, and what the types are called.
const TYPE_MASK: u32 = 0o170_000;

/// Hands every entry to the collector; returns a verdict about the whole if entries share a name.
pub(super) fn read(path: &Path, file: File, collector: &mut Collector) -> Result<Option<(DropReason, String)>> {
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| Error::archive(path, error))?;
    for index in 0..archive.len() {
        entry(&mut archive, index, collector)?;
    }
    let detail = "the archive states some names more than once; the last entry of each was read";
    Ok(archive.has_duplicate_names().then(|| (DropReason::NameCollision, detail.to_owned())))
}

fn entry(archive: &mut ZipArchive<BufReader<File>>, index: usize, collector: &mut Collector) -> Result<()> {
    let (name, bytes, mode) = match archive.by_index_raw(index) {
        Ok(entry) if entry.name_raw().ends_with(b"/") => return Ok(()),
        Ok(entry) => (entry.name_raw().to_vec(), entry.size(), entry.unix_mode().unwrap_or(0)),
        Err(error) => {
            let name = format!("entry {index}");
            return collector.drop(name.as_bytes(), 0, DropReason::Unreadable, &error.to_string());
        }
    };
    if let Some((reason, detail)) = special_mode(mode) {
        return collector.drop(&name, bytes, reason, detail);
    }
    match collector.admit(&name, bytes)? {
        Admission::Done => Ok(()),
        Admission::Aside(aside) => {
            if let Ok(entry) = archive.by_index(index) {
                collector.read_aside(aside, entry);
            }
            Ok(())
        }
        Admission::Read(name) => match archive.by_index(index) {
            Ok(entry) => collector.read(name, bytes, entry),
            Err(error) => collector.unreadable(name, bytes, error.to_string()),
        },
    }
}

fn special_mode(mode: u32) -> Option<(DropReason, &'static str)> {
    match mode & TYPE_MASK {
        0o120_000 => Some(special("a symbolic link")),
        0 | 0o100_000 => None,
        _ => Some(special("a special file")),
    }
}
