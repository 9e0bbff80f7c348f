//! `train compare`: two finished runs, sample by sample.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use eval::metrics::METRICS;
use eval::report::{Report, Run, compare_runs, read_predictions, write_html};

/// The seed of the bootstrap.
const SEED: u64 = 0;

/// Arguments of `train compare`.
#[derive(Debug, Args)]
pub(super) struct CompareArguments {
    /// The run directory that is the baseline.
    run_a: PathBuf,
    /// The run directory that is held against it.
    run_b: PathBuf,
    /// An arm of the first run; every arm that both runs have if neither is given.
    #[arg(long, requires = "arm_b")]
    arm_a: Option<String>,
    /// The arm of the second run that is held against it.
    #[arg(long, requires = "arm_a")]
    arm_b: Option<String>,
    /// Prints JSON in the form of report.json.
    #[arg(long)]
    json: bool,
    /// Writes a page like report.html, with the samples on which the runs disagree.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Compares, prints the differences, and writes the page if asked.
pub(super) fn compare(arguments: &CompareArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let (a, b) = (run(&arguments.run_a, &arguments.run_b)?, run(&arguments.run_b, &arguments.run_a)?);
    let pairs: Vec<(&str, &str)> = match (&arguments.arm_a, &arguments.arm_b) {
        (Some(arm_a), Some(arm_b)) => vec![(known(arm_a, &a)?, known(arm_b, &b)?)],
        _ => a.arms().into_iter().filter(|arm| b.arms().contains(arm)).map(|arm| (arm, arm)).collect(),
    };
    ensure!(
        !pairs.is_empty(),
        "the runs have no arm in common: {} has {}, {} has {}; --arm-a and --arm-b choose",
        a.name,
        a.arms().join(", "),
        b.name,
        b.arms().join(", ")
    );
    let (report, predictions) = compare_runs(&a, &b, &pairs, SEED)?;
    if let Some(path) = &arguments.html {
        write_html(path, &report, &predictions)?;
    }
    if arguments.json { Ok(write!(out, "{}", report.to_json()?)?) } else { table(&report, out) }
}

/// Reads a run; its name is that of its directory, or its whole path if the other directory has the same name.
fn run(directory: &Path, other: &Path) -> anyhow::Result<Run> {
    let path = directory.join("predictions.jsonl");
    let predictions = read_predictions(&path).with_context(|| format!("{} is no finished run", directory.display()))?;
    let name = directory.file_name().filter(|name| other.file_name() != Some(name));
    let name = name.map_or_else(|| directory.display().to_string(), |name| name.to_string_lossy().into_owned());
    Ok(Run { name, predictions })
}

fn known<'a>(arm: &str, run: &'a Run) -> anyhow::Result<&'a str> {
    let found = run.arms().into_iter().find(|known| *known == arm);
    found.with_context(|| format!("{} has no arm `{arm}`; it has {}", run.name, run.arms().join(", ")))
}

fn table(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut pair = None;
    for comparison in &report.comparisons {
        let is_new =
            pair.replace((&comparison.baseline, &comparison.arm)) != Some((&comparison.baseline, &comparison.arm));
        if is_new {
            writeln!(out, "{} -> {}", comparison.baseline, comparison.arm)?;
        }
        let Some(metric) = METRICS.iter().find(|metric| metric.name == comparison.metric) else { continue };
        let mean =
            |arm: &str| report.arm(arm).and_then(|arm| arm.metrics.get(metric.name)).map_or(f64::NAN, |m| m.mean);
        let difference = &comparison.difference;
        writeln!(
            out,
            "  {:36} {:8.3} {:8.3}  {:+8.3} [{:+.3}, {:+.3}] {} n {}, better {}, worse {}",
            metric.label,
            mean(&comparison.baseline),
            mean(&comparison.arm),
            difference.mean,
            difference.low,
            difference.high,
            if difference.excludes_zero() { '*' } else { ' ' },
            difference.n,
            comparison.better,
            comparison.worse,
        )?;
    }
    Ok(writeln!(out, "Means of both, their difference with its 95 % bootstrap interval; * where it excludes zero.")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use eval::report::{Prediction, write_predictions};

    fn directory(root: &Path, name: &str, nll: &[f64]) -> PathBuf {
        let predictions: Vec<Prediction> = nll
            .iter()
            .enumerate()
            .map(|(index, nll)| Prediction {
                sample: format!("s{index}"),
                arm: "trained".into(),
                metrics: [("weighted_nll".to_owned(), *nll)].into(),
                ..Prediction::default()
            })
            .collect();
        let directory = root.join(name);
        std::fs::create_dir(&directory).unwrap();
        write_predictions(&directory.join("predictions.jsonl"), &predictions).unwrap();
        directory
    }

    fn arguments(run_a: PathBuf, run_b: PathBuf) -> CompareArguments {
        CompareArguments { run_a, run_b, arm_a: None, arm_b: None, json: false, html: None }
    }

    #[test]
    fn two_runs_differ_by_what_the_second_has_more() {
        let root = tempfile::tempdir().unwrap();
        let a = directory(root.path(), "a", &[1.0, 2.0, 3.0]);
        let b = directory(root.path(), "b", &[0.5, 1.5, 2.5]);
        let mut out = Vec::new();
        compare(&arguments(a.clone(), b.clone()), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("a: trained -> b: trained") && text.contains("-0.500 [-0.500, -0.500] *"), "{text}");
        let mut page = arguments(a.clone(), b.clone());
        page.html = Some(root.path().join("compare.html"));
        page.json = true;
        let mut out = Vec::new();
        compare(&page, &mut out).unwrap();
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&out).unwrap()["experiment"], "b against a");
        assert!(std::fs::read_to_string(root.path().join("compare.html")).unwrap().contains("b against a"));
    }

    #[test]
    fn what_cannot_be_compared_says_why() {
        let root = tempfile::tempdir().unwrap();
        let a = directory(root.path(), "a", &[1.0, 2.0]);
        let b = directory(root.path(), "b", &[0.5]);
        let message = |arguments: &CompareArguments| format!("{:#}", compare(arguments, &mut Vec::new()).unwrap_err());
        assert!(message(&arguments(a.clone(), b.clone())).contains("1 samples are only in the first"));
        assert!(message(&arguments(a.clone(), root.path().join("c"))).contains("is no finished run"));
        let other =
            CompareArguments { arm_a: Some("dense".into()), arm_b: Some("trained".into()), ..arguments(a.clone(), a) };
        assert!(message(&other).contains("no arm `dense`; it has trained"));
    }
}
