//! The table at the end of a run.

use std::io::Write;
use std::path::Path;

use eval::report::Report;

use crate::pipeline::StageSummary;

/// The metrics shown, and their headings.
const METRICS: [(&str, &str); 5] = [
    ("weighted_perplexity", "weighted PPL"),
    ("perplexity", "PPL"),
    ("exact_match_cceval", "EM (CCEval)"),
    ("edit_similarity_cceval", "ES (CCEval)"),
    ("identifier_f1_cceval", "identifier F1"),
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
    write!(out, "\n{:<10} {:>4}", "arm", "n")?;
    for (_, heading) in METRICS {
        write!(out, " {heading:>22}")?;
    }
    writeln!(out)?;
    for arm in &report.arms {
        write!(out, "{:<10} {:>4}", arm.arm, arm.n)?;
        for (metric, _) in METRICS {
            let cell = arm.metrics.get(metric).map(|i| format!("{:.2} [{:.2}, {:.2}]", i.mean, i.low, i.high));
            write!(out, " {:>22}", cell.unwrap_or_default())?;
        }
        writeln!(out)?;
    }
    Ok(())
}
