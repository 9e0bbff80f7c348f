//! Little-endian numbers and texts from a file whose length is known.

use std::io::{BufReader, Read};

/// Reads numbers, texts and arrays, none longer than what is left of the file.
///
/// Errors are messages: the caller knows the path.
pub(super) struct Reader<R> {
    inner: BufReader<R>,
    position: u64,
    end: u64,
}

impl<R: Read> Reader<R> {
    /// Reads at most the first `end` bytes of `inner`.
    pub(super) fn new(inner: R, end: u64) -> Self {
        Self { inner: BufReader::new(inner), position: 0, end }
    }

    /// Returns the number of bytes read so far.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.reserve(N as u64)?;
        let mut bytes = [0; N];
        self.inner.read_exact(&mut bytes).map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, String> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, String> {
        self.bytes().map(u64::from_le_bytes)
    }

    pub(super) fn text(&mut self) -> Result<String, String> {
        let length = self.u64()?;
        self.reserve(length)?;
        let mut bytes = Vec::new();
        let read = self.inner.by_ref().take(length).read_to_end(&mut bytes);
        let read = read.map_err(|error| error.to_string())?;
        if read as u64 != length {
            return Err("the file is shorter than when it was opened".to_owned());
        }
        String::from_utf8(bytes).map_err(|_| format!("a text before byte {} is not UTF-8", self.position))
    }

    /// Reads a number of items that take at least `item_bytes_min` bytes each.
    pub(super) fn count(&mut self, item_bytes_min: u64) -> Result<u64, String> {
        let count = self.u64()?;
        let left = self.end - self.position;
        if count > left / item_bytes_min {
            let position = self.position;
            return Err(format!("{count} items announced at byte {position} do not fit the {left} bytes left"));
        }
        Ok(count)
    }

    fn reserve(&mut self, length: u64) -> Result<(), String> {
        let left = self.end - self.position;
        if length > left {
            let position = self.position;
            return Err(format!("truncated or damaged: {length} bytes wanted at byte {position}, {left} left"));
        }
        self.position += length;
        Ok(())
    }
}
