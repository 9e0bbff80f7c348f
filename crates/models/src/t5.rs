//! The encoder-decoder T5: relative positions, norms without a shift, a head that may be the token table.
//!
//! Fields are named as in a Hugging Face checkpoint. `CodeT5` and `CodeT5+` (220M, 770M) are of this family. A decoder
//! with an encoder is one [`Network`] like the others: the encoder reads source texts into the cache, and every pass of
//! the decoder sees them there.
//!
//! # References
//!
//! Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", 2020; Wang et
//! al., "`CodeT5`", 2021.

// The names of the checkpoint: SelfAttention, EncDecAttention, DenseReluDense.
#![allow(non_snake_case, reason = "a checkpoint names these layers")]

use burn::module::Module;
use burn::tensor::{Device, Tensor};

mod attention;
mod config;
mod layers;
mod positions;
mod tied;

pub use attention::T5Attention;
pub use config::T5Config;
pub use layers::{T5DenseReluDense, T5LayerCrossAttention, T5LayerFF, T5LayerSelfAttention};

pub(crate) use tied::{check_copies, is_copy};

use crate::cache::{KeyValues, Source};
use crate::decoder::network::head_or_table;
use crate::decoder::{Network, NetworkShape};
use crate::dropout::{Dropout, drop_out};
use crate::embedding::Embedding;
use crate::linear::Linear;
use crate::norm::RmsNorm;
use crate::pass::{Pass, Rows};

use positions::Buckets;

/// An encoder, a decoder and its language-model head.
#[derive(Module, Debug)]
pub struct T5 {
    /// Token embedding of both.
    pub shared: Embedding,
    /// What reads the source text.
    pub encoder: T5Encoder,
    /// What writes the target.
    pub decoder: T5Decoder,
    /// The head, absent if it is tied to the token embedding.
    pub lm_head: Option<Linear>,
    #[module(skip)]
    config: T5Config,
}

impl T5 {
    /// Creates a network whose weights are yet to be loaded.
    #[must_use]
    pub fn new(config: &T5Config, device: &Device) -> Self {
        let head = || Linear::new(config.d_model, config.vocab_size, false, device);
        Self {
            shared: Embedding::new(config.vocab_size, config.d_model, device),
            encoder: T5Encoder::new(config, device),
            decoder: T5Decoder::new(config, device),
            lm_head: (!config.tie_word_embeddings).then(head),
            config: config.clone(),
        }
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &T5Config {
        &self.config
    }
}

impl Network for T5 {
    fn shape(&self) -> NetworkShape {
        NetworkShape {
            n_layers: self.config.num_decoder_layers,
            vocab_size: self.shared.n(),
            hidden_size: self.config.d_model,
            context_tokens_max: self.config.n_positions,
            rope: None,
            sliding_window: None,
            eos: self.config.eos_token_id.clone(),
        }
    }

    fn start_token(&self) -> Option<u32> {
        Some(self.config.decoder_start_token_id)
    }

    fn encode(&self, source: &Rows, mut dropout: Option<&mut Dropout>) -> Option<Source> {
        let embedded = self.shared.forward(source.tokens());
        let embedded = drop_out(embedded, self.config.dropout_rate, dropout.as_deref_mut());
        let hidden = self.encoder.forward(embedded, source, &self.config, dropout.as_deref_mut());
        let layers = self.decoder.block.iter().map(|block| {
            let attention = &block.layer.1.EncDecAttention;
            attention.keys_and_values(&hidden, source.length(), dropout.as_deref_mut())
        });
        Some(Source { layers: layers.collect(), mask: source.padding_mask(&self.shared.device()) })
    }

    fn prepare(&self, pass: Pass) -> Pass {
        let attention = &self.decoder.block[0].layer.0.SelfAttention;
        let bias = attention.position_bias(Buckets::causal(&self.config), pass.key_positions(), pass.length());
        pass.with_bias(bias)
    }

    fn embed(&self, pass: &Pass, dropout: Option<&mut Dropout>) -> Tensor<2> {
        drop_out(self.shared.forward(pass.rows().tokens()), self.config.dropout_rate, dropout)
    }

    /// The final norm is part of the last layer, since dropout follows it.
    fn layer(
        &self,
        index: usize,
        hidden: Tensor<2>,
        pass: &Pass,
        cached: Option<&mut KeyValues>,
        mut dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        let (attend, cross_attend, feed_forward) = &self.decoder.block[index].layer;
        let (length, source) = (pass.length(), pass.source());
        let hidden = attend.forward(hidden, length, pass.mask(false), cached, dropout.as_deref_mut());
        let hidden = cross_attend.forward(hidden, length, &source.layers[index], &source.mask, dropout.as_deref_mut());
        let hidden = feed_forward.forward(hidden, dropout.as_deref_mut());
        if index + 1 < self.decoder.block.len() {
            return hidden;
        }
        drop_out(self.decoder.final_layer_norm.forward(hidden), self.config.dropout_rate, dropout)
    }

