//! Attention of decoders: which keys a query may see, and the values weighted by it.

use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::device::is_cpu;
use crate::dropout::Dropout;
use crate::kernels::{self, AttentionRule};

/// What is added to the score of a key that a query may not see; its exponential is 0.
pub(crate) const MASKED: f32 = -1e9;

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
    let dropout = dropout.and_then(|(dropout, probability)| dropout.mask(probability));
    let is_usual_scale = (scale * (head_dim as f64).sqrt() - 1.0).abs() < 1e-6;
    let is_usual = is_usual_scale && dropout.is_none() && length > 1;
    if matches!(mask, Mask::Causal) && is_usual && !device.is_autodiff() && !is_cpu(&device) {
        return attend_causally(queries, keys, values);
    }
    let rule = AttentionRule {
        scale: scale as f32,
        causal: matches!(mask, Mask::Causal),
        window: None,
        bias: match mask {
            Mask::Bias(bias) => Some(bias.clone()),
            Mask::All | Mask::Causal => None,
        },
        dropout,
    };
    kernels::attention(queries, keys, values, rule)
}

/// Attends from each of the last positions to those that precede it and to itself, with the device's own kernel.
fn attend_causally(queries: Tensor<4>, keys: Tensor<4>, values: Tensor<4>) -> Tensor<4> {
    let heads = queries.dims()[1];
    let [keys, values] = [keys, values].map(|grouped| repeat_groups(grouped, heads));
    let options = AttentionModuleOptions { is_causal: true, ..AttentionModuleOptions::default() };
    attention(queries, keys, values, None, None, options)
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
