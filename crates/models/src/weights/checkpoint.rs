//! Safetensors in: one file or shards, every damage an error.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use half::{bf16, f16};
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::TensorSource;
use super::map::MappedFile;
use crate::error::Printable;
use crate::{Error, Result};

const SINGLE_FILE: &str = "model.safetensors";
const INDEX_FILE: &str = "model.safetensors.index.json";
const PICKLE_FILES: [&str; 2] = ["pytorch_model.bin", "pytorch_model.bin.index.json"];
/// The length of the header's length.
const LENGTH_BYTES: usize = 8;
/// No checkpoint has a header near this size; a damaged length usually exceeds it.
const HEADER_BYTES_MAX: u64 = 100_000_000;

/// The weights of a model in memory-mapped safetensors files, read tensor by tensor.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    shapes: BTreeMap<String, Vec<usize>>,
    entries: BTreeMap<String, Entry>,
}

/// Where the bytes of a tensor are.
#[derive(Debug)]
struct Entry {
    path: PathBuf,
    file: Arc<MappedFile>,
    dtype: Dtype,
    offset: u64,
    length: u64,
}

impl Checkpoint {
    /// Opens a directory in the layout of Hugging Face (`model.safetensors`, or its shards and their index), or one
    /// safetensors file, and checks the header of every file.
    ///
    /// # Errors
    ///
    /// Returns an error if there are no safetensors (naming the conversion where there is a pickle), if a file is
    /// truncated or its header damaged, if a tensor occurs twice, or if the index and the shards disagree.
    pub fn open(path: &Path) -> Result<Self> {
        let mut checkpoint = Self { path: path.to_owned(), shapes: BTreeMap::new(), entries: BTreeMap::new() };
        if !path.is_dir() {
            checkpoint.add_file(path)?;
        } else if path.join(SINGLE_FILE).exists() {
            checkpoint.add_file(&path.join(SINGLE_FILE))?;
        } else if path.join(INDEX_FILE).exists() {
            checkpoint.add_shards(&path.join(INDEX_FILE))?;
        } else {
            return Err(no_safetensors(path));
        }
        Ok(checkpoint)
    }

    fn add_shards(&mut self, index_file: &Path) -> Result<()> {
        let index = read_index(index_file)?;
        let files: BTreeSet<&String> = index.values().collect();
        for file in files {
            if file.contains(|character: char| matches!(character, '/' | '\\') || character.is_control()) {
                return Err(damaged(index_file, format!("`{file}` is not a file name")));
            }
            self.add_file(&self.path.join(file))?;
        }
        let is_listed_and_stored = |name: &&String| index.contains_key(*name) != self.shapes.contains_key(*name);
        if let Some(name) = index.keys().chain(self.shapes.keys()).find(is_listed_and_stored) {
            return Err(damaged(index_file, format!("the index and the shards disagree about `{name}`")));
        }
        Ok(())
    }

    fn add_file(&mut self, path: &Path) -> Result<()> {
        let file = Arc::new(MappedFile::open(path).map_err(Error::read(path))?);
        let (header, data_offset) = read_header(path, file.bytes())?;
        for (name, info) in header {
            let entry = Entry {
                path: path.to_owned(),
                file: Arc::clone(&file),
                dtype: info.dtype,
                offset: data_offset + info.data_offsets.0 as u64,
                length: (info.data_offsets.1 - info.data_offsets.0) as u64,
            };
            if self.entries.insert(name.clone(), entry).is_some() {
                return Err(damaged(path, format!("another shard has a tensor `{name}` too")));
            }
            self.shapes.insert(name, info.shape);
        }
        Ok(())
    }
}

impl TensorSource for Checkpoint {
    fn path(&self) -> &Path {
        &self.path
    }

    fn shapes(&self) -> &BTreeMap<String, Vec<usize>> {
        &self.shapes
    }

    fn read(&self, name: &str) -> Result<Vec<f32>> {
        let entry = self
            .entries
            .get(name)
            .ok_or_else(|| Error::Weights { path: self.path.clone(), message: format!("missing {name}") })?;
        let bytes = entry.file.get(entry.offset, entry.length);
        let bytes = bytes.ok_or_else(|| damaged(&entry.path, format!("`{name}` ends beyond the file")))?;
        to_f32(entry.dtype, bytes).ok_or_else(|| {
            let message = format!("`{name}` has type {:?}: expected F32, F16 or BF16", entry.dtype);
            damaged(&entry.path, message)
        })
    }
}

