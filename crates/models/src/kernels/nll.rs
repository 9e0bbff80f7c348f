//! The negative log-probability of one token per row of logits, without a matrix of log-probabilities.

use std::sync::Arc;

use burn::backend::flex::FlexTensor;

use super::lanes::{exp, exp_and_sum, for_chunks, map_indices, max, rows_per_task, vectorized};
use super::operation::{Operation, contiguous, flex, shape, values};

/// The NLL in nats of the targets under logits `[rows, vocabulary]`.
#[derive(Debug, Clone)]
pub(super) struct NllOfRows {
    pub(super) targets: Arc<Vec<u32>>,
}

impl Operation<1> for NllOfRows {
    /// The logits, and the logarithm of each row's total weight.
    type Saved = (FlexTensor, Vec<f32>);

    fn forward(&self, [logits]: [FlexTensor; 1], saving: bool) -> (FlexTensor, Option<Self::Saved>) {
        let logits = contiguous(logits);
        let vocabulary = shape(&logits)[1];
        let rows = values(&logits);
        let totals = map_indices(self.targets.len(), |row| {
            vectorized(
                #[inline(always)]
                || log_total(&rows[row * vocabulary..(row + 1) * vocabulary]),
            )
        });
        let picked = self.targets.iter().zip(rows.chunks_exact(vocabulary)).map(|(&target, row)| row[target as usize]);
        let nlls: Vec<f32> = totals.iter().zip(picked).map(|(total, logit)| total - logit).collect();
        let output = flex(nlls, &[self.targets.len()]);
        (output, saving.then_some((logits, totals)))
    }

    fn backward(&self, saved: Self::Saved, gradient: FlexTensor, _wanted: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let (mut logits, totals) = saved;
        let vocabulary = shape(&logits)[1];
        let gradient = contiguous(gradient);
        let gradient = values(&gradient);
        let rows = rows_per_task(vocabulary);
        for_chunks(
            logits.storage_mut(),
            rows * vocabulary,
            #[inline(always)]
            |index, chunk| {
                for (row, logits) in chunk.chunks_exact_mut(vocabulary).enumerate() {
                    let row = index * rows + row;
                    let (total, scale) = (totals[row], gradient[row]);
                    for x in logits.iter_mut() {
                        *x = exp(*x - total) * scale;
                    }
                    logits[self.targets[row] as usize] -= scale;
                }
            },
        );
        [Some(logits)]
    }
}

/// Returns the logarithm of the sum of exponentials.
#[inline(always)]
fn log_total(logits: &[f32]) -> f32 {
    let max = max(logits);
    let mut weights = [0.0; 1024];
    let mut total = 0.0;
    for logits in logits.chunks(weights.len()) {
        let weights = &mut weights[..logits.len()];
        weights.copy_from_slice(logits);
        total += exp_and_sum(weights, max);
    }
    max + total.ln()
}
