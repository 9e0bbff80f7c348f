//! The tensors of a decoder in a GGUF file, as a Hugging Face checkpoint names and orders them.

use std::collections::BTreeMap;
use std::path::Path;

use super::names::{checkpoint_name, is_rotated};
use super::{Family, Gguf, rope};
use crate::Result;
use crate::weights::TensorSource;

/// The tensors of a decoder in a GGUF file, as a Hugging Face checkpoint names and orders them.
///
/// A tensor that no checkpoint has keeps its name, followed by `(GGUF)`.
#[derive(Debug)]
pub struct DecoderTensors<'a> {
    gguf: &'a Gguf,
    family: Family,
    head_dim: usize,
    names: BTreeMap<String, String>,
    shapes: BTreeMap<String, Vec<usize>>,
}

impl<'a> DecoderTensors<'a> {
    /// Names the tensors of a decoder whose heads have `head_dim` components.
    pub(super) fn new(gguf: &'a Gguf, family: Family, head_dim: usize) -> Self {
        let stored = gguf.tensors.iter().filter(|(name, _)| *name != rope::FACTORS);
        let names = stored.map(|(name, _)| (name_of(name), name.clone()));
        let names: BTreeMap<String, String> = names.collect();
        let shapes = names.iter().map(|(name, stored)| (name.clone(), gguf.tensors[stored].shape.clone()));
        Self { shapes: shapes.collect(), names, gguf, family, head_dim }
    }
}

fn name_of(name: &str) -> String {
    checkpoint_name(name).unwrap_or_else(|| format!("{name} (GGUF)"))
}

impl TensorSource for DecoderTensors<'_> {
    fn path(&self) -> &Path {
        self.gguf.path()
    }

    fn shapes(&self) -> &BTreeMap<String, Vec<usize>> {
        &self.shapes
    }

    fn read(&self, name: &str) -> Result<Vec<f32>> {
        let stored = self.names.get(name).ok_or_else(|| self.gguf.error(format!("has no tensor for {name}")))?;
        let values = self.gguf.read(stored)?;
        let rows = self.shapes[name].first().copied().unwrap_or(0);
        let is_permuted = self.family.permutes_heads() && is_rotated(stored);
        if !is_permuted || rows == 0 || self.head_dim < 2 || !rows.is_multiple_of(self.head_dim) {
            return Ok(values);
        }
        Ok(separate_halves(&values, rows, self.head_dim))
    }
}

/// Reorders rows from interleaved pairs, as the Llama family of GGUF rotates them, to two halves, as the checkpoint
/// does.
///
/// # Shapes
///
/// - `values`: `rows` rows of equal length, `head_dim` rows a head
pub(super) fn separate_halves(values: &[f32], rows: usize, head_dim: usize) -> Vec<f32> {
    reorder(values, rows, head_dim, |component| component % (head_dim / 2) * 2 + component / (head_dim / 2))
}

/// Undoes [`separate_halves`].
pub(super) fn interleave_halves(values: &[f32], rows: usize, head_dim: usize) -> Vec<f32> {
    reorder(values, rows, head_dim, |component| component % 2 * (head_dim / 2) + component / 2)
}

/// Returns the rows in the order in which `source` picks the rows of every head.
fn reorder(values: &[f32], rows: usize, head_dim: usize, source: impl Fn(usize) -> usize) -> Vec<f32> {
    let columns = values.len() / rows;
    let mut reordered = Vec::with_capacity(values.len());
    for row in 0..rows {
        let from = row / head_dim * head_dim + source(row % head_dim);
        reordered.extend_from_slice(&values[from * columns..(from + 1) * columns]);
    }
    reordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_heads_are_separated_and_interleaved_again() {
        let stored: Vec<f32> = (0..16).map(|value| value as f32).collect();
        let rows = separate_halves(&stored, 8, 4);
        let heads = [0., 1., 4., 5., 2., 3., 6., 7., 8., 9., 12., 13., 10., 11., 14., 15.];
        assert_eq!(rows, heads);
        assert_eq!(interleave_halves(&rows, 8, 4), stored);
    }
}
