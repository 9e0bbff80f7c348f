//! GGUF files, versions 2 and 3: metadata, and tensors read one at a time as `f32`; decoders in and out.
//!
//! Every length in a file is checked against what is left of it before anything is allocated. Element types are those
//! of [`TensorType`]; a file with another is refused by name.
//!
//! # References
//!
//! The GGUF specification of the ggml project.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod family;
mod header;
mod names;
mod quantization;
mod reader;
mod rope;
#[cfg(test)]
pub(crate) mod sample;
mod tensors;
mod write;

pub use family::Family;
pub use quantization::TensorType;
pub use tensors::DecoderTensors;
pub use write::{GgufType, write_gguf};

use crate::weights::map::MappedFile;
use crate::{Error, Result};

/// One value of the metadata.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An integer of any width, or a truth value as 0 or 1.
    Integer(i64),
    /// A floating-point number of any width.
    Float(f64),
    /// A text.
    Text(String),
    /// An array of integers or truth values.
    Integers(Vec<i64>),
    /// An array of floating-point numbers.
    Floats(Vec<f64>),
    /// An array of texts.
    Texts(Vec<String>),
}

impl Value {
    /// Returns an integer or a text as it is written in errors.
    fn brief(&self) -> String {
        match self {
            Self::Integer(integer) => integer.to_string(),
            Self::Text(text) => text.clone(),
            _ => "a value of another kind".to_owned(),
        }
    }
}

/// Where a tensor lies and how it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// The dimensions in row-major order, the fastest last (in the file it is first).
    pub shape: Vec<usize>,
    /// How elements are stored.
    pub kind: TensorType,
    /// First byte in the file.
    offset: u64,
    /// Bytes in the file.
    n_bytes: u64,
}

/// A memory-mapped GGUF file: its metadata and a description of its tensors.
#[derive(Debug, Clone)]
pub struct Gguf {
    path: PathBuf,
    file: Arc<MappedFile>,
    metadata: BTreeMap<String, Value>,
    tensors: BTreeMap<String, TensorInfo>,
}

impl Gguf {
    /// Reads the header of a file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, is damaged or truncated, or uses a version or an element type that
    /// is not implemented.
    pub fn open(path: &Path) -> Result<Self> {
        let file = Arc::new(MappedFile::open(path).map_err(Error::read(path))?);
        let header = header::read(file.bytes()).map_err(|message| Error::Gguf { path: path.to_owned(), message })?;
        Ok(Self { path: path.to_owned(), file, metadata: header.metadata, tensors: header.tensors })
    }

    /// Returns the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the tensors by name.
    #[must_use]
    pub fn tensors(&self) -> &BTreeMap<String, TensorInfo> {
        &self.tensors
    }

    /// Returns a value of the metadata.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.metadata.get(key)
    }

    /// Returns an integer that is not negative, if the key is present.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is of another kind.
    pub fn unsigned(&self, key: &str) -> Result<Option<usize>> {
        self.typed(key, "an integer that is not negative", |value| match value {
            Value::Integer(integer) => usize::try_from(*integer).ok(),
            _ => None,
        })
    }

    /// Returns a number, if the key is present.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is of another kind.
    pub fn float(&self, key: &str) -> Result<Option<f64>> {
        self.typed(key, "a number", |value| match value {
            Value::Integer(integer) => Some(*integer as f64),
            Value::Float(float) => Some(*float),
            _ => None,
        })
    }

    /// Returns a text, if the key is present.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is of another kind.
    pub fn text(&self, key: &str) -> Result<Option<&str>> {
        self.typed(key, "a text", |value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns an array of texts, if the key is present.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is of another kind.
    pub fn texts(&self, key: &str) -> Result<Option<&[String]>> {
        self.typed(key, "an array of texts", |value| match value {
            Value::Texts(texts) => Some(texts.as_slice()),
            _ => None,
        })
    }

    /// Returns an array of integers, if the key is present.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is of another kind.
    pub fn integers(&self, key: &str) -> Result<Option<&[i64]>> {
        self.typed(key, "an array of integers", |value| match value {
            Value::Integers(integers) => Some(integers.as_slice()),
            _ => None,
        })
    }

    /// Returns an array of numbers, if the key is present.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is of another kind.
    pub fn floats(&self, key: &str) -> Result<Option<&[f64]>> {
        self.typed(key, "an array of numbers", |value| match value {
            Value::Floats(floats) => Some(floats.as_slice()),
            _ => None,
        })
    }

    /// Returns a truth value, if the key is present.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is of another kind.
    pub fn flag(&self, key: &str) -> Result<Option<bool>> {
        self.typed(key, "a truth value", |value| match value {
            Value::Integer(integer @ (0 | 1)) => Some(*integer == 1),
            _ => None,
        })
    }

    fn typed<'a, T>(&'a self, key: &str, expected: &str, read: impl Fn(&'a Value) -> Option<T>) -> Result<Option<T>> {
        let Some(value) = self.metadata.get(key) else {
            return Ok(None);
        };
        match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(self.error(format!("{key} is not {expected}"))),
        }
    }

    /// Reads one tensor in row-major order.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such tensor.
    pub fn read(&self, name: &str) -> Result<Vec<f32>> {
        let info = self.tensors.get(name).ok_or_else(|| self.error(format!("has no tensor {name}")))?;
        let bytes = self.file.get(info.offset, info.n_bytes);
        let bytes = bytes.ok_or_else(|| self.error(format!("tensor {name} ends beyond the file")))?;
        Ok(info.kind.dequantize(bytes))
    }

    /// Returns the error that `message` describes.
    pub(crate) fn error(&self, message: String) -> Error {
        Error::Gguf { path: self.path.clone(), message }
    }
}

#[cfg(test)]
mod fuzz;
#[cfg(all(test, feature = "golden"))]
mod qwen2_coder;
#[cfg(test)]
mod tests;
