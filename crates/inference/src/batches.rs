//! Sequences of similar length computed together.

use std::sync::atomic::{AtomicUsize, Ordering};

use models::Workers;

/// Groups sequences into batches whose padded size stays within a limit, and returns the indices of each batch.
///
/// The longest sequences come first, of equal ones the earlier; a sequence longer than the limit is a batch of its own.
/// Nothing but the lengths and the limit decides, in particular not the number of workers, so that results do not
/// either. A limit that gives fewer batches than there are workers leaves some of them idle.
#[must_use]
pub fn by_length(lengths: &[usize], tokens_max: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(lengths[index]));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for index in order {
        match batches.last_mut() {
            Some(batch) if lengths[batch[0]] * (batch.len() + 1) <= tokens_max => batch.push(index),
            _ => batches.push(vec![index]),
        }
    }
    batches
}

/// How far a long computation is, in tokens without padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Tokens computed so far.
    pub tokens_done: usize,
    /// All tokens.
    pub tokens_total: usize,
}

/// Computes sequences in batches, several at once, and returns one result per sequence in the order of the sequences.
///
/// `compute` gets the indices of a batch; `progress` is called after every batch, from whichever worker finished it.
///
/// # Panics
///
/// Panics if `compute` returns another number of results than it got indices.
pub fn run<T: Send>(
    workers: &Workers,
    lengths: &[usize],
    tokens_max: usize,
    progress: &(dyn Fn(Progress) + Sync),
    compute: impl Fn(&[usize]) -> Vec<T> + Sync,
) -> Vec<T> {
    let tokens_total = lengths.iter().sum();
    let done = AtomicUsize::new(0);
    let results = workers.map(by_length(lengths, tokens_max), |_, batch| {
        let results = compute(&batch);
        assert_eq!(results.len(), batch.len(), "every sequence of a batch has a result");
        let tokens: usize = batch.iter().map(|&index| lengths[index]).sum();
        progress(Progress { tokens_done: done.fetch_add(tokens, Ordering::Relaxed) + tokens, tokens_total });
        batch.into_iter().zip(results).collect::<Vec<_>>()
    });
    let mut results: Vec<(usize, T)> = results.into_iter().flatten().collect();
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn batches_hold_similar_lengths_longest_first() {
        assert_eq!(by_length(&[3, 9, 4, 9, 1], 18), [vec![1, 3], vec![2, 0, 4]]);
    }

    #[test]
    fn a_sequence_over_the_limit_is_alone() {
        assert_eq!(by_length(&[50, 2, 2], 4), [vec![0], vec![1, 2]]);
        assert_eq!(by_length(&[5, 5], 0), [vec![0], vec![1]]);
        assert!(by_length(&[], 8).is_empty());
    }

    #[test]
    fn results_keep_the_order_of_the_sequences_and_progress_counts_every_token() {
        for workers in [Workers::inline(), Workers::new(3)] {
            let last = AtomicUsize::new(0);
            let progress = |progress: Progress| {
                assert_eq!(progress.tokens_total, 26);
                last.fetch_max(progress.tokens_done, Ordering::Relaxed);
            };
            let squares = |batch: &[usize]| batch.iter().map(|index| index * index).collect();
            assert_eq!(run(&workers, &[3, 9, 4, 9, 1], 9, &progress, squares), [0, 1, 4, 9, 16]);
            assert_eq!(last.into_inner(), 26);
        }
    }

    proptest! {
        #[test]
        fn every_sequence_is_in_one_batch_within_the_limit(
            lengths in prop::collection::vec(1_usize..20, 0..40),
            tokens_max in 0_usize..100,
        ) {
            let batches = by_length(&lengths, tokens_max);
            for batch in &batches {
                let longest = batch.iter().map(|&i| lengths[i]).max().unwrap();
                prop_assert!(batch.len() == 1 || longest * batch.len() <= tokens_max);
            }
            let mut covered = batches.concat();
            covered.sort_unstable();
            prop_assert_eq!(covered, (0..lengths.len()).collect::<Vec<_>>());
        }
    }
}