    fn head(&self, hidden: Tensor<2>) -> Tensor<2> {
        let hidden = if self.config.scale_decoder_outputs {
            hidden.mul_scalar((self.config.d_model as f64).sqrt().recip())
        } else {
            hidden
        };
        head_or_table(hidden, self.lm_head.as_ref(), &self.shared)
    }

    fn token_embedding(&mut self) -> (&'static str, &mut Embedding) {
        ("shared", &mut self.shared)
    }

    fn linears(&mut self) -> Vec<(String, &mut Linear)> {
        let mut linears = Vec::new();
        for (index, block) in self.encoder.block.iter_mut().enumerate() {
            let path = format!("encoder.block.{index}.layer");
            linears.extend(block.layer.0.linears(&format!("{path}.0")));
            linears.extend(block.layer.1.linears(&format!("{path}.1")));
        }
        for (index, block) in self.decoder.block.iter_mut().enumerate() {
            let path = format!("decoder.block.{index}.layer");
            linears.extend(block.layer.0.linears(&format!("{path}.0")));
            linears.extend(block.layer.1.linears(&format!("{path}.1")));
            linears.extend(block.layer.2.linears(&format!("{path}.2")));
        }
        linears.extend(self.lm_head.as_mut().map(|head| ("lm_head".to_owned(), head)));
        linears
    }
}

/// What reads the source text.
#[derive(Module, Debug)]
pub struct T5Encoder {
    /// Blocks, first to last.
    pub block: Vec<T5EncoderBlock>,
    /// Final norm.
    pub final_layer_norm: RmsNorm,
}

impl T5Encoder {
    fn new(config: &T5Config, device: &Device) -> Self {
        let block = |index| T5EncoderBlock {
            layer: (T5LayerSelfAttention::new(config, index == 0, device), T5LayerFF::new(config, device)),
        };
        Self {
            block: (0..config.num_layers).map(block).collect(),
            final_layer_norm: RmsNorm::new(config.d_model, config.layer_norm_epsilon, device),
        }
    }

    fn forward(
        &self,
        mut hidden: Tensor<2>,
        source: &Rows,
        config: &T5Config,
        mut dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        let length = source.length();
        // Distances between tokens are those between their slots, on whichever side the padding is.
        let slots: Vec<Option<u32>> = (0..length as u32).map(Some).collect();
        let attention = &self.block[0].layer.0.SelfAttention;
        let bias = attention.position_bias(Buckets::bidirectional(config), &[slots], length);
        let mask = source.padding_mask(&bias.device()).plus(bias);
        for T5EncoderBlock { layer: (attend, feed_forward) } in &self.block {
            hidden = attend.forward(hidden, length, &mask, None, dropout.as_deref_mut());
            hidden = feed_forward.forward(hidden, dropout.as_deref_mut());
        }
        drop_out(self.final_layer_norm.forward(hidden), config.dropout_rate, dropout)
    }
}

/// One block of the encoder.
#[derive(Module, Debug)]
pub struct T5EncoderBlock {
    /// Attention to the source text, and feed-forward.
    pub layer: (T5LayerSelfAttention, T5LayerFF),
}

/// What writes the target.
#[derive(Module, Debug)]
pub struct T5Decoder {
    /// Blocks, first to last.
    pub block: Vec<T5DecoderBlock>,
    /// Final norm.
    pub final_layer_norm: RmsNorm,
}

impl T5Decoder {
    fn new(config: &T5Config, device: &Device) -> Self {
        let block = |index| T5DecoderBlock {
            layer: (
                T5LayerSelfAttention::new(config, index == 0, device),
                T5LayerCrossAttention::new(config, device),
                T5LayerFF::new(config, device),
            ),
        };
        Self {
            block: (0..config.num_decoder_layers).map(block).collect(),
            final_layer_norm: RmsNorm::new(config.d_model, config.layer_norm_epsilon, device),
        }
    }
}

/// One block of the decoder.
#[derive(Module, Debug)]
pub struct T5DecoderBlock {
    /// Attention to the target so far, attention to the source text, and feed-forward.
    pub layer: (T5LayerSelfAttention, T5LayerCrossAttention, T5LayerFF),
}

#[cfg(test)]
mod tests;
