//! The configuration of a T5 checkpoint.

use std::path::Path;

use crate::activation::Activation;
use crate::config::Fields;
use crate::{Error, Result, limits};

/// The sizes and constants of a T5, named as in `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct T5Config {
    /// Number of tokens.
    pub vocab_size: usize,
    /// Components of a hidden state.
    pub d_model: usize,
    /// Components of a head.
    pub d_kv: usize,
    /// Components inside the feed-forward block.
    pub d_ff: usize,
    /// Number of blocks of the encoder.
    pub num_layers: usize,
    /// Number of blocks of the decoder.
    pub num_decoder_layers: usize,
    /// Number of heads.
    pub num_heads: usize,
    /// Number of buckets of distances.
    pub relative_attention_num_buckets: usize,
    /// The distance from which on all fall into one bucket.
    pub relative_attention_max_distance: usize,
    /// The dropout probability of attention weights and of hidden states.
    pub dropout_rate: f64,
    /// What is added to the mean square before its root is taken.
    pub layer_norm_epsilon: f64,
    /// The activation of the feed-forward block.
    pub dense_act_fn: Activation,
    /// Whether the feed-forward block has a gate.
    pub is_gated_act: bool,
    /// Whether the head is the transposed token embedding.
    pub tie_word_embeddings: bool,
    /// Whether hidden states are divided by the root of `d_model` before the head; they are before a tied one.
    pub scale_decoder_outputs: bool,
    /// The token that the decoder reads first.
    pub decoder_start_token_id: u32,
    /// Tokens of source and of target: distances have no limit, but the checkpoints were trained within this.
    pub n_positions: usize,
    /// Tokens that end a text.
    pub eos_token_id: Vec<u32>,
}

impl T5Config {
    pub(crate) fn read(mut fields: Fields) -> Result<Self> {
        let model_type = fields.model_type()?;
        if model_type != "t5" {
            return Err(fields.error("model_type", format!("`{model_type}` is not `t5`")));
        }
        fields.only("is_encoder_decoder", true)?;
        fields.only("is_decoder", false)?;
        let num_layers = fields.required("num_layers")?;
        let (dense_act_fn, is_gated_act) = feed_forward(&mut fields)?;
        let tie_word_embeddings = fields.or("tie_word_embeddings", true)?;
        let config = Self {
            vocab_size: fields.required("vocab_size")?,
            d_model: fields.required("d_model")?,
            d_kv: fields.required("d_kv")?,
            d_ff: fields.required("d_ff")?,
            num_layers,
            num_decoder_layers: fields.or("num_decoder_layers", num_layers)?,
            num_heads: fields.required("num_heads")?,
            relative_attention_num_buckets: fields.or("relative_attention_num_buckets", 32)?,
            relative_attention_max_distance: fields.or("relative_attention_max_distance", 128)?,
            dropout_rate: fields.dropout("dropout_rate", 0.1)?,
            layer_norm_epsilon: fields.or("layer_norm_epsilon", 1e-6)?,
            dense_act_fn,
            is_gated_act,
            tie_word_embeddings,
            scale_decoder_outputs: fields.or("scale_decoder_outputs", tie_word_embeddings)?,
            decoder_start_token_id: fields.required("decoder_start_token_id")?,
            n_positions: fields.or("n_positions", 512)?,
            eos_token_id: fields.eos()?,
        };
        config.validate(fields.path())?;
        fields.finish()?;
        Ok(config)
    }

    fn validate(&self, path: &Path) -> Result<()> {
        let sizes = [
            ("vocab_size", self.vocab_size),
            ("d_model", self.d_model),
            ("d_kv", self.d_kv),
            ("d_ff", self.d_ff),
            ("num_heads", self.num_heads),
            ("relative_attention_num_buckets", self.relative_attention_num_buckets),
            ("relative_attention_max_distance", self.relative_attention_max_distance),
            ("n_positions", self.n_positions),
        ];
        limits::check_sizes_and_layers(path, &sizes, ("num_layers", self.num_layers))?;
        limits::check_sizes_and_layers(path, &[], ("num_decoder_layers", self.num_decoder_layers))?;
        if self.relative_attention_num_buckets < 4 {
            let message = "is below 4: each direction of the encoder takes half of them, and halves that";
            return Err(Error::config(path, "relative_attention_num_buckets", message));
        }
        if self.relative_attention_max_distance <= self.relative_attention_num_buckets / 2 {
            let message = "is not above half of relative_attention_num_buckets";
            return Err(Error::config(path, "relative_attention_max_distance", message));
        }
        if self.decoder_start_token_id as usize >= self.vocab_size {
            return Err(Error::config(path, "decoder_start_token_id", "is outside the vocabulary"));
        }
        limits::check_positive(path, "layer_norm_epsilon", self.layer_norm_epsilon)
    }
}

/// Reads the activation of the feed-forward block, and whether it has a gate: from `feed_forward_proj`, with which
/// `dense_act_fn` and `is_gated_act` agree where they are written too.
fn feed_forward(fields: &mut Fields) -> Result<(Activation, bool)> {
    let projection = fields.or("feed_forward_proj", "relu".to_owned())?;
    let (name, is_gated) = match projection.strip_prefix("gated-") {
        // By this name the reference implementation means the approximation.
        Some("gelu") => ("gelu_new", true),
        Some(name) => (name, true),
        None => (projection.as_str(), false),
    };
    let activation =
        Activation::try_from(name.to_owned()).map_err(|message| fields.error("feed_forward_proj", message))?;
    fields.only("dense_act_fn", activation)?;
    fields.only("is_gated_act", is_gated)?;
    Ok((activation, is_gated))
}
