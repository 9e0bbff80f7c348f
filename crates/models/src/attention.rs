//! Attention of decoders: which keys a query may see, and the values weighted by it.

use burn::tensor::activation::softmax;
use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::device::is_cpu;
use crate::dropout::Dropout;

/// What is added to the score of a key that a query may not see; its exponential is 0.
pub(crate) const MASKED: f32 = -1e9;

/// Queries that attend at once on a CPU.
const QUERY_BLOCK: usize = 128;

/// The keys that a query may see, and what is added to their scores.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "there are two masks in a forward pass")]
pub enum Mask {
    /// All of them.
    All,
    /// Those that precede it, and its own; the queries are the last positions.
    Causal,
    /// Added to the scores: `[batch or 1, heads or 1, length, total]`.
    Bias(Tensor<4>),
}

impl Mask {
    /// Returns the mask where query `q` of row `r` sees key `k` if `sees(r, q, k)`.
    #[must_use]
    pub fn where_seen(
        [n_rows, length, total]: [usize; 3],
        sees: impl Fn(usize, usize, usize) -> bool,
        device: &Device,
    ) -> Self {
        let mut bias = Vec::with_capacity(n_rows * length * total);
        for row in 0..n_rows {
            for query in 0..length {
                bias.extend((0..total).map(|key| if sees(row, query, key) { 0.0 } else { MASKED }));
            }
        }
        Self::Bias(Tensor::from_data(TensorData::new(bias, [n_rows, 1, length, total]), device))
    }

    /// Returns this mask with `bias` added to the scores besides.
    ///
    /// # Shapes
    ///
    /// - `bias`: `[batch or 1, heads or 1, length, total]`
    #[must_use]
    pub fn plus(&self, bias: Tensor<4>) -> Self {
        let [_batch, _heads, length, total] = bias.dims();
        let sees = |_, query, key| key + length <= query + total;
        match self {
            Self::All => Self::Bias(bias),
            Self::Causal if length == 1 => Self::Bias(bias),
            Self::Causal => Self::where_seen([1, length, total], sees, &bias.device()).plus(bias),
            Self::Bias(mask) => Self::Bias(mask.clone() + bias),
        }
    }

    /// Returns the mask of the given rows of the batch, if rows differ.
    pub(crate) fn select(&self, rows: &Tensor<1, Int>) -> Self {
        match self {
            Self::Bias(bias) if bias.dims()[0] > 1 => Self::Bias(bias.clone().select(0, rows.clone())),
            mask => mask.clone(),
        }
    }
}

/// Returns the values weighted by attention.
///
/// Keys and values may be shared by groups of heads. Scores are multiplied by `scale` before the softmax.
///
/// # Shapes
///
/// - `queries`: `[batch, heads, length, head_dim]`
/// - `keys`, `values`: `[batch, groups, total, head_dim]`
/// - returns: `[batch, heads, length, head_dim]`
pub(crate) fn attend(
    queries: Tensor<4>,
    keys: Tensor<4>,
    values: Tensor<4>,
    mask: &Mask,
    scale: f64,
    dropout: Option<(&mut Dropout, f64)>,
) -> Tensor<4> {
    let [_batch, _heads, length, head_dim] = queries.dims();
    let device = queries.device();
    let is_usual_scale = (scale * (head_dim as f64).sqrt() - 1.0).abs() < 1e-6;
    match mask {
        Mask::Causal if length > 1 && is_usual_scale && dropout.is_none() && !device.is_autodiff() => {
            attend_causally(&queries, keys, values)
        }
        Mask::Causal if length > 1 => {
            let [_batch, _groups, total, _head_dim] = keys.dims();
            let sees = |_, query, key| key + length <= query + total;
            attend_by_scores(
                queries,
                keys,
                values,
                &Mask::where_seen([1, length, total], sees, &device),
                scale,
                dropout,
            )
        }
        mask => attend_by_scores(queries, keys, values, mask, scale, dropout),
    }
}

