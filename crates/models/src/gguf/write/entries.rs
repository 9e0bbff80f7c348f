//! Metadata entries as bytes.

/// Metadata entries in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Entries {
    count: u64,
    bytes: Vec<u8>,
}

impl Entries {
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn integer(&mut self, key: &str, value: u32) {
        self.entry(key, 4, &value.to_le_bytes());
    }

    pub(super) fn float(&mut self, key: &str, value: f64) {
        self.entry(key, 6, &(value as f32).to_le_bytes());
    }

    pub(super) fn flag(&mut self, key: &str, value: bool) {
        self.entry(key, 7, &[u8::from(value)]);
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.entry(key, 8, &text(value));
    }

    pub(super) fn texts<'a>(&mut self, key: &str, values: impl ExactSizeIterator<Item = &'a str>) {
        let count = values.len();
        self.array(key, 8, count, values.flat_map(text));
    }

    pub(super) fn integers(&mut self, key: &str, values: impl ExactSizeIterator<Item = i32>) {
        let count = values.len();
        self.array(key, 5, count, values.flat_map(i32::to_le_bytes));
    }

    pub(super) fn floats(&mut self, key: &str, values: impl ExactSizeIterator<Item = f32>) {
        let count = values.len();
        self.array(key, 6, count, values.flat_map(f32::to_le_bytes));
    }

    /// Adds an array of items of the type that the specification numbers `kind`.
    fn array(&mut self, key: &str, kind: u32, count: usize, items: impl Iterator<Item = u8>) {
        let mut bytes = kind.to_le_bytes().to_vec();
        bytes.extend_from_slice(&(count as u64).to_le_bytes());
        bytes.extend(items);
        self.entry(key, 9, &bytes);
    }

    fn entry(&mut self, key: &str, kind: u32, value: &[u8]) {
        self.count += 1;
        self.bytes.extend(text(key));
        self.bytes.extend_from_slice(&kind.to_le_bytes());
        self.bytes.extend_from_slice(value);
    }
}

/// Returns a text after its length.
pub(super) fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}
