//! `GPTBigCode` (`SantaCoder`, `StarCoder`): GPT-2 whose heads may share one head of keys and values.
//!
//! The modules are those of [`crate::gpt2`]; projections are stored as PyTorch's `Linear` stores them.
//!
//! # References
//!
//! Ben Allal et al., "`SantaCoder`: don't reach for the stars!", 2023; Shazeer, "Fast Transformer Decoding", 2019
//! (multi-query attention).

use burn::tensor::Device;

use crate::Result;
use crate::config::Fields;
use crate::gpt2::{BlockKind, Fused, Gpt2, GptSizes};
use crate::linear::Linear;

/// The sizes and constants of `GPTBigCode`, named as in `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct GptBigCodeConfig {
    /// What GPT-2 has too.
    pub sizes: GptSizes,
    /// Whether all heads share one head of keys and values.
    pub multi_query: bool,
    /// Whether attention scores are divided by the root of the components of a head.
    pub scale_attn_weights: bool,
    /// Whether the head is the transposed token embedding.
    pub tie_word_embeddings: bool,
}

impl GptBigCodeConfig {
    pub(crate) fn read(mut fields: Fields) -> Result<Self> {
        let config = Self {
            sizes: GptSizes::read(&mut fields, "gpt_bigcode", 1024, 0.1)?,
            multi_query: fields.or("multi_query", true)?,
            scale_attn_weights: fields.or("scale_attn_weights", true)?,
            tie_word_embeddings: fields.or("tie_word_embeddings", true)?,
        };
        fields.only("scale_attn_by_inverse_layer_idx", false)?;
        fields.only("num_key_value_heads", if config.multi_query { 1 } else { config.sizes.n_head })?;
        // The softmax is in f32 here, whatever the type of the products before it; the rest is about memory and speed.
        fields.without_effect(&[
            "attention_softmax_in_fp32",
            "inference_runner",
            "max_batch_size",
            "max_sequence_length",
            "pad_key_length",
            "pre_allocate_kv_cache",
            "scale_attention_softmax_in_fp32",
            "validate_runner_input",
        ]);
        fields.finish()?;
        Ok(config)
    }

    /// Creates a decoder whose weights are yet to be loaded.
    #[must_use]
    pub fn network(&self, device: &Device) -> Gpt2 {
        let head_dim = self.sizes.head_dim() as f64;
        let kind = BlockKind {
            linear: |input, output, device| Linear::new(input, output, true, device),
            fused: if self.multi_query { Fused::Blocks { n_groups: 1 } } else { Fused::Heads },
            scale: if self.scale_attn_weights { head_dim.sqrt().recip() } else { 1.0 },
        };
        Gpt2::of_blocks(&self.sizes, self.tie_word_embeddings, |_layer| kind, device)
    }
}

#[cfg(test)]
mod tests;
