//! What is asked at a trigger, and what becomes of the answer.

use std::sync::Arc;

/// Knows what may be inserted at the end of a text.
pub trait SuggestionSource {
    /// Returns what may be inserted at the end of `written`, the best first; nothing if there is nothing to insert.
    ///
    /// `written` is what the model has written so far, with its triggers.
    ///
    /// # Errors
    ///
    /// Returns why there is no answer.
    fn suggest(&mut self, written: &str) -> Result<Vec<String>, Refusal>;
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The answer took too long.
    #[error("no answer in time")]
    Deadline,
    /// The tool failed; what it says of it.
    #[error("{0}")]
    Failed(String),
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// A suggestion was inserted.
    Inserted(String),
    /// The tool was asked and had no suggestion that the model's vocabulary can spell.
    Nothing,
    /// The model gave the trigger less than the least probability at which the tool is asked.
    Unsure,
    /// The tool gave no answer.
    Refused(Refusal),
    /// The text ended before a suggestion was inserted or before the tool was asked.
    CutShort,
}

impl Outcome {
    /// Returns the stable name under which reports count it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Inserted(_) => "inserted",
            Self::Nothing => "nothing",
            Self::Unsure => "unsure",
            Self::Refused(Refusal::Deadline) => "deadline",
            Self::Refused(Refusal::Failed(_)) => "failed",
            Self::CutShort => "cut_short",
        }
    }
}

/// A trigger that the model wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The place of the trigger among the tokens.
    pub position: usize,
    /// The probability that the model gave to the trigger.
    pub confidence: f64,
    /// What the tool offered, the best first.
    pub suggestions: Arc<[String]>,
    /// What became of it.
    pub outcome: Outcome,
}

impl Question {
    /// Returns a question that is not asked yet.
    pub(super) fn new(position: usize, confidence: f64) -> Self {
        Self { position, confidence, suggestions: Arc::new([]), outcome: Outcome::CutShort }
    }
}
