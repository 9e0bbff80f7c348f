//! The configuration of a Llama checkpoint.

use std::path::Path;

use crate::config::Fields;
use crate::rope::{Pairing, Rope, RopeScaling};
use crate::{Result, limits};

/// The sizes and constants of a Llama decoder, named as in `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct LlamaConfig {
    /// Number of tokens.
    pub vocab_size: usize,
    /// Components of a hidden state.
    pub hidden_size: usize,
    /// Components inside the feed-forward block.
    pub intermediate_size: usize,
    /// Number of layers.
    pub num_hidden_layers: usize,
    /// Heads that ask.
    pub num_attention_heads: usize,
    /// Heads that are asked, each by as many others.
    pub num_key_value_heads: usize,
    /// Components of a head.
    pub head_dim: usize,
    /// Positions that the checkpoint was trained for.
    pub max_position_embeddings: usize,
    /// What is added to the mean square before its root is taken.
    pub rms_norm_eps: f64,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// How positions are stretched before they are rotated.
    pub rope_scaling: RopeScaling,
    /// Whether the head is the transposed token embedding.
    pub tie_word_embeddings: bool,
    /// Whether attention projections have a bias.
    pub attention_bias: bool,
    /// Whether feed-forward projections have a bias.
    pub mlp_bias: bool,
    /// The dropout probability of attention weights.
    pub attention_dropout: f64,
    /// Tokens that end a text.
    pub eos_token_id: Vec<u32>,
}

impl LlamaConfig {
    pub(crate) fn read(mut fields: Fields) -> Result<Self> {
        let model_type = fields.model_type()?;
        if model_type != "llama" {
            return Err(fields.error("model_type", format!("`{model_type}` is not `llama`")));
        }
        fields.only("hidden_act", "silu".to_owned())?;
        let [hidden_size, num_attention_heads] =
            [fields.required("hidden_size")?, fields.required("num_attention_heads")?];
        let head_dim = fields.head_dim(hidden_size, num_attention_heads)?;
        let (rope_theta, rope_scaling) = fields.rope(10_000.0)?;
        let config = Self {
            vocab_size: fields.required("vocab_size")?,
            hidden_size,
            intermediate_size: fields.required("intermediate_size")?,
            num_hidden_layers: fields.required("num_hidden_layers")?,
            num_attention_heads,
            num_key_value_heads: fields.or("num_key_value_heads", num_attention_heads)?,
            head_dim,
            max_position_embeddings: fields.or("max_position_embeddings", 2048)?,
            rms_norm_eps: fields.or("rms_norm_eps", 1e-6)?,
            rope_theta,
            rope_scaling,
            tie_word_embeddings: fields.or("tie_word_embeddings", false)?,
            attention_bias: fields.or("attention_bias", false)?,
            mlp_bias: fields.or("mlp_bias", false)?,
            attention_dropout: fields.dropout("attention_dropout", 0.0)?,
            eos_token_id: fields.eos()?,
        };
        config.validate(fields.path())?;
        fields.finish()?;
        Ok(config)
    }

    /// Checks that the sizes fit together; `path` is named in errors.
    ///
    /// # Errors
    ///
    /// Returns an error that names the first key that does not fit.
    pub fn validate(&self, path: &Path) -> Result<()> {
        let sizes = [
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("intermediate_size", self.intermediate_size),
            ("num_attention_heads", self.num_attention_heads),
            ("num_key_value_heads", self.num_key_value_heads),
            ("head_dim", self.head_dim),
            ("max_position_embeddings", self.max_position_embeddings),
        ];
        limits::check_sizes(path, &sizes, self.num_hidden_layers)?;
        limits::check_heads(path, self.num_attention_heads, self.num_key_value_heads, self.head_dim)?;
        limits::check_positive(path, "rms_norm_eps", self.rms_norm_eps)
    }

    /// Returns the rotary positions.
    #[must_use]
    pub fn rope(&self) -> Rope {
        Rope::new(self.head_dim, self.rope_theta, self.rope_scaling, Pairing::Halves)
    }
}
