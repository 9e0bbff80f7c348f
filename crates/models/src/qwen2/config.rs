//! The configuration of a Qwen2 checkpoint.

use std::path::Path;

use crate::config::Fields;
use crate::rope::{Pairing, Rope, RopeScaling};
use crate::{Result, limits};

/// The sizes and constants of a Qwen2 decoder, named as in `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Qwen2Config {
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
    /// What sliding layers see of what precedes, the position itself included; none without `use_sliding_window`.
    pub sliding_window: Option<usize>,
    /// Whether each layer has the sliding window: those from `max_window_layers`, or as `layer_types` says.
    pub is_sliding: Vec<bool>,
    /// Whether the head is the transposed token embedding.
    pub tie_word_embeddings: bool,
    /// The dropout probability of attention weights.
    pub attention_dropout: f64,
    /// Tokens that end a text.
    pub eos_token_id: Vec<u32>,
}

impl Qwen2Config {
    pub(crate) fn read(mut fields: Fields) -> Result<Self> {
        let model_type = fields.model_type()?;
        if model_type != "qwen2" {
            return Err(fields.error("model_type", format!("`{model_type}` is not `qwen2`")));
        }
        fields.only("hidden_act", "silu".to_owned())?;
        fields.only("use_mrope", false)?;
        let [hidden_size, num_attention_heads] =
            [fields.required("hidden_size")?, fields.required("num_attention_heads")?];
        let head_dim = fields.head_dim(hidden_size, num_attention_heads)?;
        let (rope_theta, rope_scaling) = fields.rope(10_000.0)?;
        let num_hidden_layers = fields.required("num_hidden_layers")?;
        let (sliding_window, is_sliding) = sliding(&mut fields, num_hidden_layers)?;
        let config = Self {
            vocab_size: fields.required("vocab_size")?,
            hidden_size,
            intermediate_size: fields.required("intermediate_size")?,
            num_hidden_layers,
            num_attention_heads,
            num_key_value_heads: fields.required("num_key_value_heads")?,
            head_dim,
            max_position_embeddings: fields.or("max_position_embeddings", 32_768)?,
            rms_norm_eps: fields.or("rms_norm_eps", 1e-6)?,
            rope_theta,
            rope_scaling,
            sliding_window,
            is_sliding,
            tie_word_embeddings: fields.or("tie_word_embeddings", false)?,
            attention_dropout: fields.dropout("attention_dropout", 0.0)?,
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
        limits::check_positive(path, "rms_norm_eps", self.rms_norm_eps)
    }

    /// Returns the rotary positions.
    #[must_use]
    pub fn rope(&self) -> Rope {
        Rope::new(self.head_dim, self.rope_theta, self.rope_scaling, Pairing::Halves)
    }
}

/// Reads the sliding window, and which layers have it.
fn sliding(fields: &mut Fields, n_layers: usize) -> Result<(Option<usize>, Vec<bool>)> {
    let is_used = fields.or("use_sliding_window", false)?;
    let window = fields.optional("sliding_window")?.filter(|_| is_used);
    let max_window_layers = fields.or("max_window_layers", 28)?;
    if is_used && window.is_none() {
        return Err(fields.error("sliding_window", "is missing where use_sliding_window asks for it"));
    }
    limits::check_sizes(fields.path(), &[], n_layers)?;
    let Some(types) = fields.optional::<Vec<String>>("layer_types")? else {
        return Ok((window, (0..n_layers).map(|index| is_used && index >= max_window_layers).collect()));
    };
    if types.len() != n_layers {
        return Err(fields.error("layer_types", format!("describes {} of {n_layers} layers", types.len())));
    }
    let is_sliding = |kind: &String| match kind.as_str() {
        "full_attention" => Ok(false),
        "sliding_attention" if is_used => Ok(true),
        "sliding_attention" => Err(fields.error("layer_types", "asks for a window that use_sliding_window denies")),
        other => Err(fields.error("layer_types", format!("`{}` is not implemented", other.escape_debug()))),
    };
    Ok((window, types.iter().map(is_sliding).collect::<Result<_>>()?))
}
