//! Archives: entries are read in memory, one after the other, and nothing is ever unpacked.
//!
//! A single top-level folder whose name is no identifier (`NAME-VERSION`, as release archives have) is taken off the
//! paths, because imports are relative to what is below it.

use std::fs::File;
use std::path::Path;

use super::{Collector, RawRepository};
use crate::filter::{DropReason, Filters};
use crate::{Error, Result, digest};

mod gzip;
mod tar;
mod zip;

/// The name endings of archives, longest first.
const ENDINGS: [&str; 8] = [".tar.gz", ".tar.xz", ".tgz", ".txz", ".tar", ".zip", ".whl", ".jar"];

/// Returns the repository name that an archive's file name gives.
pub(super) fn name(path: &Path) -> String {
    let name = super::file_name(path);
    let stem = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
    stem.unwrap_or(&name).to_owned()
}

/// Reads an archive, after checking its sha256 if one is pinned.
pub(super) fn read_pinned(path: &Path, sha256: Option<&str>, filters: &Filters) -> Result<RawRepository> {
    let actual = digest::sha256_of_file(path)?;
    if let Some(expected) = sha256.filter(|expected| *expected != actual) {
        return Err(Error::HashMismatch {
            what: format!("the archive {}", path.display()),
            expected: expected.to_owned(),
            actual,
            advice: "replace the file or correct the manifest".to_owned(),
        });
    }
    let mut raw = read(path, filters)?;
    raw.revision = format!("sha256:{actual}");
    Ok(raw)
}

/// Reads an archive of any kind.
pub(super) fn read(path: &Path, filters: &Filters) -> Result<RawRepository> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let mut collector = Collector::new(filters);
    let mut notes = Vec::new();
    let name = super::file_name(path);
    match ENDINGS.iter().copied().find(|ending| name.ends_with(ending)) {
        Some(".tar.gz" | ".tgz") => tar::read_gzip(path, file, filters, &mut collector)?,
        Some(".tar.xz" | ".txz") => tar::read_xz(path, file, filters, &mut collector)?,
        Some(".tar") => tar::read(path, file, &mut collector)?,
        Some(_) => notes.extend(zip::read(path, file, &mut collector)?),
        None => return Err(Error::archive(path, format!("its name ends in none of {}", ENDINGS.join(" ")))),
    }
    let license = collector.license();
    let metadata = collector.asides().find(|(path, _)| path.ends_with(".dist-info/METADATA"));
    let license = metadata.and_then(|(_, text)| crate::license::of_metadata(&text)).or(license);
    collector.take_off_folder();
    let files = collector.finish();
    Ok(RawRepository { license, files, notes, ..RawRepository::default() })
}

/// What an entry of an archive is, other than a file.
fn special(detail: &'static str) -> (DropReason, &'static str) {
    let reason = if detail.ends_with("link") { DropReason::Symlink } else { DropReason::NotAFile };
    (reason, detail)
}
