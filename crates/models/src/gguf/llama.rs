//! A Llama decoder in a GGUF file: its configuration, and its tensors under the names of a Hugging Face checkpoint.

use std::collections::BTreeMap;
use std::path::Path;

use super::Gguf;
use crate::Result;
use crate::gguf_tokenizer;
use crate::llama::LlamaConfig;
use crate::rope::RopeScaling;
use crate::weights::TensorSource;

impl Gguf {
    /// Returns the configuration of the Llama decoder in this file.
    ///
    /// # Errors
    ///
    /// Returns an error if a key is missing or asks for a computation that is not implemented.
    pub fn llama_config(&self) -> Result<LlamaConfig> {
        self.refuse_unsupported()?;
        let hidden_size = self.required("llama.embedding_length")?;
        let num_attention_heads = self.required("llama.attention.head_count")?;
        let head_dim = match self.unsigned("llama.attention.key_length")? {
            Some(length) => length,
            None => hidden_size / num_attention_heads.max(1),
        };
        let config = LlamaConfig {
            vocab_size: self.vocabulary_size()?,
            hidden_size,
            intermediate_size: self.required("llama.feed_forward_length")?,
            num_hidden_layers: self.required("llama.block_count")?,
            num_attention_heads,
            num_key_value_heads: self.unsigned("llama.attention.head_count_kv")?.unwrap_or(num_attention_heads),
            head_dim,
            max_position_embeddings: self.required("llama.context_length")?,
            rms_norm_eps: self.float("llama.attention.layer_norm_rms_epsilon")?.unwrap_or(1e-5),
            rope_theta: self.float("llama.rope.freq_base")?.unwrap_or(10_000.0),
            rope_scaling: self.rope_scaling()?,
            attention_dropout: 0.0,
            tie_word_embeddings: !self.tensors.contains_key("output.weight"),
            attention_bias: self.tensors.contains_key("blk.0.attn_q.bias"),
            mlp_bias: self.tensors.contains_key("blk.0.ffn_gate.bias"),
            eos_token_id: gguf_tokenizer::eos(self)?,
        };
        config.validate(&self.path)?;
        self.check_head_size(&config)?;
        Ok(config)
    }

    /// Returns the tensors of the Llama decoder in this file under the names of a Hugging Face checkpoint.
    #[must_use]
    pub fn llama_tensors(&self, config: &LlamaConfig) -> LlamaTensors<'_> {
        let names: BTreeMap<String, String> =
            self.tensors.keys().map(|name| (checkpoint_name(name), name.clone())).collect();
        let shapes = names.iter().map(|(name, stored)| (name.clone(), self.tensors[stored].shape.clone()));
        LlamaTensors { shapes: shapes.collect(), names, gguf: self, head_dim: config.head_dim }
    }

    fn refuse_unsupported(&self) -> Result<()> {
        let architecture = self.text("general.architecture")?.unwrap_or("none");
        if architecture != "llama" {
            return Err(self.error(format!("architecture `{architecture}` is not supported, only `llama`")));
        }
        if self.unsigned("llama.expert_count")?.unwrap_or(0) > 0 {
            return Err(self.error("llama.expert_count: experts are not supported".to_owned()));
        }
        if self.tensors.contains_key("rope_freqs.weight") {
            return Err(self.error("rope_freqs.weight: only linear scaling of positions is supported".to_owned()));
        }
        Ok(())
    }

    fn required(&self, key: &str) -> Result<usize> {
        self.unsigned(key)?.ok_or_else(|| self.error(format!("{key} is missing")))
    }

    fn vocabulary_size(&self) -> Result<usize> {
        match self.texts("tokenizer.ggml.tokens")? {
            Some(tokens) => Ok(tokens.len()),
            None => self.required("llama.vocab_size"),
        }
    }

    fn rope_scaling(&self) -> Result<RopeScaling> {
        let kind = self.text("llama.rope.scaling.type")?;
        let factor = match self.float("llama.rope.scaling.factor")? {
            Some(factor) => Some(factor),
            None => self.float("llama.rope.scale_linear")?,
        };
        match (kind, factor) {
            (None | Some("none"), None) | (Some("none"), Some(_)) => Ok(RopeScaling::None),
            (None | Some("linear"), Some(factor)) => Ok(RopeScaling::Linear { factor }),
            (Some("linear"), None) => Err(self.error("llama.rope.scaling.factor is missing".to_owned())),
            (Some(other), _) => {
                let message = format!("llama.rope.scaling.type `{other}` is not supported, only `linear`");
                Err(self.error(message))
            }
        }
    }

    fn check_head_size(&self, config: &LlamaConfig) -> Result<()> {
        for key in ["llama.attention.value_length", "llama.rope.dimension_count"] {
            let size = self.unsigned(key)?.unwrap_or(config.head_dim);
            if size != config.head_dim {
                return Err(
                    self.error(format!("{key} {size} is not supported, only the head size {}", config.head_dim))
                );
            }
        }
        Ok(())
    }
}

