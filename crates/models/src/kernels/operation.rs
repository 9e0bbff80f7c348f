//! A kernel as an operation of burn: its inputs taken from tensors, its backward pass put into the graph.

use std::fmt::Debug;

use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::NoCheckpointing;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend, Flex, GradientCheckpointingStrategy};
use burn::tensor::{DType, Tensor, TensorData};

use crate::device::is_cpu;

/// An operation on CPU tensors of `f32` with a gradient.
pub(super) trait Operation<const N: usize>: Clone + Debug + Send + 'static {
    /// What the backward pass needs of the forward pass.
    type Saved: Clone + Debug + Send + 'static;

    /// Returns the result, and what the backward pass needs if `saving`.
    fn forward(&self, inputs: [FlexTensor; N], saving: bool) -> (FlexTensor, Option<Self::Saved>);

    /// Returns the gradients of the inputs that are `wanted`.
    fn backward(&self, saved: Self::Saved, gradient: FlexTensor, wanted: [bool; N]) -> [Option<FlexTensor>; N];
}

/// An input of an operation.
pub(super) enum Input {
    /// A tensor without a graph.
    Plain(FlexTensor),
    /// A tensor of a device with gradients.
    Tracked(FloatTensor<Autodiff<Flex>>),
}

impl<const D: usize> From<Tensor<D>> for Input {
    fn from(tensor: Tensor<D>) -> Self {
        if tensor.device().is_autodiff() {
            Self::Tracked(tensor.try_into_primitive::<Autodiff<Flex>>().expect("the tensor is one that `fits` knows"))
        } else {
            Self::Plain(tensor.try_into_primitive::<Flex>().expect("the tensor is one that `fits` knows"))
        }
    }
}

/// Returns whether the kernels can take `tensor`.
pub(super) fn fits<const D: usize>(tensor: &Tensor<D>) -> bool {
    let device = tensor.device();
    let balanced = device.gradient_checkpointing_strategy() == Some(GradientCheckpointingStrategy::Balanced);
    tensor.dtype() == DType::F32 && is_cpu(&device) && !balanced
}

/// Returns the values of a tensor that gets no gradient, in row-major order.
pub(super) fn constant<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    untracked(tensor).to_contiguous()
}

/// Returns the values of a tensor that gets no gradient, as they lie in memory.
pub(super) fn untracked<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    match Input::from(tensor) {
        Input::Plain(tensor) => tensor,
        Input::Tracked(tensor) => tensor.into_primitive(),
    }
}

/// Applies `operation`, differentiably if one of `inputs` is.
pub(super) fn run<O: Operation<N>, const N: usize, const D: usize>(operation: O, inputs: [Input; N]) -> Tensor<D> {
    if inputs.iter().all(|input| matches!(input, Input::Plain(_))) {
        let inputs = inputs.map(|input| match input {
            Input::Plain(tensor) => tensor,
            Input::Tracked(tensor) => tensor.into_primitive(),
        });
        return Tensor::from_primitive::<Flex>(operation.forward(inputs, false).0);
    }
    let inputs = inputs.map(|input| match input {
        Input::Plain(tensor) => <Autodiff<Flex> as AutodiffBackend>::from_inner(tensor),
        Input::Tracked(tensor) => tensor,
    });
    let nodes = inputs.each_ref().map(FloatTensor::<Autodiff<Flex>>::node);
    let inputs = inputs.map(FloatTensor::<Autodiff<Flex>>::into_primitive);
    let output = match Step(operation.clone()).prepare::<NoCheckpointing>(nodes).compute_bound().stateful() {
        OpsKind::Tracked(step) => {
            let (output, saved) = operation.forward(inputs, true);
            step.finish(saved.expect("an operation saves when asked"), output)
        }
        OpsKind::UnTracked(step) => step.finish(operation.forward(inputs, false).0),
    };
    Tensor::from_primitive::<Autodiff<Flex>>(output)
}

/// The backward pass of an operation.
#[derive(Debug)]
struct Step<O>(O);

impl<O: Operation<N>, const N: usize> Backward<Flex, N> for Step<O> {
    type State = O::Saved;

    fn backward(self, ops: Ops<Self::State, N>, gradients: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let gradient = gradients.consume::<Flex>(&ops.node);
        let wanted = ops.parents.each_ref().map(Option::is_some);
        let found = self.0.backward(ops.state, gradient, wanted);
        for (parent, gradient) in ops.parents.into_iter().zip(found) {
            if let (Some(parent), Some(gradient)) = (parent, gradient) {
                gradients.register::<Flex>(parent.id, gradient);
            }
        }
    }
}

/// Returns a tensor of `values` in row-major order.
pub(super) fn flex(values: Vec<f32>, shape: &[usize]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape.to_vec()))
}

/// Returns the shape of a tensor.
pub(super) fn shape(tensor: &FlexTensor) -> Vec<usize> {
    tensor.layout().shape().to_vec()
}

/// Returns the tensor in row-major order, alone in its buffer.
pub(super) fn contiguous(tensor: FlexTensor) -> FlexTensor {
    tensor.to_contiguous()
}

/// Returns the values of a contiguous tensor in row-major order.
pub(super) fn values(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("the tensor is contiguous")
}
