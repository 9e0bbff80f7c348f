//! Linear layers in a checkpoint's own layout, with what an adapter adds to them.

use burn::module::{Module, Param};
use burn::tensor::{DType, Device, Tensor};

use crate::adapter::{Lora, TrainableRows};
use crate::dropout::Dropout;
use crate::kernels;
use crate::weights::{change, unloaded};

/// How the weight of a linear layer is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// `[out, in]`, as PyTorch's `Linear` does.
    #[default]
    OutIn,
    /// `[in, out]`, as the `Conv1D` of GPT-2 does.
    InOut,
}

/// The type in which matrix products are computed; norms, softmax and losses are always in `f32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// 32-bit floating point.
    #[default]
    F32,
    /// 16-bit "brain" floating point.
    Bf16,
}

impl Precision {
    /// Returns the type of a tensor in this precision.
    #[must_use]
    pub fn dtype(self) -> DType {
        match self {
            Self::F32 => DType::F32,
            Self::Bf16 => DType::BF16,
        }
    }
}

/// A linear map.
#[derive(Module, Debug)]
pub struct Linear {
    /// The matrix, `[out, in]` or `[in, out]` by its layout.
    pub weight: Param<Tensor<2>>,
    /// `[out]`.
    pub bias: Option<Param<Tensor<1>>>,
    /// A low-rank addition.
    pub lora: Option<Lora>,
    /// Outputs with rows of their own: new tokens of a language-model head.
    pub rows: Option<TrainableRows>,
    #[module(skip)]
    layout: Layout,
}

impl Linear {
    /// Creates a layer whose weights are yet to be loaded.
    #[must_use]
    pub fn new(input: usize, output: usize, bias: bool, device: &Device) -> Self {
        Self {
            weight: unloaded([output, input], device),
            bias: bias.then(|| unloaded([output], device)),
            lora: None,
            rows: None,
            layout: Layout::OutIn,
        }
    }

    /// Creates a layer with a bias whose weight is stored as `[in, out]`.
    #[must_use]
    pub fn conv1d(input: usize, output: usize, device: &Device) -> Self {
        Self {
            weight: unloaded([input, output], device),
            layout: Layout::InOut,
            ..Self::new(output, output, true, device)
        }
    }

    /// Returns how the weight is stored.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Returns the numbers of inputs and of outputs.
    #[must_use]
    pub fn size(&self) -> [usize; 2] {
        let [first, second] = self.weight.lazy_shape().dims();
        match self.layout {
            Layout::OutIn => [second, first],
            Layout::InOut => [first, second],
        }
    }

    /// Applies the layer to every row; the masks of an adapter's dropout come from `dropout`.
    ///
    /// # Shapes
    ///
    /// - `input`: `[rows, in]`
    /// - returns: `[rows, out]`
    #[must_use]
    pub fn forward(&self, input: Tensor<2>, dropout: Option<&mut Dropout>) -> Tensor<2> {
        let output = self.forward_without_bias(input, dropout);
        match &self.bias {
            Some(bias) => kernels::add_bias(output, bias.val()),
            None => output,
        }
    }

    /// Applies the layer but for its bias, for a caller that adds it in a pass of its own.
    pub(crate) fn forward_without_bias(&self, input: Tensor<2>, dropout: Option<&mut Dropout>) -> Tensor<2> {
        let mut output = self.product(input.clone());
        if let Some(lora) = &self.lora {
            output = output + lora.forward(input.clone(), dropout);
        }
        if let Some(rows) = &self.rows {
            output = rows.replace_products(output, input);
        }
        output
    }

    /// Folds what is attached into the weight.
    pub(crate) fn merge(&mut self) {
        if let Some(lora) = self.lora.take() {
            let delta = match self.layout {
                Layout::OutIn => lora.delta(),
                Layout::InOut => lora.delta().transpose(),
            };
            let add = |weight: Tensor<2>| (weight.clone().cast(DType::F32) + delta).cast(weight.dtype());
            change(&mut self.weight, add);
        }
        if let Some(rows) = self.rows.take() {
            assert_eq!(self.layout, Layout::OutIn, "a head has a row for each token");
            change(&mut self.weight, |weight| rows.write_into(weight));
        }
    }

    /// Replaces the weight and the bias, both as `[out, ..]`.
    pub(crate) fn map_outputs(&mut self, map: &mut impl FnMut(Tensor<2>) -> Tensor<2>) {
        assert_eq!(self.layout, Layout::OutIn, "a head has a row for each token");
        change(&mut self.weight, &mut *map);
        if let Some(bias) = &mut self.bias {
            change(bias, |bias| map(bias.unsqueeze_dim(1)).squeeze_dim(1));
        }
    }

    fn product(&self, input: Tensor<2>) -> Tensor<2> {
        match self.layout {
            Layout::OutIn => product(input, self.weight.val()),
            Layout::InOut => product(input, self.weight.val().transpose()),
        }
    }
}

/// Multiplies by the transpose of a weight in the type that the weight is kept in; the result is `f32`.
///
/// # Shapes
///
/// - `input`: `[rows, in]`
/// - `weight`: `[out, in]`
/// - returns: `[rows, out]`
pub(crate) fn product(input: Tensor<2>, weight: Tensor<2>) -> Tensor<2> {
    if weight.dtype() == DType::F32 {
        return kernels::product(input, weight);
    }
    input.cast(DType::BF16).matmul(weight.transpose()).cast(DType::F32)
}