/// The heads of a group are rows of one product, so that keys and values are read where they are.
fn attend_by_scores(
    queries: Tensor<4>,
    keys: Tensor<4>,
    values: Tensor<4>,
    mask: &Mask,
    scale: f64,
    dropout: Option<(&mut Dropout, f64)>,
) -> Tensor<4> {
    let [batch, heads, length, head_dim] = queries.dims();
    let [_batch, groups, total, _head_dim] = keys.dims();
    let grouped = queries.mul_scalar(scale).reshape([batch, groups, heads / groups * length, head_dim]);
    let mut scores = grouped.matmul(keys.transpose()).reshape([batch, heads, length, total]);
    if let Mask::Bias(bias) = mask {
        scores = scores + bias.clone();
    }
    let mut weights = softmax(scores, 3);
    if let Some((dropout, probability)) = dropout {
        weights = dropout.apply(weights, probability);
    }
    let weights = weights.reshape([batch, groups, heads / groups * length, total]);
    weights.matmul(values).reshape([batch, heads, length, head_dim])
}

/// Attends from each of the last positions to those that precede it and to itself.
///
/// On a CPU the kernel computes masked scores too, so that queries go to it in blocks, each with the keys it may see;
/// it knows groups, which other kernels do not.
fn attend_causally(queries: &Tensor<4>, keys: Tensor<4>, values: Tensor<4>) -> Tensor<4> {
    let [_batch, heads, length, _head_dim] = queries.dims();
    let [_batch, _groups, total, _head_dim] = keys.dims();
    let (keys, values, block) = if is_cpu(&queries.device()) {
        (keys, values, QUERY_BLOCK)
    } else {
        (repeat_groups(keys, heads), repeat_groups(values, heads), length)
    };
    let blocks = (0..length).step_by(block).map(|start| {
        let queries = queries.clone().narrow(2, start, block.min(length - start));
        let seen = total - length + start + queries.dims()[2];
        let options = AttentionModuleOptions { is_causal: true, ..AttentionModuleOptions::default() };
        attention(queries, keys.clone().narrow(2, 0, seen), values.clone().narrow(2, 0, seen), None, None, options)
    });
    Tensor::cat(blocks.collect(), 2)
}

/// Repeats each group's keys or values for every head of the group.
///
/// # Shapes
///
/// - `grouped`: `[batch, groups, total, head_dim]`
/// - returns: `[batch, heads, total, head_dim]`
fn repeat_groups(grouped: Tensor<4>, heads: usize) -> Tensor<4> {
    let [batch, groups, total, head_dim] = grouped.dims();
    if groups == heads {
        return grouped;
    }
    grouped
        .unsqueeze_dim::<5>(2)
        .expand([batch, groups, heads / groups, total, head_dim])
        .reshape([batch, heads, total, head_dim])
}

/// Cuts projected rows into heads.
///
/// # Shapes
///
/// - `projected`: `[batch * length, heads * head_dim]`
/// - returns: `[batch, heads, length, head_dim]`
pub(crate) fn split_heads(projected: Tensor<2>, length: usize, heads: usize) -> Tensor<4> {
    let [rows, size] = projected.dims();
    projected.reshape([rows / length, length, heads, size / heads]).swap_dims(1, 2)
}

/// Puts heads side by side again.
///
/// # Shapes
///
/// - `heads`: `[batch, heads, length, head_dim]`
/// - returns: `[batch * length, heads * head_dim]`
pub(crate) fn merge_heads(heads: Tensor<4>) -> Tensor<2> {
    let [batch, n_heads, length, head_dim] = heads.dims();
    heads.swap_dims(1, 2).reshape([batch * length, n_heads * head_dim])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DeviceSpec;
    use crate::random_model::random_tensor;

    #[test]
    fn every_way_to_attend_gives_the_same_values() {
        let device = crate::device::resolve(&DeviceSpec::Cpu).unwrap();
        for [batch, heads, groups, length, total] in [[1, 4, 2, 1, 9], [2, 6, 3, 5, 9], [1, 2, 1, 140, 150]] {
            let queries = random_tensor([batch, heads, length, 4], 1, &device);
            let keys = random_tensor([batch, groups, total, 4], 2, &device);
            let values = random_tensor([batch, groups, total, 4], 3, &device);
            let sees = |_, query, key| key + length <= query + total;
            let mask = Mask::where_seen([batch, length, total], sees, &device);
            let by_scores = attend(queries.clone(), keys.clone(), values.clone(), &mask, 0.5, None);
            let causal = attend(queries, keys, values, &Mask::Causal, 0.5, None);
            let error = (by_scores - causal).abs().max().into_scalar::<f32>();
            assert!(error < 1e-6, "{error}");
        }
    }
}
