//! Files read through the page cache without a copy: the one place of the workspace with `unsafe` code.

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::Mmap;

/// The bytes of a file as they were when it was opened, read from the disk when they are first looked at.
///
/// A weight file is written once, to a neighbor that is renamed. If another process cuts a mapped file short all the
/// same, looking at a page beyond its new end kills this process (`SIGBUS`), and bytes written in place show through:
/// whoever keeps several versions of a file must replace it by renaming. The name may go: the bytes stay.
#[derive(Debug)]
pub(crate) struct MappedFile {
    map: Mmap,
}

impl MappedFile {
    /// Maps the whole of a regular file.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such file, it may not be read, or it is a directory or a device.
    #[expect(unsafe_code, reason = "a mapping is unsafe by nature: the type says what a caller must keep")]
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        // SAFETY: the mapping is private and never written here, and its length is that of the file now. What others
        // could do to the file meanwhile is the hazard that the type documents.
        let map = unsafe { Mmap::map(&file)? };
        if map.len() as u64 != metadata.len() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file changed while it was opened"));
        }
        Ok(Self { map })
    }

    /// Returns all bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Returns `length` bytes from `offset` on, if the file has them.
    pub(crate) fn get(&self, offset: u64, length: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        self.bytes().get(start..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(content: &[u8]) -> MappedFile {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, content).unwrap();
        MappedFile::open(&path).unwrap()
    }

    #[test]
    fn a_mapping_shows_the_file_and_outlives_its_name() {
        let file = map(b"abcdef");
        assert_eq!(file.bytes(), b"abcdef");
        assert_eq!(file.get(2, 3), Some(&b"cde"[..]));
        assert_eq!(file.get(6, 0), Some(&b""[..]));
    }

    #[test]
    fn what_lies_beyond_the_file_is_not_there() {
        let file = map(b"abc");
        for (offset, length) in [(0, 4), (3, 1), (4, 0), (u64::MAX, 1), (1, u64::MAX)] {
            assert_eq!(file.get(offset, length), None);
        }
        assert_eq!(map(b"").bytes(), b"");
    }

    #[test]
    fn what_is_not_a_file_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert!(MappedFile::open(directory.path()).is_err());
        assert!(MappedFile::open(&directory.path().join("absent")).is_err());
    }
}
