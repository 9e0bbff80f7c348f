//! Every kernel equals the composition of burn's operations, forward and backward.

use burn::tensor::{Device, Tensor, TensorData};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::activation::Activation;
use crate::rope::Pairing;

/// What a kernel may differ by from the composition, relative to the largest value.
const TOLERANCE: f32 = 2e-5;

fn device() -> Device {
    crate::device::resolve(&crate::DeviceSpec::Cpu).unwrap()
}

fn random<const D: usize>(seed: u64, shape: [usize; D]) -> Tensor<D> {
    let mut stream = ChaCha8Rng::seed_from_u64(seed);
    let n = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|_| 3.0 * (stream.random::<f32>() - 0.5)).collect();
    Tensor::from_data(TensorData::new(values, shape), &device())
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().unwrap()
}

/// Holds the result of `kernel` and the gradients of its inputs against those of `plain`.
#[track_caller]
fn check<const N: usize, const D: usize, const O: usize>(
    inputs: [Tensor<D>; N],
    kernel: impl Fn([Tensor<D>; N]) -> Tensor<O>,
    plain: impl Fn([Tensor<D>; N]) -> Tensor<O>,
) {
    let run = |f: &dyn Fn([Tensor<D>; N]) -> Tensor<O>| {
        let inputs =
            inputs.clone().map(|input| Tensor::<D>::from_data(input.into_data(), &device().autodiff()).require_grad());
        let output = f(inputs.clone());
        let upstream = Tensor::from_data(random(99, output.dims()).into_data(), &device().autodiff());
        let gradients = (output.clone() * upstream).sum().backward();
        let gradients = inputs.map(|input| numbers(input.grad(&gradients).unwrap()));
        (numbers(output.inner()), gradients)
    };
    let (expected, expected_gradients) = run(&plain);
    let (actual, gradients) = run(&kernel);
    assert_close("output", &actual, &expected);
    assert_close("output without a graph", &numbers(kernel(inputs.clone())), &expected);
    for (index, (actual, expected)) in gradients.iter().zip(&expected_gradients).enumerate() {
        assert_close(&format!("gradient {index}"), actual, expected);
    }
}

