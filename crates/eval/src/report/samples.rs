//! The per-sample part of the page: what each arm saw and wrote.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::arms::{label, number};
use super::diff::{Segment, merge};
use super::{Prediction, ShownCandidate};
use crate::metrics::METRICS;
use crate::significance::Direction;

/// The longest text of a candidate, a prediction or a left context on the page, in characters.
const TEXT_CHARS_MAX: usize = 3_000;

/// Metrics whose disagreement between arms brings a sample to the top.
const DISAGREEMENT: [&str; 3] = ["exact_match_cceval", "exact_match_repoeval", "exact_match_toolgen"];

/// Metrics by which one arm does better on a sample than another: the first of them that both have.
const DECIDING: [(&str, Direction); 2] =
    [("weighted_nll", Direction::Lower), ("dependency_coverage", Direction::Higher)];

/// One sample with everything the arms made of it.
#[derive(Debug, Serialize)]
pub(super) struct Sample {
    id: String,
    repository: String,
    path: String,
    language: String,
    kind: String,
    left_context_tail: String,
    target: String,
    disagree: bool,
    /// `better`, `worse` or `same`: the arm in focus against its baseline.
    verdict: &'static str,
    /// What is shown beside the name of an arm.
    score_name: &'static str,
    /// Whether an arm chose what the prompt held.
    is_ranked: bool,
    metrics: Vec<&'static str>,
    arms: Vec<Arm>,
    candidates: Vec<Candidate>,
}

/// What one arm made of a sample.
#[derive(Debug, Serialize)]
struct Arm {
    label: String,
    exact: bool,
    /// The prediction up to as many lines as the target has, merged with the target.
    diff: Vec<Segment>,
    /// What the prediction has beyond these lines.
    rest: String,
    why: String,
    scores: Vec<String>,
    /// The weighted perplexity, or the Dependency Coverage of a written function.
    score: String,
}

/// One candidate and what each arm did with it.
#[derive(Debug, Serialize)]
struct Candidate {
    stop: bool,
    title: String,
    text: String,
    cells: Vec<Option<Cell>>,
}

/// What one arm did with one candidate.
#[derive(Debug, Serialize)]
struct Cell {
    rank: usize,
    similarity: String,
    state: &'static str,
    explanation: &'static str,
}

/// What identifies a candidate among the arms of one sample.
type Key<'a> = (bool, &'a str, (usize, usize));

/// Returns the samples to show, those on which the arms disagree first, and the number of all samples.
///
/// `arms` gives the order of the arms, `focus` the arm and the baseline of the verdict.
pub(super) fn select(
    predictions: &[Prediction],
    arms: &[&str],
    focus: Option<(&str, &str)>,
    samples_max: usize,
) -> (Vec<Sample>, usize) {
    let mut by_sample: BTreeMap<&str, BTreeMap<usize, &Prediction>> = BTreeMap::new();
    for prediction in predictions {
        if let Some(position) = arms.iter().position(|arm| *arm == prediction.arm) {
            by_sample.entry(&prediction.sample).or_default().insert(position, prediction);
        }
    }
    let mut groups: Vec<Vec<&Prediction>> =
        by_sample.into_values().map(|group| group.into_values().collect()).collect();
    let n_samples = groups.len();
    groups.sort_by_cached_key(|group| (Reverse(disagree(group)), Reverse(spread(group))));
    groups.truncate(samples_max);
    (groups.iter().filter_map(|group| sample(group, focus)).collect(), n_samples)
}

fn sample(group: &[&Prediction], focus: Option<(&str, &str)>) -> Option<Sample> {
    let first = group.first()?;
    let metrics: Vec<_> = METRICS
        .iter()
        .filter(|metric| group.iter().any(|prediction| prediction.metrics.contains_key(metric.name)))
        .collect();
    let is_perplexed = metrics.iter().any(|metric| metric.name == "weighted_nll");
    let names: Vec<&str> = metrics.iter().map(|metric| metric.name).collect();
    Some(Sample {
        id: first.sample.clone(),
        repository: first.repository.clone(),
        path: first.path.clone(),
        language: first.language.clone(),
        kind: first.kind.clone(),
        left_context_tail: last_chars(&first.left_context_tail),
        target: first_chars(&first.target),
        disagree: disagree(group),
        verdict: focus.map_or("same", |(arm, baseline)| verdict(group, arm, baseline)),
        score_name: if is_perplexed { "weighted perplexity of the target" } else { "Dependency Coverage" },
        is_ranked: is_perplexed || group.iter().any(|prediction| !prediction.context.is_empty()),
        metrics: metrics.iter().map(|metric| metric.label).collect(),
        arms: group.iter().map(|prediction| arm(prediction, &names)).collect(),
        candidates: candidates(group),
    })
}

