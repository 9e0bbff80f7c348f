//! Splits for sources that name none: by the order of hashes, so that neither the order of the manifest nor the number
//! of threads matters.

use crate::manifest::{Split, SplitBy, SplitRule};

/// Returns the split of each key: the keys with the smallest hashes are for test, the next ones for validation. A share
/// above zero gets at least one key while there are three keys or more.
pub(crate) fn assign(rule: &SplitRule, keys: &[String]) -> Vec<Split> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|index| (*blake3::hash(keys[*index].as_bytes()).as_bytes(), *index));
    let n_test = count(rule.test, keys.len());
    let n_validation = count(rule.validation, keys.len());
    let mut splits = vec![Split::Train; keys.len()];
    for (rank, index) in order.into_iter().enumerate() {
        if rank < n_test {
            splits[index] = Split::Test;
        } else if rank < n_test + n_validation {
            splits[index] = Split::Validation;
        }
    }
    splits
}

fn count(share: f64, n: usize) -> usize {
    let least = usize::from(share > 0.0 && n >= 3);
    ((share * n as f64).round() as usize).max(least)
}

/// Returns the splits of a repository's files by file: those in clusters are split, except the first of each cluster,
/// which can hold no random span; the others are for training.
pub(crate) fn assign_files(
    rule: &SplitRule,
    repository: &repo::Repository,
    clusters: &[repo::graph::Cluster],
) -> Vec<Split> {
    debug_assert_eq!(rule.by, SplitBy::File);
    let mut files: Vec<usize> = clusters.iter().flat_map(|cluster| cluster.files.iter().skip(1).copied()).collect();
    files.sort_unstable();
    let keys: Vec<String> =
        files.iter().map(|file| format!("{}\n{}", repository.name, repository.files()[*file].path)).collect();
    let mut splits = vec![Split::Train; repository.files().len()];
    for (file, split) in files.into_iter().zip(assign(rule, &keys)) {
        splits[file] = split;
    }
    splits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keys(n: usize) -> Vec<String> {
        (0..n).map(|i| format!("repository-{i}")).collect()
    }

    #[test]
    fn shares_are_met_and_small_ones_get_one() {
        let rule = SplitRule::default();
        let counts = |n| Split::ALL.map(|split| assign(&rule, &keys(n)).iter().filter(|s| **s == split).count());
        assert_eq!(counts(100), [80, 10, 10]);
        assert_eq!(counts(3), [1, 1, 1]);
        assert_eq!(counts(2), [2, 0, 0]);
        assert_eq!(counts(0), [0, 0, 0]);
    }

    proptest! {
        #[test]
        fn the_order_of_the_keys_does_not_matter(n in 0_usize..40, seed: u64) {
            use rand::seq::SliceRandom;
            let rule = SplitRule::default();
            let of = |keys: &[String]| {
                let mut pairs: Vec<_> = keys.iter().cloned().zip(assign(&rule, keys)).collect();
                pairs.sort();
                pairs
            };
            let mut shuffled = keys(n);
            shuffled.shuffle(&mut repo::random::stream(seed, "test"));
            prop_assert_eq!(of(&keys(n)), of(&shuffled));
        }
    }
}
