//! What an IDE knows about a repository: completions, definitions, types, headers of values in scope, diagnostics.
//!
//! One trait, [`CodeIntelligence`], asks the questions; everything in and out is a byte position or text. Its engines
//! are pure like `repo` below: the same repository and caret give the same answer in the same order, and odd source
//! gives less, never an error or a panic. Only [`server`] starts processes, to ask tools of other people the same.
//!
//! ```text
//!             caret -> CodeIntelligence -> suggestions, definitions, types, headers, diagnostics
//!                      /      |      \
//!                 python    java    server (Jedi worker, LSP client)
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod intelligence;

pub mod caret;

pub mod position;

pub mod diagnostics;

pub mod locality;

pub mod occurrences;

pub mod python;

pub mod java;

mod native;

pub mod triggers;

pub mod server;

mod error;

pub use caret::Caret;
pub use diagnostics::{Diagnostic, DiagnosticKind};
pub use error::{Error, Result};
pub use intelligence::{CodeIntelligence, Definition, Header, Origin, Place, Suggestion, TypeDefinition};
pub use native::Native;
