//! The kernels as compositions of burn's operations, for devices that have their own.

use burn::tensor::activation::{self, log_softmax, softmax};
use burn::tensor::module::embedding;
use burn::tensor::{Device, Int, Tensor, TensorData};

use super::{AttentionRule, DropoutMask};
use crate::activation::Activation;
use crate::attention::MASKED;
use crate::rope::Pairing;

pub(crate) fn activate<const D: usize>(input: Tensor<D>, bias: Option<Tensor<1>>, kind: Activation) -> Tensor<D> {
    let input = match bias {
        Some(bias) => input + bias.unsqueeze(),
        None => input,
    };
    match kind {
        Activation::Gelu => activation::gelu(input),
        Activation::GeluNew => activation::gelu_approximate(input),
        Activation::Silu => activation::silu(input),
        Activation::Relu => activation::relu(input),
    }
}

pub(crate) fn gated<const D: usize>(gate: Tensor<D>, up: Tensor<D>, kind: Activation) -> Tensor<D> {
    activate(gate, None, kind) * up
}

/// Multiplies by the factors of a mask whose rows are all dimensions but the last.
pub(crate) fn drop_out<const D: usize>(input: Tensor<D>, mask: Option<DropoutMask>) -> Tensor<D> {
    let Some(mask) = mask else { return input };
    let shape = input.dims();
    let (width, rows) = (shape[D - 1], shape[..D - 1].iter().product());
    let row = |row| (0..width).map(move |column| mask.row(row).factor(column));
    let factors: Vec<f32> = (0..rows).flat_map(row).collect();
    let factors = Tensor::from_data(TensorData::new(factors, shape), &input.device());
    input * factors
}

pub(crate) fn layer_norm<const D: usize>(
    input: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    let centered = input.clone() - input.mean_dim(D - 1);
    let variance = centered.clone().square().mean_dim(D - 1);
    centered / variance.add_scalar(epsilon).sqrt() * weight.unsqueeze() + bias.unsqueeze()
}

pub(crate) fn rms_norm<const D: usize>(input: Tensor<D>, weight: Tensor<1>, epsilon: f64) -> Tensor<D> {
    let mean_square = input.clone().square().mean_dim(D - 1);
    input * mean_square.add_scalar(epsilon).sqrt().recip() * weight.unsqueeze()
}

/// The heads of a group are rows of one product, so that keys and values are read where they are.
pub(crate) fn attention(queries: Tensor<4>, keys: Tensor<4>, values: Tensor<4>, rule: AttentionRule) -> Tensor<4> {
    let [batch, heads, length, head_dim] = queries.dims();
    let [_batch, groups, total, _head_dim] = keys.dims();
    let grouped = queries.mul_scalar(rule.scale).reshape([batch, groups, heads / groups * length, head_dim]);
    let mut scores = grouped.matmul(keys.transpose()).reshape([batch, heads, length, total]);
    if let Some(bias) = rule.bias {
        scores = scores + bias;
    }
    if rule.causal || rule.window.is_some() {
        let bias = unseen(length, total, &rule_of(rule.causal, rule.window), &scores.device());
        scores = scores + bias;
    }
    let weights = drop_out(softmax(scores, 3), rule.dropout);
    let weights = weights.reshape([batch, groups, heads / groups * length, total]);
    weights.matmul(values).reshape([batch, heads, length, head_dim])
}

fn rule_of(causal: bool, window: Option<usize>) -> impl Fn(usize, usize) -> bool {
    move |position, key| (!causal || key <= position) && window.is_none_or(|window| key + window > position)
}

/// Returns 0 where the query at the end of `total` positions sees a key, and [`MASKED`] elsewhere.
fn unseen(length: usize, total: usize, sees: &dyn Fn(usize, usize) -> bool, device: &Device) -> Tensor<4> {
    let row = |query| (0..total).map(move |key| if sees(total - length + query, key) { 0.0 } else { MASKED });
    let values: Vec<f32> = (0..length).flat_map(row).collect();
    Tensor::from_data(TensorData::new(values, [1, 1, length, total]), device)
}

pub(crate) fn rotate(heads: Tensor<4>, cosines: Tensor<4>, sines: Tensor<4>, pairing: Pairing) -> Tensor<4> {
    let [batch, n_heads, length, head_dim] = heads.dims();
    let half = cosines.dims()[3];
    let part = heads.clone().narrow(3, 0, 2 * half);
    let (first, second) = match pairing {
        Pairing::Halves => (part.clone().narrow(3, 0, half), part.narrow(3, half, half)),
        Pairing::Neighbors => {
            let pairs = part.reshape([batch, n_heads, length, half, 2]);
            let side = |index| pairs.clone().narrow(4, index, 1).squeeze_dim::<4>(4);
            (side(0), side(1))
        }
    };
    let turned_first = first.clone() * cosines.clone() - second.clone() * sines.clone();
    let turned_second = second * cosines + first * sines;
    let turned = match pairing {
        Pairing::Halves => Tensor::cat(vec![turned_first, turned_second], 3),
        Pairing::Neighbors => {
            Tensor::stack::<5>(vec![turned_first, turned_second], 4).reshape([batch, n_heads, length, 2 * half])
        }
    };
    if 2 * half == head_dim {
        return turned;
    }
    Tensor::cat(vec![turned, heads.narrow(3, 2 * half, head_dim - 2 * half)], 3)
}

pub(crate) fn rows_of(table: Tensor<2>, rows: &[u32]) -> Tensor<2> {
    let [_n, width] = table.dims();
    let indices = indices(rows, &table.device()).unsqueeze::<2>();
    embedding(table, indices).reshape([rows.len(), width])
}

fn indices(values: &[u32], device: &Device) -> Tensor<1, Int> {
    let values: Vec<i64> = values.iter().map(|&value| i64::from(value)).collect();
    Tensor::from_data(values.as_slice(), device)
}

pub(crate) fn nll_of_rows(logits: Tensor<2>, targets: &[u32]) -> Tensor<1> {
    let indices = indices(targets, &logits.device()).unsqueeze_dim(1);
    log_softmax(logits, 1).gather(1, indices).squeeze_dim::<1>(1).neg()
}
