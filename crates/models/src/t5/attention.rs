//! Attention with a learned bias for the distance between a query and a key, and without a scale.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

use super::T5Config;
use super::positions::Buckets;
use crate::attention::{Mask, attend, merge_heads, split_heads};
use crate::dropout::Dropout;
use crate::embedding::Embedding;
use crate::linear::Linear;

/// Attention of several heads, whose size has nothing to do with that of hidden states.
#[derive(Module, Debug)]
pub struct T5Attention {
    /// Queries.
    pub q: Linear,
    /// Keys.
    pub k: Linear,
    /// Values.
    pub v: Linear,
    /// Output.
    pub o: Linear,
    /// A bias per bucket of distances and head: in the first layer of a stack, for all its layers.
    pub relative_attention_bias: Option<Embedding>,
    num_heads: usize,
    dropout_rate: f64,
}

impl T5Attention {
    pub(super) fn new(config: &T5Config, has_positions: bool, device: &Device) -> Self {
        let inner = config.num_heads * config.d_kv;
        let project = || Linear::new(config.d_model, inner, false, device);
        let bias = || Embedding::new(config.relative_attention_num_buckets, config.num_heads, device);
        Self {
            q: project(),
            k: project(),
            v: project(),
            o: Linear::new(inner, config.d_model, false, device),
            relative_attention_bias: has_positions.then(bias),
            num_heads: config.num_heads,
            dropout_rate: config.dropout_rate,
        }
    }

    /// Returns the keys and values of `hidden`.
    ///
    /// # Shapes
    ///
    /// - `hidden`: `[batch * length, hidden]`
    /// - returns: two of `[batch, heads, length, head_dim]`
    pub(super) fn keys_and_values(
        &self,
        hidden: &Tensor<2>,
        length: usize,
        mut dropout: Option<&mut Dropout>,
    ) -> (Tensor<4>, Tensor<4>) {
        let mut project =
            |layer: &Linear| split_heads(layer.forward(hidden.clone(), dropout.as_deref_mut()), length, self.num_heads);
        (project(&self.k), project(&self.v))
    }

    /// Returns what the queries of `hidden` attend to.
    ///
    /// # Shapes
    ///
    /// - `hidden`, returns: `[batch * length, hidden]`
    /// - `keys`, `values`: `[batch, heads, total, head_dim]`
    pub(super) fn forward(
        &self,
        hidden: Tensor<2>,
        length: usize,
        (keys, values): (Tensor<4>, Tensor<4>),
        mask: &Mask,
        mut dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        let queries = split_heads(self.q.forward(hidden, dropout.as_deref_mut()), length, self.num_heads);
        let attention_dropout = dropout.as_deref_mut().map(|dropout| (dropout, self.dropout_rate));
        let attended = attend(queries, keys, values, mask, 1.0, attention_dropout);
        self.o.forward(merge_heads(attended), dropout)
    }

    /// Returns what is added to the scores of keys at `positions` of each row, for queries at the last `length` of them.
    ///
    /// One row stands for all if no two disagree.
    ///
    /// # Shapes
    ///
    /// - `positions`: `[batch, total]`, none for padding
    /// - returns: `[batch or 1, heads, length, total]`
    ///
    /// # Panics
    ///
    /// Panics if this is not the first layer of its stack.
    pub(super) fn position_bias(&self, buckets: Buckets, positions: &[Vec<Option<u32>>], length: usize) -> Tensor<4> {
        let table = self.relative_attention_bias.as_ref().expect("the first layer has a bias for distances");
        let common = common(positions).map(|row| vec![row]);
        let rows = common.as_deref().unwrap_or(positions);
        let total = rows[0].len();
        let of_row = |row: &Vec<Option<u32>>| -> Vec<u32> {
            let queries = &row[total - length..];
            queries.iter().flat_map(|&query| row.iter().map(move |&key| buckets.bucket(query, key))).collect()
        };
        let indices: Vec<u32> = rows.iter().flat_map(of_row).collect();
        table.forward(&indices).reshape([rows.len(), length, total, self.num_heads]).permute([0, 3, 1, 2])
    }

    pub(super) fn linears(&mut self) -> [(&'static str, &mut Linear); 4] {
        [("q", &mut self.q), ("k", &mut self.k), ("v", &mut self.v), ("o", &mut self.o)]
    }
}

/// Returns a row that agrees with all rows wherever they have a position, if there is one.
fn common(rows: &[Vec<Option<u32>>]) -> Option<Vec<Option<u32>>> {
    let at = |slot: usize| {
        let mut known = rows.iter().filter_map(|row| row[slot]);
        let first = known.next();
        known.all(|position| Some(position) == first).then_some(first)
    };
    (0..rows[0].len()).map(at).collect()
}
