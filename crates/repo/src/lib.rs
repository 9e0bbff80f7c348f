//! One repository as a value: sources, imports, clusters, candidates, targets, functions.
//!
//! Everything here is pure: the same text in gives the same value out, without I/O, wall clock or hash-map order. Odd
//! source gives less (fewer imports, fewer targets), never an error or a panic, and syntax trees are walked without
//! recursion because one long line can nest them a million levels deep.
//!
//! ```text
//! files -> imports (collect, resolve) -> graph -> clusters -> candidates
//!                                                          \-> targets, functions
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod source;

pub mod language;

pub mod syntax;

pub mod identifiers;

pub mod imports;

pub mod graph;

pub mod candidates;

pub mod targets;

pub mod functions;

pub mod random;

mod error;

#[cfg(test)]
mod fixtures;

pub use candidates::{Candidate, CandidateRule, CodeCandidate, SplitVariant};
pub use error::{Error, Result};
pub use functions::Function;
pub use graph::{Cluster, DependencyGraph};
pub use imports::Import;
pub use language::Language;
pub use source::{Repository, SourceFile};
pub use targets::{SpanRule, Target, TargetKind};
