//! The hot spots of a network as functions over tensors, each a few passes over memory on a CPU.
//!
//! On a CPU, in `f32`, each function is one operation with a hand-written gradient; elsewhere it is the composition of
//! burn's operations in `kernels::plain`, which is also what the tests hold the kernels against. Kernels share work with the
//! threads of the rayon pool they run in; their results do not depend on the number of threads, but in the last bits on
//! the width of the processor's vectors.

#![allow(clippy::inline_always, reason = "a call would leave the instructions that the function is compiled for")]
#![allow(clippy::cast_possible_wrap, reason = "burn counts strides in signed numbers")]
#![allow(clippy::needless_pass_by_value, reason = "tensors are handed over, so that their buffers can be reused")]

#[cfg(feature = "cpu")]
mod activation;
#[cfg(feature = "cpu")]
mod attention;
#[cfg(feature = "cpu")]
mod dropped;
#[cfg(feature = "cpu")]
mod lanes;
mod mask;
#[cfg(feature = "cpu")]
mod nll;
#[cfg(feature = "cpu")]
mod norm;
#[cfg(feature = "cpu")]
mod operation;
pub(crate) mod plain;
#[cfg(feature = "cpu")]
mod product;
#[cfg(feature = "cpu")]
mod rotary;

#[cfg(feature = "cpu")]
use std::sync::Arc;

use burn::tensor::Tensor;
#[cfg(feature = "cpu")]
use operation::{fits, run};

use crate::activation::Activation;
use crate::rope::Pairing;

pub use mask::DropoutMask;

/// How queries attend to keys.
#[derive(Debug, Clone)]
pub struct AttentionRule {
    /// What scores are multiplied by.
    pub scale: f32,
    /// The queries are the last positions, and see none after their own.
    pub causal: bool,
    /// The number of keys up to its own position that a query sees, if limited.
    pub window: Option<usize>,
    /// What is added to the scaled scores, each dimension but the last equal to that of the scores or 1.
    pub bias: Option<Tensor<4>>,
    /// The dropout of the weights.
    pub dropout: Option<DropoutMask>,
}

/// Returns `activation(input + bias)`.
///
/// # Shapes
///
/// - `input`, returns: `[.., width]`
/// - `bias`: `[width]`
#[must_use]
pub fn activate<const D: usize>(input: Tensor<D>, bias: Option<Tensor<1>>, activation: Activation) -> Tensor<D> {
    #[cfg(feature = "cpu")]
    if fits(&input) {
        let bias = bias.unwrap_or_else(|| Tensor::zeros([input.dims()[D - 1]], &input.device()));
        return run(activation::Activate(activation), [input.into(), bias.into()]);
    }
    plain::activate(input, bias, activation)
}

/// Returns `activation(gate) * up`.
///
/// # Shapes
///
/// - `gate`, `up`, returns: equal
#[must_use]
pub fn gated<const D: usize>(gate: Tensor<D>, up: Tensor<D>, activation: Activation) -> Tensor<D> {
    #[cfg(feature = "cpu")]
    if fits(&gate) {
        return run(activation::Gate(activation), [gate.into(), up.into()]);
    }
    plain::gated(gate, up, activation)
}

/// Returns `silu(gate) * up`.
///
/// # Shapes
///
/// - `gate`, `up`, returns: equal
#[must_use]
pub fn silu_gate<const D: usize>(gate: Tensor<D>, up: Tensor<D>) -> Tensor<D> {
    gated(gate, up, Activation::Silu)
}

/// Sets the elements that `mask` drops to 0 and scales the others.
///
/// # Shapes
///
/// - `input`, returns: `[.., width]`
#[must_use]
pub fn drop_out<const D: usize>(input: Tensor<D>, mask: DropoutMask) -> Tensor<D> {
    #[cfg(feature = "cpu")]
    if fits(&input) {
        return run(dropped::DropOut(mask), [input.into()]);
    }
    plain::drop_out(input, Some(mask))
}

/// Returns `input` times the transpose of `weight`.
///
/// # Shapes
///
/// - `input`: `[rows, in]`
/// - `weight`: `[out, in]`
/// - returns: `[rows, out]`
#[must_use]
pub fn product(input: Tensor<2>, weight: Tensor<2>) -> Tensor<2> {
    #[cfg(feature = "cpu")]
    if fits(&input) && fits(&weight) {
        if weight.is_tracked() {
            return run(product::Product, [input.into(), weight.into()]);
        }
        return run(product::FrozenProduct(operation::untracked(weight)), [input.into()]);
    }
    input.matmul(weight.transpose())
}

/// Returns the given rows of a table.
///
/// # Shapes
///
/// - `table`: `[n, width]`
/// - returns: `[rows, width]`
///
/// # Panics
///
/// Panics if a row is not in the table.
#[must_use]
pub fn rows_of(table: Tensor<2>, rows: &[u32]) -> Tensor<2> {
    let [n, _width] = table.dims();
    assert!(rows.iter().all(|&row| (row as usize) < n), "the rows are in the table");
    #[cfg(feature = "cpu")]
    if fits(&table) {
        return run(product::RowsOf(Arc::new(rows.to_vec())), [table.into()]);
    }
    plain::rows_of(table, rows)
}

/// Returns `input + bias`, in place where nothing else needs `input`.
///
/// # Shapes
///
/// - `input`, returns: `[.., width]`
/// - `bias`: `[width]`
#[must_use]
pub fn add_bias<const D: usize>(input: Tensor<D>, bias: Tensor<1>) -> Tensor<D> {
    #[cfg(feature = "cpu")]
    if fits(&input) {
        return run(dropped::AddBias, [input.into(), bias.into()]);
    }
    input + bias.unsqueeze()
}

