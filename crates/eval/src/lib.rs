//! Numbers with definitions: metrics, significance, reports.
//!
//! - [`metrics`] compares a predicted text with its target; no model is ever loaded here;
//! - [`benchmark`] reads benchmarks as their authors published them, and checks them;
//! - [`completion`] compares completion tools on real code;
//! - [`pass_rate`] runs a repository's tests on what was predicted;
//! - [`significance`] says how sure a mean or a difference of means is;
//! - [`report`] owns `report.json`, `predictions.jsonl` and `report.html`.

// `expect!` writes its raw strings with hashes.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::needless_raw_string_hashes))]

pub mod benchmark;
pub mod completion;
pub mod metrics;
pub mod pass_rate;
pub mod significance;

pub mod report;

use std::path::PathBuf;

/// What can go wrong while a report is read, rendered or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {action} failed", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was attempted.
        action: &'static str,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// Two arms that have not predicted the same samples.
    #[error("{pair} cannot be compared: {problem}")]
    OtherSamples {
        /// The arms.
        pair: String,
        /// What differs.
        problem: String,
    },
    /// A line of a JSON file does not hold what its format says.
    #[error("{}:{line}: not a valid record", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The 1-based line.
        line: usize,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// A report was written by another version of this crate.
    #[error("{}: report version {found}, this build reads version {expected}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u64,
        /// The version this build reads.
        expected: u32,
    },
    /// A line of a file is not what its format says.
    #[error("{}:{line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from one.
        line: usize,
        /// What is wrong, and what was expected.
        problem: String,
    },
    /// The tests of a repository cannot be run.
    #[error("the tests of {repository}")]
    Tests {
        /// The repository.
        repository: String,
        /// The cause.
        #[source]
        source: analysis::Error,
    },
    /// A value could not be turned into JSON.
    #[error("a report value could not be serialized")]
    Serialize(#[source] serde_json::Error),
    /// The HTML template could not be rendered.
    #[error("the report template could not be rendered")]
    Template(#[source] minijinja::Error),
    /// A curve could not be drawn.
    #[error("curve `{curve}` could not be drawn: {reason}")]
    Chart {
        /// The name of the curve.
        curve: String,
        /// What the drawing backend said.
        reason: String,
    },
}

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;
