//! The table at the end of a run.

use std::io::Write;
use std::path::Path;

use eval::report::{ArmSummary, Report};

use crate::pipeline::StageSummary;

/// The metrics shown where an arm has them, and their headings.
const COLUMNS: [(&str, &str); 12] = [
    ("first_choice_weighted_perplexity", "first choice PPL"),
    ("weighted_perplexity", "weighted PPL"),
    ("perplexity", "PPL"),
    ("exact_match_cceval", "EM (CCEval)"),
    ("edit_similarity_cceval", "ES (CCEval)"),
    ("identifier_f1_cceval", "identifier F1"),
    ("pass_rate", "pass rate"),
    ("dependency_coverage", "Dependency Coverage"),
    ("validity_native", "Static Validity"),
    ("validity_pylint", "Validity (pylint)"),
    ("bleu4_toolgen", "BLEU-4"),
    ("edit_similarity_toolgen", "edit similarity"),
];

/// Prints what each stage did and, if there is a report, its arms.
///
/// # Errors
///
/// Returns an error if `out` cannot be written or the report cannot be read.
pub(super) fn print(stages: &[StageSummary], run: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
    for stage in stages {
        let time = if stage.skipped { "unchanged".to_owned() } else { format!("{:.1} s", stage.seconds) };
        writeln!(out, "{:<9} {time:>10}  {}", stage.name, stage.result)?;
        writeln!(out, "{:<9} {:>10}  {}", "", "", stage.path.display())?;
    }
    if stages.iter().any(|stage| stage.name == "evaluate") {
        arms(&Report::read(&run.join("report.json"))?.arms, out)?;
    }
    Ok(())
}

fn arms(arms: &[ArmSummary], out: &mut dyn Write) -> anyhow::Result<()> {
    let is_there = |metric: &str| arms.iter().any(|arm| arm.metrics.contains_key(metric));
    let metrics: Vec<_> = COLUMNS.iter().filter(|(metric, _)| is_there(metric)).collect();
    write!(out, "\n{:<16} {:>4}", "arm", "n")?;
    for (_, heading) in &metrics {
        write!(out, " {heading:>22}")?;
    }
    writeln!(out)?;
    for arm in arms {
        write!(out, "{:<16} {:>4}", arm.arm, arm.n)?;
        for (metric, _) in &metrics {
            let cell = arm.metrics.get(*metric).map(|i| format!("{:.2} [{:.2}, {:.2}]", i.mean, i.low, i.high));
            write!(out, " {:>22}", cell.unwrap_or_default())?;
        }
        writeln!(out)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use eval::report::{Prediction, summarize};

    #[test]
    fn only_what_was_measured_has_a_column() {
        let prediction = Prediction {
            sample: "s".into(),
            arm: "bm25".into(),
            metrics: [("weighted_nll".to_owned(), 0.0), ("pass_rate".to_owned(), 1.0)].into(),
            ..Prediction::default()
        };
        let mut out = Vec::new();
        arms(&summarize(&[prediction], &["bm25"], 0), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(
            words,
            [
                "arm", "n", "weighted", "PPL", "pass", "rate", "bm25", "1", "1.00", "[1.00,", "1.00]", "1.00",
                "[1.00,", "1.00]"
            ]
        );
    }
}
