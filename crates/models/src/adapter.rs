//! What is trained in place of a model's own weights: low-rank additions to linear layers, and single rows of tables.

mod attach;
mod lora;
mod merge;
mod peft;
mod rows;
mod tokens;

pub use attach::AdapterConfig;
pub use lora::{Lora, LoraConfig};
pub use merge::MergeReport;
pub use rows::TrainableRows;
pub use tokens::RowInit;

#[cfg(test)]
mod encoder_tests;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod tests;
