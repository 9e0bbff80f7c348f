//! From predictions to the means, intervals and differences of a report.

use std::collections::BTreeMap;

use repo::random::stream;

use super::{ArmSummary, Comparison, Prediction};
use crate::metrics::definition;
use crate::significance::{Direction, Interval, mean_interval, paired_difference};

/// Mean NLLs and the perplexities reported from them.
const PERPLEXITIES: [(&str, &str); 2] = [("nll", "perplexity"), ("weighted_nll", "weighted_perplexity")];

/// The values of one metric by sample.
type Values<'a> = BTreeMap<&'a str, f64>;

/// Returns the summary of each arm, in the order given.
///
/// A metric that is missing from some predictions is averaged over the others. Perplexities are added where an arm has the
/// NLL: the exponential of the mean, and of the ends of its interval. Of two predictions of one arm for one sample the
/// last counts. Each interval has a random stream of its own, so that it does not depend on the other arms and metrics.
#[must_use]
pub fn summarize(predictions: &[Prediction], arms: &[&str], seed: u64) -> Vec<ArmSummary> {
    arms.iter()
        .map(|arm| {
            let mut metrics: BTreeMap<String, Interval> = by_metric(predictions, arm)
                .into_iter()
                .map(|(metric, values)| (metric.to_owned(), interval(arm, metric, &values, seed)))
                .collect();
            for (nll, perplexity) in PERPLEXITIES {
                if let Some(interval) = metrics.get(nll).copied() {
                    metrics.insert(perplexity.to_owned(), interval.exp());
                }
            }
            ArmSummary { arm: (*arm).to_owned(), n: n_samples(predictions, arm), metrics }
        })
        .collect()
}

/// Returns the paired difference of two arms for every metric both have, in the order of the metrics' names.
///
/// Only samples that both arms predicted count. A metric that [`crate::metrics::METRICS`] does not list is taken to be
/// better when higher.
#[must_use]
pub fn compare(predictions: &[Prediction], arm: &str, baseline: &str, seed: u64) -> Vec<Comparison> {
    let baselines = by_metric(predictions, baseline);
    by_metric(predictions, arm)
        .into_iter()
        .filter_map(|(metric, values)| {
            let others = baselines.get(metric)?;
            let pairs: Vec<(f64, f64)> =
                values.iter().filter_map(|(sample, value)| Some((*value, *others.get(sample)?))).collect();
            let (left, right): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let direction = definition(metric).map_or(Direction::Higher, |metric| metric.direction);
            let mut rng = stream(seed, &format!("bootstrap/{arm}/{baseline}/{metric}"));
            let paired = paired_difference(&left, &right, direction, &mut rng);
            Some(Comparison {
                arm: arm.to_owned(),
                baseline: baseline.to_owned(),
                metric: metric.to_owned(),
                difference: paired.difference,
                better: paired.better,
                worse: paired.worse,
            })
        })
        .collect()
}

fn by_metric<'a>(predictions: &'a [Prediction], arm: &str) -> BTreeMap<&'a str, Values<'a>> {
    let mut values: BTreeMap<&str, Values> = BTreeMap::new();
    for prediction in predictions.iter().filter(|prediction| prediction.arm == arm) {
        for (metric, value) in &prediction.metrics {
            values.entry(metric).or_default().insert(&prediction.sample, *value);
        }
    }
    values
}

fn interval(arm: &str, metric: &str, values: &Values, seed: u64) -> Interval {
    let values: Vec<f64> = values.values().copied().collect();
    mean_interval(&values, &mut stream(seed, &format!("bootstrap/{arm}/{metric}")))
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
}
