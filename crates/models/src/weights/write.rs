//! Safetensors out.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use half::bf16;
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};

use super::HostTensor;
use crate::linear::Precision;
use crate::{Error, Result};

/// Writes `tensors` as a safetensors file in the order of their names, the same bytes for the same tensors.
///
/// A reader sees the old file or the whole new one: the bytes go to a neighbor of `path` that is renamed at the end.
///
/// # Errors
///
/// Returns an error if `path` cannot be written.
///
/// # Panics
///
/// Panics if a tensor has more or fewer values than its shape says.
pub fn write(path: &Path, tensors: &BTreeMap<String, HostTensor>) -> Result<()> {
    write_as(path, tensors, Precision::F32)
}

/// Writes `tensors` as [`write()`] does, each number rounded to `precision`.
///
/// # Errors
///
/// Returns an error if `path` cannot be written.
///
/// # Panics
///
/// Panics if a tensor has more or fewer values than its shape says.
pub fn write_as(path: &Path, tensors: &BTreeMap<String, HostTensor>, precision: Precision) -> Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    let file = File::create(partial).map_err(Error::write(partial))?;
    write_to(&file, tensors, precision)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(partial, path))
        .map_err(Error::write(path))
}

fn write_to(file: &File, tensors: &BTreeMap<String, HostTensor>, precision: Precision) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    let header = header(tensors, precision);
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    for value in tensors.values().flat_map(|tensor| &tensor.values) {
        match precision {
            Precision::F32 => out.write_all(&value.to_le_bytes())?,
            Precision::Bf16 => out.write_all(&bf16::from_f32(*value).to_le_bytes())?,
        }
    }
    out.flush()
}

/// Returns the header as JSON, padded with spaces so that the tensors start at a multiple of 8 bytes.
fn header(tensors: &BTreeMap<String, HostTensor>, precision: Precision) -> Vec<u8> {
    let (dtype, value_bytes) = match precision {
        Precision::F32 => (Dtype::F32, 4),
        Precision::Bf16 => (Dtype::BF16, 2),
    };
    let mut offset = 0;
    let infos = tensors.iter().map(|(name, tensor)| {
        assert_eq!(tensor.values.len(), tensor.shape.iter().product::<usize>(), "{name} fills its shape");
        let start = offset;
        offset += value_bytes * tensor.values.len();
        let info = TensorInfo { dtype, shape: tensor.shape.clone(), data_offsets: (start, offset) };
        (name.clone(), info)
    });
    let format = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    let metadata = Metadata::new(Some(format), infos.collect()).expect("the offsets follow one another");
    let mut header = serde_json::to_vec(&metadata).expect("names and numbers are JSON");
    header.resize(header.len().next_multiple_of(8), b' ');
    header
}
