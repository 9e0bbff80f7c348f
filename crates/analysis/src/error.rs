//! What can keep a tool from answering.

use std::io;
use std::time::Duration;

/// Why a tool gave no answer. The engines in process always answer; an empty answer is not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The tool does not know how to answer this kind of question.
    #[error("{tool} cannot tell {question}")]
    Unsupported {
        /// The tool's name.
        tool: String,
        /// What was asked, as a noun: `expected types`.
        question: &'static str,
    },
    /// The tool's program does not start.
    #[error("cannot start `{command}`")]
    Start {
        /// The command line.
        command: String,
        /// Why it does not start.
        #[source]
        source: io::Error,
    },
    /// The tool took longer than its deadline; it is started again for the next question.
    #[error("{tool} did not answer within {} s", deadline.as_secs_f32())]
    Deadline {
        /// The tool's name.
        tool: String,
        /// The longest time an answer may take.
        deadline: Duration,
    },
    /// The tool's program ended; it is started again for the next question.
    #[error("{tool} ended: {reason}")]
    Ended {
        /// The tool's name.
        tool: String,
        /// How it ended, and the last line it wrote to its standard error.
        reason: String,
    },
    /// The tool failed at this question and goes on.
    #[error("{tool} failed: {reason}")]
    Failed {
        /// The tool's name.
        tool: String,
        /// What it says of the failure.
        reason: String,
    },
    /// The tool answered with something that is no answer.
    #[error("{tool} answered {answer}")]
    Protocol {
        /// The tool's name.
        tool: String,
        /// The beginning of what it said.
        answer: String,
    },
}

impl Error {
    /// Returns the stable name of the kind of failure, under which reports count it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unsupported { .. } => "unsupported",
            Self::Start { .. } => "start",
            Self::Deadline { .. } => "deadline",
            Self::Ended { .. } => "ended",
            Self::Failed { .. } => "failed",
            Self::Protocol { .. } => "protocol",
        }
    }
}

/// The result of a question.
pub type Result<T> = std::result::Result<T, Error>;
