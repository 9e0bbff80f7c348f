//! Normalization of hidden states, in `f32` whatever the type of matrix products.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

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
        let mean_square = (input.clone() * input.clone()).mean_dim(1);
        let scale = mean_square.add_scalar(self.epsilon).sqrt().recip();
        input * scale * self.weight.val().unsqueeze()
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
        let weight = self.weight.val();
        let centered = input.clone() - input.mean_dim(1);
        let variance = (centered.clone() * centered.clone()).mean_dim(1);
        let scale = variance.add_scalar(self.epsilon).sqrt().recip();
        centered * scale * weight.unsqueeze() + self.bias.val().unsqueeze()
    }
}
