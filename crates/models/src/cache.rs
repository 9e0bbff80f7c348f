//! Keys and values of the tokens read so far, for a batch of rows.

use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::attention::Mask;

/// Keys and values of every layer for the tokens that a decoder has read.
///
/// Rows may be of unequal length: a slot that holds padding in one row holds a token in another. A clone shares its
/// tensors with the original until one of them is extended.
#[derive(Debug, Clone)]
pub struct Cache {
    source: Option<Source>,
    layers: Vec<KeyValues>,
    positions: Vec<Vec<Option<u32>>>,
    n_slots: usize,
}

impl Cache {
    /// Creates the cache of a decoder of `n_layers` that has read nothing.
    #[must_use]
    pub fn new(n_layers: usize) -> Self {
        Self { source: None, layers: vec![KeyValues::default(); n_layers], positions: Vec::new(), n_slots: 0 }
    }

    /// Returns what an encoder has read.
    #[must_use]
    pub fn source(&self) -> Option<&Source> {
        self.source.as_ref()
    }

    /// Keeps what an encoder has read.
    pub(crate) fn set_source(&mut self, source: Source) {
        self.source = Some(source);
    }

    /// Returns the number of tokens that the decoder has read in the longest row; a source text does not count.
    #[must_use]
    pub fn length(&self) -> usize {
        (0..self.positions.len()).map(|row| self.next_position(row) as usize).max().unwrap_or(0)
    }

    /// Returns the number of rows, 0 before anything is read.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.positions.len()
    }

    /// Returns the number of slots, those that hold padding included.
    pub(crate) fn n_slots(&self) -> usize {
        self.n_slots
    }

    /// Returns the position of the token in each slot of a row, none for padding.
    pub(crate) fn positions(&self, row: usize) -> &[Option<u32>] {
        self.positions.get(row).map_or(&[], Vec::as_slice)
    }

    /// Returns the position of the token that a row reads next.
    pub(crate) fn next_position(&self, row: usize) -> u32 {
        self.positions(row).iter().rev().flatten().next().map_or(0, |position| position + 1)
    }

    /// Returns the keys and values of one layer.
    pub(crate) fn layer_mut(&mut self, index: usize) -> &mut KeyValues {
        &mut self.layers[index]
    }

    /// Notes that every row has read `length` more slots, at `positions` (row after row, none for padding).
    pub(crate) fn advance(&mut self, positions: &[Option<u32>], length: usize) {
        let n_rows = positions.len() / length;
        self.positions.resize(n_rows, vec![None; self.n_slots]);
        for (row, new) in self.positions.iter_mut().zip(positions.chunks_exact(length)) {
            row.extend_from_slice(new);
        }
        self.n_slots += length;
    }

    /// Returns a cache of the given rows, in the given order; a row may be taken several times.
    ///
    /// # Panics
    ///
    /// Panics if a row does not exist.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        Self {
            source: self.source.as_ref().map(|source| source.select(rows)),
            layers: self.layers.iter().map(|layer| layer.select(rows)).collect(),
            positions: rows.iter().map(|&row| self.positions[row].clone()).collect(),
            n_slots: self.n_slots,
        }
    }
}

/// What a decoder sees of the source texts that its encoder has read.
#[derive(Debug, Clone)]
pub struct Source {
    /// Keys and values of every layer of the decoder, `[batch, heads, length, head_dim]`.
    pub(crate) layers: Vec<(Tensor<4>, Tensor<4>)>,
    /// Hides padding.
    pub(crate) mask: Mask,
}

impl Source {
    fn select(&self, rows: &[usize]) -> Self {
        let Some((keys, _)) = self.layers.first() else {
            return self.clone();
        };
        let rows = indices(rows, &keys.device());
        let of = |tensor: &Tensor<4>| tensor.clone().select(0, rows.clone());
        let layers = self.layers.iter().map(|(keys, values)| (of(keys), of(values))).collect();
        Self { layers, mask: self.mask.select(&rows) }
    }
}

/// Keys and values of one layer, in buffers that may be longer than what they hold.
#[derive(Debug, Clone, Default)]
pub struct KeyValues {
    keys: Option<Tensor<4>>,
    values: Option<Tensor<4>>,
    length: usize,
}

impl KeyValues {
    /// Adds keys and values, and returns all of them.
    ///
    /// # Shapes
    ///
    /// - `keys`, `values`: `[batch, groups, length, head_dim]`
    /// - returns: two of `[batch, groups, total, head_dim]`
    pub(crate) fn append(&mut self, keys: Tensor<4>, values: Tensor<4>) -> (Tensor<4>, Tensor<4>) {
        let [_batch, _groups, length, _head_dim] = keys.dims();
        let total = self.length + length;
        let keys = write(self.keys.take(), keys, self.length);
        let values = write(self.values.take(), values, self.length);
        let filled = (keys.clone().narrow(2, 0, total), values.clone().narrow(2, 0, total));
        self.keys = Some(keys);
        self.values = Some(values);
        self.length = total;
        filled
    }

    fn select(&self, rows: &[usize]) -> Self {
        let of = |buffer: &Option<Tensor<4>>| {
            buffer.as_ref().map(|buffer| buffer.clone().select(0, indices(rows, &buffer.device())))
        };
        Self { keys: of(&self.keys), values: of(&self.values), length: self.length }
    }
}

fn indices(rows: &[usize], device: &Device) -> Tensor<1, Int> {
    let rows: Vec<i64> = rows.iter().map(|&row| i64::try_from(row).expect("rows are few")).collect();
    let n = rows.len();
    Tensor::from_data(TensorData::new(rows, [n]), device)
}

/// Writes `new` at position `start` of `buffer`, which at least doubles if it is too short.
fn write(buffer: Option<Tensor<4>>, new: Tensor<4>, start: usize) -> Tensor<4> {
    let [batch, groups, length, head_dim] = new.dims();
    let Some(buffer) = buffer else {
        return new;
    };
    let [_batch, _groups, capacity, _head_dim] = buffer.dims();
    let all = [0..batch, 0..groups, start..start + length, 0..head_dim];
    if start + length <= capacity {
        return buffer.slice_assign(all, new);
    }
    let larger = [batch, groups, (start + length).max(2 * capacity), head_dim];
    let old = [0..batch, 0..groups, 0..start, 0..head_dim];
    Tensor::zeros(larger, &new.device()).slice_assign(old.clone(), buffer.slice(old)).slice_assign(all, new)
}
