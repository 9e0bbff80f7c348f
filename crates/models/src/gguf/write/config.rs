//! What `config.json` says of a decoder that is written.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value as Json;

use super::entries::Entries;
use super::rope::Llama3;
use super::{GgufType, QUANTIZATION_VERSION};
use crate::gguf::Family;
use crate::{Error, Result, limits};

/// The sizes and constants of a decoder, named as in `config.json`.
pub(super) struct DecoderConfig {
    pub(super) family: Family,
    pub(super) vocab_size: usize,
    pub(super) hidden_size: usize,
    pub(super) intermediate_size: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) num_attention_heads: usize,
    pub(super) num_key_value_heads: usize,
    pub(super) head_dim: usize,
    pub(super) max_position_embeddings: usize,
    pub(super) rms_norm_eps: f64,
    pub(super) rope_theta: f64,
    pub(super) scaling: Scaling,
    pub(super) tie_word_embeddings: bool,
    pub(super) attention_bias: bool,
    pub(super) mlp_bias: bool,
    pub(super) eos_token_id: Vec<u32>,
    pub(super) bos_token_id: Option<u32>,
    pub(super) pad_token_id: Option<u32>,
}

/// How rotary positions are scaled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scaling {
    None,
    Linear(f64),
    Llama3(Llama3),
}

/// `config.json` as it is written.
#[derive(Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the keys of the file")]
struct Stored {
    model_type: String,
    vocab_size: usize,
    hidden_size: usize,
    intermediate_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    hidden_act: Option<String>,
    max_position_embeddings: usize,
    rms_norm_eps: f64,
    rope_theta: Option<f64>,
    rope_scaling: Option<Rope>,
    rope_parameters: Option<Rope>,
    partial_rotary_factor: Option<f64>,
    #[serde(default)]
    tie_word_embeddings: bool,
    #[serde(default)]
    attention_bias: bool,
    #[serde(default)]
    mlp_bias: bool,
    #[serde(default)]
    use_sliding_window: bool,
    quantization_config: Option<Json>,
    eos_token_id: Option<Tokens>,
    bos_token_id: Option<u32>,
    pad_token_id: Option<u32>,
}

/// The rotary embedding as `transformers` 4 (`rope_scaling`) or 5 (`rope_parameters`) writes it.
#[derive(Deserialize)]
#[expect(clippy::struct_field_names, reason = "the keys of the file")]
struct Rope {
    rope_type: Option<String>,
    #[serde(rename = "type")]
    legacy_type: Option<String>,
    rope_theta: Option<f64>,
    factor: Option<f64>,
    low_freq_factor: Option<f64>,
    high_freq_factor: Option<f64>,
    original_max_position_embeddings: Option<f64>,
    partial_rotary_factor: Option<f64>,
}

/// One token or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Tokens {
    One(u32),
    Several(Vec<u32>),
}

