//! What is trained in place of a model's own weights: low-rank additions to linear layers, and single rows of tables.

pub mod lora;
pub mod rows;

pub use lora::Lora;
pub use rows::TrainableRows;
