//! What each number in a report means, and how it is formed from what predictions hold.

mod table;

use super::bleu::{BleuCounts, Smoothing};
use super::codebleu::{CodeBleuCounts, Variant};
use crate::significance::Direction;

pub use table::METRICS;

/// What a number in a report means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Definition {
    /// The key in reports and predictions.
    pub name: &'static str,
    /// The name in tables.
    pub label: &'static str,
    /// The unit or range.
    pub unit: &'static str,
    /// Which way it improves.
    pub direction: Direction,
    /// One sentence that says how it is computed.
    pub definition: &'static str,
    /// How the number of an arm is formed from its samples.
    pub formula: Formula,
}

/// How the number of an arm is formed from its samples.
///
/// A formula over counts sums each count over the samples and takes its value once. A prediction holds the counts under
/// [`count_key`], and its own value under the name of the metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Formula {
    /// The mean of the metric over the samples that have it.
    Mean,
    /// The exponential of the mean of the metric named.
    Exponential(&'static str),
    /// The sum of `hits` over the sum of `keys`.
    Ratio,
    /// [`BleuCounts::value`] of the summed counts.
    Bleu4(Smoothing),
    /// The same, from 0 to 100.
    Bleu4Percent(Smoothing),
    /// [`CodeBleuCounts::value`] of the summed counts.
    CodeBleu(Variant),
}

impl Formula {
    /// Returns the names of the counts, or nothing for a formula over means.
    #[must_use]
    pub fn counts(self) -> &'static [&'static str] {
        match self {
            Self::Mean | Self::Exponential(_) => &[],
            Self::Ratio => &["hits", "keys"],
            Self::Bleu4(_) | Self::Bleu4Percent(_) => &BleuCounts::NAMES,
            Self::CodeBleu(_) => &CodeBleuCounts::NAMES,
        }
    }

    /// Returns the value of counts, in the order of [`Self::counts`]; not-a-number for a ratio to nothing.
    ///
    /// # Panics
    ///
    /// Panics if the counts are not as many as the formula has.
    #[must_use]
    pub fn value(self, counts: &[f64]) -> f64 {
        match self {
            Self::Mean | Self::Exponential(_) => f64::NAN,
            Self::Ratio => counts[0] / counts[1],
            Self::Bleu4(smoothing) => BleuCounts::from_array(sized(counts)).value(smoothing),
            Self::Bleu4Percent(smoothing) => 100.0 * BleuCounts::from_array(sized(counts)).value(smoothing),
            Self::CodeBleu(variant) => CodeBleuCounts::from_array(sized(counts)).value(variant),
        }
    }
}

fn sized<const N: usize>(counts: &[f64]) -> [f64; N] {
    counts.try_into().expect("a formula is given as many counts as it has")
}

/// Returns the key under which a prediction holds a count of a metric: `dependency_coverage.hits`.
#[must_use]
pub fn count_key(metric: &str, count: &str) -> String {
    format!("{metric}.{count}")
}

/// Says whether a key of a prediction holds a count, which is no metric by itself.
#[must_use]
pub fn is_count(key: &str) -> bool {
    key.contains('.')
}

/// Returns the definition of a metric.
#[must_use]
pub fn definition(name: &str) -> Option<&'static Definition> {
    METRICS.iter().find(|metric| metric.name == name)
}
