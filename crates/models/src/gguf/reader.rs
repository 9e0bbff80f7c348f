//! Little-endian numbers and texts from the bytes of a file.

/// Reads numbers, texts and arrays, none longer than what is left.
///
/// Errors are messages: the caller knows the path.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// Returns the number of bytes read so far.
    pub(super) fn position(&self) -> u64 {
        self.position as u64
    }

    pub(super) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let bytes = self.take(N as u64)?;
        Ok(bytes.try_into().expect("as many bytes are taken as are wanted"))
    }

    pub(super) fn u32(&mut self) -> Result<u32, String> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, String> {
        self.bytes().map(u64::from_le_bytes)
    }

    pub(super) fn text(&mut self) -> Result<String, String> {
        let length = self.u64()?;
        let bytes = self.take(length)?.to_vec();
        String::from_utf8(bytes).map_err(|_| format!("a text before byte {} is not UTF-8", self.position))
    }

    /// Reads a number of items that take at least `item_bytes_min` bytes each.
    pub(super) fn count(&mut self, item_bytes_min: u64) -> Result<u64, String> {
        let count = self.u64()?;
        let left = self.left();
        if count > left / item_bytes_min {
            let position = self.position;
            return Err(format!("{count} items announced at byte {position} do not fit the {left} bytes left"));
        }
        Ok(count)
    }

    fn left(&self) -> u64 {
        (self.bytes.len() - self.position) as u64
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], String> {
        let (left, position) = (self.left(), self.position);
        if length > left {
            return Err(format!("truncated or damaged: {length} bytes wanted at byte {position}, {left} left"));
        }
        self.position += length as usize;
        Ok(&self.bytes[position..self.position])
    }
}
