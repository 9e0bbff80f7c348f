//! `LoRA` in factored form: `x W^T + s (x A^T) B^T`, without ever building a matrix of the weight's size.
//!
//! # References
//!
//! Hu et al., "`LoRA`: Low-Rank Adaptation of Large Language Models", 2021. Names and layouts are those of Python's
//! `peft`.

use burn::module::{Module, Param};
use burn::tensor::Tensor;

use crate::dropout::{Dropout, drop_out};

/// A low-rank addition to a linear layer.
#[derive(Module, Debug)]
pub struct Lora {
    /// `[rank, in]`.
    pub lora_a: Param<Tensor<2>>,
    /// `[out, rank]`.
    pub lora_b: Param<Tensor<2>>,
    scale: f64,
    dropout: f64,
}

impl Lora {
    /// Returns what is added to the layer's output.
    ///
    /// # Shapes
    ///
    /// - `input`: `[rows, in]`
    /// - returns: `[rows, out]`
    #[must_use]
    pub fn forward(&self, input: Tensor<2>, dropout: Option<&mut Dropout>) -> Tensor<2> {
        let input = drop_out(input, self.dropout, dropout);
        let low = input.matmul(self.lora_a.val().transpose());
        low.mul_scalar(self.scale).matmul(self.lora_b.val().transpose())
    }
}
