//! GGUF files written for tests.

use std::path::PathBuf;

use tempfile::TempDir;

/// The parts of a GGUF file; [`Sample::bytes`] puts them together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    entries: Vec<Vec<u8>>,
    descriptions: Vec<Vec<u8>>,
    data: Vec<u8>,
}

impl Sample {
    /// Adds a metadata entry of the type that the specification numbers `kind`.
    pub(crate) fn entry(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
        self.entries.push([&text(key), &kind.to_le_bytes()[..], value].concat());
        self
    }

    pub(crate) fn integer(self, key: &str, value: u32) -> Self {
        self.entry(key, 4, &value.to_le_bytes())
    }

    pub(crate) fn float(self, key: &str, value: f32) -> Self {
        self.entry(key, 6, &value.to_le_bytes())
    }

    pub(crate) fn text(self, key: &str, value: &str) -> Self {
        self.entry(key, 8, &text(value))
    }

    pub(crate) fn texts(self, key: &str, values: &[&str]) -> Self {
        let items: Vec<u8> = values.iter().flat_map(|value| text(value)).collect();
        self.entry(key, 9, &[&8_u32.to_le_bytes()[..], &count(values.len()), &items].concat())
    }

    pub(crate) fn integers(self, key: &str, values: &[i32]) -> Self {
        let items: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.entry(key, 9, &[&5_u32.to_le_bytes()[..], &count(values.len()), &items].concat())
    }

    /// Adds a tensor of `shape` in row-major order, of the type that the specification numbers `kind`.
    pub(crate) fn tensor(mut self, name: &str, shape: &[usize], kind: u32, bytes: &[u8]) -> Self {
        let dimensions: Vec<u8> = shape.iter().rev().flat_map(|&size| count(size)).collect();
        let n_dimensions = (shape.len() as u32).to_le_bytes();
        let offset = count(self.data.len());
        let description = [&text(name), &n_dimensions[..], &dimensions, &kind.to_le_bytes(), &offset];
        self.descriptions.push(description.concat());
        self.data.extend_from_slice(bytes);
        self.data.resize(self.data.len().next_multiple_of(32), 0);
        self
    }

    /// Adds the entries of another file.
    pub(crate) fn and(mut self, other: &Self) -> Self {
        self.entries.extend_from_slice(&other.entries);
        self
    }

    pub(crate) fn floats(self, name: &str, shape: &[usize], values: &[f32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensor(name, shape, 0, &bytes)
    }

    /// Returns the number of bytes before the padding that precedes the tensors.
    pub(crate) fn header_bytes(&self) -> usize {
        self.header().len()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header();
        bytes.resize(bytes.len().next_multiple_of(32), 0);
        bytes.extend_from_slice(&self.data);
        bytes
    }

    /// Writes the file into a directory that goes with the guard.
    pub(crate) fn write(&self) -> (TempDir, PathBuf) {
        write(&self.bytes())
    }

    fn header(&self) -> Vec<u8> {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(count(self.descriptions.len()));
        bytes.extend(count(self.entries.len()));
        bytes.extend(self.entries.iter().chain(&self.descriptions).flatten());
        bytes
    }
}

/// Writes `bytes` as a file into a directory that goes with the guard.
pub(crate) fn write(bytes: &[u8]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.gguf");
    std::fs::write(&path, bytes).unwrap();
    (directory, path)
}

fn text(text: &str) -> Vec<u8> {
    [&count(text.len())[..], text.as_bytes()].concat()
}

fn count(count: usize) -> [u8; 8] {
    (count as u64).to_le_bytes()
}
