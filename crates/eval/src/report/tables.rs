//! The tables of the page: numbers, intervals and their places on a common scale.

use serde::Serialize;

use super::arms::{number, signed, signed_percent};
use super::breakdown::METRICS as BROKEN_DOWN;
use super::{ArmSummary, Breakdown, Comparison, Figure, Report};
use crate::metrics::{Definition, METRICS};
use crate::significance::{Direction, Interval};

/// One metric across all columns of a table.
#[derive(Serialize)]
pub(super) struct Row {
    metric: Metric,
    cells: Vec<Option<Cell>>,
}

#[derive(Serialize)]
struct Metric {
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    better: &'static str,
    definition: &'static str,
}

impl From<&'static Definition> for Metric {
    fn from(metric: &'static Definition) -> Self {
        let better = match metric.direction {
            Direction::Higher => "higher is better",
            Direction::Lower => "lower is better",
        };
        let Definition { name, label, unit, definition, .. } = *metric;
        Self { name, label, unit, better, definition }
    }
}

/// A number with its interval, placed on the scale of its row.
#[derive(Serialize)]
struct Cell {
    mean: String,
    low: String,
    high: String,
    /// Positions in percent of the row's scale; nothing if the interval is not finite.
    place: Option<Place>,
    /// `best`, `better`, `worse` or `even`.
    class: &'static str,
    better: usize,
    worse: usize,
    /// The relative difference and its interval; nothing if the baseline may be 0.
    relative: Option<[String; 3]>,
}

#[derive(Serialize)]
struct Place {
    low: f64,
    mean: f64,
    width: f64,
}

/// Returns one row per metric with the mean of every arm, the best one marked.
pub(super) fn arm_rows(report: &Report) -> Vec<Row> {
    let row = |metric: &'static Definition| {
        let intervals: Vec<Option<&Interval>> = report.arms.iter().map(|arm| arm.metrics.get(metric.name)).collect();
        let finite: Vec<&Interval> =
            intervals.iter().flatten().copied().filter(|interval| is_finite(interval)).collect();
        let low = finite.iter().map(|interval| interval.low).fold(f64::INFINITY, f64::min);
        let high = finite.iter().map(|interval| interval.high).fold(f64::NEG_INFINITY, f64::max);
        let best = best_mean(&finite, metric.direction);
        let cell = |interval: &Interval| Cell { place: place(interval, low, high), ..level(metric, interval, best) };
        Row { metric: metric.into(), cells: intervals.into_iter().map(|interval| interval.map(cell)).collect() }
    };
    METRICS.iter().map(row).filter(|row| row.cells.iter().any(Option::is_some)).collect()
}

/// Returns the cell of a mean; the best one of its row is marked.
fn level(metric: &Definition, interval: &Interval, best: Option<f64>) -> Cell {
    let decimals = decimals(metric);
    Cell {
        mean: number(interval.mean, decimals),
        low: number(interval.low, decimals),
        high: number(interval.high, decimals),
        place: None,
        class: if best.is_some_and(|best| best.total_cmp(&interval.mean).is_eq()) { "best" } else { "even" },
        better: 0,
        worse: 0,
        relative: None,
    }
}

/// One metric on parts of the samples.
#[derive(Serialize)]
pub(super) struct Parts<'a> {
    by: &'a str,
    metric: Metric,
    rows: Vec<PartRow<'a>>,
}

/// One part of the samples.
#[derive(Serialize)]
struct PartRow<'a> {
    group: &'a str,
    n: usize,
    cells: Vec<Option<Cell>>,
}

/// Returns a table for each way to tell samples apart and each metric that is broken down.
pub(super) fn breakdown(report: &Report) -> Vec<Parts<'_>> {
    let mut ways: Vec<&str> = Vec::new();
    for part in &report.breakdown {
        if !ways.contains(&part.by.as_str()) {
            ways.push(&part.by);
        }
    }
    let metrics = || METRICS.iter().filter(|metric| BROKEN_DOWN.contains(&metric.name));
    let tables = ways.into_iter().flat_map(|by| metrics().map(move |metric| (by, metric)));
    let tables = tables.map(|(by, metric)| {
        let parts = report.breakdown.iter().filter(|part| part.by == by);
        let rows: Vec<PartRow> = parts.filter_map(|part| part_row(part, metric)).collect();
        Parts { by, metric: metric.into(), rows }
    });
    tables.filter(|table| !table.rows.is_empty()).collect()
}

fn part_row<'a>(part: &'a Breakdown, metric: &'static Definition) -> Option<PartRow<'a>> {
    let intervals: Vec<Option<&Interval>> = part.arms.iter().map(|arm| arm.metrics.get(metric.name)).collect();
    let n = intervals.iter().flatten().map(|interval| interval.n).max()?;
    let finite: Vec<&Interval> = intervals.iter().flatten().copied().filter(|interval| is_finite(interval)).collect();
    let best = best_mean(&finite, metric.direction);
    let cells = intervals.into_iter().map(|interval| interval.map(|interval| level(metric, interval, best))).collect();
    Some(PartRow { group: &part.group, n, cells })
}

