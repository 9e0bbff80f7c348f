//! Layer normalization, with the bias, dropout and residual before it, and root-mean-square normalization.

use burn::backend::flex::FlexTensor;

use super::dropped::sum_of_rows;
use super::lanes::{add, dot, for_chunks, rows_per_task, sum, total};
use super::mask::DropoutMask;
use super::operation::{Operation, contiguous, flex, values};

/// The normalization of `residual + dropout(input + bias)`.
///
/// The inputs are `[.., width]`, `[width]`, `[.., width]`, and the norm's weight and bias, `[width]` each.
#[derive(Debug, Clone)]
pub(super) struct ResidualLayerNorm {
    pub(super) epsilon: f32,
    pub(super) dropout: Option<DropoutMask>,
}

/// What the backward pass of a normalization needs.
#[derive(Debug, Clone)]
pub(super) struct Normalized {
    /// The input over its deviation (after subtracting its mean, for a layer norm).
    rows: FlexTensor,
    /// One over the deviation of each row.
    scales: Vec<f32>,
    weight: FlexTensor,
}

impl Operation<5> for ResidualLayerNorm {
    type Saved = Normalized;

    fn forward(&self, inputs: [FlexTensor; 5], saving: bool) -> (FlexTensor, Option<Normalized>) {
        let [mut hidden, bias, residual, weight, shift] = inputs.map(contiguous);
        let width = values(&weight).len();
        let size = width * rows_per_task(width);
        let [bias, residual, shift] = [&bias, &residual, &shift].map(values);
        let scales = for_chunks(
            hidden.storage_mut(),
            size,
            #[inline(always)]
            |index, chunk| {
                let rows = chunk.chunks_exact_mut(width).zip(residual[index * size..].chunks_exact(width));
                let mut scales = Vec::with_capacity(size / width);
                for (row, (hidden, residual)) in rows.enumerate() {
                    self.add_residual(index * (size / width) + row, hidden, bias, residual);
                    scales.push(normalize(hidden, self.epsilon));
                }
                scales
            },
        );
        let saved =
            saving.then(|| Normalized { rows: hidden.clone(), scales: scales.concat(), weight: weight.clone() });
        let weight = values(&weight);
        for_chunks(
            hidden.storage_mut(),
            size,
            #[inline(always)]
            |_, chunk| {
                for row in chunk.chunks_exact_mut(width) {
                    for ((x, w), s) in row.iter_mut().zip(weight).zip(shift) {
                        *x = x.mul_add(*w, *s);
                    }
                }
            },
        );
        (hidden, saved)
    }

    fn backward(&self, saved: Normalized, gradient: FlexTensor, _wanted: [bool; 5]) -> [Option<FlexTensor>; 5] {
        let (gradient, weight, shift) = backward(saved, gradient, true);
        let width = values(&weight).len();
        let size = width * rows_per_task(width);
        let mut hidden = gradient.clone();
        let dropped = self.dropout.map(|mask| {
            for_chunks(
                hidden.storage_mut(),
                size,
                #[inline(always)]
                |index, chunk| {
                    let mut sums = vec![0.0; width];
                    for (row, values) in chunk.chunks_exact_mut(width).enumerate() {
                        let mask = mask.row(index * (size / width) + row);
                        for (column, value) in values.iter_mut().enumerate() {
                            *value *= mask.factor(column);
                        }
                        add(&mut sums, values);
                    }
                    sums
                },
            )
        });
        let bias = dropped.map_or_else(|| sum_of_rows(&gradient, width), |sums| flex(total(sums), &[width]));
        [Some(hidden), Some(bias), Some(gradient), Some(weight), shift]
    }
}

impl ResidualLayerNorm {
    #[inline(always)]
    fn add_residual(&self, row: usize, hidden: &mut [f32], bias: &[f32], residual: &[f32]) {
        let inputs = bias.iter().zip(residual);
        match self.dropout {
            Some(mask) => {
                let mask = mask.row(row);
                for (column, (x, (bias, residual))) in hidden.iter_mut().zip(inputs).enumerate() {
                    *x = (*x + bias).mul_add(mask.factor(column), *residual);
                }
            }
            None => {
                for (x, (bias, residual)) in hidden.iter_mut().zip(inputs) {
                    *x = (*x + bias) + residual;
                }
            }
        }
    }
}

/// The normalization of an input `[.., width]`, with weight and bias `[width]` each.
#[derive(Debug, Clone)]
pub(super) struct LayerNorm {
    pub(super) epsilon: f32,
}

impl Operation<3> for LayerNorm {
    type Saved = Normalized;

    fn forward(&self, inputs: [FlexTensor; 3], saving: bool) -> (FlexTensor, Option<Normalized>) {
        let [mut hidden, weight, shift] = inputs.map(contiguous);
        let width = values(&weight).len();
        let size = width * rows_per_task(width);
        let scales = for_chunks(
            hidden.storage_mut(),
            size,
            #[inline(always)]
            |_, chunk| {
                let mut scales = Vec::with_capacity(size / width);
                for row in chunk.chunks_exact_mut(width) {
                    scales.push(normalize(row, self.epsilon));
                }
                scales
            },
        );
        let saved =
            saving.then(|| Normalized { rows: hidden.clone(), scales: scales.concat(), weight: weight.clone() });
        let [weight, shift] = [&weight, &shift].map(values);
        for_chunks(
            hidden.storage_mut(),
            size,
            #[inline(always)]
            |_, chunk| {
                for row in chunk.chunks_exact_mut(width) {
                    for ((x, w), s) in row.iter_mut().zip(weight).zip(shift) {
                        *x = x.mul_add(*w, *s);
                    }
                }
            },
        );
        (hidden, saved)
    }

