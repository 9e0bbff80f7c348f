//! `LoRA` in factored form: `x W^T + s (x A^T) B^T`, without ever building a matrix of the weight's size.
//!
//! # References
//!
//! Hu et al., "`LoRA`: Low-Rank Adaptation of Large Language Models", 2021. Names, layouts and initial values are those
//! of Python's `peft`.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::dropout::{Dropout, drop_out};
use crate::{Error, Result};

/// The target that stands for all linear layers but the head.
pub(super) const ALL_LINEAR: &str = "all-linear";
/// The head in every architecture.
pub(super) const HEAD: &str = "lm_head";

/// Where low-rank additions go and how large they are.
#[derive(Debug, Clone, PartialEq)]
pub struct LoraConfig {
    /// Rows of A and columns of B, at least 1.
    pub rank: usize,
    /// What the addition is multiplied by, times the rank.
    pub alpha: f64,
    /// The dropout probability of the input of A.
    pub dropout: f64,
    /// Names of layers, each whole or from a dot to the end (`q_proj`); `all-linear` stands for all but the head.
    pub targets: Vec<String>,
}

impl LoraConfig {
    /// Checks every value by itself.
    ///
    /// # Errors
    ///
    /// Returns an error that names the first value that is out of range.
    pub fn validate(&self) -> Result<()> {
        let error = |key: &str, message: String| Err(Error::Adapter { key: key.to_owned(), message });
        if self.rank == 0 {
            return error("rank", "0 is not at least 1".to_owned());
        }
        if !(self.alpha.is_finite() && self.alpha > 0.0) {
            return error("alpha", format!("{} is not positive", self.alpha));
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return error("dropout", format!("{} is not at least 0 and below 1", self.dropout));
        }
        if self.targets.is_empty() {
            return error("targets", "names no layer".to_owned());
        }
        Ok(())
    }

    /// Tells whether `target` names the layer `name`.
    pub(super) fn is_target(target: &str, name: &str) -> bool {
        match target {
            ALL_LINEAR => name.rsplit('.').next() != Some(HEAD),
            _ => name.strip_suffix(target).is_some_and(|before| before.is_empty() || before.ends_with('.')),
        }
    }
}

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
    /// Draws A as `peft` does, uniformly within the inverse root of the number of inputs, and sets B to 0, so that
    /// nothing is added at first.
    #[must_use]
    pub fn new([input, output]: [usize; 2], config: &LoraConfig, stream: &mut ChaCha8Rng, device: &Device) -> Self {
        let bound = (input as f32).sqrt().recip();
        let drawn = (0..config.rank * input).map(|_| stream.random_range(-bound..=bound)).collect();
        let lora_a = TensorData::new(drawn, [config.rank, input]);
        let lora_b = TensorData::zeros::<f32, _>([output, config.rank]);
        Self::from_data(lora_a, lora_b, config.alpha / config.rank as f64, config.dropout, device)
    }

    /// Wraps A and B, whose product is multiplied by `scale`.
    pub(super) fn from_data(a: TensorData, b: TensorData, scale: f64, dropout: f64, device: &Device) -> Self {
        Self { lora_a: Param::from_data(a, device), lora_b: Param::from_data(b, device), scale, dropout }
    }

    /// Returns what the product of A and B is multiplied by.
    #[must_use]
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Returns the dropout probability of the input.
    #[must_use]
    pub fn dropout(&self) -> f64 {
        self.dropout
    }

    /// Returns the number of rows of A.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.lora_a.lazy_shape()[0]
    }

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

    /// Returns the matrix that stands for the addition.
    ///
    /// # Shapes
    ///
    /// - returns: `[out, in]`
    #[must_use]
    pub fn delta(&self) -> Tensor<2> {
        self.lora_b.val().matmul(self.lora_a.val()).mul_scalar(self.scale)
    }
}
