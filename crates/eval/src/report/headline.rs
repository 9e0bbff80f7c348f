//! The outcome in plain sentences.

mod functions;

use super::arms::{number, percent, phrase};
use super::{ArmSummary, Comparison, Report};

/// The metric that decides between retrievers, and the pair that does.
const DECIDING: (&str, &str, &str) = ("weighted_nll", "trained", "bm25");

/// Arms that sentences name where there are too many to name all.
const NAMED: [&str; 5] = ["none", "bm25", "untrained", "sft", "trained"];

/// The most arms that sentences name without choosing.
const ARMS_MAX: usize = 5;

/// Returns the outcome in plain sentences, the first of which is the headline.
///
/// The sentences are made from the numbers alone: an interval that includes zero is said to include zero.
#[must_use]
pub fn headline(report: &Report) -> Vec<String> {
    if functions::are_written(report) {
        return functions::sentences(report);
    }
    let mut sentences = vec![perplexities(report)];
    sentences.extend(deciding(report).map(difference));
    sentences.extend(exact_matches(report));
    sentences.extend(rewards(report));
    sentences
}

/// Returns the comparison that decides: the trained retriever against BM25, or `ToolGen` by the paper's rule against
/// the baseline, or else the first on the deciding metric.
pub(super) fn deciding(report: &Report) -> Option<&Comparison> {
    let (metric, arm, baseline) = if functions::are_written(report) { functions::DECIDING } else { DECIDING };
    let mut candidates = report.comparisons.iter().filter(|comparison| comparison.metric == metric);
    let wanted = |comparison: &&Comparison| comparison.arm == arm && comparison.baseline == baseline;
    candidates.clone().find(wanted).or_else(|| candidates.next())
}

/// Returns the name of the arm the report is about.
pub(super) fn focus(report: &Report) -> Option<&str> {
    let last = || report.arms.last().map(|arm| arm.arm.as_str());
    deciding(report).map(|comparison| comparison.arm.as_str()).or_else(last)
}

/// Returns the arms that sentences name, the one the report is about among them.
fn named(report: &Report) -> impl DoubleEndedIterator<Item = &ArmSummary> {
    let focus = focus(report);
    let is_named = move |arm: &str| NAMED.contains(&arm) || focus == Some(arm);
    report.arms.iter().filter(move |arm| report.arms.len() <= ARMS_MAX || is_named(&arm.arm))
}

fn perplexities(report: &Report) -> String {
    let Some(arm) = focus(report).and_then(|name| report.arm(name)) else {
        return "No arm was evaluated.".to_owned();
    };
    format!(
        "On {} held-out {}, the weighted perplexity is {}.",
        arm.n,
        plural(arm.n, "target"),
        against_others(report, arm, "weighted_perplexity", 2)
    )
}

/// Returns the value of a metric for an arm, and then for all others.
fn against_others(report: &Report, arm: &ArmSummary, metric: &str, decimals: usize) -> String {
    let level = |arm: &ArmSummary| {
        let value = arm.metrics.get(metric).map_or_else(|| "–".to_owned(), |interval| number(interval.mean, decimals));
        format!("{value} with {}", phrase(&arm.arm))
    };
    let others: Vec<String> = named(report).rev().filter(|other| other.arm != arm.arm).map(level).collect();
    match others.split_last() {
        None => level(arm),
        Some((last, [])) => format!("{}, against {last}", level(arm)),
        Some((last, rest)) => format!("{}, against {} and {last}", level(arm), rest.join(", ")),
    }
}

fn difference(comparison: &Comparison) -> String {
    let interval = &comparison.difference;
    let (arm, baseline) = (phrase(&comparison.arm), phrase(&comparison.baseline));
    if !(interval.mean.is_finite() && interval.low.is_finite() && interval.high.is_finite()) {
        return format!("There is no usable difference between {arm} and {baseline}.");
    }
    let direction = if interval.mean <= 0.0 { "lower" } else { "higher" };
    let verdict = if !interval.excludes_zero() {
        format!("the interval includes zero, so these targets do not show a difference between {arm} and {baseline}")
    } else if interval.mean < 0.0 {
        format!("the interval excludes zero in favor of {arm}")
    } else {
        format!("the interval excludes zero in favor of {baseline}")
    };
    format!(
        "Per target, the weighted NLL of {arm} is {} nats per token {direction} than that of {baseline} on average (95 % interval \
         of the difference {} to {}; better on {}, worse on {}): {verdict}.",
        number(interval.mean.abs(), 3),
        number(interval.low, 3),
        number(interval.high, 3),
        comparison.better,
        comparison.worse,
    )
}

fn exact_matches(report: &Report) -> Option<String> {
    let counts: Vec<String> = named(report)
        .rev()
        .filter_map(|arm| {
            let interval = arm.metrics.get("exact_match_cceval")?;
            let count = interval.mean * interval.n as f64;
            Some(format!("{} of {} with {}", number(count, 0), interval.n, phrase(&arm.arm)))
        })
        .collect();
    (!counts.is_empty()).then(|| format!("Exact matches (CrossCodeEval): {}.", counts.join(", ")))
}

fn rewards(report: &Report) -> Option<String> {
    let rewards = report.rewards.as_ref()?;
    (rewards.n > 0).then(|| {
        format!(
            "The best of at most {} candidates predicts the target better than no candidate in {} of {} samples ({}).",
            rewards.k,
            rewards.best_of_k_below_none,
            rewards.n,
            percent(rewards.share)
        )
    })
}

fn plural(n: usize, noun: &str) -> String {
    if n == 1 { noun.to_owned() } else { format!("{noun}s") }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::fixture::report;
    use super::*;

    #[test]
    fn the_headline_names_every_arm_and_the_deciding_interval() {
        let text = headline(&report()).join("\n");
        expect![[r#"
            On 3 held-out targets, the weighted perplexity is 3.49 with the trained retriever, against 3.79 with BM25.
            Per target, the weighted NLL of the trained retriever is 0.083 nats per token lower than that of BM25 on average (95 % interval of the difference −0.500 to 0.250; better on 1, worse on 1): the interval includes zero, so these targets do not show a difference between the trained retriever and BM25.
            Exact matches (CrossCodeEval): 2 of 3 with the trained retriever, 1 of 3 with BM25.
            The best of at most 10 candidates predicts the target better than no candidate in 17 of 20 samples (85 %)."#]].assert_eq(&text);
    }

    #[test]
    fn an_interval_that_includes_zero_is_said_to_include_it() {
        let mut report = report();
        let comparison =
            report.comparisons.iter_mut().find(|c| c.metric == DECIDING.0 && c.baseline == "bm25").unwrap();
        comparison.difference.high = 0.01;
        assert!(headline(&report)[1].contains("includes zero, so these targets do not show a difference"));
    }

    #[test]
    fn a_worse_arm_is_called_worse() {
        let mut report = report();
        let comparison =
            report.comparisons.iter_mut().find(|c| c.metric == DECIDING.0 && c.baseline == "bm25").unwrap();
        (comparison.difference.mean, comparison.difference.low, comparison.difference.high) = (0.2, 0.1, 0.3);
        assert!(headline(&report)[1].contains("higher than that of BM25"));
        assert!(headline(&report)[1].ends_with("in favor of BM25."));
    }

    #[test]
    fn an_empty_report_has_a_headline_too() {
        let mut report = report();
        report.arms.clear();
        report.comparisons.clear();
        report.rewards = None;
        assert_eq!(headline(&report), ["No arm was evaluated."]);
    }
}
