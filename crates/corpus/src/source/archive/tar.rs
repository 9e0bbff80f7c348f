//! Tar archives, read entry by entry in raw form: long names and PAX records are taken apart here, so that their sizes
//! are bounded and a record that contradicts its header is noticed.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use lzma_rust2::XzReader;
use tar::{Archive, Entry, EntryType, PaxExtensions};

use super::gzip::Members;
use super::special;
use crate::filter::{DropReason, Filters};
use crate::source::Collector;
use crate::source::collector::Admission;
use crate::{Error, Result};

/// The longest extension record looked at, in bytes.
const EXTENSION_BYTES_MAX: u64 = 64 * 1024;

/// The most memory that the decoder of an xz archive may ask for, in KiB: four times what the strongest preset needs.
const XZ_KIBIBYTES_MAX: u32 = 256 * 1024;

/// Reads a gzip-compressed archive, which may expand to no more than the filters allow.
pub(super) fn read_gzip(path: &Path, file: File, filters: &Filters, collector: &mut Collector) -> Result<()> {
    read(path, bounded(Members::new(BufReader::new(file)), filters), collector)
}

/// Reads an xz-compressed archive, which may expand to no more than the filters allow.
pub(super) fn read_xz(path: &Path, file: File, filters: &Filters, collector: &mut Collector) -> Result<()> {
    let decoder = XzReader::new_mem_limit(BufReader::new(file), true, XZ_KIBIBYTES_MAX);
    read(path, bounded(decoder, filters), collector)
}

/// Hands every entry to the collector, and reads on to the end, where a compressed archive has its checksum.
pub(super) fn read(path: &Path, reader: impl Read, collector: &mut Collector) -> Result<()> {
    let failed = |error: io::Error| Error::archive(path, error);
    let mut archive = Archive::new(reader);
    let mut extension = Extension::default();
    for entry in archive.entries().map_err(failed)?.raw(true) {
        let mut entry = entry.map_err(failed)?;
        match entry.header().entry_type() {
            EntryType::GNULongName => extension.name = Some(long_name(&record(path, &mut entry)?)),
            EntryType::XHeader => extension.read_pax(path, &record(path, &mut entry)?)?,
            EntryType::GNULongLink | EntryType::XGlobalHeader => {}
            _ => self::entry(path, &mut entry, &std::mem::take(&mut extension), collector)?,
        }
    }
    io::copy(&mut archive.into_inner(), &mut io::sink()).map(drop).map_err(failed)
}

/// What the records before an entry say about it.
#[derive(Default)]
struct Extension {
    name: Option<Vec<u8>>,
    bytes: Option<u64>,
    is_sparse: bool,
}

impl Extension {
    fn read_pax(&mut self, path: &Path, record: &[u8]) -> Result<()> {
        for field in PaxExtensions::new(record) {
            let field = field.map_err(|error| Error::archive(path, format!("bad PAX record: {error}")))?;
            match field.key_bytes() {
                b"path" => self.name = Some(field.value_bytes().to_vec()),
                b"size" => {
                    self.bytes =
                        Some(decimal(field.value_bytes()).ok_or_else(|| Error::archive(path, "bad PAX size"))?);
                }
                key if key.starts_with(b"GNU.sparse") => self.is_sparse = true,
                _ => {}
            }
        }
        Ok(())
    }
}

fn entry<R: Read>(path: &Path, entry: &mut Entry<R>, extension: &Extension, collector: &mut Collector) -> Result<()> {
    let name = extension.name.clone().unwrap_or_else(|| entry.header().path_bytes().into_owned());
    let bytes = entry.header().entry_size().map_err(|error| Error::archive(path, error))?;
    // Readers that believe the other number would see other entries from here on.
    if let Some(stated) = extension.bytes.filter(|stated| *stated != bytes) {
        let name = crate::source::name::escape(&name);
        return Err(Error::archive(
            path,
            format!("the entry {name} has {bytes} bytes by its header and {stated} by its PAX record"),
        ));
    }
    if let Some((reason, detail)) = special_type(entry.header().entry_type(), extension) {
        return collector.drop(&name, bytes, reason, detail);
    }
    if entry.header().entry_type().is_dir() || name.ends_with(b"/") {
        return Ok(());
    }
    match collector.admit(&name, bytes)? {
        Admission::Done => Ok(()),
        Admission::Aside(aside) => {
            collector.read_aside(aside, entry);
            Ok(())
        }
        Admission::Read(name) => collector.read(name, bytes, entry),
    }
}

fn special_type(kind: EntryType, extension: &Extension) -> Option<(DropReason, &'static str)> {
    match kind {
        EntryType::Symlink => Some(special("a symbolic link")),
        EntryType::Link => Some(special("a hard link")),
        EntryType::Regular | EntryType::Continuous if extension.is_sparse => Some(special("a sparse file")),
        EntryType::Regular | EntryType::Continuous | EntryType::Directory => None,
        _ => Some(special("a special file")),
    }
}

fn record<R: Read>(path: &Path, entry: &mut Entry<R>) -> Result<Vec<u8>> {
    let mut record = Vec::new();
    entry.take(EXTENSION_BYTES_MAX + 1).read_to_end(&mut record).map_err(|error| Error::archive(path, error))?;
    if record.len() as u64 > EXTENSION_BYTES_MAX {
        return Err(Error::archive(path, format!("an extension record is longer than {EXTENSION_BYTES_MAX} bytes")));
    }
    Ok(record)
}

fn long_name(record: &[u8]) -> Vec<u8> {
    record.strip_suffix(b"\0").unwrap_or(record).to_vec()
}

fn decimal(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn bounded<R: Read>(inner: R, filters: &Filters) -> Bounded<R> {
    let limit = filters.archive_bytes_max;
    Bounded { inner, left: limit, limit }
}

/// A reader that fails beyond a limit.
struct Bounded<R> {
    inner: R,
    left: u64,
    limit: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(n as u64).ok_or_else(|| {
            io::Error::other(format!(
                "it expands to more than {} bytes: raise `crawl.archive_bytes_max` if that is intended",
                self.limit
            ))
        })?;
        Ok(n)
    }
}
