//! Decoders out: GGUF version 3 as llama.cpp loads it, read tensor by tensor from a checkpoint.

mod config;
mod entries;
mod plan;
mod vocabulary;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::Value as Json;

use super::quantization::{f16_bytes, q8_0_bytes};
use super::tensors::interleave_halves;
use super::{TensorType, rope};
use crate::tokenizer::Tokenizer;
use crate::weights::TensorSource;
use crate::{Error, Result};
use config::DecoderConfig;
use entries::Entries;
use plan::{Content, Planned};

const VERSION: u32 = 3;
const ALIGNMENT: usize = 32;
/// The version of the layout of quantized blocks.
const QUANTIZATION_VERSION: u32 = 2;

/// How matrices are written; vectors stay 32-bit numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GgufType {
    /// 16-bit floating point.
    F16,
    /// Eight bits and a scale per 32; matrices whose rows are not whole blocks are written as [`Self::F16`].
    Q8_0,
}

impl GgufType {
    /// Returns the type of a tensor of `shape`.
    fn of(self, shape: &[usize]) -> TensorType {
        let (block, _) = TensorType::Q8_0.block();
        match (self, shape) {
            (_, [] | [_]) => TensorType::F32,
            (Self::Q8_0, [.., columns]) if columns.is_multiple_of(block) => TensorType::Q8_0,
            _ => TensorType::F16,
        }
    }

    /// Returns what the specification calls the file type.
    const fn number(self) -> u32 {
        match self {
            Self::F16 => 1,
            Self::Q8_0 => 7,
        }
    }
}

/// Writes a decoder as a GGUF file, replacing `path` only once all is written.
///
/// `config` is the content of `config.json`, of a family of [`super::Family`]; `tensors` has the checkpoint's names.
///
/// # Errors
///
/// Returns an error if the configuration or the tokenizer asks for something that the format or this writer cannot say,
/// if tensors are missing, unexpected, mis-shaped or beyond the range of `kind`, or if `path` cannot be written.
pub fn write_gguf(
    path: &Path,
    config: &Json,
    tokenizer: &Tokenizer,
    tensors: &impl TensorSource,
    kind: GgufType,
) -> Result<()> {
    let config = DecoderConfig::parse(config, tensors.path())?;
    let plan = plan::plan(&config, tensors, kind)?;
    let mut entries = Entries::default();
    config.describe(&mut entries, kind.number());
    vocabulary::describe(&config, tokenizer, tensors.path(), &mut entries)?;
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    let written = write_file(partial, &entries, &plan, tensors, config.head_dim);
    match written.and_then(|()| fs::rename(partial, path).map_err(Error::write(path))) {
        Err(error) if partial.exists() => fs::remove_file(partial).map_err(Error::write(partial)).and(Err(error)),
        result => result,
    }
}

fn write_file(
    path: &Path,
    entries: &Entries,
    plan: &[Planned],
    tensors: &impl TensorSource,
    head_dim: usize,
) -> Result<()> {
    let file = File::create(path).map_err(Error::write(path))?;
    let mut out = BufWriter::new(&file);
    out.write_all(&header(entries, plan)).map_err(Error::write(path))?;
    for tensor in plan {
        let bytes = padded(encode(tensor, tensors, head_dim)?);
        out.write_all(&bytes).map_err(Error::write(path))?;
    }
    out.flush().and_then(|()| file.sync_all()).map_err(Error::write(path))
}

/// Returns everything before the tensor data.
fn header(entries: &Entries, plan: &[Planned]) -> Vec<u8> {
    let mut header = b"GGUF".to_vec();
    header.extend_from_slice(&VERSION.to_le_bytes());
    header.extend_from_slice(&(plan.len() as u64).to_le_bytes());
    header.extend_from_slice(&entries.count().to_le_bytes());
    header.extend_from_slice(entries.bytes());
    let mut offset = 0_u64;
    for tensor in plan {
        header.extend(entries::text(&tensor.name));
        header.extend_from_slice(&(tensor.shape.len() as u32).to_le_bytes());
        tensor.shape.iter().rev().for_each(|&size| header.extend_from_slice(&(size as u64).to_le_bytes()));
        header.extend_from_slice(&tensor.kind.number().to_le_bytes());
        header.extend_from_slice(&offset.to_le_bytes());
        offset += tensor.n_bytes().next_multiple_of(ALIGNMENT) as u64;
    }
    padded(header)
}

fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    bytes
}

/// Returns the bytes of a tensor in the order and type of the file.
fn encode(tensor: &Planned, tensors: &impl TensorSource, head_dim: usize) -> Result<Vec<u8>> {
    let problem = |message: String| Error::Weights { path: tensors.path().to_owned(), message };
    let values = match &tensor.content {
        Content::Values(values) => values.clone(),
        Content::Tensor { name, is_permuted } => {
            let values = tensors.read(name)?;
            if values.len() != tensor.shape.iter().product::<usize>() {
                return Err(problem(format!("{name} has {} values, its shape {:?}", values.len(), tensor.shape)));
            }
            if *is_permuted { interleave_halves(&values, tensor.shape[0], head_dim) } else { values }
        }
    };
    let encoded = match tensor.kind {
        TensorType::Q8_0 => q8_0_bytes(&values),
        TensorType::F16 => f16_bytes(&values),
        _ => Ok(values.iter().flat_map(|value| value.to_le_bytes()).collect()),
    };
    encoded.map_err(|value| problem(format!("{}: {value} is beyond the range of {:?}", tensor.name, tensor.kind)))
}

#[cfg(test)]
mod tests;