fn arm(prediction: &Prediction, metrics: &[&str]) -> Arm {
    let (compared, rest) = split_lines(&prediction.prediction, line_count(&prediction.target));
    let metric = |name: &str| prediction.metrics.get(name).copied().unwrap_or(f64::NAN);
    let nll = metric("weighted_nll");
    Arm {
        label: label(&prediction.arm).to_owned(),
        exact: DISAGREEMENT.iter().any(|name| metric(name) >= 1.0),
        diff: merge(&first_chars(prediction.target.trim_end_matches('\n')), &first_chars(compared)),
        rest: first_chars(rest),
        why: why(&prediction.context),
        scores: metrics.iter().map(|name| number(metric(name), decimals(name))).collect(),
        score: number(if nll.is_finite() { nll.exp() } else { metric("dependency_coverage") }, 2),
    }
}

/// Says in words how the context of a prediction came about.
fn why(context: &[ShownCandidate]) -> String {
    if context.is_empty() {
        return "No candidate was ranked: the prompt held the file alone.".to_owned();
    }
    let n_shown = context.iter().filter(|candidate| candidate.shown).count();
    let n_ranked = context.len();
    let Some(stop) = context.iter().position(|candidate| candidate.stop) else {
        let unused = n_ranked - n_shown;
        let limit = if unused > 0 { format!(", {unused} did not fit the prompt") } else { String::new() };
        return format!("{n_ranked} ranked, no stop candidate among them: {n_shown} in the prompt{limit}.");
    };
    let unused = stop - n_shown.min(stop);
    let limit = if unused > 0 { format!(", {unused} before it did not fit") } else { String::new() };
    format!("{n_ranked} ranked, stop candidate at rank {}: {n_shown} in the prompt{limit}.", stop + 1)
}

/// Returns the candidates of all arms, in the rank order of the arm with most, then of the others.
fn candidates(group: &[&Prediction]) -> Vec<Candidate> {
    let mut seen: BTreeSet<Key> = BTreeSet::new();
    let mut rows = Vec::new();
    // The last arm is the one the report is about.
    for candidate in group.iter().rev().flat_map(|prediction| &prediction.context) {
        if seen.insert(key(candidate)) {
            rows.push(Candidate {
                stop: candidate.stop,
                title: title(candidate),
                text: first_chars(&candidate.text),
                cells: group.iter().map(|prediction| cell(&prediction.context, key(candidate))).collect(),
            });
        }
    }
    rows
}

fn key(candidate: &ShownCandidate) -> Key<'_> {
    if candidate.stop { (true, "", (0, 0)) } else { (false, &candidate.path, candidate.lines) }
}

fn title(candidate: &ShownCandidate) -> String {
    if candidate.stop {
        return "stop candidate".to_owned();
    }
    let (start, end) = candidate.lines;
    format!("{}:{}–{}", candidate.path, start + 1, end.max(start + 1))
}

fn cell(context: &[ShownCandidate], wanted: Key) -> Option<Cell> {
    let position = context.iter().position(|candidate| key(candidate) == wanted)?;
    let candidate = &context[position];
    let stopped = context[..position].iter().any(|earlier| earlier.stop);
    let (state, explanation) = if candidate.stop {
        ("stop", "the ranking ends here")
    } else if candidate.shown {
        ("shown", "in the prompt")
    } else if stopped {
        ("after", "after the stop candidate")
    } else {
        ("unused", "did not fit")
    };
    Some(Cell { rank: position + 1, similarity: number(candidate.similarity, 3), state, explanation })
}

fn disagree(group: &[&Prediction]) -> bool {
    DISAGREEMENT.iter().any(|metric| range(group, metric) > 0.0)
}

/// The spread of the deciding metric among the arms, in millionths so that it can be a sort key.
fn spread(group: &[&Prediction]) -> i64 {
    DECIDING.iter().map(|(metric, _)| (range(group, metric) * 1e6) as i64).find(|spread| *spread > 0).unwrap_or(0)
}

