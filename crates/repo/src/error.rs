//! What can be refused here: names of languages and of target kinds.

use thiserror::Error as ThisError;

/// A refused name.
#[derive(Debug, Clone, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// A language that is not completed here.
    #[error("unknown language `{0}`, expected `python` or `java`")]
    UnknownLanguage(String),
    /// A kind of target that does not exist.
    #[error("unknown target kind `{0}`, expected `span`, `line` or `api_call`")]
    UnknownTargetKind(String),
}

/// The result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
