//! Experiments: one TOML file in, a trained retriever or generator and a report out.
//!
//! ```text
//! experiment -> pipeline: crawl -> samples -> train -> evaluate
//!                                             |
//!                       retriever: policy -> evaluator -> reward -> objective -> gradients
//!
//! experiment -> pipeline: crawl -> functions -> train -> evaluate
//!                         marking ----/           |          \---- writing
//!                       generator: examples -> fine_tuning -> gradients
//! ```
//!
//! [`retriever`] and [`generator`] are the methods, read from top to bottom; [`pipeline`] is everything around them.

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

pub mod marking;

pub mod examples;
pub mod generator;

pub mod fine_tuning;

pub mod evaluation;
pub mod writing;

pub mod answers;

pub mod measuring;

pub mod cache;
pub mod checkpoint;
pub mod dashboard;
pub mod metrics;
pub mod metrics_log;
pub mod progress;
pub mod run;
pub mod signals;
pub mod stage;
pub mod weights;

pub mod cli;
