//! Networks and weights: one file per architecture, names as in the checkpoint.
//!
//! Local directories in the layout of Hugging Face (`config.json`, `tokenizer.json`, safetensors) and GGUF files go in;
//! [`Encoder`] turns text into vectors, [`Decoder`] gives next-token logits and the NLL of a target. Nothing here
//! touches the network or knows what the text is about.
//!
//! A file that would change the computation in a way that is not implemented is refused by name, and a damaged file is
//! an [`Error`], never a panic.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod device;
pub mod kernels;
pub mod workers;

pub mod fingerprint;
pub mod gguf;
pub mod gguf_tokenizer;
pub mod tokenizer;
pub mod weights;

pub mod activation;
pub mod adapter;
pub mod attention;
pub mod cache;
pub mod dropout;
pub mod embedding;
pub mod linear;
pub mod norm;
pub mod pass;
pub mod rope;

pub mod bert;
pub mod encoder;
pub mod roberta;

pub mod codegen;
pub mod decoder;
pub mod export;
pub mod generate;
pub mod gpt2;
pub mod gpt_bigcode;
pub mod llama;
pub mod qwen2;
pub mod starcoder2;
pub mod t5;

pub mod info;
pub mod random_model;

mod config;
mod error;
#[cfg(test)]
mod golden;
#[cfg(all(test, feature = "wgpu"))]
mod gpu;
#[cfg(test)]
mod interop;
mod limits;

pub use adapter::{AdapterConfig, LoraConfig, MergeReport, RowInit};
pub use decoder::{BatchedLanguageModel, Decoder, LanguageModel, ScoredSequence};
pub use device::DeviceSpec;
pub use dropout::Dropout;
pub use encoder::{AttentionReading, Encoder, EncoderModel};
pub use error::{Error, Result};
pub use export::DecoderFiles;
pub use fingerprint::fingerprint;
pub use generate::{Generated, GenerationRule, generate};
pub use pass::Padding;
pub use tokenizer::Tokenizer;
pub use workers::Workers;
