//! What an evaluation leaves behind: `report.json`, `predictions.jsonl` and `report.html`.
//!
//! The types here are plain data, filled by whoever ran the models. Fields are written in the order they are declared,
//! maps in key order and floats with six decimals, so that equal runs give equal bytes; only [`Report::timing`], which
//! is last, may differ between them.

mod arms;
mod breakdown;
mod chart;
mod diff;
mod headline;
mod html;
pub(crate) mod json;
mod panels;
mod predictions;
mod runs;
mod samples;
mod summary;
mod tables;

#[cfg(test)]
mod fixture;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::significance::Interval;
use crate::{Error, Result};

pub use breakdown::{Breakdown, breakdown};
pub use headline::headline;
pub use html::{SAMPLES_MAX, render_html, write_html};
pub use predictions::{Prediction, ShownCandidate, read_predictions, write_predictions};
pub use runs::{Run, compare_runs};
pub use summary::{compare, summarize};

/// The version of `report.json` that this build reads and writes.
pub const VERSION: u32 = 3;

/// The outcome of one experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The format version, [`VERSION`].
    pub version: u32,
    /// The name of the experiment.
    pub experiment: String,
    /// What was evaluated: models, dataset hash, variants, seed. No paths and no times.
    pub identity: BTreeMap<String, String>,
    /// What the candidates were worth to the evaluator; nothing for a generator.
    pub rewards: Option<RewardSummary>,
    /// One entry per arm, in the order in which tables show them.
    pub arms: Vec<ArmSummary>,
    /// Paired differences between arms.
    pub comparisons: Vec<Comparison>,
    /// The arms on each repository, kind of target and language.
    pub breakdown: Vec<Breakdown>,
    /// Figures without intervals, such as what decoding cost.
    pub figures: Vec<Figure>,
    /// Learning curves.
    pub curves: Vec<Curve>,
    /// Where the data came from.
    pub corpus: CorpusSummary,
    /// Remarks of the run in plain sentences, such as a limit that was reached.
    pub notes: Vec<String>,
    /// Wall times in seconds by stage: the only part that differs between equal runs.
    #[serde(deserialize_with = "json::numbers_or_nan")]
    pub timing: BTreeMap<String, f64>,
}

/// The metrics of one arm with their intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArmSummary {
    /// The name of the arm: `none`, `bm25`, `untrained`, `trained` or another.
    pub arm: String,
    /// The number of samples.
    pub n: usize,
    /// Each metric, formed as [`crate::metrics::METRICS`] says: a mean, the exponential of one, or one value of summed
    /// counts.
    pub metrics: BTreeMap<String, Interval>,
}

/// The paired difference of one metric between two arms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// The arm in question.
    pub arm: String,
    /// The arm it is compared with.
    pub baseline: String,
    /// The metric.
    pub metric: String,
    /// The arm minus the baseline over the samples both have.
    pub difference: Interval,
    /// The difference over the baseline: 0.15 if the arm is 15 % above it.
    pub relative: Interval,
    /// The number of samples on which the arm is better, by the direction of the metric.
    pub better: usize,
    /// The number of samples on which the arm is worse.
    pub worse: usize,
}

/// One figure of every arm, such as how many suggestions were inserted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What it is, such as `suggestions inserted`.
    pub name: String,
    /// Its unit, such as `seconds per token`; empty for a count.
    pub unit: String,
    /// The figure by arm; an arm may have none.
    #[serde(deserialize_with = "json::numbers_or_nan")]
    pub arms: BTreeMap<String, f64>,
}

/// What candidates were worth to the evaluator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardSummary {
    /// What was measured, in words, such as `validation samples, trained policy`.
    pub measured_on: String,
    /// The number of samples with at least one candidate.
    pub n: usize,
    /// The largest number of candidates of a sample, the stop candidate included.
    pub k: usize,
    /// The number of samples whose best code candidate has a lower weighted perplexity than no candidate.
    pub best_of_k_below_none: usize,
    /// [`Self::best_of_k_below_none`] over [`Self::n`].
    #[serde(deserialize_with = "json::number_or_nan")]
    pub share: f64,
    /// The share of samples on which the stop candidate is the best of all.
    #[serde(deserialize_with = "json::number_or_nan")]
    pub stop_best_share: f64,
    /// The share of samples on which the policy puts the stop candidate first.
    #[serde(deserialize_with = "json::number_or_nan")]
    pub stop_first_share: f64,
    /// The share of samples on which the policy's first choice is the best candidate.
    #[serde(deserialize_with = "json::number_or_nan")]
    pub first_choice_best_share: f64,
    /// The exponential of the mean weighted NLL under four ways of choosing one candidate.
    pub weighted_perplexity: RewardPerplexity,
}

/// Weighted perplexities under four ways of choosing one candidate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RewardPerplexity {
    /// No candidate at all.
    #[serde(deserialize_with = "json::number_or_nan")]
    pub none: f64,
    /// A candidate drawn uniformly.
    #[serde(deserialize_with = "json::number_or_nan")]
    pub random: f64,
    /// The policy's first choice.
    #[serde(deserialize_with = "json::number_or_nan")]
    pub first_choice: f64,
    /// The best candidate, known only afterwards.
    #[serde(deserialize_with = "json::number_or_nan")]
    pub best: f64,
}

