//! The families of decoders that GGUF files hold, and the `config.json` that a file stands for.
//!
//! Every key of a family is read, known not to change the computation, or refused by name.

use serde_json::{Value as Json, json};

use super::{DecoderTensors, Gguf, rope};
use crate::gguf_tokenizer;
use crate::{Error, Result};

/// Decoders that a GGUF file may hold, by what the format calls architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `llama`: rows of queries and keys are permuted, so that rotated components are neighbors.
    Llama,
    /// `qwen2`: queries, keys and values have biases; nothing is permuted.
    Qwen2,
}

impl Family {
    const ALL: [Self; 2] = [Self::Llama, Self::Qwen2];

    /// Returns the family that a file and `model_type` of `config.json` call `name`.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.name() == name)
    }

    /// Returns what a file and `model_type` of `config.json` call the family.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Llama => "llama",
            Self::Qwen2 => "qwen2",
        }
    }

    /// Returns the class of `transformers`.
    const fn class(self) -> &'static str {
        match self {
            Self::Llama => "LlamaForCausalLM",
            Self::Qwen2 => "Qwen2ForCausalLM",
        }
    }

    pub(super) const fn permutes_heads(self) -> bool {
        matches!(self, Self::Llama)
    }

    /// Returns what is said about a family that is not implemented.
    pub(super) fn unsupported(name: &str) -> String {
        format!("architecture `{name}` is not supported, only {}", Self::ALL.map(Self::name).join(", "))
    }
}

/// The keys that are read.
const READ: [&str; 14] = [
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.layer_norm_rms_epsilon",
    "attention.value_length",
    "block_count",
    "context_length",
    "embedding_length",
    "feed_forward_length",
    "rope.dimension_count",
    "rope.freq_base",
    "rope.scale_linear",
    "rope.scaling.factor",
    "rope.scaling.type",
];

/// The keys that do not change the computation of a file that is not refused otherwise.
const UNUSED: [&str; 4] =
    ["expert_used_count", "rope.scaling.finetuned", "rope.scaling.original_context_length", "vocab_size"];

/// The keys with one value that is implemented: no experts, no window, queries that see only what precedes them, and
/// the order of rows that the family has.
const FIXED: [(&str, &str); 4] = [
    ("expert_count", "0"),
    ("attention.sliding_window", "0"),
    ("attention.causal", "1"),
    ("tensor_data_layout", "Meta AI original pth"),
];

/// The metadata of a family, whose name stands before every key.
pub(super) struct Keys<'a> {
    gguf: &'a Gguf,
    family: Family,
}

impl<'a> Keys<'a> {
    pub(super) fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.family.name())
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&'a str>> {
        self.gguf.text(&self.name(key))
    }

    pub(super) fn float(&self, key: &str) -> Result<Option<f64>> {
        Ok(self.gguf.float(&self.name(key))?.map(shortest))
    }

    fn unsigned(&self, key: &str) -> Result<Option<usize>> {
        self.gguf.unsigned(&self.name(key))
    }

    fn required(&self, key: &str) -> Result<usize> {
        self.unsigned(key)?.ok_or_else(|| self.missing(key))
    }

    fn missing(&self, key: &str) -> Error {
        self.gguf.error(format!("{} is missing", self.name(key)))
    }

    /// Refuses what would change the computation.
    fn refuse_unsupported(&self) -> Result<()> {
        let prefix = format!("{}.", self.family.name());
        for (key, value) in &self.gguf.metadata {
            let Some(name) = key.strip_prefix(&prefix) else { continue };
            if READ.contains(&name) || UNUSED.contains(&name) {
                continue;
            }
            let value = value.brief();
            match FIXED.iter().find(|(known, _)| *known == name) {
                Some((_, only)) if *only == value => {}
                Some((_, only)) => {
                    return Err(self.gguf.error(format!("{key} `{value}` is not supported, only `{only}`")));
                }
                None => return Err(self.gguf.error(format!("{key} is not supported"))),
            }
        }
        Ok(())
    }

    fn check_head_size(&self, head_dim: usize) -> Result<()> {
        for key in ["attention.value_length", "rope.dimension_count"] {
            let size = self.unsigned(key)?.unwrap_or(head_dim);
            if size != head_dim {
                let message = format!("{} {size} is not supported, only the head size {head_dim}", self.name(key));
                return Err(self.gguf.error(message));
            }
        }
        Ok(())
    }
}

