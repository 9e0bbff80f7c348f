//! What can go wrong in inference.

/// What can go wrong between a repository and a completion.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A text that names no [`Variant`](crate::Variant).
    #[error("unknown variant `{0}`, expected `paper` or `released`")]
    UnknownVariant(String),
    /// A text that names no [`Layout`](crate::layout::Layout).
    #[error("unknown layout `{0}`, expected `inline` or `sections`")]
    UnknownLayout(String),
    /// A text that names no [`Terminal`](crate::decode::Terminal).
    #[error("unknown terminal rule `{0}`, expected `first` or `mean_probability`")]
    UnknownTerminal(String),
    /// A model that cannot write as asked.
    #[error(transparent)]
    Model(#[from] models::Error),
    /// A function that its file does not have.
    #[error("{path} has no {wanted}")]
    NoFunction {
        /// The file.
        path: String,
        /// What was looked for.
        wanted: String,
    },
    /// A name that more than one function of a file has.
    #[error("{path} has more than one {wanted}, at lines {}", lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    SeveralFunctions {
        /// The file.
        path: String,
        /// What was looked for.
        wanted: String,
        /// The line that each begins at, counted from 1.
        lines: Vec<usize>,
    },
    /// A generator whose context does not hold a full prompt and what follows it.
    #[error("a prompt and what follows it need {needed} tokens, the model's context has {context}")]
    ContextTooShort {
        /// Tokens of a full prompt with its completion or target.
        needed: usize,
        /// Tokens of the model's context.
        context: usize,
    },
}

/// The result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;