/// One chart: series over a shared horizontal axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// The title, such as `Mean reward`.
    pub name: String,
    /// What the horizontal axis counts, such as `step` or `epoch`.
    pub x: String,
    /// The unit of the vertical axis, such as `nats per token`.
    pub unit: String,
    /// The lines, in legend order.
    pub series: Vec<Series>,
}

/// One line of a chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// Pairs of horizontal and vertical value; points that are not finite are left out of the drawing.
    #[serde(deserialize_with = "json::points_or_nan")]
    pub points: Vec<(f64, f64)>,
}

/// Where the data came from and what was left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorpusSummary {
    /// The name of the dataset manifest.
    pub dataset: String,
    /// The repositories, in the order of the manifest.
    pub repositories: Vec<RepositorySummary>,
    /// The number of files that got a verdict.
    pub n_files_seen: usize,
    /// The number of files kept.
    pub n_files_kept: usize,
    /// The number of files dropped, by reason.
    pub dropped: BTreeMap<String, usize>,
    /// The number of samples by split.
    pub samples: BTreeMap<String, usize>,
}

/// One repository of the corpus.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepositorySummary {
    /// The name.
    pub name: String,
    /// The version or commit.
    pub version: String,
    /// The license, or empty where none was found.
    pub license: String,
    /// The split its samples belong to.
    pub split: String,
    /// The number of files kept.
    pub n_files: usize,
    /// The number of clusters of files that depend on each other.
    pub n_clusters: usize,
    /// The number of samples.
    pub n_samples: usize,
}

impl Report {
    /// Reads `report.json`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, was written by another version, or does not hold a report.
    pub fn read(path: &Path) -> Result<Self> {
        let text = json::read(path)?;
        let malformed =
            |source: serde_json::Error| Error::Malformed { path: path.to_owned(), line: source.line(), source };
        let header: Header = serde_json::from_str(&text).map_err(malformed)?;
        if header.version != u64::from(VERSION) {
            return Err(Error::Version { path: path.to_owned(), found: header.version, expected: VERSION });
        }
        serde_json::from_str(&text).map_err(malformed)
    }

    /// Writes `report.json`, replacing it in one step.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        json::replace(path, self.to_json()?.as_bytes())
    }

    /// Returns the report as indented JSON with a final newline.
    ///
    /// # Errors
    ///
    /// Fails if a value cannot be represented in JSON.
    pub fn to_json(&self) -> Result<String> {
        json::pretty(self)
    }

    /// Returns the summary of an arm.
    #[must_use]
    pub fn arm(&self, name: &str) -> Option<&ArmSummary> {
        self.arms.iter().find(|arm| arm.arm == name)
    }
}

/// The part of a report that every version shares.
#[derive(Deserialize)]
struct Header {
    version: u64,
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn directory() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let path = directory();
        let path = path.path().join("report.json");
        let report = fixture::report();
        report.write(&path).unwrap();
        let read = Report::read(&path).unwrap();
        assert_eq!(read.to_json().unwrap(), report.to_json().unwrap());
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn timing_comes_last() {
        let json = fixture::report().to_json().unwrap();
        let (_, end) = json.split_once("\"timing\"").unwrap();
        expect![[r#"
            : {
                "training": 12.5
              }
            }
        "#]]
        .assert_eq(end);
    }

    #[test]
    fn another_version_is_refused() {
        let directory = directory();
        let path = directory.path().join("report.json");
        std::fs::write(&path, "{\"version\": 4, \"unknown\": true}").unwrap();
        let error = Report::read(&path).unwrap_err();
        assert!(matches!(error, Error::Version { found: 4, expected: VERSION, .. }), "{error}");
    }

    #[test]
    fn a_damaged_file_is_an_error_with_its_line() {
        let directory = directory();
        let path = directory.path().join("report.json");
        std::fs::write(&path, "{\"version\": 3,\n\"experiment\": 3}").unwrap();
        assert!(matches!(Report::read(&path), Err(Error::Malformed { line: 2, .. })));
        assert!(matches!(Report::read(&directory.path().join("absent")), Err(Error::Io { .. })));
    }

    #[test]
    fn numbers_that_are_not_finite_survive() {
        let directory = directory();
        let path = directory.path().join("report.json");
        let mut report = fixture::report();
        report.rewards.as_mut().unwrap().share = f64::NAN;
        report.curves[0].series[0].points.push((3.0, f64::INFINITY));
        report.arms[0]
            .metrics
            .insert("nll".to_owned(), Interval { mean: f64::NAN, low: f64::NAN, high: f64::NAN, n: 0 });
        report.write(&path).unwrap();
        let read = Report::read(&path).unwrap();
        assert!(read.rewards.as_ref().unwrap().share.is_nan() && read.arms[0].metrics["nll"].mean.is_nan());
        assert_eq!(read.to_json().unwrap(), report.to_json().unwrap());
    }
}
