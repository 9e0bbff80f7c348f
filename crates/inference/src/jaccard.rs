//! Similarity of texts as sets of tokens.

use models::tokenizer::Tokenizer;

/// The distinct tokens of a text.
///
/// # References
///
/// `RepoCoder` §3.1 compares the tokens of its generator's vocabulary (`p50k_base` in the released code); here the
/// tokenizer is the caller's choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSet {
    /// In ascending order.
    tokens: Vec<u32>,
}

impl TokenSet {
    /// Returns the set of some tokens.
    #[must_use]
    pub fn new(mut tokens: Vec<u32>) -> Self {
        tokens.sort_unstable();
        tokens.dedup();
        Self { tokens }
    }

    /// Returns the tokens of a text, those of white space included.
    #[must_use]
    pub fn of(text: &str, tokenizer: &Tokenizer) -> Self {
        Self::new(tokenizer.encode(text))
    }

    /// Returns the share of the tokens of either set that both have; 0 for two empty sets.
    #[must_use]
    pub fn jaccard(&self, other: &Self) -> f64 {
        let n_common = self.common(other);
        let n_all = self.tokens.len() + other.tokens.len() - n_common;
        if n_all == 0 { 0.0 } else { n_common as f64 / n_all as f64 }
    }

    fn common(&self, other: &Self) -> usize {
        let (mut a, mut b, mut n) = (self.tokens.as_slice(), other.tokens.as_slice(), 0);
        while let ([first_a, rest_a @ ..], [first_b, rest_b @ ..]) = (a, b) {
            n += usize::from(first_a == first_b);
            let (before, after) = (first_a <= first_b, first_b <= first_a);
            a = if before { rest_a } else { a };
            b = if after { rest_b } else { b };
        }
        n
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::fixtures;

    #[test]
    fn equal_texts_are_as_similar_as_can_be() {
        let tokenizer = fixtures::tokenizer();
        let set = TokenSet::of("def f(x):\n    return x", &tokenizer);
        assert!((set.jaccard(&set) - 1.0).abs() < 1e-12);
        assert!(TokenSet::of("", &tokenizer).jaccard(&TokenSet::new(Vec::new())).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_share_is_that_of_intersection_and_union(a in prop::collection::vec(0_u32..20, 0..30), b in prop::collection::vec(0_u32..20, 1..30)) {
            let sets = [&a, &b].map(|tokens| tokens.iter().copied().collect::<BTreeSet<u32>>());
            let expected = sets[0].intersection(&sets[1]).count() as f64 / sets[0].union(&sets[1]).count() as f64;
            let [first, second] = [a, b].map(TokenSet::new);
            prop_assert!((first.jaccard(&second) - expected).abs() < 1e-12);
            prop_assert!((second.jaccard(&first) - expected).abs() < 1e-12);
        }
    }
}
