//! The Qwen2 family of decoders: Llama's layers with biases on query, key and value, some with a sliding window.
//!
//! Fields are named as in a Hugging Face checkpoint. `Qwen2.5-Coder` is of this family.
//!
//! # References
//!
//! Yang et al., "Qwen2 Technical Report", 2024.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

mod config;

pub use config::Qwen2Config;

use crate::cache::KeyValues;
use crate::decoder::network::{head_or_table, named_linears};
use crate::decoder::{Network, NetworkShape};
use crate::dropout::Dropout;
use crate::embedding::Embedding;
use crate::linear::Linear;
use crate::llama::{AttentionShape, LlamaAttention, LlamaDecoderLayer, LlamaMlp, LlamaModel};
use crate::norm::RmsNorm;
use crate::pass::Pass;

/// A Qwen2 decoder with its language-model head.
#[derive(Module, Debug)]
pub struct Qwen2 {
    /// The decoder without the head.
    pub model: LlamaModel,
    /// The head, absent if it is tied to the token embedding.
    pub lm_head: Option<Linear>,
    #[module(skip)]
    config: Qwen2Config,
}

impl Qwen2 {
    /// Creates a decoder whose weights are yet to be loaded.
    #[must_use]
    pub fn new(config: &Qwen2Config, device: &Device) -> Self {
        let head = || Linear::new(config.hidden_size, config.vocab_size, false, device);
        let model = LlamaModel {
            embed_tokens: Embedding::new(config.vocab_size, config.hidden_size, device),
            layers: (0..config.num_hidden_layers).map(|_| layer(config, device)).collect(),
            norm: RmsNorm::new(config.hidden_size, config.rms_norm_eps, device),
        };
        Self { model, lm_head: (!config.tie_word_embeddings).then(head), config: config.clone() }
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &Qwen2Config {
        &self.config
    }
}

fn layer(config: &Qwen2Config, device: &Device) -> LlamaDecoderLayer {
    let norm = || RmsNorm::new(config.hidden_size, config.rms_norm_eps, device);
    let attention = AttentionShape {
        hidden_size: config.hidden_size,
        num_attention_heads: config.num_attention_heads,
        num_key_value_heads: config.num_key_value_heads,
        head_dim: config.head_dim,
        dropout: config.attention_dropout,
    };
    LlamaDecoderLayer {
        self_attn: LlamaAttention::new(&attention, true, false, device),
        mlp: LlamaMlp::new(config.hidden_size, config.intermediate_size, false, device),
        input_layernorm: norm(),
        post_attention_layernorm: norm(),
    }
}

impl Network for Qwen2 {
    fn shape(&self) -> NetworkShape {
        NetworkShape {
            n_layers: self.config.num_hidden_layers,
            vocab_size: self.model.embed_tokens.n(),
            hidden_size: self.config.hidden_size,
            context_tokens_max: self.config.max_position_embeddings,
            rope: Some(self.config.rope()),
            sliding_window: self.config.sliding_window,
            eos: self.config.eos_token_id.clone(),
        }
    }

    fn embed(&self, pass: &Pass, _dropout: Option<&mut Dropout>) -> Tensor<2> {
        self.model.embed_tokens.forward(pass.rows().tokens())
    }

    fn layer(
        &self,
        index: usize,
        hidden: Tensor<2>,
        pass: &Pass,
        cached: Option<&mut KeyValues>,
        dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        let mask = pass.mask(self.config.is_sliding[index]);
        self.model.layers[index].forward(hidden, mask, pass.rotary(), cached, dropout)
    }

    fn head(&self, hidden: Tensor<2>) -> Tensor<2> {
        head_or_table(self.model.norm.forward(hidden), self.lm_head.as_ref(), &self.model.embed_tokens)
    }

    fn token_embedding(&mut self) -> (&'static str, &mut Embedding) {
        ("model.embed_tokens", &mut self.model.embed_tokens)
    }

    fn linears(&mut self) -> Vec<(String, &mut Linear)> {
        let layers = self.model.layers.iter_mut().map(LlamaDecoderLayer::linears);
        named_linears("model.layers", layers, self.lm_head.as_mut())
    }
}

#[cfg(test)]
mod tests;
