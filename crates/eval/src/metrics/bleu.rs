//! BLEU-4 from counts that add up over samples, with the three smoothings in use.

mod tokenize_13a;

use std::collections::BTreeMap;
use std::ops::Add;

/// The longest n-gram counted.
pub const ORDERS: usize = 4;

pub use tokenize_13a::tokenize_13a;

/// What a match counts that is not there, where an order has none, for [`Smoothing::Epsilon`].
const EPSILON: f64 = 0.1;

/// What becomes of an order of n-grams without matches, whose logarithm is infinite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Smoothing {
    /// Every precision is `(matches + 1) / (totals + 1)`: `ToolGen` and `CodeXGLUE`'s `bleu.py`.
    AddOne,
    /// An order without matches counts a tenth of one: NLTK's `method1`, which `CodeBLEU` uses.
    Epsilon,
    /// The first order without matches counts half a match, the second a quarter, and so on: `sacrebleu`.
    Exponential,
}

/// What BLEU needs to know of a sample, or, added up, of a corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BleuCounts {
    /// The n-grams of the prediction that the target has too, each at most as often as the target has it, by order.
    pub matches: [f64; ORDERS],
    /// The n-grams of the prediction, by order.
    pub totals: [f64; ORDERS],
    /// The tokens of the prediction.
    pub prediction_tokens: f64,
    /// The tokens of the target.
    pub target_tokens: f64,
}

impl BleuCounts {
    /// The names of the numbers of [`Self::to_array`].
    pub const NAMES: [&'static str; 10] = [
        "matches_1",
        "matches_2",
        "matches_3",
        "matches_4",
        "totals_1",
        "totals_2",
        "totals_3",
        "totals_4",
        "prediction_tokens",
        "target_tokens",
    ];

    /// Counts the n-grams of one prediction.
    #[must_use]
    pub fn new<T: Ord>(prediction: &[T], target: &[T]) -> Self {
        let mut counts =
            Self { prediction_tokens: prediction.len() as f64, target_tokens: target.len() as f64, ..Self::default() };
        for order in 1..=ORDERS {
            let predicted = ngrams(prediction, order);
            counts.matches[order - 1] = clipped(&predicted, &ngrams(target, order));
            counts.totals[order - 1] = predicted.values().sum::<usize>() as f64;
        }
        counts
    }

    /// Returns corpus BLEU-4, from 0 to 1, with the standard brevity penalty.
    ///
    /// # References
    ///
    /// `ToolGen`, `Bleu.compute_bleu` with `smooth=True`, which divides by zero where prediction or target has no
    /// token and here is 0; NLTK, `corpus_bleu` with `SmoothingFunction().method1`, whose totals are those of
    /// [`Self::at_least_one`]; `sacrebleu` 2.5, `BLEU.compute_bleu` with `smooth_method="exp"`, divided by 100.
    #[must_use]
    pub fn value(&self, smoothing: Smoothing) -> f64 {
        let precision = match smoothing {
            Smoothing::AddOne if self.target_tokens <= 0.0 => 0.0,
            Smoothing::AddOne => {
                let shares = self.matches.iter().zip(&self.totals);
                geometric_mean(shares.map(|(matches, total)| (matches + 1.0) / (total + 1.0)))
            }
            Smoothing::Epsilon => with_epsilon(&self.matches, &self.totals),
            Smoothing::Exponential => self.with_halves(),
        };
        brevity_penalty(self.prediction_tokens, self.target_tokens) * precision
    }

    fn with_halves(&self) -> f64 {
        if self.matches.iter().all(|matches| *matches <= 0.0) || self.totals.contains(&0.0) {
            return 0.0;
        }
        let mut half = 1.0;
        let share = |(matches, total): (&f64, &f64)| {
            if *matches > 0.0 {
                return matches / total;
            }
            half /= 2.0;
            half / total
        };
        geometric_mean(self.matches.iter().zip(&self.totals).map(share))
    }

    /// Returns the counts of a sample in which every order has at least one n-gram, as NLTK counts.
    #[must_use]
    pub fn at_least_one(self) -> Self {
        Self { totals: self.totals.map(|total| total.max(1.0)), ..self }
    }

    /// Returns the counts in the order of [`Self::NAMES`].
    #[must_use]
    pub fn to_array(self) -> [f64; 10] {
        let mut array = [0.0; 10];
        array[..ORDERS].copy_from_slice(&self.matches);
        array[ORDERS..2 * ORDERS].copy_from_slice(&self.totals);
        array[2 * ORDERS..].copy_from_slice(&[self.prediction_tokens, self.target_tokens]);
        array
    }

    /// Reads the counts in the order of [`Self::NAMES`].
    #[must_use]
    pub fn from_array(array: [f64; 10]) -> Self {
        Self {
            matches: std::array::from_fn(|index| array[index]),
            totals: std::array::from_fn(|index| array[ORDERS + index]),
            prediction_tokens: array[2 * ORDERS],
            target_tokens: array[2 * ORDERS + 1],
        }
    }
}

