//! The activations of feed-forward layers, by the names that configurations give them.

use burn::tensor::Tensor;
use serde::Deserialize;

use crate::kernels;

/// The activation of a feed-forward layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Activation {
    /// The exact GELU, `x * (1 + erf(x / sqrt(2))) / 2`.
    Gelu,
    /// The GELU approximated by a hyperbolic tangent.
    GeluNew,
    /// `max(x, 0)`.
    Relu,
    /// `x * sigmoid(x)`.
    Silu,
}

impl Activation {
    /// Applies the activation to every element.
    #[must_use]
    pub fn forward<const D: usize>(self, input: Tensor<D>) -> Tensor<D> {
        kernels::activate(input, None, self)
    }
}

impl TryFrom<String> for Activation {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "gelu" => Ok(Self::Gelu),
            "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" => Ok(Self::GeluNew),
            "relu" => Ok(Self::Relu),
            "silu" | "swish" => Ok(Self::Silu),
            _ => Err(format!("`{}` is not implemented: expected gelu, gelu_new, relu or silu", name.escape_debug())),
        }
    }
}
