//! The comparison as rows, as text and as CSV.

use std::collections::BTreeMap;
use std::fmt::Write;

use analysis::occurrences::OccurrenceKind;

use super::{Answer, Mode, Outcome, Question};

/// One line of the comparison: a tool in a mode, on the questions of one kind or on all of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The tool.
    pub tool: String,
    /// The mode, by its name.
    pub mode: &'static str,
    /// The kind of the identifiers, `all`, or `uses` for all but first bindings, whose names the author invents.
    pub kind: &'static str,
    /// Questions asked.
    pub n: usize,
    /// Share of the questions whose identifier is in the list.
    pub found: f64,
    /// Share of the questions found by the reference tool with the file intact that this tool finds too; `None` if the
    /// reference did not take part.
    pub recall: Option<f64>,
    /// Mean length of the lists.
    pub list_mean: f64,
    /// 95th percentile of the lengths.
    pub list_p95: usize,
    /// Mean reciprocal rank of the right identifier in locality order, over all questions.
    pub reciprocal_rank: f64,
    /// Share of the questions whose identifier stands among the first ten in locality order.
    pub in_first_ten: f64,
    /// Questions without an answer, in the row of all kinds.
    pub failures: usize,
    /// Calls per second of CPU time, over all kinds; `None` in the row of one kind.
    pub calls_per_cpu_second: Option<f64>,
    /// Calls per second of wall time, over all kinds; `None` in the row of one kind.
    pub calls_per_second: Option<f64>,
}

/// Returns the row of all questions, that of all uses, and then one for each kind that occurs, in the order of the kinds.
///
/// `reference` holds the reference tool's answers to the same questions with the file intact.
///
/// # Panics
///
/// Panics if the answers are not as many as the questions.
#[must_use]
pub fn rows(
    tool: &str,
    mode: Mode,
    questions: &[Question],
    outcome: &Outcome,
    reference: Option<&[Answer]>,
) -> Vec<Row> {
    assert_eq!(questions.len(), outcome.answers.len(), "one answer for each question");
    let mut by_kind: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, question) in questions.iter().enumerate() {
        by_kind.entry(question.kind).or_default().push(index);
    }
    let row = |kind: &'static str, chosen: &[usize]| Row {
        kind,
        mode: mode.name(),
        ..summary(tool, chosen, &outcome.answers, reference)
    };
    let all: Vec<usize> = (0..questions.len()).collect();
    let per = |seconds: f64| (seconds > 0.0).then(|| questions.len() as f64 / seconds);
    let total = Row {
        failures: outcome.failures.values().sum(),
        calls_per_cpu_second: per(outcome.cpu_seconds),
        calls_per_second: per(outcome.wall_seconds),
        ..row("all", &all)
    };
    let is_use = |&index: &usize| questions[index].kind != OccurrenceKind::FirstBinding;
    let uses: Vec<usize> = all.iter().copied().filter(is_use).collect();
    let kinds = by_kind.iter().map(|(kind, chosen)| row(kind.name(), chosen));
    [total, row("uses", &uses)].into_iter().chain(kinds).collect()
}

fn summary(tool: &str, chosen: &[usize], answers: &[Answer], reference: Option<&[Answer]>) -> Row {
    let n = chosen.len();
    let share = |count: usize, of: usize| if of == 0 { 0.0 } else { count as f64 / of as f64 };
    let ranks: Vec<usize> = chosen.iter().filter_map(|&index| answers[index].rank).collect();
    let mut lengths: Vec<usize> = chosen.iter().map(|&index| answers[index].n_suggestions).collect();
    lengths.sort_unstable();
    let recall = reference.map(|reference| {
        let wanted: Vec<usize> = chosen.iter().copied().filter(|&index| reference[index].rank.is_some()).collect();
        share(wanted.iter().filter(|&&index| answers[index].rank.is_some()).count(), wanted.len())
    });
    Row {
        tool: tool.to_owned(),
        mode: "",
        kind: "",
        n,
        found: share(ranks.len(), n),
        recall,
        list_mean: share(lengths.iter().sum(), n),
        list_p95: lengths.get((n * 95 / 100).min(n.saturating_sub(1))).copied().unwrap_or(0),
        reciprocal_rank: ranks.iter().fold(0.0, |sum, &rank| sum + 1.0 / rank as f64) / n.max(1) as f64,
        in_first_ten: share(ranks.iter().filter(|&&rank| rank <= 10).count(), n),
        failures: 0,
        calls_per_cpu_second: None,
        calls_per_second: None,
    }
}

/// Returns the rows as comma-separated values with a heading; numbers that were not measured are empty.
#[must_use]
pub fn csv(rows: &[Row]) -> String {
    let mut text = "tool,mode,kind,n,found,recall,list_mean,list_p95,reciprocal_rank,in_first_ten,failures,\
                    calls_per_cpu_second,calls_per_second\n"
        .to_owned();
    let optional = |value: Option<f64>, digits: usize| value.map_or(String::new(), |value| format!("{value:.digits$}"));
    for row in rows {
        writeln!(
            text,
            "{},{},{},{},{:.4},{},{:.1},{},{:.4},{:.4},{},{},{}",
            row.tool,
            row.mode,
            row.kind,
            row.n,
            row.found,
            optional(row.recall, 4),
            row.list_mean,
            row.list_p95,
            row.reciprocal_rank,
            row.in_first_ten,
            row.failures,
            optional(row.calls_per_cpu_second, 1),
            optional(row.calls_per_second, 1),
        )
        .expect("a string takes every text");
    }
    text
}

/// Returns the rows as a table for people: shares in percent.
#[must_use]
pub fn text(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<24} {:<7} {:<20} {:>6} {:>7} {:>7} {:>6} {:>5} {:>6} {:>7} {:>6} {:>9} {:>8}\n",
        "tool",
        "mode",
        "kind",
        "n",
        "found%",
        "recall%",
        "list",
        "p95",
        "MRR",
        "top10%",
        "failed",
        "calls/cpu",
        "calls/s"
    );
    let optional = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
    for row in rows {
        writeln!(
            text,
            "{:<24} {:<7} {:<20} {:>6} {:>7.2} {:>7} {:>6.1} {:>5} {:>6.3} {:>7.2} {:>6} {:>9} {:>8}",
            row.tool,
            row.mode,
            row.kind,
            row.n,
            100.0 * row.found,
            row.recall.map_or("-".to_owned(), |recall| format!("{:.2}", 100.0 * recall)),
            row.list_mean,
            row.list_p95,
            row.reciprocal_rank,
            100.0 * row.in_first_ten,
            row.failures,
            optional(row.calls_per_cpu_second),
            optional(row.calls_per_second),
        )
        .expect("a string takes every text");
    }
    text
}
