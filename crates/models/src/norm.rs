//! Normalization of hidden states, in `f32` whatever the type of matrix products.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use crate::kernels::{self, Residual};
use crate::weights::unloaded;

/// Scales every vector to a root mean square of one, then by a weight per component.
#[derive(Module, Debug)]
pub struct RmsNorm {
    /// `[width]`.
    pub weight: Param<Tensor<1>>,
    epsilon: f64,
}

impl RmsNorm {
    /// Creates a norm whose weight is yet to be loaded.
    #[must_use]
    pub fn new(width: usize, epsilon: f64, device: &Device) -> Self {
        Self { weight: unloaded([width], device), epsilon }
    }

    /// Normalizes every row.
    ///
    /// # Shapes
    ///
    /// - `input`, returns: `[rows, width]`
    #[must_use]
    pub fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        kernels::rms_norm(input, self.weight.val(), self.epsilon)
    }
}

/// Shifts and scales every vector to mean zero and variance one, then by a weight and a bias per component.
#[derive(Module, Debug)]
pub struct LayerNorm {
    /// `[width]`.
    pub weight: Param<Tensor<1>>,
    /// `[width]`.
    pub bias: Param<Tensor<1>>,
    epsilon: f64,
}

impl LayerNorm {
    /// Creates a norm whose weight and bias are yet to be loaded.
    #[must_use]
    pub fn new(width: usize, epsilon: f64, device: &Device) -> Self {
        Self { weight: unloaded([width], device), bias: unloaded([width], device), epsilon }
    }

    /// Normalizes every row.
    ///
    /// # Shapes
    ///
    /// - `input`, returns: `[rows, width]`
    #[must_use]
    pub fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        kernels::layer_norm(input, self.weight.val(), self.bias.val(), self.epsilon)
    }

    /// Adds a block's result to what went around it and normalizes every row of the sum.
    ///
    /// # Shapes
    ///
    /// - `block.hidden`, `block.residual`, returns: `[rows, width]`
    #[must_use]
    pub fn forward_residual(&self, block: Residual<2>) -> Tensor<2> {
        kernels::residual_layer_norm(block, self.weight.val(), self.bias.val(), self.epsilon)
    }
}
