//! The panels of the page: rewards, learning curves, dropped files, wall times.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::arms::{number, percent};
use super::{CorpusSummary, Curve, RewardSummary, chart};
use crate::Result;

/// The reward panel's numbers as text.
#[derive(Serialize)]
pub(super) struct Rewards {
    share: String,
    stop_best: String,
    stop_first: String,
    first_best: String,
    bars: Vec<Bar>,
}

pub(super) fn rewards(rewards: &RewardSummary) -> Rewards {
    let ways = &rewards.weighted_perplexity;
    let bars = bars(&[
        ("no candidate", ways.none),
        ("a random candidate", ways.random),
        ("the policy's first choice", ways.first_choice),
        ("the best candidate", ways.best),
    ]);
    Rewards {
        share: percent(rewards.share),
        stop_best: percent(rewards.stop_best_share),
        stop_first: percent(rewards.stop_first_share),
        first_best: percent(rewards.first_choice_best_share),
        bars,
    }
}

/// A label, a number and the length of its bar in percent of the longest.
#[derive(Serialize)]
pub(super) struct Bar {
    label: String,
    value: String,
    percent: f64,
}

fn bars(values: &[(&str, f64)]) -> Vec<Bar> {
    let longest = values.iter().map(|value| value.1).filter(|value| value.is_finite()).fold(0.0, f64::max);
    let bar = |(label, value): &(&str, f64)| Bar {
        label: (*label).to_owned(),
        value: number(*value, 2),
        percent: if longest > 0.0 && value.is_finite() { (1000.0 * value / longest).round() / 10.0 } else { 0.0 },
    };
    values.iter().map(bar).collect()
}

/// A chart with its legend.
#[derive(Serialize)]
pub(super) struct Chart<'a> {
    name: &'a str,
    unit: &'a str,
    x: &'a str,
    /// Names with the number of their color.
    legend: Vec<(&'a str, usize)>,
    svg: Option<String>,
}

pub(super) fn curves(curves: &[Curve]) -> Result<Vec<Chart<'_>>> {
    curves
        .iter()
        .map(|curve| {
            let names = curve.series.iter().map(|series| series.name.as_str());
            Ok(Chart {
                name: &curve.name,
                unit: &curve.unit,
                x: &curve.x,
                legend: names.enumerate().map(|(index, name)| (name, index % chart::N_COLORS + 1)).collect(),
                svg: chart::svg(curve)?,
            })
        })
        .collect()
}

/// Returns the drop reasons, most frequent first.
pub(super) fn dropped(corpus: &CorpusSummary) -> Vec<Bar> {
    let mut dropped: Vec<(&str, usize)> = corpus.dropped.iter().map(|(reason, n)| (reason.as_str(), *n)).collect();
    dropped.sort_by_key(|(_, n)| Reverse(*n));
    let longest = dropped.iter().map(|(_, n)| *n).max().unwrap_or(1).max(1);
    let bar = |(reason, n): (&str, usize)| Bar {
        label: reason.replace('_', " "),
        value: n.to_string(),
        percent: (1000.0 * n as f64 / longest as f64).round() / 10.0,
    };
    dropped.into_iter().map(bar).collect()
}

pub(super) fn seconds(timing: &BTreeMap<String, f64>) -> Vec<(&str, String)> {
    timing.iter().map(|(stage, seconds)| (stage.as_str(), number(*seconds, 1))).collect()
}
