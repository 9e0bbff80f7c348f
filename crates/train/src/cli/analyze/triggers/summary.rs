//! What trigger insertion says when it is done.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use analysis::triggers::{DropReason, Tally};
use serde_json::json;

use crate::marking::Marked;

/// Counts over all repositories.
#[derive(Debug, Default)]
pub(super) struct Summary {
    output: String,
    n_repositories: usize,
    tally: Tally,
    /// Marks of each function kept.
    marks: Vec<usize>,
    /// Sum of the suggestions over all marks.
    n_suggestions: usize,
    seconds: f64,
    n_threads: usize,
}

impl Summary {
    /// Adds what came of a repository.
    pub(super) fn add(&mut self, marked: &Marked) {
        self.n_repositories += 1;
        self.tally += &marked.tally;
        for row in &marked.rows {
            self.marks.push(row.marks.len());
            self.n_suggestions += row.marks.iter().map(|mark| mark.n_suggestions).sum::<usize>();
        }
    }

    /// Ends the counting.
    pub(super) fn finish(&mut self, output: &Path, time: Duration, n_threads: usize) {
        self.output = output.display().to_string();
        self.seconds = time.as_secs_f64();
        self.n_threads = n_threads;
        self.marks.sort_unstable();
    }

    fn n_documented(&self) -> usize {
        self.tally.n_functions - self.tally.dropped.get(&DropReason::NoDocstring).copied().unwrap_or_default()
    }

    fn n_marks(&self) -> usize {
        self.marks.iter().sum()
    }

    fn n_with_marks(&self) -> usize {
        self.marks.len() - self.marks.partition_point(|n| *n == 0)
    }

    fn marks_median(&self) -> usize {
        self.marks.get(self.marks.len() / 2).copied().unwrap_or_default()
    }

    /// Writes one JSON object.
    pub(super) fn write_json(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let dropped: BTreeMap<&str, usize> = self.tally.dropped.iter().map(|(reason, n)| (reason.name(), *n)).collect();
        let summary = json!({
            "output": self.output,
            "n_repositories": self.n_repositories,
            "n_functions": self.tally.n_functions,
            "n_documented": self.n_documented(),
            "n_kept": self.marks.len(),
            "n_kept_with_marks": self.n_with_marks(),
            "dropped": dropped,
            "n_marks": self.n_marks(),
            "marks_per_function_mean": ratio(self.n_marks(), self.marks.len()),
            "marks_per_function_median": self.marks_median(),
            "suggestions_per_mark_mean": ratio(self.n_suggestions, self.n_marks()),
            "n_questions": self.tally.n_questions,
            "failures": self.tally.failures,
            "seconds": self.seconds,
            "n_threads": self.n_threads,
            "functions_per_second": self.marks.len() as f64 / self.seconds,
            "questions_per_second": self.tally.n_questions as f64 / self.seconds,
        });
        Ok(writeln!(out, "{summary}")?)
    }

    /// Writes a table for people.
    pub(super) fn write_table(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let mut line = |name: &str, value: String| writeln!(out, "{name:<28} {value}");
        line("table", self.output.clone())?;
        line("repositories", self.n_repositories.to_string())?;
        line("functions", format!("{}, {} documented", self.tally.n_functions, self.n_documented()))?;
        line("kept", format!("{}, {} with a mark", self.marks.len(), self.n_with_marks()))?;
        for (reason, n) in &self.tally.dropped {
            line(&format!("dropped: {reason}"), n.to_string())?;
        }
        let mean = ratio(self.n_marks(), self.marks.len());
        line("marks", self.n_marks().to_string())?;
        line("marks per function", format!("mean {mean:.2}, median {}", self.marks_median()))?;
        line("suggestions per mark", format!("mean {:.1}", ratio(self.n_suggestions, self.n_marks())))?;
        line("questions", self.tally.n_questions.to_string())?;
        for (kind, n) in &self.tally.failures {
            line(&format!("unanswered: {kind}"), n.to_string())?;
        }
        let per_second = |n: usize| n as f64 / self.seconds;
        let (functions, questions) = (per_second(self.marks.len()), per_second(self.tally.n_questions));
        line("time", format!("{:.1} s on {} threads", self.seconds, self.n_threads))?;
        line("per second", format!("{functions:.1} functions, {questions:.0} questions"))?;
        Ok(())
    }
}

fn ratio(sum: usize, n: usize) -> f64 {
    if n == 0 { 0.0 } else { sum as f64 / n as f64 }
}