/// Returns `input` less its mean, over its deviation, times `weight`, plus `bias`.
///
/// # Shapes
///
/// - `input`, returns: `[.., width]`
/// - `weight`, `bias`: `[width]`
#[must_use]
pub fn layer_norm<const D: usize>(input: Tensor<D>, weight: Tensor<1>, bias: Tensor<1>, epsilon: f64) -> Tensor<D> {
    #[cfg(feature = "cpu")]
    if fits(&input) {
        let operation = norm::LayerNorm { epsilon: epsilon as f32 };
        return run(operation, [input.into(), weight.into(), bias.into()]);
    }
    plain::layer_norm(input, weight, bias, epsilon)
}

/// A projection's result on its way into a normalization.
pub struct Residual<const D: usize> {
    /// The projection without its bias.
    pub hidden: Tensor<D>,
    /// The bias of the projection, `[width]`.
    pub bias: Option<Tensor<1>>,
    /// What went around the block.
    pub residual: Tensor<D>,
    /// The dropout of the projection.
    pub dropout: Option<DropoutMask>,
}

/// Returns the layer norm of `residual + dropout(hidden + bias)`.
///
/// # Shapes
///
/// - `block.hidden`, `block.residual`, returns: `[.., width]`
/// - `weight`, `bias`: `[width]`
#[must_use]
pub fn residual_layer_norm<const D: usize>(
    block: Residual<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    let Residual { hidden, bias: hidden_bias, residual, dropout } = block;
    #[cfg(feature = "cpu")]
    if fits(&hidden) {
        let hidden_bias = hidden_bias.unwrap_or_else(|| bias.zeros_like());
        let operation = norm::ResidualLayerNorm { epsilon: epsilon as f32, dropout };
        let inputs = [hidden.into(), hidden_bias.into(), residual.into(), weight.into(), bias.into()];
        return run(operation, inputs);
    }
    let hidden = match hidden_bias {
        Some(bias) => hidden + bias.unsqueeze(),
        None => hidden,
    };
    let hidden = plain::drop_out(hidden, dropout);
    plain::layer_norm(hidden + residual, weight, bias, epsilon)
}

/// Returns `input` over its root mean square, times `weight`.
///
/// # Shapes
///
/// - `input`, returns: `[.., width]`
/// - `weight`: `[width]`
#[must_use]
pub fn rms_norm<const D: usize>(input: Tensor<D>, weight: Tensor<1>, epsilon: f64) -> Tensor<D> {
    #[cfg(feature = "cpu")]
    if fits(&input) {
        return run(norm::RmsNorm { epsilon: epsilon as f32 }, [input.into(), weight.into()]);
    }
    plain::rms_norm(input, weight, epsilon)
}

/// Returns the values weighted by attention.
///
/// Each group of keys and values serves `heads / groups` consecutive heads. On a CPU the scores exist one block of
/// queries at a time, in the backward pass too, and the result lies in memory as `[batch, length, heads, head_dim]`, so
/// that swapping those dimensions and joining the heads copies nothing. A bias gets a gradient only from the
/// composition, which a bias that requires one is sent to.
///
/// # Shapes
///
/// - `queries`, returns: `[batch, heads, length, head_dim]`
/// - `keys`, `values`: `[batch, groups, total, head_dim]`, `total >= length` if causal or in a window
#[must_use]
pub fn attention(queries: Tensor<4>, keys: Tensor<4>, values: Tensor<4>, rule: AttentionRule) -> Tensor<4> {
    #[cfg(feature = "cpu")]
    if fits(&queries) && !rule.bias.as_ref().is_some_and(Tensor::is_tracked) {
        let operation = attention::Attend {
            scale: rule.scale,
            causal: rule.causal,
            window: rule.window,
            bias: rule.bias.map(operation::constant),
            dropout: rule.dropout,
        };
        return run(operation, [queries.into(), keys.into(), values.into()]);
    }
    plain::attention(queries, keys, values, rule)
}

/// Turns the first `2 * half` components of each head by the angle of its position.
///
/// # Shapes
///
/// - `heads`, returns: `[batch, heads, length, head_dim]`
/// - `cosines`, `sines`: `[1 or batch, 1, length, half]`
#[must_use]
pub fn rotate(heads: Tensor<4>, cosines: Tensor<4>, sines: Tensor<4>, pairing: Pairing) -> Tensor<4> {
    #[cfg(feature = "cpu")]
    if fits(&heads) {
        let [cosines, sines] = [cosines, sines].map(operation::constant);
        return run(rotary::Rotate { pairing, cosines, sines }, [heads.into()]);
    }
    plain::rotate(heads, cosines, sines, pairing)
}

/// Returns the negative log-probability in nats of one token per row.
///
/// # Shapes
///
/// - `logits`: `[rows, vocabulary]`
/// - `targets`: `rows` tokens below `vocabulary`
/// - returns: `[rows]`
///
/// # Panics
///
/// Panics if there are not as many targets as rows, or if one is not below `vocabulary`.
#[must_use]
pub fn nll_of_rows(logits: Tensor<2>, targets: &[u32]) -> Tensor<1> {
    let [rows, vocabulary] = logits.dims();
    assert_eq!(rows, targets.len(), "every row of logits has a target");
    assert!(targets.iter().all(|&target| (target as usize) < vocabulary), "targets are in the vocabulary");
    #[cfg(feature = "cpu")]
    if fits(&logits) {
        return run(nll::NllOfRows { targets: Arc::new(targets.to_vec()) }, [logits.into()]);
    }
    plain::nll_of_rows(logits, targets)
}

#[cfg(all(test, feature = "cpu"))]
mod tests;
