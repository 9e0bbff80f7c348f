//! How sure a mean, or a difference of means, is.
//!
//! All intervals are 95 % percentile bootstrap intervals over samples. Values that are not finite are not skipped: they
//! make the interval not-a-number, which a report shows as missing.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// The number of times the samples are drawn anew.
pub const RESAMPLES: usize = 10_000;

/// The share of resampled means inside an interval.
pub const CONFIDENCE: f64 = 0.95;

/// A mean with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// The mean; not-a-number if there are no samples.
    #[serde(deserialize_with = "crate::report::json::number_or_nan")]
    pub mean: f64,
    /// The lower end.
    #[serde(deserialize_with = "crate::report::json::number_or_nan")]
    pub low: f64,
    /// The upper end.
    #[serde(deserialize_with = "crate::report::json::number_or_nan")]
    pub high: f64,
    /// The number of samples.
    pub n: usize,
}

impl Interval {
    /// Returns the interval of the exponential: from nats to perplexity.
    #[must_use]
    pub fn exp(self) -> Self {
        Self { mean: self.mean.exp(), low: self.low.exp(), high: self.high.exp(), n: self.n }
    }

    /// Says whether the interval leaves zero out, in either direction.
    #[must_use]
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Which way a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// A higher value is better.
    Higher,
    /// A lower value is better.
    Lower,
}

/// The difference between two arms on the same samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedDifference {
    /// The mean of arm minus baseline.
    pub difference: Interval,
    /// The number of samples on which the arm is better.
    pub better: usize,
    /// The number of samples on which the arm is worse.
    pub worse: usize,
}

/// Returns the mean of the values with its percentile bootstrap interval.
///
/// # References
///
/// Efron and Tibshirani, *An Introduction to the Bootstrap*, chapter 13. Percentiles are interpolated linearly.
#[must_use]
pub fn mean_interval(values: &[f64], rng: &mut impl Rng) -> Interval {
    let n = values.len();
    if n == 0 {
        let missing = f64::NAN;
        return Interval { mean: missing, low: missing, high: missing, n };
    }
    let mut means: Vec<f64> = (0..RESAMPLES).map(|_| resampled_mean(values, rng)).collect();
    means.sort_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Interval {
        mean: values.iter().sum::<f64>() / n as f64,
        low: percentile(&means, tail),
        high: percentile(&means, 1.0 - tail),
        n,
    }
}

/// Returns the mean difference of paired values with its interval: each pair is drawn as a whole.
///
/// # Panics
///
/// Panics if the slices differ in length.
#[must_use]
pub fn paired_difference(arm: &[f64], baseline: &[f64], direction: Direction, rng: &mut impl Rng) -> PairedDifference {
    assert_eq!(arm.len(), baseline.len(), "paired values come in pairs");
    let differences: Vec<f64> = arm.iter().zip(baseline).map(|(a, b)| a - b).collect();
    let above = differences.iter().filter(|difference| **difference > 0.0).count();
    let below = differences.iter().filter(|difference| **difference < 0.0).count();
    let (better, worse) = match direction {
        Direction::Higher => (above, below),
        Direction::Lower => (below, above),
    };
    PairedDifference { difference: mean_interval(&differences, rng), better, worse }
}

fn resampled_mean(values: &[f64], rng: &mut impl Rng) -> f64 {
    let n = values.len();
    let sum: f64 = (0..n).map(|_| values[rng.random_range(0..n)]).sum();
    sum / n as f64
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let weight = position - below as f64;
    sorted[below] + (sorted[above] - sorted[below]) * weight
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use repo::random::stream;

    #[test]
    fn no_samples_have_no_mean() {
        let interval = mean_interval(&[], &mut stream(1, "none"));
        assert!(interval.mean.is_nan() && interval.low.is_nan() && interval.high.is_nan());
        assert_eq!(interval.n, 0);
        assert!(!interval.excludes_zero());
    }

    #[test]
    fn equal_values_have_an_interval_of_no_width() {
        for values in [vec![0.1], vec![0.1; 7]] {
            let interval = mean_interval(&values, &mut stream(1, "equal"));
            assert!((interval.mean - 0.1).abs() < 1e-15);
            assert!((interval.low - interval.mean).abs() < 1e-15);
            assert!((interval.high - interval.mean).abs() < 1e-15);
        }
    }

    #[test]
    fn a_value_that_is_not_finite_is_not_hidden() {
        let interval = mean_interval(&[1.0, f64::NAN], &mut stream(1, "nan"));
        assert!(interval.mean.is_nan() && interval.high.is_nan());
    }

    #[test]
    fn the_interval_of_a_coin_agrees_with_the_normal_approximation() {
        let values: Vec<f64> = (0..1000).map(|index| f64::from(index % 2)).collect();
        let interval = mean_interval(&values, &mut stream(7, "coin"));
        let expected = 1.96 * (0.25_f64 / 1000.0).sqrt();
        assert!((interval.high - 0.5 - expected).abs() < 0.002, "{interval:?}");
        assert!((0.5 - interval.low - expected).abs() < 0.002, "{interval:?}");
    }

    #[test]
    fn the_same_stream_gives_the_same_interval() {
        let values: Vec<f64> = (0..50).map(|index| f64::from(index).sqrt()).collect();
        let first = mean_interval(&values, &mut stream(3, "a"));
        assert_eq!(first, mean_interval(&values, &mut stream(3, "a")));
        assert_ne!(first, mean_interval(&values, &mut stream(3, "b")));
    }

    #[test]
    fn better_follows_the_direction_of_the_metric() {
        let (arm, baseline) = ([1.0, 2.0, 3.0, 3.0], [2.0, 1.0, 1.0, 3.0]);
        let higher = paired_difference(&arm, &baseline, Direction::Higher, &mut stream(1, "d"));
        let lower = paired_difference(&arm, &baseline, Direction::Lower, &mut stream(1, "d"));
        assert_eq!((higher.better, higher.worse), (2, 1));
        assert_eq!((lower.better, lower.worse), (1, 2));
        assert_eq!(higher.difference, lower.difference);
        assert!((higher.difference.mean - 0.5).abs() < 1e-12);
    }

    #[test]
    fn percentiles_are_interpolated() {
        let sorted = [0.0, 10.0, 20.0];
        assert!((percentile(&sorted, 0.25) - 5.0).abs() < 1e-12);
        assert!((percentile(&sorted, 1.0) - 20.0).abs() < 1e-12);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn an_interval_lies_within_the_values(
            values in prop::collection::vec(-100.0_f64..100.0, 1..20),
            seed: u64,
        ) {
            let interval = mean_interval(&values, &mut stream(seed, "property"));
            let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
            let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(lowest - 1e-9 <= interval.low && interval.low <= interval.high);
            prop_assert!(interval.high <= highest + 1e-9);
            prop_assert!(lowest - 1e-9 <= interval.mean && interval.mean <= highest + 1e-9);
        }

        #[test]
        fn a_shift_moves_the_interval_with_it(
            values in prop::collection::vec(-10.0_f64..10.0, 1..12),
            shift in -5.0_f64..5.0,
        ) {
            let shifted: Vec<f64> = values.iter().map(|value| value + shift).collect();
            let difference =
                paired_difference(&shifted, &values, Direction::Higher, &mut stream(1, "shift"));
            prop_assert!((difference.difference.mean - shift).abs() < 1e-9);
            prop_assert!((difference.difference.low - shift).abs() < 1e-9);
            prop_assert!((difference.difference.high - shift).abs() < 1e-9);
        }
    }
}
