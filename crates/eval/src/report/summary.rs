//! From predictions to the means, intervals and differences of a report.

use std::collections::BTreeMap;

use repo::random::stream;

use super::{ArmSummary, Comparison, Prediction};
use crate::metrics::{Definition, Formula, METRICS, count_key, definition, is_count};
use crate::significance::{
    Direction, Interval, PairedDifference, mean_interval, paired_difference, pooled_difference, pooled_interval,
};

/// The values of one metric by sample.
type Values<'a> = BTreeMap<&'a str, f64>;

/// The counts of one metric by sample.
type Counts<'a> = BTreeMap<&'a str, Vec<f64>>;

/// Returns the summary of each arm, in the order given.
///
/// A metric that is missing from some predictions is averaged over the others; one that [`METRICS`] forms from counts
/// is formed from their sums. Perplexities are added where an arm has the NLL: the exponential of the mean, and of the
/// ends of its interval. Of two predictions of one arm for one sample the last counts. Each interval has a random
/// stream of its own, so that it does not depend on the other arms and metrics.
#[must_use]
pub fn summarize(predictions: &[Prediction], arms: &[&str], seed: u64) -> Vec<ArmSummary> {
    arms.iter()
        .map(|arm| {
            let rng = |metric: &str| stream(seed, &format!("bootstrap/{arm}/{metric}"));
            let mean = |(metric, values): (&str, Values)| {
                let values: Vec<f64> = values.into_values().collect();
                (metric.to_owned(), mean_interval(&values, &mut rng(metric)))
            };
            let mut metrics: BTreeMap<String, Interval> = by_metric(predictions, arm).into_iter().map(mean).collect();
            for (metric, counts) in counted(predictions, arm) {
                let rows: Vec<Vec<f64>> = counts.into_values().collect();
                let interval = pooled_interval(&rows, |sums| metric.formula.value(sums), &mut rng(metric.name));
                metrics.insert(metric.name.to_owned(), interval);
            }
            add_exponentials(&mut metrics);
            ArmSummary { arm: (*arm).to_owned(), n: n_samples(predictions, arm), metrics }
        })
        .collect()
}

fn add_exponentials(metrics: &mut BTreeMap<String, Interval>) {
    for metric in &METRICS {
        if let Formula::Exponential(nll) = metric.formula
            && let Some(interval) = metrics.get(nll).copied()
        {
            metrics.insert(metric.name.to_owned(), interval.exp());
        }
    }
}

/// Returns the paired difference of two arms for every metric both have, in the order of the metrics' names.
///
/// Only samples that both arms predicted count. A metric that [`METRICS`] does not list is taken to be better when
/// higher.
#[must_use]
pub fn compare(predictions: &[Prediction], arm: &str, baseline: &str, seed: u64) -> Vec<Comparison> {
    let rng = |metric: &str| stream(seed, &format!("bootstrap/{arm}/{baseline}/{metric}"));
    let mut paired: BTreeMap<&str, PairedDifference> = BTreeMap::new();
    let baselines = by_metric(predictions, baseline);
    for (metric, values) in by_metric(predictions, arm) {
        let Some(others) = baselines.get(metric) else { continue };
        let (left, right) = pairs(values, others);
        let direction = definition(metric).map_or(Direction::Higher, |metric| metric.direction);
        paired.insert(metric, paired_difference(&left, &right, direction, &mut rng(metric)));
    }
    let baselines = counted(predictions, baseline);
    for (metric, counts) in counted(predictions, arm) {
        let Some((_, others)) = baselines.iter().find(|(other, _)| other.name == metric.name) else { continue };
        let (left, right) = pairs(counts, others);
        let value = |sums: &[f64]| metric.formula.value(sums);
        let difference = pooled_difference(&left, &right, value, metric.direction, &mut rng(metric.name));
        paired.insert(metric.name, difference);
    }
    let comparison = |(metric, paired): (&str, PairedDifference)| Comparison {
        arm: arm.to_owned(),
        baseline: baseline.to_owned(),
        metric: metric.to_owned(),
        difference: paired.difference,
        relative: paired.relative,
        better: paired.better,
        worse: paired.worse,
    };
    paired.into_iter().map(comparison).collect()
}

/// Returns what both arms have for the same samples.
fn pairs<T: Clone>(values: BTreeMap<&str, T>, others: &BTreeMap<&str, T>) -> (Vec<T>, Vec<T>) {
    values.into_iter().filter_map(|(sample, value)| Some((value, others.get(sample)?.clone()))).unzip()
}

/// Returns the values of the metrics that are averaged.
fn by_metric<'a>(predictions: &'a [Prediction], arm: &str) -> BTreeMap<&'a str, Values<'a>> {
    let is_formed = |metric: &str| definition(metric).is_some_and(|metric| !metric.formula.counts().is_empty());
    let mut values: BTreeMap<&str, Values> = BTreeMap::new();
    for prediction in predictions.iter().filter(|prediction| prediction.arm == arm) {
        for (metric, value) in prediction.metrics.iter().filter(|(key, _)| !is_count(key) && !is_formed(key)) {
            values.entry(metric).or_default().insert(&prediction.sample, *value);
        }
    }
    values
}

