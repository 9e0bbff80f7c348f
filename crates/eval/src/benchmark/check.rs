//! Whether a benchmark's file says what its repositories say, before anything is measured with it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{BenchmarkTask, as_python, from_line, source_text};
use crate::metrics::{definition, score};
use crate::significance::Direction;

/// Characters that a message shows of a text.
const SHOWN_CHARACTERS: usize = 60;

/// The metric to which an empty prediction is the beginning of every target, and so a match, by definition.
const PREFIX_MATCH: &str = "exact_match_rlcoder_github";

/// Something that is wrong with a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The task.
    pub task: String,
    /// What is wrong, the same words for all tasks of which it holds.
    pub kind: String,
    /// Where it shows.
    pub detail: String,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Tasks looked at.
    pub n_tasks: usize,
    /// Tasks whose text was held against the repository's file.
    pub n_compared: usize,
    /// Everything that is wrong, in the order of the tasks.
    pub problems: Vec<Problem>,
}

impl Findings {
    /// Returns the problems by kind.
    #[must_use]
    pub fn by_kind(&self) -> BTreeMap<&str, Vec<&Problem>> {
        let mut kinds: BTreeMap<&str, Vec<&Problem>> = BTreeMap::new();
        for problem in &self.problems {
            kinds.entry(&problem.kind).or_default().push(problem);
        }
        kinds
    }

    /// Returns how many tasks have a problem.
    #[must_use]
    pub fn n_tasks_with_problems(&self) -> usize {
        let tasks: BTreeSet<&str> = self.problems.iter().map(|problem| problem.task.as_str()).collect();
        tasks.len()
    }
}

/// Checks that the text of each task is that of its file, and that the target scores full marks on each of the metrics
/// and an empty prediction none.
///
/// Without `repositories` the text is not held against anything. `metrics` restricts the metrics of
/// [`score`]; all of them if it is empty.
#[must_use]
pub fn check(tasks: &[BenchmarkTask], repositories: Option<&Path>, metrics: &[String]) -> Findings {
    let mut findings = Findings { n_tasks: tasks.len(), ..Findings::default() };
    for task in tasks {
        if let Some(repositories) = repositories {
            findings.n_compared += 1;
            findings.problems.extend(text_problem(task, repositories));
        }
        findings.problems.extend(score_problems(task, metrics));
    }
    findings
}

fn text_problem(task: &BenchmarkTask, repositories: &Path) -> Option<Problem> {
    let problem = |kind: &str, detail: String| Problem { task: task.id.clone(), kind: kind.into(), detail };
    let text = match source_text(repositories, task) {
        Ok(text) => text,
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            return Some(problem("the file is not there", format!("{error}: {cause}")));
        }
    };
    let rest = task.rest_of(&text);
    let is_equal = match &task.right_context {
        Some(right) => rest.as_ref().is_some_and(|rest| rest == right || as_python(rest) == *right),
        None => rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['\n', '\r'])),
    };
    if is_equal {
        return None;
    }
    let as_python = as_python(&text);
    let expected = [&task.left_context, &task.target, task.right_context.as_deref().unwrap_or_default()].concat();
    let found = from_line(if expected.contains('\r') { &text } else { &as_python }, task.first_line);
    let is_cut = task.right_context.is_none();
    let same_words = |words: &[&str]| {
        let found = found.split_whitespace();
        if is_cut { found.take(words.len()).eq(words.iter().copied()) } else { found.eq(words.iter().copied()) }
    };
    let kind = if is_cut && found.starts_with(&expected) {
        "the target ends within a line of the file"
    } else if same_words(&expected.split_whitespace().collect::<Vec<_>>()) {
        "the text differs from the file in white space"
    } else {
        "the text differs from the file"
    };
    Some(problem(kind, difference(&expected, found)))
}

/// Says where two texts part, with what follows there in each.
fn difference(task: &str, file: &str) -> String {
    let same = task.chars().zip(file.chars()).take_while(|(a, b)| a == b).count();
    let after = |text: &str| format!("{:?}", text.chars().skip(same).take(SHOWN_CHARACTERS).collect::<String>());
    let line = task.chars().take(same).filter(|c| *c == '\n').count();
    format!("after {line} lines the task has {}, the file {}", after(task), after(file))
}

fn score_problems(task: &BenchmarkTask, metrics: &[String]) -> Vec<Problem> {
    let scores = |prediction: &str| score(&task.left_context, prediction, &task.target, task.language);
    let asked = |name: &str| metrics.is_empty() || metrics.iter().any(|metric| metric == name);
    let is_wrong = |value: f64, expected: f64| (value - expected).abs() > 1e-9;
    let problem = |kind: String, value: f64| {
        let target: String = task.target.chars().take(SHOWN_CHARACTERS).collect();
        Problem { task: task.id.clone(), kind, detail: format!("{value} for the target {target:?}") }
    };
    let mut problems = Vec::new();
    for (name, value) in scores(&task.target) {
        if asked(name) && best(name).is_some_and(|best| is_wrong(value, best)) {
            problems.push(problem(format!("the target itself misses full marks on {name}"), value));
        }
    }
    for (name, value) in scores("") {
        if asked(name) && name != PREFIX_MATCH && best(name).is_some() && is_wrong(value, 0.0) {
            problems.push(problem(format!("an empty prediction scores on {name}"), value));
        }
    }
    problems
}

/// Returns full marks on a metric; nothing for one on which less is better.
fn best(name: &str) -> Option<f64> {
    let definition = definition(name).filter(|definition| definition.direction == Direction::Higher)?;
    Some(if definition.unit == "0–100" { 100.0 } else { 1.0 })
}
