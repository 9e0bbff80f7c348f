//! The configuration of a `StarCoder2` checkpoint.

use std::path::Path;

use crate::activation::Activation;
use crate::config::Fields;
use crate::rope::{Pairing, Rope, RopeScaling};
use crate::{Result, limits};

/// The sizes and constants of a `StarCoder2` decoder, named as in `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Starcoder2Config {
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
    /// The activation of the feed-forward block.
    pub hidden_act: Activation,
    /// What is added to the variance before its root is taken.
    pub norm_epsilon: f64,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// How positions are stretched before they are rotated.
    pub rope_scaling: RopeScaling,
    /// What every layer sees of what precedes, the position itself included; none for all of it.
    pub sliding_window: Option<usize>,
    /// Whether the head is the transposed token embedding.
    pub tie_word_embeddings: bool,
    /// Whether projections have a bias; norms have one always.
    pub use_bias: bool,
    /// The dropout probability of attention weights.
    pub attention_dropout: f64,
    /// The dropout probability of what a block adds to its input.
    pub residual_dropout: f64,
    /// The dropout probability of token embeddings.
    pub embedding_dropout: f64,
    /// Tokens that end a text.
    pub eos_token_id: Vec<u32>,
}

impl Starcoder2Config {
    pub(crate) fn read(mut fields: Fields) -> Result<Self> {
        let model_type = fields.model_type()?;
        if model_type != "starcoder2" {
            return Err(fields.error("model_type", format!("`{model_type}` is not `starcoder2`")));
        }
        let norm_epsilon = fields.or("norm_epsilon", 1e-5)?;
        only_what_is_implemented(&mut fields, norm_epsilon)?;
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
            num_key_value_heads: fields.required("num_key_value_heads")?,
            head_dim,
            max_position_embeddings: fields.or("max_position_embeddings", 4096)?,
            hidden_act: fields.or("hidden_act", Activation::GeluNew)?,
            norm_epsilon,
            rope_theta,
            rope_scaling,
            sliding_window: fields.optional("sliding_window")?,
            tie_word_embeddings: fields.or("tie_word_embeddings", true)?,
            use_bias: fields.or("use_bias", true)?,
            attention_dropout: fields.dropout("attention_dropout", 0.0)?,
            residual_dropout: fields.dropout("residual_dropout", 0.0)?,
            embedding_dropout: fields.dropout("embedding_dropout", 0.0)?,
            eos_token_id: fields.eos()?,
        };
        config.validate(fields.path())?;
        fields.finish()?;
        Ok(config)
    }

    fn validate(&self, path: &Path) -> Result<()> {
        let sizes = [
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("intermediate_size", self.intermediate_size),
            ("num_attention_heads", self.num_attention_heads),
            ("num_key_value_heads", self.num_key_value_heads),
            ("head_dim", self.head_dim),
            ("max_position_embeddings", self.max_position_embeddings),
            ("sliding_window", self.sliding_window.unwrap_or(1)),
        ];
        limits::check_sizes(path, &sizes, self.num_hidden_layers)?;
        limits::check_heads(path, self.num_attention_heads, self.num_key_value_heads, self.head_dim)?;
        limits::check_positive(path, "norm_epsilon", self.norm_epsilon)
    }

    /// Returns the rotary positions.
    #[must_use]
    pub fn rope(&self) -> Rope {
        Rope::new(self.head_dim, self.rope_theta, self.rope_scaling, Pairing::Halves)
    }
}

/// Reads the keys that the released checkpoints carry and of which only one value is implemented.
fn only_what_is_implemented(fields: &mut Fields, norm_epsilon: f64) -> Result<()> {
    fields.only("norm_type", "layer_norm".to_owned())?;
    fields.only("mlp_type", "default".to_owned())?;
    fields.only("scale_attn_weights", true)?;
    fields.only("attention_softmax_in_fp32", true)?;
    fields.only("scale_attention_softmax_in_fp32", true)?;
    fields.only("layer_norm_epsilon", norm_epsilon)?;
    // The released checkpoints say `gelu` here; the reference implementation computes `hidden_act`.
    fields.optional::<String>("activation_function")?;
    Ok(())
}