impl DecoderConfig {
    /// Reads the content of `config.json`; `path` is named in errors.
    pub(super) fn parse(config: &Json, path: &Path) -> Result<Self> {
        let stored = Stored::deserialize(config).map_err(|source| Error::Json { path: path.to_owned(), source })?;
        let family = stored.family(path)?;
        stored.refuse_unsupported(path)?;
        let rope = stored.rope_scaling.as_ref().or(stored.rope_parameters.as_ref());
        let scaling = rope.map_or(Ok(Scaling::None), |rope| rope.scaling(path))?;
        let theta =
            [&stored.rope_parameters, &stored.rope_scaling].into_iter().flatten().find_map(|rope| rope.rope_theta);
        let has_heads = matches!(family, Family::Llama);
        let config = Self {
            family,
            vocab_size: stored.vocab_size,
            hidden_size: stored.hidden_size,
            intermediate_size: stored.intermediate_size,
            num_hidden_layers: stored.num_hidden_layers,
            num_attention_heads: stored.num_attention_heads,
            num_key_value_heads: stored.num_key_value_heads.unwrap_or(stored.num_attention_heads),
            head_dim: stored.head_dim.unwrap_or(stored.hidden_size / stored.num_attention_heads.max(1)),
            max_position_embeddings: stored.max_position_embeddings,
            rms_norm_eps: stored.rms_norm_eps,
            rope_theta: theta.or(stored.rope_theta).unwrap_or(10_000.0),
            scaling,
            tie_word_embeddings: stored.tie_word_embeddings,
            attention_bias: has_heads && stored.attention_bias,
            mlp_bias: has_heads && stored.mlp_bias,
            eos_token_id: stored.eos_token_id.map_or_else(Vec::new, Tokens::into_vec),
            bos_token_id: stored.bos_token_id,
            pad_token_id: stored.pad_token_id,
        };
        config.validate(path)?;
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
        ];
        limits::check_sizes(path, &sizes, self.num_hidden_layers)?;
        if self.head_dim.is_multiple_of(2) { Ok(()) } else { Err(Error::config(path, "head_dim", "is odd")) }
    }

    /// Adds the metadata of the family.
    pub(super) fn describe(&self, entries: &mut Entries, file_type: u32) {
        let family = self.family.name();
        entries.text("general.architecture", family);
        entries.text("general.type", "model");
        entries.integer("general.file_type", file_type);
        if file_type == GgufType::Q8_0.number() {
            entries.integer("general.quantization_version", QUANTIZATION_VERSION);
        }
        for (key, size) in [
            ("vocab_size", self.vocab_size),
            ("context_length", self.max_position_embeddings),
            ("embedding_length", self.hidden_size),
            ("block_count", self.num_hidden_layers),
            ("feed_forward_length", self.intermediate_size),
            ("attention.head_count", self.num_attention_heads),
            ("attention.head_count_kv", self.num_key_value_heads),
            ("attention.key_length", self.head_dim),
            ("attention.value_length", self.head_dim),
            ("rope.dimension_count", self.head_dim),
        ] {
            entries.integer(&format!("{family}.{key}"), size as u32);
        }
        entries.float(&format!("{family}.attention.layer_norm_rms_epsilon"), self.rms_norm_eps);
        entries.float(&format!("{family}.rope.freq_base"), self.rope_theta);
        if let Scaling::Linear(factor) = self.scaling {
            entries.text(&format!("{family}.rope.scaling.type"), "linear");
            entries.float(&format!("{family}.rope.scaling.factor"), factor);
        }
    }
}

impl Stored {
    fn family(&self, path: &Path) -> Result<Family> {
        let name = &self.model_type;
        Family::from_name(name).ok_or_else(|| Error::config(path, "model_type", Family::unsupported(name)))
    }

    fn refuse_unsupported(&self, path: &Path) -> Result<()> {
        let refuse = |key: &str, message: &str| Err(Error::config(path, key, message));
        if self.hidden_act.as_deref().is_some_and(|activation| activation != "silu") {
            return refuse("hidden_act", "is not `silu`, which GGUF takes for granted");
        }
        if self.use_sliding_window {
            return refuse("use_sliding_window", "GGUF has no window for this architecture");
        }
        if self.quantization_config.is_some() {
            return refuse("quantization_config", "quantized safetensors are not supported");
        }
        let ropes = [&self.rope_scaling, &self.rope_parameters].into_iter().flatten();
        let mut partial = ropes.filter_map(|rope| rope.partial_rotary_factor).chain(self.partial_rotary_factor);
        if partial.any(|factor| (factor - 1.0).abs() > f64::EPSILON) {
            return refuse("partial_rotary_factor", "is not 1");
        }
        if self.head_dim.is_none() && !self.hidden_size.is_multiple_of(self.num_attention_heads.max(1)) {
            return refuse("hidden_size", "is not a multiple of num_attention_heads");
        }
        Ok(())
    }
}

impl Rope {
    fn scaling(&self, path: &Path) -> Result<Scaling> {
        let required = |key: &str, value: Option<f64>| {
            value.ok_or_else(|| Error::config(path, "rope_scaling", format!("has no {key}")))
        };
        match self.rope_type.as_deref().or(self.legacy_type.as_deref()) {
            None | Some("default") => Ok(Scaling::None),
            Some("linear") => Ok(Scaling::Linear(required("factor", self.factor)?)),
            Some("llama3") => Ok(Scaling::Llama3(Llama3 {
                factor: required("factor", self.factor)?,
                low_freq_factor: required("low_freq_factor", self.low_freq_factor)?,
                high_freq_factor: required("high_freq_factor", self.high_freq_factor)?,
                original_max_position_embeddings: required(
                    "original_max_position_embeddings",
                    self.original_max_position_embeddings,
                )?,
            })),
            Some(other) => {
                let message = format!("type `{other}` is not supported, only `linear` and `llama3`");
                Err(Error::config(path, "rope_scaling", message))
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
