//! Completion tools compared on real code: what they find, how long their lists are, where in them the right name stands
//! and what an answer costs.
//!
//! The questions are the identifiers in the bodies of documented functions, where `ToolGen` puts its triggers. They are
//! asked of an intact file, as trigger insertion may, or of one whose function ends at the identifier, as decoding must.

mod ask;
mod table;

use std::ops::Range;

use analysis::occurrences::{OccurrenceKind, occurrences};
use rand::seq::IteratorRandom;
use rand::{SeedableRng, rngs::StdRng};
use repo::Repository;
use repo::functions::functions;

pub use ask::{Answer, Outcome, ask};
pub use table::{Row, csv, rows, text};

/// How much of the function stands behind the caret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// All of it: the identifier itself follows the caret.
    Intact,
    /// Nothing: the function ends at the caret, and the code after it follows.
    Online,
}

impl Mode {
    /// Returns the stable name: `intact` or `online`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Online => "online",
        }
    }
}

/// One identifier that a tool is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Index of the file in the repository.
    pub file: usize,
    /// The bytes of the function around it.
    pub function: Range<usize>,
    /// The bytes of the identifier.
    pub span: Range<usize>,
    /// What a tool must know to find it.
    pub kind: OccurrenceKind,
}

/// Returns the identifiers in the bodies of the documented functions of `repository`, by file and position.
///
/// A function within a documented function is part of it, so no identifier is asked for twice; the identifiers of
/// nested docstrings are text and are not there.
#[must_use]
pub fn questions(repository: &Repository) -> Vec<Question> {
    let mut questions = Vec::new();
    for (file, source) in repository.files().iter().enumerate() {
        let documented = functions(source).into_iter().filter(|function| function.docstring.is_some());
        let mut documented: Vec<_> = documented.map(|function| (function.span, function.body)).collect();
        documented.sort_by_key(|(span, _)| (span.start, std::cmp::Reverse(span.end)));
        let found = occurrences(&source.text, source.language);
        let mut end = 0;
        for (function, body) in documented {
            if function.start < end {
                continue;
            }
            end = function.end;
            let first = found.partition_point(|occurrence| occurrence.span.start < body.start);
            let inside = found[first..].iter().take_while(|occurrence| occurrence.span.end <= body.end);
            questions.extend(inside.map(|occurrence| Question {
                file,
                function: function.clone(),
                span: occurrence.span.clone(),
                kind: occurrence.kind,
            }));
        }
    }
    questions
}

/// Returns every identifier of `repository`, by file and position; the function of each is what stands before it.
///
/// That is no measure of a tool but a trial: no file of real code may be too much for it.
#[must_use]
pub fn questions_everywhere(repository: &Repository) -> Vec<Question> {
    let mut questions = Vec::new();
    for (file, source) in repository.files().iter().enumerate() {
        let found = occurrences(&source.text, source.language).into_iter();
        questions.extend(found.map(|found| Question {
            file,
            function: 0..found.span.end,
            span: found.span,
            kind: found.kind,
        }));
    }
    questions
}

/// Returns `n` of the questions, chosen by `seed`, in their order; all if there are no more.
#[must_use]
pub fn sample(questions: &[Question], n: usize, seed: u64) -> Vec<Question> {
    let mut chosen = (0..questions.len()).sample(&mut StdRng::seed_from_u64(seed), n);
    chosen.sort_unstable();
    chosen.into_iter().map(|index| questions[index].clone()).collect()
}

#[cfg(test)]
mod tests;
