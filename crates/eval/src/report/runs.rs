//! Two runs held against each other, sample by sample.

use std::collections::{BTreeMap, BTreeSet};

use super::{CorpusSummary, Prediction, Report, VERSION, breakdown, compare, summarize};
use crate::{Error, Result};

/// One side of a comparison of runs.
#[derive(Clone, Debug)]
pub struct Run {
    /// How the run is called; the other one has another name.
    pub name: String,
    /// Its predictions.
    pub predictions: Vec<Prediction>,
}

impl Run {
    /// Returns the arms, in the order of their first mention.
    #[must_use]
    pub fn arms(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        self.predictions.iter().map(|prediction| prediction.arm.as_str()).filter(|arm| seen.insert(*arm)).collect()
    }

    /// Returns an arm's predictions by sample, under the arm's name in a comparison.
    fn of(&self, arm: &str) -> BTreeMap<&str, Prediction> {
        let of_arm = self.predictions.iter().filter(|prediction| prediction.arm == arm);
        of_arm.map(|p| (p.sample.as_str(), Prediction { arm: self.name_of(arm), ..p.clone() })).collect()
    }

    fn name_of(&self, arm: &str) -> String {
        format!("{}: {arm}", self.name)
    }
}

/// Compares arms of one run with arms of another, each pair `(arm of a, arm of b)` on the same samples: the report has
/// the differences, `b` minus `a`, and comes with the predictions that it is made of.
///
/// # Errors
///
/// Fails if a pair's samples are not the same, in name or in target, or if there are none: then a difference would be
/// one of samples, not of runs.
pub fn compare_runs(a: &Run, b: &Run, pairs: &[(&str, &str)], seed: u64) -> Result<(Report, Vec<Prediction>)> {
    let (mut arms, mut predictions) = (Vec::new(), Vec::new());
    for (arm_a, arm_b) in pairs {
        let (of_a, of_b) = (a.of(arm_a), b.of(arm_b));
        same_samples(&of_a, &of_b, &format!("{} and {}", a.name_of(arm_a), b.name_of(arm_b)))?;
        for (name, of) in [(a.name_of(arm_a), of_a), (b.name_of(arm_b), of_b)] {
            if !arms.contains(&name) {
                arms.push(name);
                predictions.extend(of.into_values());
            }
        }
    }
    let names: Vec<&str> = arms.iter().map(String::as_str).collect();
    let difference = |(arm_a, arm_b): &(&str, &str)| compare(&predictions, &b.name_of(arm_b), &a.name_of(arm_a), seed);
    let report = Report {
        version: VERSION,
        experiment: format!("{} against {}", b.name, a.name),
        identity: BTreeMap::new(),
        rewards: None,
        arms: summarize(&predictions, &names, seed),
        comparisons: pairs.iter().flat_map(difference).collect(),
        breakdown: breakdown(&predictions, &names, names.last().copied().unwrap_or_default(), seed),
        figures: Vec::new(),
        curves: Vec::new(),
        corpus: CorpusSummary::default(),
        notes: Vec::new(),
        timing: BTreeMap::new(),
    };
    Ok((report, predictions))
}

fn same_samples(a: &BTreeMap<&str, Prediction>, b: &BTreeMap<&str, Prediction>, pair: &str) -> Result<()> {
    let only = |these: &BTreeMap<&str, Prediction>, others: &BTreeMap<&str, Prediction>| {
        these.keys().filter(|sample| !others.contains_key(*sample)).count()
    };
    let other_target = |(sample, prediction): &(&&str, &Prediction)| {
        b.get(*sample).is_some_and(|other| other.target != prediction.target)
    };
    let (only_a, only_b) = (only(a, b), only(b, a));
    let problem = if a.is_empty() && b.is_empty() {
        "there is no sample".to_owned()
    } else if only_a + only_b > 0 {
        format!(
            "{only_a} samples are only in the first and {only_b} only in the second, of {} and {}",
            a.len(),
            b.len()
        )
    } else if let Some((sample, _)) = a.iter().find(other_target) {
        format!("the target of {sample} differs")
    } else {
        return Ok(());
    };
    Err(Error::OtherSamples { pair: pair.to_owned(), problem })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{prediction, predictions};
    use super::super::render_html;
    use super::*;

    fn run(name: &str, predictions: Vec<Prediction>) -> Run {
        Run { name: name.to_owned(), predictions }
    }

    #[test]
    fn arms_are_compared_on_the_same_samples() {
        let (a, b) = (run("first", predictions()), run("second", predictions()));
        assert_eq!(a.arms(), ["bm25", "trained"]);
        let (report, predictions) = compare_runs(&a, &b, &[("bm25", "trained"), ("trained", "trained")], 1).unwrap();
        let of = |arm: &str, baseline: &str| {
            let is_pair = |c: &&super::super::Comparison| c.arm == arm && c.baseline == baseline;
            let found = report.comparisons.iter().filter(is_pair);
            found.clone().find(|comparison| comparison.metric == "weighted_nll").unwrap().difference.mean
        };
        assert!((of("second: trained", "first: bm25") + 0.25 / 3.0).abs() < 1e-12);
        assert!(of("second: trained", "first: trained").abs() < 1e-12);
        assert_eq!((report.arms.len(), predictions.len()), (3, 9));
        assert!(render_html(&report, &predictions).unwrap().contains("second against first"));
    }

    #[test]
    fn other_samples_are_refused() {
        let a = run("first", vec![prediction("s0", "x", "y", 1.0), prediction("s1", "x", "y", 1.0)]);
        let message = |predictions: Vec<Prediction>| {
            compare_runs(&a, &run("second", predictions), &[("x", "x")], 1).unwrap_err().to_string()
        };
        let fewer = message(vec![prediction("s0", "x", "y", 1.0)]);
        assert_eq!(
            fewer,
            "first: x and second: x cannot be compared: 1 samples are only in the first and 0 only in the second, of 2 and 1"
        );
        let mut other = vec![prediction("s0", "x", "y", 1.0), prediction("s1", "x", "y", 1.0)];
        other[1].target.push('!');
        assert!(message(other).ends_with("the target of s1 differs"));
        assert!(compare_runs(&a, &a, &[("absent", "absent")], 1).is_err());
    }
}
