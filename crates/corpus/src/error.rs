//! What can end a crawl, a read, a write or a fetch.

use std::fmt::Display;
use std::path::{Path, PathBuf};

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of this crate; bad files inside a repository are ledger rows instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A manifest or a benchmark list that says something wrong.
    #[error("{path}:{line}: {message}")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong and what would be right.
        message: String,
    },
    /// A source or model specification that cannot be parsed.
    #[error("`{spec}` is not a valid specification: {message}")]
    Spec {
        /// The text that was given.
        spec: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// A file or directory that cannot be read or written.
    #[error("cannot {action} {}", one_line(.path.display()))]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// Two sources that would give repositories of one name.
    #[error("`{first}` and `{second}` both give a repository named `{name}`: set `name` for one of them")]
    DuplicateName {
        /// The shared name.
        name: String,
        /// The first source.
        first: String,
        /// The second source.
        second: String,
    },
    /// A download whose content is not what was pinned.
    #[error("{what} has sha256 {actual}, but {expected} is pinned: {advice}")]
    HashMismatch {
        /// The file.
        what: String,
        /// The pinned sha256, in hexadecimal digits.
        expected: String,
        /// The sha256 of the file.
        actual: String,
        /// What to do.
        advice: String,
    },
    /// Something that is not in the cache while the network may not be used.
    #[error("{what} is not in the cache {cache} and the run is offline: run once with network access to fetch it")]
    Offline {
        /// The package, model or clone.
        what: String,
        /// The cache directory.
        cache: PathBuf,
    },
    /// A failed download.
    #[error("cannot download {what}: {}", one_line(.message))]
    Download {
        /// The package, model or clone.
        what: String,
        /// What the program or library said, and what to check.
        message: String,
    },
    /// An archive that cannot be read.
    #[error("cannot read the archive {}: {}", one_line(.path.display()), one_line(.message))]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A git repository that cannot be read.
    #[error("cannot read the git repository {url}: {}", one_line(.message))]
    Git {
        /// The address it was cloned from.
        url: String,
        /// What `git` said.
        message: String,
    },
    /// A repository with more files than the manifest allows.
    #[error("more than {limit} files: raise `crawl.entries_max` if that is intended")]
    TooManyEntries {
        /// The limit.
        limit: usize,
    },
    /// A source that failed; says which one.
    #[error("source `{spec}`")]
    Source {
        /// The specification in the manifest.
        spec: String,
        /// The cause.
        #[source]
        source: Box<Error>,
    },
    /// A stop that was asked for before the crawl was done.
    #[error("interrupted; run again")]
    Interrupted,
    /// A thread pool that could not be started.
    #[error("cannot start the threads of the crawl")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// A Parquet file that cannot be read or written.
    #[error("cannot {action} the Parquet file {path}")]
    Parquet {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: parquet::errors::ParquetError,
    },
    /// A Parquet file of another schema or schema version, or with values outside it.
    #[error("{path}: {message}")]
    Schema {
        /// The file.
        path: PathBuf,
        /// How it differs and what to do.
        message: String,
    },
    /// A model directory or file that is missing something.
    #[error("model `{spec}`: {message}")]
    Model {
        /// The model specification.
        spec: String,
        /// What is missing and what to do.
        message: String,
    },
}

impl Error {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    pub(crate) fn archive(path: &Path, message: impl Display) -> Self {
        Self::Archive { path: path.to_path_buf(), message: message.to_string() }
    }

    pub(crate) fn spec(spec: &str, message: impl Into<String>) -> Self {
        Self::Spec { spec: spec.to_owned(), message: message.into() }
    }
}

/// Returns a text for people on one line: control characters, which names and messages from outside may hold, are
/// escaped.
pub(crate) fn one_line(text: impl Display) -> String {
    let mut line = String::new();
    for character in text.to_string().chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_outside_cannot_write_lines_or_control_a_terminal() {
        let hostile = "a\nb\u{1b}[2J\r\u{9b}\\é";
        let shown = r"a\nb\u{1b}[2J\r\u{9b}\é";
        let text = hostile.to_owned();
        for error in [
            Error::archive(Path::new(hostile), hostile),
            Error::Git { url: "u".to_owned(), message: text.clone() },
            Error::Download { what: "w".to_owned(), message: text },
            Error::io("list the directory", Path::new(hostile))(std::io::Error::other("")),
        ] {
            assert!(error.to_string().ends_with(shown), "{error}");
            assert!(!error.to_string().contains(char::is_control));
        }
    }
}