/// Returns the shortest decimal fraction that a 32-bit number of the file stands for.
fn shortest(value: f64) -> f64 {
    let single = value as f32;
    if f64::from(single).to_bits() == value.to_bits() { single.to_string().parse().unwrap_or(value) } else { value }
}

impl Gguf {
    /// Returns the family of the decoder in this file.
    ///
    /// # Errors
    ///
    /// Returns an error that names the architecture if it is not implemented.
    pub fn family(&self) -> Result<Family> {
        let name = self.text("general.architecture")?.unwrap_or("none");
        Family::from_name(name).ok_or_else(|| self.error(Family::unsupported(name)))
    }

    /// Returns the content of the `config.json` that this file stands for.
    ///
    /// # Errors
    ///
    /// Returns an error if a key is missing or asks for a computation that is not implemented.
    pub fn config(&self) -> Result<Json> {
        let family = self.family()?;
        let keys = Keys { gguf: self, family };
        keys.refuse_unsupported()?;
        let hidden_size = keys.required("embedding_length")?;
        let heads = keys.required("attention.head_count")?;
        let whole = hidden_size / heads.max(1);
        let head_dim = keys.unsigned("attention.key_length")?.unwrap_or(whole);
        keys.check_head_size(head_dim)?;
        let theta = keys.float("rope.freq_base")?.unwrap_or(10_000.0);
        let epsilon = keys.float("attention.layer_norm_rms_epsilon")?;
        let mut config = json!({
            "architectures": [family.class()],
            "model_type": family.name(),
            "vocab_size": self.vocabulary_size(&keys)?,
            "hidden_size": hidden_size,
            "intermediate_size": keys.required("feed_forward_length")?,
            "num_hidden_layers": keys.required("block_count")?,
            "num_attention_heads": heads,
            "num_key_value_heads": keys.unsigned("attention.head_count_kv")?.unwrap_or(heads),
            "hidden_act": "silu",
            "max_position_embeddings": keys.required("context_length")?,
            "rms_norm_eps": epsilon.ok_or_else(|| keys.missing("attention.layer_norm_rms_epsilon"))?,
            "rope_theta": theta,
            "rope_scaling": rope::scaling(self, &keys, theta, head_dim)?,
            "tie_word_embeddings": !self.tensors.contains_key("output.weight"),
            "eos_token_id": gguf_tokenizer::eos(self)?,
            "bos_token_id": self.unsigned("tokenizer.ggml.bos_token_id")?,
        });
        if family == Family::Llama {
            config["attention_bias"] = json!(self.tensors.contains_key("blk.0.attn_q.bias"));
            config["mlp_bias"] = json!(self.tensors.contains_key("blk.0.ffn_gate.bias"));
        } else {
            config["use_sliding_window"] = json!(false);
        }
        if family == Family::Llama || head_dim != whole {
            config["head_dim"] = json!(head_dim);
        }
        Ok(config)
    }

    /// Returns the tensors of the decoder in this file under the names of a Hugging Face checkpoint.
    ///
    /// # Errors
    ///
    /// Returns an error if the family or the size of a head is not known.
    pub fn decoder_tensors(&self) -> Result<DecoderTensors<'_>> {
        let family = self.family()?;
        let keys = Keys { gguf: self, family };
        let head_dim = match keys.unsigned("attention.key_length")? {
            Some(length) => length,
            None => keys.required("embedding_length")? / keys.required("attention.head_count")?.max(1),
        };
        Ok(DecoderTensors::new(self, family, head_dim))
    }

    fn vocabulary_size(&self, keys: &Keys<'_>) -> Result<usize> {
        if let Some(rows) = self.tensors.get("token_embd.weight").and_then(|info| info.shape.first()) {
            return Ok(*rows);
        }
        match self.texts("tokenizer.ggml.tokens")? {
            Some(tokens) => Ok(tokens.len()),
            None => keys.required("vocab_size"),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
