//! The NLL of targets after prompts, many at once.

use models::{Decoder, ScoredSequence, Workers};

use crate::batches::{self, Progress};

/// Returns the NLL of every target token in nats, for each request.
///
/// Requests of similar length share a batch of at most `batch_tokens_max` padded tokens, and every worker computes whole
/// batches. The batches depend on the requests and the limit alone, so that the number of workers changes nothing; the
/// limit itself changes results by rounding only.
///
/// # Panics
///
/// Panics if a prompt is empty or a request exceeds the decoder's context.
#[must_use]
pub fn score(
    decoder: &Decoder,
    workers: &Workers,
    requests: &[ScoredSequence],
    batch_tokens_max: usize,
    progress: &(dyn Fn(Progress) + Sync),
) -> Vec<Vec<f32>> {
    let lengths: Vec<usize> = requests.iter().map(ScoredSequence::read_tokens).collect();
    batches::run(workers, &lengths, batch_tokens_max, progress, |batch| {
        let batch: Vec<ScoredSequence> = batch.iter().map(|&index| requests[index].clone()).collect();
        decoder.target_nll(&batch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use std::sync::Mutex;

    fn requests() -> Vec<ScoredSequence> {
        let sequence = |n: u32| ScoredSequence {
            prompt: (0..5 + n * 3 % 17).map(|i| 6 + (i * 7 + n) % 250).collect(),
            target: (0..=n % 4).map(|i| 6 + (i * 11 + n) % 250).collect(),
        };
        (0..12).map(sequence).collect()
    }

    #[test]
    fn every_target_token_has_its_nll_for_any_number_of_workers() {
        let decoder = fixtures::decoder();
        let requests = requests();
        let expected = score(&decoder, &Workers::inline(), &requests, 64, &|_| ());
        for (request, nll) in requests.iter().zip(&expected) {
            assert_eq!(nll.len(), request.target.len());
            assert!(nll.iter().all(|nll| *nll > 0.0));
        }
        for workers in [Workers::new(1), Workers::new(3)] {
            assert_eq!(score(&decoder, &workers, &requests, 64, &|_| ()), expected);
        }
    }

    #[test]
    fn the_size_of_a_batch_changes_rounding_only() {
        let decoder = fixtures::decoder();
        let requests = requests();
        let alone = score(&decoder, &Workers::new(2), &requests, 0, &|_| ());
        for batch_tokens_max in [50, 1000] {
            let together = score(&decoder, &Workers::new(2), &requests, batch_tokens_max, &|_| ());
            let pairs = alone.iter().flatten().zip(together.iter().flatten());
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-4));
        }
    }

    #[test]
    fn progress_counts_the_tokens_that_are_read() {
        let decoder = fixtures::decoder();
        let requests = requests();
        let seen = Mutex::new(Vec::new());
        let nll = score(&decoder, &Workers::inline(), &requests, 64, &|progress| seen.lock().unwrap().push(progress));
        assert_eq!(nll.len(), requests.len());
        let seen = seen.into_inner().unwrap();
        let total = requests.iter().map(ScoredSequence::read_tokens).sum();
        assert!(seen.len() > 1 && seen.is_sorted_by_key(|progress| progress.tokens_done));
        assert_eq!(seen[seen.len() - 1], Progress { tokens_done: total, tokens_total: total });
    }

    #[test]
    fn no_requests_give_no_results() {
        assert!(score(&fixtures::decoder(), &Workers::new(2), &[], 64, &|_| ()).is_empty());
    }
}