/// Returns the counts of the metrics that are formed from sums, for each that an arm has.
fn counted<'a>(predictions: &'a [Prediction], arm: &str) -> Vec<(&'static Definition, Counts<'a>)> {
    let of = |metric: &'static Definition| {
        let keys: Vec<String> = metric.formula.counts().iter().map(|count| count_key(metric.name, count)).collect();
        let row = |prediction: &'a Prediction| {
            let counts: Option<Vec<f64>> = keys.iter().map(|key| prediction.metrics.get(key).copied()).collect();
            Some((prediction.sample.as_str(), counts?))
        };
        let own = predictions.iter().filter(|prediction| prediction.arm == arm);
        (metric, own.filter_map(row).collect::<Counts>())
    };
    let formed = METRICS.iter().filter(|metric| !metric.formula.counts().is_empty());
    formed.map(of).filter(|(_, counts)| !counts.is_empty()).collect()
}

fn n_samples(predictions: &[Prediction], arm: &str) -> usize {
    let samples: std::collections::BTreeSet<&str> =
        predictions.iter().filter(|prediction| prediction.arm == arm).map(|p| p.sample.as_str()).collect();
    samples.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prediction(sample: &str, arm: &str, nll: f64) -> Prediction {
        Prediction {
            sample: sample.to_owned(),
            arm: arm.to_owned(),
            metrics: BTreeMap::from([("nll".to_owned(), nll)]),
            ..Prediction::default()
        }
    }

    #[test]
    fn perplexity_is_the_exponential_of_the_mean() {
        let predictions = [prediction("a", "none", 1.0), prediction("b", "none", 2.0), prediction("b", "bm25", 9.0)];
        let arms = summarize(&predictions, &["none", "absent"], 1);
        assert_eq!((arms[0].n, arms[1].n), (2, 0));
        assert!((arms[0].metrics["nll"].mean - 1.5).abs() < 1e-12);
        assert!((arms[0].metrics["perplexity"].mean - 1.5_f64.exp()).abs() < 1e-12);
        assert!((arms[0].metrics["perplexity"].low - 1_f64.exp()).abs() < 1e-12);
        assert!(arms[1].metrics.is_empty());
    }

    #[test]
    fn only_shared_samples_are_compared_and_a_lower_nll_is_better() {
        let predictions = [
            prediction("a", "x", 1.0),
            prediction("b", "x", 3.0),
            prediction("c", "x", 100.0),
            prediction("a", "y", 2.0),
            prediction("b", "y", 3.5),
        ];
        let comparisons = compare(&predictions, "x", "y", 1);
        assert_eq!(comparisons.len(), 1);
        assert_eq!((comparisons[0].better, comparisons[0].worse, comparisons[0].difference.n), (2, 0, 2));
        assert!((comparisons[0].difference.mean + 0.75).abs() < 1e-12);
    }

    #[test]
    fn the_order_of_predictions_does_not_matter() {
        let mut predictions: Vec<Prediction> =
            (0..9).map(|index| prediction(&format!("s{index}"), "x", f64::from(index * index))).collect();
        let summary = summarize(&predictions, &["x"], 5);
        predictions.reverse();
        assert_eq!(summarize(&predictions, &["x"], 5), summary);
    }

    fn covered(sample: &str, arm: &str, hits: f64, keys: f64) -> Prediction {
        let metrics = [
            ("dependency_coverage", hits / keys),
            ("dependency_coverage.hits", hits),
            ("dependency_coverage.keys", keys),
        ];
        let metrics = metrics.map(|(key, value)| (key.to_owned(), value)).into();
        Prediction { sample: sample.to_owned(), arm: arm.to_owned(), metrics, ..Prediction::default() }
    }

    #[test]
    fn a_ratio_is_formed_from_sums_and_its_counts_are_no_metrics() {
        let predictions = [
            covered("a", "x", 1.0, 1.0),
            covered("b", "x", 1.0, 3.0),
            covered("a", "y", 1.0, 1.0),
            covered("b", "y", 0.0, 3.0),
            covered("c", "y", 9.0, 9.0),
        ];
        let arms = summarize(&predictions, &["x"], 1);
        assert_eq!(arms[0].metrics.keys().collect::<Vec<_>>(), ["dependency_coverage"]);
        assert!((arms[0].metrics["dependency_coverage"].mean - 0.5).abs() < 1e-12);
        let comparisons = compare(&predictions, "x", "y", 1);
        assert_eq!((comparisons.len(), comparisons[0].better, comparisons[0].worse), (1, 1, 0));
        assert!((comparisons[0].difference.mean - 0.25).abs() < 1e-12);
        assert!((comparisons[0].relative.mean - 1.0).abs() < 1e-12);
    }
}