    fn backward(&self, saved: Normalized, gradient: FlexTensor, _wanted: [bool; 3]) -> [Option<FlexTensor>; 3] {
        let (hidden, weight, shift) = backward(saved, gradient, true);
        [Some(hidden), Some(weight), shift]
    }
}

/// An input `[.., width]` over its root mean square, times a weight `[width]`.
#[derive(Debug, Clone)]
pub(super) struct RmsNorm {
    pub(super) epsilon: f32,
}

impl Operation<2> for RmsNorm {
    type Saved = Normalized;

    fn forward(&self, inputs: [FlexTensor; 2], saving: bool) -> (FlexTensor, Option<Normalized>) {
        let [mut hidden, weight] = inputs.map(contiguous);
        let width = values(&weight).len();
        let size = width * rows_per_task(width);
        if !saving {
            let weight = values(&weight);
            for_chunks(
                hidden.storage_mut(),
                size,
                #[inline(always)]
                |_, chunk| {
                    for row in chunk.chunks_exact_mut(width) {
                        let scale = self.scale(row);
                        for (x, w) in row.iter_mut().zip(weight) {
                            *x = *x * scale * w;
                        }
                    }
                },
            );
            return (hidden, None);
        }
        let scales = for_chunks(
            hidden.storage_mut(),
            size,
            #[inline(always)]
            |_, chunk| {
                let mut scales = Vec::with_capacity(size / width);
                for row in chunk.chunks_exact_mut(width) {
                    let scale = self.scale(row);
                    for x in row.iter_mut() {
                        *x *= scale;
                    }
                    scales.push(scale);
                }
                scales
            },
        );
        let saved = Normalized { rows: hidden.clone(), scales: scales.concat(), weight: weight.clone() };
        let weight = values(&weight);
        for_chunks(
            hidden.storage_mut(),
            size,
            #[inline(always)]
            |_, chunk| {
                for row in chunk.chunks_exact_mut(width) {
                    for (x, w) in row.iter_mut().zip(weight) {
                        *x *= w;
                    }
                }
            },
        );
        (hidden, Some(saved))
    }

    fn backward(&self, saved: Normalized, gradient: FlexTensor, _wanted: [bool; 2]) -> [Option<FlexTensor>; 2] {
        let (hidden, weight, _) = backward(saved, gradient, false);
        [Some(hidden), Some(weight)]
    }
}

impl RmsNorm {
    /// Returns one over the root mean square of a row.
    #[inline(always)]
    fn scale(&self, row: &[f32]) -> f32 {
        (dot(row, row) / row.len() as f32 + self.epsilon).sqrt().recip()
    }
}

/// Subtracts the mean of a row, divides by its deviation, and returns one over the latter.
#[inline(always)]
fn normalize(row: &mut [f32], epsilon: f32) -> f32 {
    let width = row.len() as f32;
    let mean = sum(row) / width;
    for x in row.iter_mut() {
        *x -= mean;
    }
    let scale = (dot(row, row) / width + epsilon).sqrt().recip();
    for x in row.iter_mut() {
        *x *= scale;
    }
    scale
}

/// Returns the gradients of a normalization's input, weight and, if it is `centered`, bias.
fn backward(saved: Normalized, gradient: FlexTensor, centered: bool) -> (FlexTensor, FlexTensor, Option<FlexTensor>) {
    let mut gradient = contiguous(gradient);
    let weight = values(&saved.weight);
    let width = weight.len();
    let rows = rows_per_task(width);
    let normalized = values(&saved.rows);
    let sums = for_chunks(
        gradient.storage_mut(),
        width * rows,
        #[inline(always)]
        |index, chunk| {
            let mut sums = [vec![0.0; width], vec![0.0; if centered { width } else { 0 }]];
            let normalized = normalized[index * width * rows..].chunks_exact(width);
            let scales = &saved.scales[index * rows..];
            for ((gradient, normalized), scale) in chunk.chunks_exact_mut(width).zip(normalized).zip(scales) {
                backward_row(gradient, normalized, weight, *scale, &mut sums);
            }
            sums
        },
    );
    let (weights, shifts): (Vec<_>, Vec<_>) = sums.into_iter().map(|[weight, shift]| (weight, shift)).unzip();
    let shift = centered.then(|| flex(total(shifts), &[width]));
    (gradient, flex(total(weights), &[width]), shift)
}

/// Replaces a row's gradient by that of the input and adds to the sums over rows; no mean was taken without a second sum.
#[inline(always)]
fn backward_row(gradient: &mut [f32], normalized: &[f32], weight: &[f32], scale: f32, sums: &mut [Vec<f32>; 2]) {
    let width = weight.len() as f32;
    let [weights, shifts] = sums;
    add(shifts, gradient);
    for (((sum, g), x), w) in weights.iter_mut().zip(gradient.iter_mut()).zip(normalized).zip(weight) {
        *sum += *g * x;
        *g *= w;
    }
    let mean = if shifts.is_empty() { 0.0 } else { sum(gradient) / width };
    let along = dot(gradient, normalized) / width;
    for (g, x) in gradient.iter_mut().zip(normalized) {
        *g = (*g - mean - x * along) * scale;
    }
}
