//! How sure a mean, or a difference of means, is.
//!
//! All intervals are 95 % percentile bootstrap intervals over samples. A metric is a mean of values, or one value of
//! counts summed over samples: a ratio, or a corpus metric such as BLEU, which is no mean of anything. Values that are
//! not finite are not skipped: they make the interval not-a-number, which a report shows as missing.

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
    /// The arm minus the baseline.
    pub difference: Interval,
    /// The difference over the baseline: how much the arm is above it, relative; not finite where the baseline may be
    /// 0.
    pub relative: Interval,
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
    let resampled = resample(values.len(), rng, |drawn| mean(drawn.iter().map(|index| values[*index])));
    interval(mean(values.iter().copied()), resampled, values.len())
}

/// Returns the value of the summed counts of all samples with its interval: each sample is drawn with all its counts.
///
/// This is how a ratio of sums or a corpus metric gets its interval. All rows have the same counts.
#[must_use]
pub fn pooled_interval(rows: &[Vec<f64>], value: impl Fn(&[f64]) -> f64, rng: &mut impl Rng) -> Interval {
    let resampled = resample(rows.len(), rng, |drawn| value(&summed(drawn.iter().map(|index| &rows[*index]))));
    let observed = if rows.is_empty() { f64::NAN } else { value(&summed(rows.iter())) };
    interval(observed, resampled, rows.len())
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
    let n = differences.len();
    let of = |drawn: &[usize]| Pair {
        difference: mean(drawn.iter().map(|index| differences[*index])),
        baseline: mean(drawn.iter().map(|index| baseline[*index])),
    };
    let resampled = resample(n, rng, of);
    let all: Vec<usize> = (0..n).collect();
    paired(of(&all), &resampled, &differences, direction)
}

/// Returns the difference of the values of summed counts with its interval: each pair of samples is drawn as a whole,
/// and both values are taken anew.
///
/// Samples on which the arm is better or worse are told by the values of their own counts.
///
/// # Panics
///
/// Panics if the slices differ in length.
#[must_use]
pub fn pooled_difference(
    arm: &[Vec<f64>],
    baseline: &[Vec<f64>],
    value: impl Fn(&[f64]) -> f64,
    direction: Direction,
    rng: &mut impl Rng,
) -> PairedDifference {
    assert_eq!(arm.len(), baseline.len(), "paired counts come in pairs");
    let of = |drawn: &[usize]| {
        let level = value(&summed(drawn.iter().map(|index| &baseline[*index])));
        Pair { difference: value(&summed(drawn.iter().map(|index| &arm[*index]))) - level, baseline: level }
    };
    let resampled = resample(arm.len(), rng, of);
    let all: Vec<usize> = (0..arm.len()).collect();
    let missing = Pair { difference: f64::NAN, baseline: f64::NAN };
    let observed = if all.is_empty() { missing } else { of(&all) };
    let differences: Vec<f64> = arm.iter().zip(baseline).map(|(arm, other)| value(arm) - value(other)).collect();
    paired(observed, &resampled, &differences, direction)
}

/// What one resample says of two arms.
#[derive(Clone, Copy)]
struct Pair {
    difference: f64,
    baseline: f64,
}

fn paired(observed: Pair, resampled: &[Pair], differences: &[f64], direction: Direction) -> PairedDifference {
    let relative = |pair: &Pair| pair.difference / pair.baseline;
    let above = differences.iter().filter(|difference| **difference > 0.0).count();
    let below = differences.iter().filter(|difference| **difference < 0.0).count();
    let (better, worse) = match direction {
        Direction::Higher => (above, below),
        Direction::Lower => (below, above),
    };
    let of = |value: &dyn Fn(&Pair) -> f64| {
        interval(value(&observed), resampled.iter().map(value).collect(), differences.len())
    };
    PairedDifference { difference: of(&|pair| pair.difference), relative: of(&relative), better, worse }
}

/// Draws as many samples as there are, with repetition, again and again; nothing from nothing.
fn resample<T>(n: usize, rng: &mut impl Rng, mut statistic: impl FnMut(&[usize]) -> T) -> Vec<T> {
    let n_resamples = if n > 0 { RESAMPLES } else { 0 };
    let mut drawn = vec![0; n];
    let mut one = || {
        drawn.fill_with(|| rng.random_range(0..n));
        statistic(&drawn)
    };
    (0..n_resamples).map(|_| one()).collect()
}

fn interval(mean: f64, mut resampled: Vec<f64>, n: usize) -> Interval {
    resampled.sort_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    Interval { mean, low: percentile(&resampled, tail), high: percentile(&resampled, 1.0 - tail), n }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len();
    if n == 0 { f64::NAN } else { values.sum::<f64>() / n as f64 }
}

fn summed<'a>(mut rows: impl Iterator<Item = &'a Vec<f64>>) -> Vec<f64> {
    let mut sums = rows.next().cloned().unwrap_or_default();
    for row in rows {
        for (sum, count) in sums.iter_mut().zip(row) {
            *sum += count;
        }
    }
    sums
}

/// Returns the value below which a share of the sorted values lies; not-a-number if there are none.
fn percentile(sorted: &[f64], share: f64) -> f64 {
    if sorted.is_empty() {
        return f64::NAN;
    }
    let position = share * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    let weight = position - below as f64;
    sorted[below] + (sorted[above] - sorted[below]) * weight
}

#[cfg(test)]
mod tests;
