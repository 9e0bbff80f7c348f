//! `train metrics`: any predictions against any references.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use eval::metrics::METRICS;
use eval::metrics::pairs::{read, score_pair, summary, values};
use serde_json::{Map, Value, json};

/// The seed of the bootstrap.
const SEED: u64 = 0;

/// Arguments of `train metrics`.
#[derive(Debug, Args)]
pub(super) struct MetricsArguments {
    /// JSON lines with `prediction`, `reference`, `language` (python or java) and, if there is one, `prompt`.
    #[arg(long, value_name = "FILE")]
    pairs: PathBuf,
    /// Prints one JSON object: of each metric its value over all pairs, interval, unit and definition.
    #[arg(long)]
    json: bool,
    /// Prints the metrics of each pair as a JSON line instead, in the order of the file.
    #[arg(long, conflicts_with = "json")]
    per_pair: bool,
}

/// Scores and prints.
pub(super) fn metrics(arguments: &MetricsArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let pairs = read(&arguments.pairs)?;
    if arguments.per_pair {
        for pair in &pairs {
            let scores = values(&score_pair(pair)).into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
            writeln!(out, "{}", Value::Object(scores.collect::<Map<_, _>>()))?;
        }
        return Ok(());
    }
    let summary = summary(&pairs, SEED);
    let found = METRICS.iter().filter_map(|metric| Some((metric, summary.metrics.get(metric.name)?)));
    if arguments.json {
        let metric = |(metric, interval): (&eval::metrics::Definition, &eval::significance::Interval)| {
            let value = json!({
                "value": interval.mean, "low": interval.low, "high": interval.high,
                "unit": metric.unit, "definition": metric.definition,
            });
            (metric.name.to_owned(), value)
        };
        let metrics: Map<String, Value> = found.map(metric).collect();
        return Ok(writeln!(out, "{:#}", json!({"pairs": summary.n, "metrics": metrics}))?);
    }
    writeln!(out, "{} pairs; 95 % bootstrap intervals", summary.n)?;
    for (metric, interval) in found {
        let (mean, low, high) = (interval.mean, interval.low, interval.high);
        writeln!(out, "{:32} {mean:8.4} [{low:.4}, {high:.4}]  {:5}  {}", metric.name, metric.unit, metric.definition)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(json: bool, per_pair: bool) -> String {
        let folder = tempfile::tempdir().unwrap();
        let pairs = folder.path().join("pairs.jsonl");
        let line = r#"{"prediction": "f(a)\nb", "reference": "f(a)", "prompt": "x = ", "language": "python"}"#;
        std::fs::write(&pairs, format!("{line}\n{}\n", line.replace("f(a)\\nb", "g(a)"))).unwrap();
        let mut out = Vec::new();
        metrics(&MetricsArguments { pairs, json, per_pair }, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_file_is_scored_as_a_whole_and_by_pair() {
        let whole: Value = serde_json::from_str(&output(true, false)).unwrap();
        assert_eq!(whole["metrics"]["exact_match_cceval"]["value"], 0.5);
        assert_eq!(whole["pairs"], 2);
        let by_pair = output(false, true);
        let first: Value = serde_json::from_str(by_pair.lines().next().unwrap()).unwrap();
        assert_eq!((&first["exact_match_cceval"], &first["exact_match_toolgen"]), (&json!(1.0), &json!(0.0)));
        let table = output(false, false);
        assert!(table.starts_with("2 pairs") && table.contains("bleu4_sacrebleu"), "{table}");
    }
}
