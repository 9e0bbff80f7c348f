//! The configuration of a Llama checkpoint.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::{Error, Result, limits};

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
    /// What positions are divided by before they are rotated: 1, or the factor of linear scaling.
    pub rope_factor: f64,
    /// Whether the head is the transposed token embedding.
    pub tie_word_embeddings: bool,
    /// Whether attention projections have a bias.
    pub attention_bias: bool,
    /// Whether feed-forward projections have a bias.
    pub mlp_bias: bool,
    /// Tokens that end a text.
    pub eos_token_id: Vec<u32>,
}

impl LlamaConfig {
    /// Reads `config.json`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or asks for a computation that is not implemented.
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::read(path))?;
        let stored = serde_json::from_str(&text).map_err(|source| Error::Json { path: path.to_owned(), source })?;
        Self::from_stored(stored, path)
    }

    /// Reads the content of `config.json`; `path` is named in errors.
    ///
    /// # Errors
    ///
    /// Returns an error if a key is missing, or asks for a computation that is not implemented.
    pub fn from_json(value: Value, path: &Path) -> Result<Self> {
        let stored = serde_json::from_value(value).map_err(|source| Error::Json { path: path.to_owned(), source })?;
        Self::from_stored(stored, path)
    }

    fn from_stored(stored: Stored, path: &Path) -> Result<Self> {
        stored.refuse_unsupported(path)?;
        let config = stored.resolve(path)?;
        config.validate(path)?;
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
        if !self.num_attention_heads.is_multiple_of(self.num_key_value_heads) {
            let message = format!("does not divide {} heads", self.num_attention_heads);
            return Err(Error::config(path, "num_key_value_heads", message));
        }
        if !self.head_dim.is_multiple_of(2) {
            return Err(Error::config(path, "head_dim", "is odd"));
        }
        let constants = [
            ("rms_norm_eps", self.rms_norm_eps),
            ("rope_theta", self.rope_theta),
            ("rope_scaling.factor", self.rope_factor),
        ];
        constants.iter().try_for_each(|&(key, constant)| limits::check_positive(path, key, constant))
    }

    /// Returns the angle per position of every pair of components, in radians.
    #[must_use]
    pub fn rotary_frequencies(&self) -> Vec<f32> {
        let theta = self.rope_theta as f32;
        let exponent = |pair: usize| (2 * pair) as f32 / self.head_dim as f32;
        (0..self.head_dim / 2).map(|pair| theta.powf(exponent(pair)).recip() / self.rope_factor as f32).collect()
    }
}

/// `config.json` as it is written.
#[derive(Deserialize)]
struct Stored {
    model_type: String,
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    #[serde(default = "silu")]
    hidden_act: String,
    max_position_embeddings: usize,
    #[serde(default = "default_eps")]
    rms_norm_eps: f64,
    rope_theta: Option<f64>,
    rope_scaling: Option<Rope>,
    rope_parameters: Option<Rope>,
    #[serde(default)]
    tie_word_embeddings: bool,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    eos_token_id: Option<Tokens>,
    quantization_config: Option<Value>,
    partial_rotary_factor: Option<f64>,
}

/// The rotary embedding as `transformers` 4 (`rope_scaling`) or 5 (`rope_parameters`) writes it.
#[derive(Deserialize)]
struct Rope {
    #[serde(rename = "rope_type", alias = "type")]
    kind: Option<String>,
    #[serde(rename = "rope_theta")]
    theta: Option<f64>,
    factor: Option<f64>,
    partial_rotary_factor: Option<f64>,
}

/// One token or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Tokens {
    One(u32),
    Several(Vec<u32>),
}

fn silu() -> String {
    "silu".to_owned()
}

fn default_eps() -> f64 {
    1e-6
}

impl Stored {
    fn refuse_unsupported(&self, path: &Path) -> Result<()> {
        let refuse = |key: &str, message: String| Err(Error::config(path, key, message));
        if self.model_type != "llama" {
            return refuse("model_type", format!("`{}` is not supported, only `llama`", self.model_type));
        }
        if self.hidden_act != "silu" {
            return refuse("hidden_act", format!("`{}` is not supported, only `silu`", self.hidden_act));
        }
        if self.quantization_config.is_some() {
            return refuse("quantization_config", "quantized safetensors are not supported".to_owned());
        }
        let ropes = [&self.rope_scaling, &self.rope_parameters].into_iter().flatten();
        let partial = ropes.filter_map(|rope| rope.partial_rotary_factor).chain(self.partial_rotary_factor);
        for factor in partial {
            if (factor - 1.0).abs() > f64::EPSILON {
                return refuse("partial_rotary_factor", format!("{factor} is not supported, only 1"));
            }
        }
        Ok(())
    }

    fn resolve(self, path: &Path) -> Result<LlamaConfig> {
        let parameters_theta = self.rope_parameters.as_ref().and_then(|rope| rope.theta);
        let rope_factor = match (&self.rope_scaling, &self.rope_parameters) {
            (Some(rope), _) => rope.linear_factor(path, "rope_scaling")?,
            (None, Some(rope)) => rope.linear_factor(path, "rope_parameters")?,
            (None, None) => 1.0,
        };
        if !self.hidden_size.is_multiple_of(self.num_attention_heads.max(1)) && self.head_dim.is_none() {
            return Err(Error::config(path, "hidden_size", "is not a multiple of num_attention_heads"));
        }
        Ok(LlamaConfig {
            vocab_size: self.vocab_size,
            hidden_size: self.hidden_size,
            intermediate_size: self.intermediate_size,
            num_hidden_layers: self.num_hidden_layers,
            num_attention_heads: self.num_attention_heads,
            num_key_value_heads: self.num_key_value_heads.unwrap_or(self.num_attention_heads),
            head_dim: self.head_dim.unwrap_or(self.hidden_size / self.num_attention_heads.max(1)),
            max_position_embeddings: self.max_position_embeddings,
            rms_norm_eps: self.rms_norm_eps,
            rope_theta: parameters_theta.or(self.rope_theta).unwrap_or(10_000.0),
            rope_factor,
            tie_word_embeddings: self.tie_word_embeddings,
            attention_bias: self.attention_bias,
            mlp_bias: self.mlp_bias,
            eos_token_id: self.eos_token_id.map_or_else(Vec::new, Tokens::into_vec),
        })
    }
}

impl Rope {
    /// Returns the factor of linear scaling, 1 without scaling.
    fn linear_factor(&self, path: &Path, key: &str) -> Result<f64> {
        match self.kind.as_deref() {
            None | Some("default") => Ok(1.0),
            Some("linear") => self.factor.ok_or_else(|| Error::config(path, key, "has no factor")),
            Some(other) => {
                let message = format!("type `{other}` is not supported, only `linear`");
                Err(Error::config(path, key, message))
            }
        }
    }
}

impl Tokens {
    fn into_vec(self) -> Vec<u32> {
        match self {
            Self::One(token) => vec![token],
            Self::Several(tokens) => tokens,
        }
    }
}
