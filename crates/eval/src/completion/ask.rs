//! Asking a tool and taking its time.

use std::collections::BTreeMap;
use std::time::Instant;

use analysis::{Caret, CodeIntelligence, locality};
use cpu_time::ProcessTime;
use repo::Repository;

use super::{Mode, Question};

/// What a tool answered to one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The length of its list.
    pub n_suggestions: usize,
    /// The one-based place of the right identifier in the list in [locality order](locality::order); `None` if it is not
    /// there.
    pub rank: Option<usize>,
}

/// What a tool answered to a list of questions, and what it cost.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// One for each question; a question that got no answer has an empty list.
    pub answers: Vec<Answer>,
    /// Questions without an answer, by the kind of failure.
    pub failures: BTreeMap<&'static str, usize>,
    /// CPU time of the calls in this process and the tool's own, in seconds.
    pub cpu_seconds: f64,
    /// Wall time of the calls, in seconds.
    pub wall_seconds: f64,
}

impl Outcome {
    /// Adds the answers to more questions.
    pub fn append(&mut self, more: Self) {
        self.answers.extend(more.answers);
        for (kind, n) in more.failures {
            *self.failures.entry(kind).or_default() += n;
        }
        self.cpu_seconds += more.cpu_seconds;
        self.wall_seconds += more.wall_seconds;
    }
}

/// Asks `tool` each of the questions, in order, about the repository it was opened with.
///
/// The time is that of the calls: ordering the lists and cutting the text are not part of it.
pub fn ask(
    tool: &mut dyn CodeIntelligence,
    repository: &Repository,
    questions: &[Question],
    mode: Mode,
    mut progress: impl FnMut(),
) -> Outcome {
    let mut outcome = Outcome::default();
    for question in questions {
        let file = &repository.files()[question.file];
        let caret = match mode {
            Mode::Intact => Caret::intact(file, question.span.start),
            Mode::Online => {
                let written = &file.text[question.function.start..question.span.start];
                Caret::unfinished(file, question.function.clone(), written)
            }
        };
        let (wall, cpu, outside) = (Instant::now(), ProcessTime::now(), tool.outside_cpu_seconds());
        let result = tool.completions(&caret);
        outcome.wall_seconds += wall.elapsed().as_secs_f64();
        outcome.cpu_seconds += cpu.elapsed().as_secs_f64() + tool.outside_cpu_seconds() - outside;
        let mut suggestions = result.unwrap_or_else(|error| {
            *outcome.failures.entry(error.kind()).or_default() += 1;
            Vec::new()
        });
        locality::order(&mut suggestions, &caret, file.language);
        let name = &file.text[question.span.clone()];
        let rank = suggestions.iter().position(|suggestion| suggestion.name == name).map(|index| index + 1);
        outcome.answers.push(Answer { n_suggestions: suggestions.len(), rank });
        progress();
    }
    outcome
}
