//! Element-wise passes: dropout, and a bias.

use burn::backend::flex::FlexTensor;

use super::lanes::{add, for_chunks, rows_per_task, total};
use super::mask::DropoutMask;
use super::operation::{Operation, contiguous, flex, shape, values};

/// Dropout of `[.., width]`.
#[derive(Debug, Clone)]
pub(super) struct DropOut(pub(super) DropoutMask);

impl Operation<1> for DropOut {
    type Saved = ();

    fn forward(&self, [input]: [FlexTensor; 1], _saving: bool) -> (FlexTensor, Option<()>) {
        (self.apply(input), Some(()))
    }

    fn backward(&self, (): (), gradient: FlexTensor, _wanted: [bool; 1]) -> [Option<FlexTensor>; 1] {
        [Some(self.apply(gradient))]
    }
}

impl DropOut {
    fn apply(&self, tensor: FlexTensor) -> FlexTensor {
        let mut tensor = contiguous(tensor);
        let width = shape(&tensor).last().copied().unwrap_or(1).max(1);
        let rows = rows_per_task(width);
        for_chunks(
            tensor.storage_mut(),
            width * rows,
            #[inline(always)]
            |index, chunk| {
                for (row, values) in chunk.chunks_exact_mut(width).enumerate() {
                    let mask = self.0.row(index * rows + row);
                    for (column, value) in values.iter_mut().enumerate() {
                        *value *= mask.factor(column);
                    }
                }
            },
        );
        tensor
    }
}

/// The sum of `[.., width]` and `[width]`.
#[derive(Debug, Clone)]
pub(super) struct AddBias;

impl Operation<2> for AddBias {
    /// The width.
    type Saved = usize;

    fn forward(&self, inputs: [FlexTensor; 2], _saving: bool) -> (FlexTensor, Option<usize>) {
        let [mut output, bias] = inputs.map(contiguous);
        let bias = values(&bias);
        let width = bias.len();
        for_chunks(
            output.storage_mut(),
            width * rows_per_task(width),
            #[inline(always)]
            |_, chunk| {
                for row in chunk.chunks_exact_mut(width) {
                    add(row, bias);
                }
            },
        );
        (output, Some(width))
    }

    fn backward(&self, width: usize, gradient: FlexTensor, wanted: [bool; 2]) -> [Option<FlexTensor>; 2] {
        let gradient = contiguous(gradient);
        let bias = wanted[1].then(|| sum_of_rows(&gradient, width));
        [Some(gradient), bias]
    }
}

/// Returns the sum of the rows of a contiguous tensor.
pub(super) fn sum_of_rows(tensor: &FlexTensor, width: usize) -> FlexTensor {
    let rows = rows_per_task(width);
    let values = values(tensor);
    let parts = super::lanes::map_indices(values.len().div_ceil(width * rows), |index| {
        super::lanes::vectorized(
            #[inline(always)]
            || {
                let chunk = &values[index * width * rows..];
                let mut sums = vec![0.0; width];
                for row in chunk.chunks_exact(width).take(rows) {
                    add(&mut sums, row);
                }
                sums
            },
        )
    });
    flex(total(parts), &[width])
}