fn range(group: &[&Prediction], metric: &str) -> f64 {
    let values = || group.iter().filter_map(|prediction| prediction.metrics.get(metric)).filter(|v| v.is_finite());
    let high = values().copied().fold(f64::NEG_INFINITY, f64::max);
    let low = values().copied().fold(f64::INFINITY, f64::min);
    (high - low).max(0.0)
}

fn verdict(group: &[&Prediction], arm: &str, baseline: &str) -> &'static str {
    let of = |name: &str, metric: &str| {
        let prediction = group.iter().find(|prediction| prediction.arm == name)?;
        prediction.metrics.get(metric).copied()
    };
    let order = |(metric, direction): &(&str, Direction)| {
        let (arm, baseline) = (of(arm, metric)?, of(baseline, metric)?);
        let order = arm.partial_cmp(&baseline)?;
        Some(if *direction == Direction::Higher { order.reverse() } else { order })
    };
    match DECIDING.iter().find_map(order) {
        Some(Ordering::Less) => "better",
        Some(Ordering::Greater) => "worse",
        _ => "same",
    }
}

fn decimals(metric: &str) -> usize {
    match metric {
        "nll"
        | "weighted_nll"
        | "edit_similarity_repoeval"
        | "identifier_f1_cceval"
        | "dependency_coverage"
        | "dependency_coverage_definitions"
        | "bleu4_toolgen"
        | "codebleu_toolgen"
        | "codebleu_k4black" => 3,
        _ => 0,
    }
}

fn line_count(text: &str) -> usize {
    text.trim_end_matches('\n').matches('\n').count() + 1
}

/// Splits a text after its first lines; leading newlines do not count as lines.
fn split_lines(text: &str, n_lines: usize) -> (&str, &str) {
    let leading = text.len() - text.trim_start_matches('\n').len();
    match text[leading..].match_indices('\n').nth(n_lines - 1) {
        Some((end, _)) => text.split_at(leading + end),
        None => (text, ""),
    }
}

fn first_chars(text: &str) -> String {
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn last_chars(text: &str) -> String {
    match text.char_indices().rev().nth(TEXT_CHARS_MAX) {
        Some((start, character)) => format!("…{}", &text[start + character.len_utf8()..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{prediction, predictions};
    use super::*;

    #[test]
    fn samples_on_which_arms_disagree_come_first() {
        let (samples, n_samples) = select(&predictions(), &["bm25", "trained"], Some(("trained", "bm25")), 2);
        assert_eq!(n_samples, 3);
        let shown: Vec<_> =
            samples.iter().map(|sample| (sample.id.as_str(), sample.disagree, sample.verdict)).collect();
        assert_eq!(shown, [("s2", true, "better"), ("s1", false, "worse")]);
    }

    #[test]
    fn the_stop_candidate_explains_what_was_left_out() {
        let stopped = prediction("s", "trained", "x", 1.0);
        assert_eq!(why(&stopped.context), "3 ranked, stop candidate at rank 2: 1 in the prompt.");
        let row = candidates(&[&stopped]);
        let states: Vec<_> = row.iter().map(|row| row.cells[0].as_ref().map(|cell| cell.state)).collect();
        assert_eq!(states, [Some("shown"), Some("stop"), Some("after")]);
        assert_eq!(row[0].title, "lib/shapes.py:11–14");
        assert!(why(&[]).starts_with("No candidate"));
    }

    #[test]
    fn a_prediction_is_compared_over_the_lines_of_the_target() {
        assert_eq!(split_lines("a\nb\nc", 2), ("a\nb", "\nc"));
        assert_eq!(split_lines("\na\nb", 1), ("\na", "\nb"));
        assert_eq!(split_lines("a", 3), ("a", ""));
        assert_eq!((line_count(""), line_count("a\n"), line_count("a\nb")), (1, 1, 2));
    }

    #[test]
    fn long_texts_are_cut_at_characters() {
        let text = "é".repeat(TEXT_CHARS_MAX + 1);
        assert_eq!(first_chars(&text).chars().count(), TEXT_CHARS_MAX + 1);
        assert_eq!(last_chars(&text).chars().count(), TEXT_CHARS_MAX + 1);
        assert_eq!(last_chars("short"), "short");
    }
}
