//! The header of a GGUF file: metadata and the description of every tensor.

use std::collections::BTreeMap;

use super::reader::Reader;
use super::{TensorInfo, TensorType, Value};

/// Above any header in use (a vocabulary of 250,000 tokens takes about 10 MB).
const HEADER_BYTES_MAX: usize = 256 << 20;
const DIMENSIONS_MAX: u32 = 4;
const ALIGNMENT_DEFAULT: u64 = 32;

/// What stands before the tensor data.
pub(super) struct Header {
    pub(super) metadata: BTreeMap<String, Value>,
    pub(super) tensors: BTreeMap<String, TensorInfo>,
}

/// A tensor as it is described: its offset counts from the start of the tensor data, which is not known yet.
struct Described {
    name: String,
    info: TensorInfo,
}

/// Reads the header of a file.
pub(super) fn read(file: &[u8]) -> Result<Header, String> {
    let file_bytes = file.len() as u64;
    let mut reader = Reader::new(&file[..file.len().min(HEADER_BYTES_MAX)]);
    if reader.bytes()? != *b"GGUF" {
        return Err("not a GGUF file".to_owned());
    }
    let version = reader.u32()?;
    if !(2..=3).contains(&version) {
        return Err(format!("GGUF version {version} is not supported, only 2 and 3 (little-endian)"));
    }
    let n_tensors = reader.count(DESCRIPTION_BYTES_MIN)?;
    let n_values = reader.count(ENTRY_BYTES_MIN)?;
    let metadata = read_metadata(&mut reader, n_values)?;
    let described: Vec<Described> = (0..n_tensors).map(|_| read_description(&mut reader)).collect::<Result<_, _>>()?;
    let alignment = alignment(&metadata)?;
    let start = reader.position().next_multiple_of(alignment);
    let tensors = place(described, start, file_bytes, alignment)?;
    Ok(Header { metadata, tensors })
}

/// A description has a name length, a number of dimensions, a type and an offset.
const DESCRIPTION_BYTES_MIN: u64 = 8 + 4 + 4 + 8;
/// An entry has a key length, a type and a value.
const ENTRY_BYTES_MIN: u64 = 8 + 4 + 1;

fn read_metadata(reader: &mut Reader<'_>, n_values: u64) -> Result<BTreeMap<String, Value>, String> {
    let mut metadata = BTreeMap::new();
    for _ in 0..n_values {
        let key = reader.text()?;
        let kind = reader.u32()?;
        let value = read_value(reader, kind).map_err(|message| format!("{key}: {message}"))?;
        if metadata.contains_key(&key) {
            return Err(format!("key {key} appears twice"));
        }
        metadata.insert(key, value);
    }
    Ok(metadata)
}

/// Reads a value of the type that the specification numbers `kind`.
fn read_value(reader: &mut Reader<'_>, kind: u32) -> Result<Value, String> {
    match kind {
        TEXT => reader.text().map(Value::Text),
        ARRAY => read_array(reader),
        FLOAT32 | FLOAT64 => read_float(reader, kind).map(Value::Float),
        _ => read_integer(reader, kind).map(Value::Integer),
    }
}

fn read_array(reader: &mut Reader<'_>) -> Result<Value, String> {
    let kind = reader.u32()?;
    match kind {
        TEXT => {
            let count = reader.count(8)?;
            let texts: Result<_, _> = (0..count).map(|_| reader.text()).collect();
            texts.map(Value::Texts)
        }
        ARRAY => Err("an array of arrays is not supported".to_owned()),
        FLOAT32 | FLOAT64 => {
            let count = reader.count(4)?;
            let floats: Result<_, _> = (0..count).map(|_| read_float(reader, kind)).collect();
            floats.map(Value::Floats)
        }
        _ => {
            let count = reader.count(1)?;
            let integers: Result<_, _> = (0..count).map(|_| read_integer(reader, kind)).collect();
            integers.map(Value::Integers)
        }
    }
}

const FLOAT32: u32 = 6;
const TEXT: u32 = 8;
const ARRAY: u32 = 9;
const FLOAT64: u32 = 12;

