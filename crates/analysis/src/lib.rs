//! What an IDE knows about a repository.
//!
//! So far that is where the syntax of a text is broken. Like `repo` below it, this is pure: the same text in gives the
//! same value out, and odd source gives an answer, never an error or a panic.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod diagnostics;

pub use diagnostics::{Diagnostic, DiagnosticKind};
