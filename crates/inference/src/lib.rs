//! A repository and a cursor in, a completion out.
//!
//! ```text
//! left context -> query -> bm25 -> retriever (stop candidate) -> prompt -> greedy
//!                                                                       \-> score -> perplexity
//!
//! left context, what was written -> windows (jaccard or retriever) -> repocoder's prompt -> greedy -> once more
//!
//! a function's header -> layout -> decode: the model asks at `<COMP>` -> tool -> trie -> the model chooses
//! ```
//!
//! Training builds candidates, prompts and NLLs with the functions an editor would run, so that what is trained is what
//! is served. Nothing here does I/O, holds a loss or an optimizer, or computes gradients: a model comes in loaded, and
//! the same repository, cursor and weights give the same completion for any number of workers.
//!
//! Where the paper of `RLCoder` or `RepoCoder` and its released code give different numbers, [`Variant`] says which runs.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod cursor;
pub mod variant;

pub mod bm25;
pub mod query;

pub mod batches;
pub mod retriever;

pub mod strategies;

pub mod jaccard;
pub mod windows;

pub mod infill;
pub mod prompt;
pub mod seam;

pub mod perplexity;
pub mod score;

pub mod complete;
pub mod greedy;

pub mod repocoder;

pub mod layout;

pub mod trie;

pub mod decode;

pub mod tool;

pub mod function;

mod error;

#[cfg(test)]
mod fixtures;

pub use cursor::Cursor;
pub use error::{Error, Result};
pub use seam::Seam;
pub use variant::Variant;
