//! Keys and values of the tokens read so far.

use burn::tensor::Tensor;

/// Keys and values of every layer for the tokens that a decoder has read.
///
/// A clone shares its tensors with the original until one of them is extended.
#[derive(Debug, Clone)]
pub struct LlamaCache {
    layers: Vec<KeyValues>,
    length: usize,
}

impl LlamaCache {
    pub(super) fn new(n_layers: usize) -> Self {
        Self { layers: vec![KeyValues::default(); n_layers], length: 0 }
    }

    /// Returns the number of tokens read.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    pub(super) fn layer_mut(&mut self, index: usize) -> &mut KeyValues {
        &mut self.layers[index]
    }

    pub(super) fn advance(&mut self, length: usize) {
        self.length += length;
    }
}

/// Keys and values of one layer, in buffers that may be longer than what they hold.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyValues {
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
    pub(super) fn append(&mut self, keys: Tensor<4>, values: Tensor<4>) -> (Tensor<4>, Tensor<4>) {
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