#[track_caller]
fn assert_close(what: &str, actual: &[f32], expected: &[f32]) {
    assert_eq!(actual.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(1.0_f32, |scale, x| scale.max(x.abs()));
    for (index, (actual, expected)) in actual.iter().zip(expected).enumerate() {
        let error = (actual - expected).abs();
        assert!(error <= TOLERANCE * scale, "{what} {index}: {actual} is not {expected}");
    }
}

/// Reads a vector out of the first row of a matrix, so that inputs of one rank can be checked together.
fn vector(matrix: Tensor<2>) -> Tensor<1> {
    matrix.narrow(0, 0, 1).squeeze_dim(0)
}

const ACTIVATIONS: [Activation; 4] = [Activation::Gelu, Activation::GeluNew, Activation::Silu, Activation::Relu];

#[test]
fn activations_equal_their_compositions() {
    for kind in ACTIVATIONS {
        for [rows, width] in [[1, 1], [3, 5], [700, 67]] {
            check(
                [random(1, [rows, width]), random(2, [1, width])],
                |[x, b]| activate(x, Some(vector(b)), kind),
                |[x, b]| plain::activate(x, Some(vector(b)), kind),
            );
        }
        check([random(3, [5, 33])], |[x]| activate(x, None, kind), |[x]| plain::activate(x, None, kind));
    }
}

#[test]
fn gated_units_equal_their_composition() {
    for kind in ACTIVATIONS {
        for shape in [[3, 5], [600, 67]] {
            check([random(1, shape), random(2, shape)], |[g, u]| gated(g, u, kind), |[g, u]| plain::gated(g, u, kind));
        }
    }
}

#[test]
fn activations_hold_their_limits() {
    let ends = Tensor::<1>::from_floats([-1e4, -20.0, 0.0, 20.0, 1e4], &device());
    for kind in ACTIVATIONS {
        let values = numbers(activate(ends.clone(), None, kind));
        assert_close("limit", &values, &[0.0, 0.0, 0.0, 20.0, 1e4]);
    }
}

#[test]
fn normalizations_equal_their_compositions() {
    for [rows, width] in [[1, 2], [5, 31], [700, 96]] {
        let inputs = || [random(1, [rows, width]), random(2, [1, width]), random(3, [1, width])];
        check(
            inputs(),
            |[x, w, b]| layer_norm(x, vector(w), vector(b), 1e-5),
            |[x, w, b]| plain::layer_norm(x, vector(w), vector(b), 1e-5),
        );
        let [x, w, _] = inputs();
        check([x, w], |[x, w]| rms_norm(x, vector(w), 1e-5), |[x, w]| plain::rms_norm(x, vector(w), 1e-5));
    }
}

#[test]
fn a_residual_and_its_normalization_equal_their_composition() {
    for dropout in [None, Some(DropoutMask::new(5, 0.3))] {
        for [rows, width] in [[5, 31], [700, 96]] {
            let vectors = [2, 4, 5].map(|seed| random(seed, [1, width]));
            let [b, w, s] = vectors;
            check(
                [random(1, [rows, width]), random(3, [rows, width]), b, w, s],
                |[hidden, residual, b, w, s]| {
                    let block = Residual { hidden, bias: Some(vector(b)), residual, dropout };
                    residual_layer_norm(block, vector(w), vector(s), 1e-5)
                },
                |[hidden, residual, b, w, s]| {
                    let hidden = plain::drop_out(hidden + b, dropout) + residual;
                    plain::layer_norm(hidden, vector(w), vector(s), 1e-5)
                },
            );
        }
    }
}

#[test]
fn element_wise_passes_equal_their_compositions() {
    let mask = DropoutMask::new(1, 0.25);
    for [rows, width] in [[3, 5], [700, 67]] {
        let x = || random(1, [rows, width]);
        check([x()], |[x]| drop_out(x, mask), |[x]| plain::drop_out(x, Some(mask)));
        check([x(), random(2, [1, width])], |[x, b]| add_bias(x, vector(b)), |[x, b]| x + b);
    }
}

#[test]
fn products_equal_their_composition() {
    for [rows, input, output] in [[1, 3, 5], [2, 700, 150], [40, 33, 20]] {
        check(
            [random(1, [rows, input]), random(2, [output, input])],
            |[x, w]| product(x, w),
            |[x, w]| x.matmul(w.transpose()),
        );
    }
}

#[test]
fn rows_equal_their_composition() {
    let rows = [4, 0, 4, 2, 4];
    check([random(1, [6, 37])], |[x]| rows_of(x, &rows), |[x]| plain::rows_of(x, &rows));
}

/// Batch, heads, groups, length, total, head dimension.
type Shape = [usize; 6];

#[track_caller]
fn check_attention([batch, heads, groups, length, total, dim]: Shape, rule: &AttentionRule) {
    let queries = random(1, [batch, length, heads, dim]);
    let [keys, values] = [2, 3].map(|seed| random(seed, [batch, total, groups, dim]));
    let swapped = |f: fn(Tensor<4>, Tensor<4>, Tensor<4>, AttentionRule) -> Tensor<4>| {
        move |inputs: [Tensor<4>; 3]| {
            let [q, k, v] = inputs.map(|heads| heads.swap_dims(1, 2));
            f(q, k, v, rule.clone()).swap_dims(1, 2).reshape([batch, length, heads * dim])
        }
    };
    check([queries, keys, values], swapped(attention), swapped(plain::attention));
}

fn rule() -> AttentionRule {
    AttentionRule { scale: 0.4, causal: false, window: None, bias: None, dropout: None }
}

const SHAPES: [Shape; 6] = [
    [2, 3, 3, 5, 5, 8],
    [1, 6, 2, 7, 7, 5],
    [2, 4, 1, 3, 9, 6],
    [1, 2, 2, 300, 300, 4],
    [1, 4, 2, 1, 40, 8],
    [2, 2, 1, 150, 333, 3],
];

#[test]
fn attention_equals_its_composition() {
    for shape in SHAPES {
        check_attention(shape, &rule());
        check_attention(shape, &AttentionRule { causal: true, ..rule() });
        for window in [1, 4, 200] {
            check_attention(shape, &AttentionRule { causal: true, window: Some(window), ..rule() });
        }
    }
}

#[test]
fn attention_with_dropout_equals_its_composition() {
    for shape in SHAPES {
        for causal in [false, true] {
            check_attention(shape, &AttentionRule { causal, dropout: Some(DropoutMask::new(8, 0.2)), ..rule() });
        }
    }
}

#[test]
fn attention_with_a_bias_equals_its_composition() {
    for shape in SHAPES {
        let [batch, heads, _, length, total, _] = shape;
        let padding = (0..batch * total).map(|i| if i % total >= total - i / total { -1e9 } else { 0.0 }).collect();
        let padding = Tensor::from_data(TensorData::new(padding, [batch, 1, 1, total]), &device());
        for bias in [padding, random(4, [1, heads, length, total]), random(5, [batch, 1, length, total])] {
            let bias = Tensor::from_data(bias.into_data(), &device());
            for causal in [false, true] {
                let bias = bias.clone();
                let plain_bias = bias.clone();
                let queries = random(1, [batch, heads, length, 4]);
                let [keys, values] = [2, 3].map(|seed| random(seed, [batch, heads, total, 4]));
                let with = |bias: Tensor<4>, like: &Tensor<4>| AttentionRule {
                    causal,
                    bias: Some(Tensor::from_data(bias.into_data(), &like.device())),
                    ..rule()
                };
                let rows = |output: Tensor<4>| output.reshape([batch * heads, length, 4]);
                if [batch * heads, length, total].iter().product::<usize>() > 60_000 {
                    continue;
                }
                let kernel = |inputs: [Tensor<3>; 3]| {
                    let [q, k, v] = inputs.map(|x| {
                        let [n, l, d] = x.dims();
                        x.reshape([batch, n / batch, l, d])
                    });
                    let rule = with(bias.clone(), &q);
                    rows(attention(q, k, v, rule))
                };
                let composed = |inputs: [Tensor<3>; 3]| {
                    let [q, k, v] = inputs.map(|x| {
                        let [n, l, d] = x.dims();
                        x.reshape([batch, n / batch, l, d])
                    });
                    let rule = with(plain_bias.clone(), &q);
                    rows(plain::attention(q, k, v, rule))
                };
                let flat = [queries, keys, values].map(|x| {
                    let [b, h, l, d] = x.dims();
                    x.reshape([b * h, l, d])
                });
                check(flat, kernel, composed);
            }
        }
    }
}

#[test]
fn a_bias_that_needs_a_gradient_gets_one() {
    let device = device().autodiff();
    let like = |seed, shape| Tensor::<4>::from_data(random(seed, shape).into_data(), &device);
    let bias = like(4, [1, 2, 3, 3]).require_grad();
    let rule = AttentionRule { bias: Some(bias.clone()), ..rule() };
    let [q, k, v] = [1, 2, 3].map(|seed| like(seed, [1, 2, 3, 4]));
    let gradients = attention(q, k, v, rule).square().sum().backward();
    assert!(numbers(bias.grad(&gradients).unwrap()).iter().any(|x| *x != 0.0));
}

#[test]
fn rotary_positions_equal_their_composition() {
    for pairing in [Pairing::Halves, Pairing::Neighbors] {
        for [batch, tables, heads, length, dim, half] in
            [[2, 1, 3, 5, 8, 4], [2, 2, 1, 4, 10, 3], [1, 1, 9, 70, 64, 32]]
        {
            let angles = random(7, [tables, 1, length, half]);
            let table = |heads: &Tensor<4>, table: Tensor<4>| Tensor::from_data(table.into_data(), &heads.device());
            let tables = |heads: &Tensor<4>| [table(heads, angles.clone().cos()), table(heads, angles.clone().sin())];
            check(
                [random(1, [batch, heads, length, dim])],
                |[x]| {
                    let [c, s] = tables(&x);
                    rotate(x, c, s, pairing)
                },
                |[x]| {
                    let [c, s] = tables(&x);
                    plain::rotate(x, c, s, pairing)
                },
            );
        }
    }
}

#[test]
fn the_nll_of_rows_equals_its_composition() {
    for [rows, vocabulary] in [[1, 2], [5, 97], [40, 3000]] {
        let targets: Vec<u32> = (0..rows).map(|row| (row * 31 % vocabulary) as u32).collect();
        check([random(1, [rows, vocabulary])], |[x]| nll_of_rows(x, &targets), |[x]| plain::nll_of_rows(x, &targets));
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let run = |threads| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let device = device().autodiff();
            let like = |seed, shape| Tensor::<4>::from_data(random(seed, shape).into_data(), &device).require_grad();
            let inputs = [1, 2, 3].map(|seed| like(seed, [4, 2, 200, 8]));
            let [q, k, v] = inputs.clone();
            let bias = like(4, [1, 1, 1, 8]).reshape([8]);
            let attended =
                attention(q, k, v, AttentionRule { causal: true, dropout: Some(DropoutMask::new(1, 0.1)), ..rule() });
            let normed = layer_norm(activate(attended, Some(bias.clone()), Activation::Gelu), bias.clone(), bias, 1e-5);
            let gradients = normed.clone().square().sum().backward();
            (numbers(normed.inner()), inputs.map(|input| numbers(input.grad(&gradients).unwrap())))
        })
    };
    assert_eq!(run(1), run(3));
}