fn to_f32(dtype: Dtype, bytes: &[u8]) -> Option<Vec<f32>> {
    let (halves, _) = bytes.as_chunks::<2>();
    let (words, _) = bytes.as_chunks::<4>();
    match dtype {
        Dtype::F32 => Some(words.iter().map(|word| f32::from_le_bytes(*word)).collect()),
        Dtype::F16 => Some(halves.iter().map(|half| f16::from_le_bytes(*half).to_f32()).collect()),
        Dtype::BF16 => Some(halves.iter().map(|half| bf16::from_le_bytes(*half).to_f32()).collect()),
        _ => None,
    }
}

/// Returns the tensors that the header of a file describes and the offset of their data, in bytes.
fn read_header(file: &Path, bytes: &[u8]) -> Result<(BTreeMap<String, TensorInfo>, u64)> {
    let file_length = bytes.len() as u64;
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH_BYTES>() else {
        return Err(damaged(file, "the file is shorter than the length of its header".to_owned()));
    };
    let header_length = u64::from_le_bytes(*length);
    if header_length > HEADER_BYTES_MAX || header_length > rest.len() as u64 {
        return Err(damaged(
            file,
            format!("a header of {header_length} bytes does not fit a file of {file_length} bytes"),
        ));
    }
    let header = &rest[..header_length as usize];
    let tensors = parse_header(header).map_err(|message| damaged(file, message))?;
    let data_offset = LENGTH_BYTES as u64 + header_length;
    let end = tensors.values().map(|info| info.data_offsets.1 as u64).max().unwrap_or(0);
    if end != file_length - data_offset {
        let rest = file_length - data_offset;
        return Err(damaged(file, format!("the header announces {end} bytes of tensors, the file has {rest}")));
    }
    Ok((tensors, data_offset))
}

/// Returns the tensors of a header whose offsets follow one another and fit their shapes.
fn parse_header(json: &[u8]) -> std::result::Result<BTreeMap<String, TensorInfo>, String> {
    let Header(tensors) = serde_json::from_slice(json).map_err(|error| format!("damaged header: {error}"))?;
    if tensors.is_empty() {
        return Err("the header has no tensors".to_owned());
    }
    let mut ordered: Vec<(String, TensorInfo)> = tensors.clone().into_iter().collect();
    ordered.sort_by_key(|(_, info)| info.data_offsets);
    Metadata::new(None, ordered).map_err(|error| format!("damaged header: {error}"))?;
    Ok(tensors)
}

/// Returns which file holds every tensor.
fn read_index(path: &Path) -> Result<BTreeMap<String, String>> {
    #[derive(Deserialize)]
    struct Index {
        weight_map: UniqueMap<String>,
    }
    let text = std::fs::read_to_string(path).map_err(Error::read(path))?;
    let index: Index = serde_json::from_str(&text).map_err(|source| Error::Json { path: path.to_owned(), source })?;
    Ok(index.weight_map.0)
}

fn damaged(path: &Path, message: String) -> Error {
    Error::Safetensors { path: path.to_owned(), message }
}

fn no_safetensors(directory: &Path) -> Error {
    let pickle = PICKLE_FILES.iter().map(|name| directory.join(name)).find(|path| path.exists());
    match pickle {
        Some(path) => Error::Pickle { path, directory: directory.to_owned() },
        None => damaged(directory, format!("neither {SINGLE_FILE} nor {INDEX_FILE} is there")),
    }
}

/// The header of a safetensors file: its tensors, each named once.
struct Header(BTreeMap<String, TensorInfo>);

impl<'de> Deserialize<'de> for Header {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let UniqueMap(entries) = UniqueMap::<HeaderEntry>::deserialize(deserializer)?;
        let mut tensors = BTreeMap::new();
        for (name, entry) in entries {
            match (name.as_str(), entry) {
                ("__metadata__", HeaderEntry::Metadata(_)) => {}
                (_, HeaderEntry::Tensor(info)) => drop(tensors.insert(name, info)),
                _ => return Err(D::Error::custom(format!("`{name}` is not a tensor"))),
            }
        }
        Ok(Self(tensors))
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum HeaderEntry {
    Tensor(TensorInfo),
    Metadata(IgnoredAny),
}

/// A JSON object that refuses a key that occurs twice.
struct UniqueMap<V>(BTreeMap<String, V>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for UniqueMap<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(UniqueVisitor(std::marker::PhantomData))
    }
}

struct UniqueVisitor<V>(std::marker::PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for UniqueVisitor<V> {
    type Value = UniqueMap<V>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> std::result::Result<Self::Value, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((name, value)) = access.next_entry::<String, V>()? {
            if map.insert(name.clone(), value).is_some() {
                return Err(A::Error::custom(format!("`{}` occurs twice", Printable(&name))));
            }
        }
        Ok(UniqueMap(map))
    }
}
