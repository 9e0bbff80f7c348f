//! The table at the end of a run.

use std::io::Write;
use std::path::Path;

use eval::report::Report;

use crate::pipeline::StageSummary;

/// The metrics shown of a retriever's arms, and their headings.
const OF_RETRIEVER: [(&str, &str); 5] = [
    ("weighted_perplexity", "weighted PPL"),
    ("perplexity", "PPL"),
    ("exact_match_cceval", "EM (CCEval)"),
    ("edit_similarity_cceval", "ES (CCEval)"),
    ("identifier_f1_cceval", "identifier F1"),
];

/// The metrics shown of a generator's arms, and their headings.
const OF_GENERATOR: [(&str, &str); 5] = [
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
        arms(&Report::read(&run.join("report.json"))?, out)?;
    }
    Ok(())
}

fn arms(report: &Report, out: &mut dyn Write) -> anyhow::Result<()> {
    let metrics = if report.rewards.is_some() { OF_RETRIEVER } else { OF_GENERATOR };
    write!(out, "\n{:<16} {:>4}", "arm", "n")?;
    for (_, heading) in metrics {
        write!(out, " {heading:>22}")?;
    }
    writeln!(out)?;
    for arm in &report.arms {
        write!(out, "{:<16} {:>4}", arm.arm, arm.n)?;
        for (metric, _) in metrics {
            let cell = arm.metrics.get(metric).map(|i| format!("{:.2} [{:.2}, {:.2}]", i.mean, i.low, i.high));
            write!(out, " {:>22}", cell.unwrap_or_default())?;
        }
        writeln!(out)?;
    }
    Ok(())
}
