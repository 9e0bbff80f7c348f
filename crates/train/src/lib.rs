//! Experiments: one TOML file in, a trained retriever and a report out.
//!
//! ```text
//! experiment -> pipeline: crawl -> samples -> train -> evaluate
//!                                             |
//!                       retriever: policy -> evaluator -> reward -> objective -> gradients
//! ```
//!
//! [`retriever`] is the method, read from top to bottom; [`pipeline`] is everything around it.

// Tests unwrap, compare to the bit on purpose, and hold `expect!` literals as their tool writes them.
#![cfg_attr(
    test,
    allow(clippy::unwrap_used, clippy::float_cmp, clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)
)]

pub mod experiment;
pub mod pipeline;
pub mod plan;

pub mod retriever;

pub mod evaluator;
pub mod gradients;
pub mod objective;
pub mod policy;
pub mod reward;
pub mod schedule;
pub mod task;

pub mod evaluation;

pub mod cache;
pub mod checkpoint;
pub mod dashboard;
pub mod metrics;
pub mod progress;
pub mod run;
pub mod signals;
pub mod stage;
pub mod weights;

pub mod cli;
