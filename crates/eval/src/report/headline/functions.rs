//! The outcome of a generator in plain sentences.

use super::super::arms::{number, phrase, signed_percent};
use super::super::{Comparison, Report};
use super::{against_others, deciding, focus, plural};
use crate::metrics::definition;
use crate::report::tables;

/// The metric that decides between generators, and the pair that does.
pub(super) const DECIDING: (&str, &str, &str) = ("dependency_coverage", "toolgen_paper", "baseline");

/// The metrics that are compared in words, where a report has them.
const COMPARED: [&str; 5] =
    ["dependency_coverage", "validity_pylint", "validity_native", "codebleu_toolgen", "edit_similarity_toolgen"];

/// Says whether the report is about written functions.
pub(super) fn are_written(report: &Report) -> bool {
    report.rewards.is_none() && report.arms.iter().any(|arm| COMPARED.iter().any(|key| arm.metrics.contains_key(*key)))
}

/// Returns the sentences, the first of which is the headline.
pub(super) fn sentences(report: &Report) -> Vec<String> {
    let Some(arm) = focus(report).and_then(|name| report.arm(name)) else { return Vec::new() };
    let known = COMPARED.iter().find(|metric| arm.metrics.contains_key(**metric)).copied();
    let metric = known.and_then(definition);
    let mut sentences = vec![format!(
        "On {} held-out {}, the {} is {}.",
        arm.n,
        plural(arm.n, "function"),
        metric.map_or("result", |metric| metric.label),
        against_others(report, arm, metric.map_or("", |metric| metric.name), 3)
    )];
    if let Some(Comparison { arm, baseline, .. }) = deciding(report) {
        let of_pair = |metric: &str| {
            let is_wanted = |c: &&Comparison| c.metric == metric && &c.arm == arm && &c.baseline == baseline;
            report.comparisons.iter().find(is_wanted)
        };
        sentences.extend(COMPARED.iter().filter_map(|metric| of_pair(metric)).filter_map(comparison));
    }
    sentences
}

fn comparison(comparison: &Comparison) -> Option<String> {
    let metric = definition(&comparison.metric)?;
    let (arm, baseline) = (phrase(&comparison.arm), phrase(&comparison.baseline));
    let (interval, relative) = (&comparison.difference, &comparison.relative);
    let verdict = match tables::outcome(interval, metric.direction) {
        "better" => format!("the interval excludes zero in favor of {arm}"),
        "worse" => format!("the interval excludes zero in favor of {baseline}"),
        _ => "the interval includes zero".to_owned(),
    };
    let share = if tables::is_finite(relative) {
        let [mean, low, high] = [relative.mean, relative.low, relative.high].map(signed_percent);
        format!("; relative {mean}, {low} to {high}")
    } else {
        String::new()
    };
    Some(format!(
        "{}: {arm} minus {baseline} is {} (95 % interval {} to {}{share}; better on {}, worse on {}): {verdict}.",
        metric.label,
        number(interval.mean, 3),
        number(interval.low, 3),
        number(interval.high, 3),
        comparison.better,
        comparison.worse,
    ))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::super::fixture::generation;
    use super::super::headline;

    #[test]
    fn the_headline_names_coverage_and_what_is_above_the_baseline() {
        let text = headline(&generation().0).join("\n");
        expect![[r#"
            On 3 held-out functions, the Dependency Coverage is 0.800 with ToolGen by the paper's rule, against 0.600 with the baseline.
            Dependency Coverage: ToolGen by the paper's rule minus the baseline is 0.200 (95 % interval 0.000 to 0.500; relative +33.3 %, 0.0 % to +100.0 %; better on 1, worse on 0): the interval includes zero.
            Static Validity Rate, native: ToolGen by the paper's rule minus the baseline is 0.667 (95 % interval 0.000 to 1.000; better on 2, worse on 0): the interval includes zero."#]].assert_eq(&text);
    }

    #[test]
    fn a_report_without_comparisons_still_names_its_last_arm() {
        let (mut report, _) = generation();
        report.comparisons.clear();
        assert_eq!(headline(&report).len(), 1);
    }
}