/// The tensors of a Llama decoder in a GGUF file, as a Hugging Face checkpoint names and orders them.
#[derive(Debug)]
pub struct LlamaTensors<'a> {
    gguf: &'a Gguf,
    names: BTreeMap<String, String>,
    shapes: BTreeMap<String, Vec<usize>>,
    head_dim: usize,
}

impl TensorSource for LlamaTensors<'_> {
    fn path(&self) -> &Path {
        self.gguf.path()
    }

    fn shapes(&self) -> &BTreeMap<String, Vec<usize>> {
        &self.shapes
    }

    fn read(&self, name: &str) -> Result<Vec<f32>> {
        let stored = self.names.get(name).ok_or_else(|| self.gguf.error(format!("has no tensor for {name}")))?;
        let values = self.gguf.read(stored)?;
        let is_rotated = [".attn_q.", ".attn_k."].iter().any(|part| stored.contains(part));
        let shape = &self.shapes[name];
        if !is_rotated || shape.first().is_none_or(|rows| !rows.is_multiple_of(self.head_dim)) {
            return Ok(values);
        }
        Ok(separate_halves(&values, shape[0], self.head_dim))
    }
}

/// Reorders rows from interleaved pairs, as GGUF rotates them, to two halves, as the checkpoint does.
fn separate_halves(values: &[f32], rows: usize, head_dim: usize) -> Vec<f32> {
    let columns = values.len() / rows.max(1);
    let half = head_dim / 2;
    let mut separated = Vec::with_capacity(values.len());
    for row in 0..rows {
        let (head, component) = (row / head_dim, row % head_dim);
        let (part, pair) = (component / half, component % half);
        let source = head * head_dim + 2 * pair + part;
        separated.extend_from_slice(&values[source * columns..(source + 1) * columns]);
    }
    separated
}

/// Returns the checkpoint's name of a GGUF tensor, or the name itself if it has none.
fn checkpoint_name(name: &str) -> String {
    let (stem, suffix) = name.rsplit_once('.').unwrap_or((name, ""));
    let whole = match stem {
        "token_embd" => Some("model.embed_tokens"),
        "output_norm" => Some("model.norm"),
        "output" => Some("lm_head"),
        _ => None,
    };
    if let Some(whole) = whole {
        return format!("{whole}.{suffix}");
    }
    let layer = stem.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
    let Some((layer, field)) = layer.and_then(|(layer, field)| Some((layer, layer_field(field)?))) else {
        return name.to_owned();
    };
    format!("model.layers.{layer}.{field}.{suffix}")
}

fn layer_field(field: &str) -> Option<&'static str> {
    match field {
        "attn_norm" => Some("input_layernorm"),
        "attn_q" => Some("self_attn.q_proj"),
        "attn_k" => Some("self_attn.k_proj"),
        "attn_v" => Some("self_attn.v_proj"),
        "attn_output" => Some("self_attn.o_proj"),
        "ffn_norm" => Some("post_attention_layernorm"),
        "ffn_gate" => Some("mlp.gate_proj"),
        "ffn_up" => Some("mlp.up_proj"),
        "ffn_down" => Some("mlp.down_proj"),
        _ => None,
    }
}