/// Returns the compared pairs in the order of their first mention.
pub(super) fn pairs(report: &Report) -> Vec<(&str, &str)> {
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for comparison in &report.comparisons {
        let pair = (comparison.arm.as_str(), comparison.baseline.as_str());
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    pairs
}

/// Returns one row per metric with the difference of every compared pair.
pub(super) fn pair_rows(report: &Report) -> Vec<Row> {
    let pairs = pairs(report);
    let row = |metric: &'static Definition| {
        let find = |(arm, baseline): &(&str, &str)| {
            report.comparisons.iter().find(|c| c.metric == metric.name && c.arm == *arm && c.baseline == *baseline)
        };
        let found: Vec<Option<&Comparison>> = pairs.iter().map(find).collect();
        let reach = found.iter().flatten().map(|c| &c.difference).filter(|interval| is_finite(interval));
        let reach = reach.map(|interval| interval.low.abs().max(interval.high.abs())).fold(0.0, f64::max);
        let cells = found.into_iter().map(|comparison| {
            comparison.map(|comparison| {
                let interval = &comparison.difference;
                let decimals = decimals(metric);
                Cell {
                    mean: signed(interval.mean, decimals),
                    low: signed(interval.low, decimals),
                    high: signed(interval.high, decimals),
                    place: place(interval, -reach, reach),
                    class: outcome(interval, metric.direction),
                    better: comparison.better,
                    worse: comparison.worse,
                    relative: relative(&comparison.relative),
                }
            })
        });
        Row { metric: metric.into(), cells: cells.collect() }
    };
    METRICS.iter().map(row).filter(|row| row.cells.iter().any(Option::is_some)).collect()
}

fn relative(interval: &Interval) -> Option<[String; 3]> {
    is_finite(interval).then(|| [interval.mean, interval.low, interval.high].map(signed_percent))
}

/// One figure of every arm.
#[derive(Serialize)]
pub(super) struct FigureRow<'a> {
    name: &'a str,
    unit: &'a str,
    cells: Vec<String>,
}

/// Returns the figures with one cell per arm.
pub(super) fn figure_rows<'a>(report: &'a Report) -> Vec<FigureRow<'a>> {
    let value = |value: f64| number(value, if value.fract().abs() > 0.0 { 3 } else { 0 });
    let row = |figure: &'a Figure| {
        let cell = |arm: &ArmSummary| figure.arms.get(&arm.arm).map_or_else(|| "–".to_owned(), |v| value(*v));
        FigureRow { name: &figure.name, unit: &figure.unit, cells: report.arms.iter().map(cell).collect() }
    };
    report.figures.iter().map(row).collect()
}

/// Returns the best mean, or nothing if all are equal.
fn best_mean(intervals: &[&Interval], direction: Direction) -> Option<f64> {
    let lowest = intervals.iter().map(|interval| interval.mean).min_by(f64::total_cmp)?;
    let highest = intervals.iter().map(|interval| interval.mean).max_by(f64::total_cmp)?;
    let best = if direction == Direction::Higher { highest } else { lowest };
    (lowest < highest).then_some(best)
}

fn place(interval: &Interval, low: f64, high: f64) -> Option<Place> {
    let width = high - low;
    if !is_finite(interval) || !width.is_finite() {
        return None;
    }
    // Two percent are left free on both sides for the mark of the mean.
    let share = |value: f64| if width > 0.0 { 2.0 + 96.0 * (value - low) / width } else { 50.0 };
    let rounded = |value: f64| (value * 100.0).round() / 100.0;
    let (start, end) = (share(interval.low), share(interval.high));
    Some(Place { low: rounded(start), mean: rounded(share(interval.mean)), width: rounded(end - start) })
}

/// Says whether the mean and both ends are numbers.
pub(super) fn is_finite(interval: &Interval) -> bool {
    interval.mean.is_finite() && interval.low.is_finite() && interval.high.is_finite()
}

/// Returns `better`, `worse` or, for an interval that includes zero, `even`.
pub(super) fn outcome(interval: &Interval, direction: Direction) -> &'static str {
    match (interval.excludes_zero(), direction == Direction::Higher, interval.mean > 0.0) {
        (false, _, _) => "even",
        (true, higher_is_better, is_higher) if higher_is_better == is_higher => "better",
        _ => "worse",
    }
}

fn decimals(metric: &Definition) -> usize {
    match metric.name {
        "perplexity" | "weighted_perplexity" => 2,
        "edit_similarity_cceval" | "edit_similarity_toolgen" => 1,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(mean: f64, low: f64, high: f64) -> Interval {
        Interval { mean, low, high, n: 3 }
    }

    #[test]
    fn an_outcome_needs_an_interval_without_zero() {
        assert_eq!(outcome(&interval(0.1, -0.1, 0.3), Direction::Higher), "even");
        assert_eq!(outcome(&interval(0.1, 0.05, 0.3), Direction::Higher), "better");
        assert_eq!(outcome(&interval(0.1, 0.05, 0.3), Direction::Lower), "worse");
        assert_eq!(outcome(&interval(-0.1, -0.3, -0.05), Direction::Lower), "better");
        assert_eq!(outcome(&interval(f64::NAN, f64::NAN, f64::NAN), Direction::Lower), "even");
    }

    #[test]
    fn intervals_are_placed_on_the_scale_of_their_row() {
        let place = place(&interval(5.0, 0.0, 10.0), 0.0, 10.0).unwrap();
        assert!(
            (place.low - 2.0).abs() < 1e-9 && (place.mean - 50.0).abs() < 1e-9 && (place.width - 96.0).abs() < 1e-9
        );
        assert!(super::place(&interval(1.0, 1.0, 1.0), 1.0, 1.0).is_some());
        assert!(super::place(&interval(f64::NAN, 1.0, 1.0), 0.0, 1.0).is_none());
    }

    #[test]
    fn no_mean_is_best_among_equals() {
        let (a, b) = (interval(1.0, 0.0, 2.0), interval(2.0, 1.0, 3.0));
        assert_eq!(best_mean(&[&a, &b], Direction::Lower), Some(1.0));
        assert_eq!(best_mean(&[&a, &a], Direction::Lower), None);
        assert_eq!(best_mean(&[], Direction::Higher), None);
    }
}
