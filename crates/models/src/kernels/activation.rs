//! An activation and the bias before it in one pass, and gated units.

use burn::backend::flex::FlexTensor;

use super::lanes::{add, exp, for_chunks, for_each, normal, rows_per_task, sigmoid, total};
use super::operation::{Operation, contiguous, flex, values};
use crate::activation::Activation;

/// The square root of `2 / pi`.
const TANH_SCALE: f32 = 0.797_884_6;

/// The cubic term of the approximation by a hyperbolic tangent.
const TANH_CUBIC: f32 = 0.044_715;

impl Activation {
    /// Returns the value and the derivative at `x`.
    #[inline(always)]
    fn at(self, x: f32) -> (f32, f32) {
        match self {
            Self::Gelu => {
                let (below, bell) = normal(x);
                (x * below, (x * bell).mul_add(0.398_942_3, below))
            }
            Self::GeluNew => {
                // (1 + tanh(y)) / 2 is the logistic function of 2 y.
                let square = x * x;
                let gate = sigmoid(2.0 * TANH_SCALE * x * TANH_CUBIC.mul_add(square, 1.0));
                let slope = 2.0 * TANH_SCALE * (3.0 * TANH_CUBIC).mul_add(square, 1.0);
                (x * gate, (x * gate * (1.0 - gate)).mul_add(slope, gate))
            }
            Self::Silu => {
                let gate = 1.0 / (1.0 + exp(-x));
                (x * gate, gate * x.mul_add(1.0 - gate, 1.0))
            }
            Self::Relu => (if x > 0.0 { x } else { 0.0 }, if x > 0.0 { 1.0 } else { 0.0 }),
        }
    }

    /// Calls `f` with this activation as a constant, so that loops over it have no branch.
    #[inline(always)]
    fn fixed<R>(self, mut f: impl FnMut(Self) -> R) -> R {
        match self {
            Self::Gelu => f(Self::Gelu),
            Self::GeluNew => f(Self::GeluNew),
            Self::Silu => f(Self::Silu),
            Self::Relu => f(Self::Relu),
        }
    }
}

/// `activation(input + bias)`; inputs are `[.., width]` and `[width]`.
#[derive(Debug, Clone)]
pub(super) struct Activate(pub(super) Activation);

impl Operation<2> for Activate {
    type Saved = (FlexTensor, FlexTensor);

    fn forward(&self, [input, bias]: [FlexTensor; 2], saving: bool) -> (FlexTensor, Option<Self::Saved>) {
        let [mut output, bias] = [input, bias].map(contiguous);
        let saved = saving.then(|| (output.clone(), bias.clone()));
        let bias = values(&bias);
        let width = bias.len();
        for_chunks(
            output.storage_mut(),
            width * rows_per_task(width),
            #[inline(always)]
            |_, chunk| {
                self.0.fixed(
                    #[inline(always)]
                    |activation| {
                        for row in chunk.chunks_exact_mut(width) {
                            for (x, b) in row.iter_mut().zip(bias) {
                                *x = activation.at(*x + b).0;
                            }
                        }
                    },
                );
            },
        );
        (output, saved)
    }

    fn backward(&self, saved: Self::Saved, gradient: FlexTensor, _wanted: [bool; 2]) -> [Option<FlexTensor>; 2] {
        let (input, bias) = saved;
        let mut gradient = contiguous(gradient);
        let [input, bias] = [&input, &bias].map(values);
        let width = bias.len();
        let size = width * rows_per_task(width);
        let sums = for_chunks(
            gradient.storage_mut(),
            size,
            #[inline(always)]
            |index, chunk| {
                let input = &input[index * size..][..chunk.len()];
                let mut sums = vec![0.0; width];
                self.0.fixed(
                    #[inline(always)]
                    |activation| activate_backward(activation, chunk, input, bias, &mut sums),
                );
                sums
            },
        );
        [Some(gradient), Some(flex(total(sums), &[width]))]
    }
}

/// Multiplies the gradient by the derivative and adds its rows to `sums`.
#[inline(always)]
fn activate_backward(activation: Activation, gradient: &mut [f32], input: &[f32], bias: &[f32], sums: &mut [f32]) {
    let width = bias.len();
    for (row, input) in gradient.chunks_exact_mut(width).zip(input.chunks_exact(width)) {
        for ((g, x), b) in row.iter_mut().zip(input).zip(bias) {
            *g *= activation.at(*x + b).1;
        }
        add(sums, row);
    }
}

/// `activation(gate) * up`, element by element.
#[derive(Debug, Clone)]
pub(super) struct Gate(pub(super) Activation);

/// Elements of a task.
const GATE_TASK: usize = 1 << 15;

impl Operation<2> for Gate {
    type Saved = [FlexTensor; 2];

    fn forward(&self, inputs: [FlexTensor; 2], saving: bool) -> (FlexTensor, Option<Self::Saved>) {
        let [mut output, up] = inputs.map(contiguous);
        let saved = saving.then(|| [output.clone(), up.clone()]);
        let up = values(&up);
        for_chunks(
            output.storage_mut(),
            GATE_TASK,
            #[inline(always)]
            |index, chunk| {
                let up = &up[index * GATE_TASK..][..chunk.len()];
                self.0.fixed(
                    #[inline(always)]
                    |activation| {
                        for (gate, up) in chunk.iter_mut().zip(up) {
                            *gate = activation.at(*gate).0 * up;
                        }
                    },
                );
            },
        );
        (output, saved)
    }

    fn backward(&self, saved: Self::Saved, gradient: FlexTensor, _wanted: [bool; 2]) -> [Option<FlexTensor>; 2] {
        let [gate, mut up] = saved;
        let mut gradient = contiguous(gradient);
        let gate = values(&gate);
        let gradients: &mut [f32] = gradient.storage_mut();
        let ups: &mut [f32] = up.storage_mut();
        let mut tasks: Vec<(&mut [f32], &mut [f32])> =
            gradients.chunks_mut(GATE_TASK).zip(ups.chunks_mut(GATE_TASK)).collect();
        for_each(
            &mut tasks,
            #[inline(always)]
            |index, (gradient, up)| {
                let gate = &gate[index * GATE_TASK..][..up.len()];
                self.0.fixed(
                    #[inline(always)]
                    |activation| gate_backward(activation, gradient, up, gate),
                );
            },
        );
        [Some(up), Some(gradient)]
    }
}

/// Replaces `up` by the gradient of the gate and `gradient` by that of `up`.
#[inline(always)]
fn gate_backward(activation: Activation, gradient: &mut [f32], up: &mut [f32], gate: &[f32]) {
    for ((g, u), x) in gradient.iter_mut().zip(up).zip(gate) {
        let (value, slope) = activation.at(*x);
        let upstream = *g;
        *g = upstream * value;
        *u *= upstream * slope;
    }
}