fn read_float(reader: &mut Reader<'_>, kind: u32) -> Result<f64, String> {
    if kind == FLOAT32 {
        reader.bytes().map(|bytes| f64::from(f32::from_le_bytes(bytes)))
    } else {
        reader.bytes().map(f64::from_le_bytes)
    }
}

fn read_integer(reader: &mut Reader<'_>, kind: u32) -> Result<i64, String> {
    match kind {
        0 | 7 => reader.bytes().map(|[byte]| i64::from(byte)),
        1 => reader.bytes().map(|bytes| i64::from(i8::from_le_bytes(bytes))),
        2 => reader.bytes().map(|bytes| i64::from(u16::from_le_bytes(bytes))),
        3 => reader.bytes().map(|bytes| i64::from(i16::from_le_bytes(bytes))),
        4 => reader.bytes().map(|bytes| i64::from(u32::from_le_bytes(bytes))),
        5 => reader.bytes().map(|bytes| i64::from(i32::from_le_bytes(bytes))),
        10 => i64::try_from(reader.u64()?).map_err(|_| "an integer above 2^63".to_owned()),
        11 => reader.bytes().map(i64::from_le_bytes),
        _ => Err(format!("{kind} is not the number of a value type")),
    }
}

fn read_description(reader: &mut Reader<'_>) -> Result<Described, String> {
    let name = reader.text()?;
    let info = read_info(reader).map_err(|message| format!("tensor {name}: {message}"))?;
    Ok(Described { name, info })
}

fn read_info(reader: &mut Reader<'_>) -> Result<TensorInfo, String> {
    let n_dimensions = reader.u32()?;
    if n_dimensions > DIMENSIONS_MAX {
        return Err(format!("{n_dimensions} dimensions are more than {DIMENSIONS_MAX}"));
    }
    let dimensions: Vec<u64> = (0..n_dimensions).map(|_| reader.u64()).collect::<Result<_, _>>()?;
    let kind = TensorType::from_number(reader.u32()?)?;
    let offset = reader.u64()?;
    let n_bytes = kind.n_bytes(&dimensions)?;
    let mut shape: Vec<usize> = dimensions
        .iter()
        .map(|&size| usize::try_from(size).map_err(|_| format!("a dimension of {size} is too large")))
        .collect::<Result<_, _>>()?;
    shape.reverse();
    Ok(TensorInfo { shape, kind, offset, n_bytes })
}

fn alignment(metadata: &BTreeMap<String, Value>) -> Result<u64, String> {
    match metadata.get("general.alignment") {
        None => Ok(ALIGNMENT_DEFAULT),
        Some(Value::Integer(alignment @ (1 | 2 | 4 | 8 | 16 | 32 | 64 | 128 | 256 | 512 | 1024 | 2048 | 4096))) => {
            Ok(alignment.unsigned_abs())
        }
        Some(other) => Err(format!("general.alignment {other:?} is not a small power of two")),
    }
}

/// Turns offsets into positions in the file, and checks that the tensors lie in it side by side.
fn place(
    described: Vec<Described>,
    start: u64,
    file_bytes: u64,
    alignment: u64,
) -> Result<BTreeMap<String, TensorInfo>, String> {
    let available = file_bytes.saturating_sub(start);
    let mut total = 0_u64;
    let mut tensors = BTreeMap::new();
    for Described { name, mut info } in described {
        let end = info.offset.checked_add(info.n_bytes);
        if end.is_none_or(|end| end > available) {
            return Err(format!("truncated or damaged: tensor {name} ends beyond the file"));
        }
        if !info.offset.is_multiple_of(alignment) {
            return Err(format!("tensor {name} is not aligned to {alignment} bytes"));
        }
        total += info.n_bytes;
        if total > available {
            return Err("tensors overlap".to_owned());
        }
        info.offset += start;
        if tensors.contains_key(&name) {
            return Err(format!("tensor {name} appears twice"));
        }
        tensors.insert(name, info);
    }
    Ok(tensors)
}