impl Add for BleuCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            matches: added(self.matches, other.matches),
            totals: added(self.totals, other.totals),
            prediction_tokens: self.prediction_tokens + other.prediction_tokens,
            target_tokens: self.target_tokens + other.target_tokens,
        }
    }
}

pub(super) fn added<const N: usize>(left: [f64; N], right: [f64; N]) -> [f64; N] {
    std::array::from_fn(|index| left[index] + right[index])
}

/// Returns how often each n-gram of an order occurs.
pub(super) fn ngrams<T: Ord>(tokens: &[T], order: usize) -> BTreeMap<&[T], usize> {
    let mut counts = BTreeMap::new();
    for ngram in tokens.windows(order) {
        *counts.entry(ngram).or_default() += 1;
    }
    counts
}

/// Returns how many of the n-grams are among the others, each counted at most as often as there.
pub(super) fn clipped<T: Ord>(ngrams: &BTreeMap<&[T], usize>, others: &BTreeMap<&[T], usize>) -> f64 {
    ngrams.iter().map(|(ngram, count)| others.get(ngram).map_or(0, |other| *count.min(other))).sum::<usize>() as f64
}

/// Returns the geometric mean of the shares, an order without matches smoothed; 0 if not even a single token matches.
pub(super) fn with_epsilon(matches: &[f64; ORDERS], totals: &[f64; ORDERS]) -> f64 {
    if matches[0] <= 0.0 {
        return 0.0;
    }
    let smoothed = |matches: f64| if matches > 0.0 { matches } else { EPSILON };
    geometric_mean(matches.iter().zip(totals).map(|(matches, total)| smoothed(*matches) / total))
}

/// Returns the standard brevity penalty: 1 for a prediction longer than its target, 0 for an empty one.
pub(super) fn brevity_penalty(prediction_tokens: f64, target_tokens: f64) -> f64 {
    if prediction_tokens > target_tokens {
        1.0
    } else if prediction_tokens > 0.0 {
        (1.0 - target_tokens / prediction_tokens).exp()
    } else {
        0.0
    }
}

/// Returns the geometric mean of one precision per order.
pub(super) fn geometric_mean(precisions: impl Iterator<Item = f64>) -> f64 {
    (precisions.map(f64::ln).sum::<f64>() / ORDERS as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(prediction: &str, target: &str) -> BleuCounts {
        let tokens = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        BleuCounts::new(&tokens(prediction), &tokens(target))
    }

    #[test]
    fn matches_are_clipped_to_the_target() {
        let counts = counts("a a a b", "a b a");
        let expected = BleuCounts {
            matches: [3.0, 1.0, 0.0, 0.0],
            totals: [4.0, 3.0, 2.0, 1.0],
            prediction_tokens: 4.0,
            target_tokens: 3.0,
        };
        assert_eq!(counts, expected);
    }

    #[test]
    fn a_corpus_is_the_sum_of_its_samples() {
        let corpus = counts("a b c d", "a b c d") + counts("a x", "a b");
        let precisions = [(6.0, 7.0), (4.0, 5.0), (3.0, 3.0), (2.0, 2.0)];
        let expected: f64 = precisions.iter().map(|(matches, total): &(f64, f64)| (matches / total).ln()).sum::<f64>();
        assert!((corpus.value(Smoothing::AddOne) - (expected / 4.0).exp()).abs() < 1e-12);
        assert_eq!(BleuCounts::from_array(corpus.to_array()), corpus);
    }

    #[test]
    fn short_predictions_are_punished_and_empty_ones_score_nothing() {
        assert!((counts("a b c d e f", "a b c d e f").value(Smoothing::AddOne) - 1.0).abs() < 1e-12);
        assert!((counts("a", "a b").value(Smoothing::AddOne) - (-1.0_f64).exp()).abs() < 1e-12);
        for smoothing in [Smoothing::AddOne, Smoothing::Epsilon, Smoothing::Exponential] {
            assert!(counts("", "a b").at_least_one().value(smoothing).abs() < 1e-12);
        }
    }

    #[test]
    fn smoothings_differ_where_an_order_has_no_match() {
        let counts = counts("a b x d e", "a b c d e");
        let value = |smoothing| counts.value(smoothing);
        let mean = |shares: [f64; 4]| shares.iter().product::<f64>().powf(0.25);
        assert!((value(Smoothing::AddOne) - mean([5.0 / 6.0, 3.0 / 5.0, 1.0 / 4.0, 1.0 / 3.0])).abs() < 1e-12);
        assert!((value(Smoothing::Epsilon) - mean([4.0 / 5.0, 2.0 / 4.0, 0.1 / 3.0, 0.1 / 2.0])).abs() < 1e-12);
        assert!((value(Smoothing::Exponential) - mean([4.0 / 5.0, 2.0 / 4.0, 0.5 / 3.0, 0.25 / 2.0])).abs() < 1e-12);
    }
}
