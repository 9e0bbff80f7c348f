//! The arms on parts of the samples: each repository, each kind of target, each language.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ArmSummary, Comparison, Prediction, compare, summarize};

/// The metrics that are broken down, of those that the predictions have.
pub(super) const METRICS: [&str; 7] = [
    "first_choice_weighted_nll",
    "weighted_nll",
    "exact_match_cceval",
    "edit_similarity_cceval",
    "exact_match_toolgen",
    "edit_similarity_toolgen",
    "validity_native",
];

/// The arms on one part of the samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breakdown {
    /// What the samples are told apart by: `repository`, `kind` or `language`.
    pub by: String,
    /// The repository, kind or language.
    pub group: String,
    /// The arms, with a few metrics each.
    pub arms: Vec<ArmSummary>,
    /// The arm in question against each of the others.
    pub comparisons: Vec<Comparison>,
}

/// What a prediction is grouped by.
type Key = fn(&Prediction) -> &str;

/// Returns the arms on each part of the samples, wherever there is more than one part; `focus` is the arm in question.
#[must_use]
pub fn breakdown(predictions: &[Prediction], arms: &[&str], focus: &str, seed: u64) -> Vec<Breakdown> {
    let ways: [(&str, Key); 3] = [
        ("repository", |prediction| &prediction.repository),
        ("kind", |prediction| &prediction.kind),
        ("language", |prediction| &prediction.language),
    ];
    let mut parts = Vec::new();
    for (by, key) in ways {
        let mut groups: BTreeMap<String, Vec<Prediction>> = BTreeMap::new();
        for prediction in predictions {
            groups.entry(key(prediction).to_owned()).or_default().push(few_metrics(prediction));
        }
        if groups.len() > 1 {
            parts.extend(
                groups.into_iter().map(|(group, predictions)| part(by, group, &predictions, (arms, focus), seed)),
            );
        }
    }
    parts
}

fn part(by: &str, group: String, predictions: &[Prediction], (arms, focus): (&[&str], &str), seed: u64) -> Breakdown {
    let others = arms.iter().filter(|arm| **arm != focus);
    let comparisons = others.flat_map(|other| compare(predictions, focus, other, seed)).collect();
    Breakdown { by: by.to_owned(), group, arms: summarize(predictions, arms, seed), comparisons }
}

/// Returns a prediction as far as a breakdown looks at it.
fn few_metrics(prediction: &Prediction) -> Prediction {
    let metrics = prediction.metrics.iter().filter(|(name, _)| METRICS.contains(&name.as_str()));
    Prediction {
        sample: prediction.sample.clone(),
        arm: prediction.arm.clone(),
        metrics: metrics.map(|(name, value)| (name.clone(), *value)).collect(),
        ..Prediction::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::prediction;
    use super::*;

    #[test]
    fn every_repository_and_kind_has_its_own_numbers() {
        let of = |sample: &str, arm: &str, repository: &str, kind: &str, nll: f64| Prediction {
            repository: repository.to_owned(),
            kind: kind.to_owned(),
            ..prediction(sample, arm, "width()", nll)
        };
        let predictions = [
            of("a", "x", "one", "line", 1.0),
            of("a", "y", "one", "line", 2.0),
            of("b", "x", "two", "span", 3.0),
            of("b", "y", "two", "span", 2.5),
            of("c", "x", "two", "line", 5.0),
            of("c", "y", "two", "line", 4.5),
        ];
        let parts = breakdown(&predictions, &["x", "y"], "y", 1);
        let means: Vec<(&str, &str, f64, usize)> = parts
            .iter()
            .map(|part| {
                let nll = &part.arms[0].metrics["weighted_nll"];
                (part.by.as_str(), part.group.as_str(), nll.mean, nll.n)
            })
            .collect();
        let expected = [
            ("repository", "one", 1.0, 1),
            ("repository", "two", 4.0, 2),
            ("kind", "line", 3.0, 2),
            ("kind", "span", 3.0, 1),
        ];
        assert_eq!(means, expected, "all are in one language, which tells nothing apart");
        let difference = parts[1].comparisons.iter().find(|comparison| comparison.metric == "weighted_nll").unwrap();
        assert!((difference.difference.mean + 0.5).abs() < 1e-12);
        assert_eq!((difference.arm.as_str(), difference.baseline.as_str()), ("y", "x"));
    }

    #[test]
    fn one_group_is_no_breakdown() {
        assert!(breakdown(&[prediction("a", "x", "width()", 1.0)], &["x"], "x", 1).is_empty());
        assert!(breakdown(&[], &[], "", 1).is_empty());
    }
}
