//! The product of rows and a matrix that is stored as a checkpoint does, and rows of a matrix.

use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::backend::ops::FloatTensorOps;

use super::lanes::{add, dot, for_chunks, rows_per_task, vectorized};
use super::operation::{Operation, contiguous, flex, shape, values};

/// Up to so many rows, a product is bound by how fast its weight is read.
const FEW_ROWS: usize = 2;

/// Rows `[rows, in]` times the transpose of a weight `[out, in]`.
///
/// Both gradients are products of matrices as they lie in memory, so that the weight's comes out in the weight's layout.
#[derive(Debug, Clone)]
pub(super) struct Product;

impl Operation<2> for Product {
    type Saved = [FlexTensor; 2];

    fn forward(&self, [input, weight]: [FlexTensor; 2], saving: bool) -> (FlexTensor, Option<Self::Saved>) {
        let output = product(input.clone(), &weight);
        (output, saving.then_some([input, weight]))
    }

    fn backward(&self, saved: Self::Saved, gradient: FlexTensor, wanted: [bool; 2]) -> [Option<FlexTensor>; 2] {
        let [input, weight] = saved;
        let of_weight = wanted[1].then(|| Flex::float_matmul(gradient.transpose(0, 1), input));
        let of_input = wanted[0].then(|| Flex::float_matmul(gradient, weight));
        [of_input, of_weight]
    }
}

/// Rows `[rows, in]` times the transpose of a weight `[out, in]` that gets no gradient, so that the rows are not kept.
#[derive(Debug, Clone)]
pub(super) struct FrozenProduct(pub(super) FlexTensor);

impl Operation<1> for FrozenProduct {
    type Saved = ();

    fn forward(&self, [input]: [FlexTensor; 1], _saving: bool) -> (FlexTensor, Option<()>) {
        (product(input, &self.0), Some(()))
    }

    fn backward(&self, (): (), gradient: FlexTensor, _wanted: [bool; 1]) -> [Option<FlexTensor>; 1] {
        [Some(Flex::float_matmul(gradient, self.0.clone()))]
    }
}

fn product(input: FlexTensor, weight: &FlexTensor) -> FlexTensor {
    let few = shape(&input)[0] <= FEW_ROWS && weight.is_contiguous();
    if few { few_rows(&input, weight) } else { Flex::float_matmul(input, weight.transpose(0, 1)) }
}

/// Returns the product for few rows, where reading the weight is all the work: the threads share its rows.
fn few_rows(input: &FlexTensor, weight: &FlexTensor) -> FlexTensor {
    let input = input.to_contiguous();
    let [n_rows, width] = shape(&input)[..] else { unreachable!("the input is a matrix") };
    let n_outputs = shape(weight)[0];
    let (input, weight) = (values(&input), values(weight));
    let size = rows_per_task(width);
    let mut output = vec![0.0; n_rows * n_outputs];
    for (input, output) in input.chunks_exact(width).zip(output.chunks_exact_mut(n_outputs)) {
        for_chunks(
            output,
            size,
            #[inline(always)]
            |index, outputs| {
                let weights = weight[index * size * width..].chunks_exact(width);
                for (output, weights) in outputs.iter_mut().zip(weights) {
                    *output = dot(input, weights);
                }
            },
        );
    }
    flex(output, &[n_rows, n_outputs])
}

/// The given rows of a table `[n, width]`.
#[derive(Debug, Clone)]
pub(super) struct RowsOf(pub(super) Arc<Vec<u32>>);

impl Operation<1> for RowsOf {
    /// The number of rows of the table.
    type Saved = usize;

    fn forward(&self, [table]: [FlexTensor; 1], _saving: bool) -> (FlexTensor, Option<usize>) {
        let table = contiguous(table);
        let width = shape(&table)[1];
        let mut rows = Vec::with_capacity(self.0.len() * width);
        for &row in self.0.iter() {
            rows.extend_from_slice(&values(&table)[row as usize * width..][..width]);
        }
        (flex(rows, &[self.0.len(), width]), Some(shape(&table)[0]))
    }

    fn backward(&self, n_rows: usize, gradient: FlexTensor, _wanted: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let gradient = contiguous(gradient);
        let width = shape(&gradient)[1];
        let mut table = vec![0.0; n_rows * width];
        vectorized(
            #[inline(always)]
            || {
                for (&row, gradient) in self.0.iter().zip(values(&gradient).chunks_exact(width)) {
                    add(&mut table[row as usize * width..][..width], gradient);
                }
            },
        );
        [Some(flex(table, &[n_rows, width]))]
    }
}
