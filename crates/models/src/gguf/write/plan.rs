//! Which tensors a file gets, in which order and type.

use std::collections::BTreeMap;

use super::config::{DecoderConfig, Scaling};
use super::{GgufType, TensorType, rope};
use crate::Result;
use crate::gguf::Family;
use crate::gguf::names::{gguf_name, is_rotated};
use crate::weights::{self, Names, TensorSource};

/// A tensor of the file.
pub(super) struct Planned {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) kind: TensorType,
    pub(super) content: Content,
}

/// Where the values of a tensor come from.
pub(super) enum Content {
    /// A tensor of the checkpoint, whose halves of heads are interleaved if it is permuted.
    Tensor { name: String, is_permuted: bool },
    /// Values that the checkpoint does not have.
    Values(Vec<f32>),
}

impl Planned {
    pub(super) fn n_bytes(&self) -> usize {
        let (elements, bytes) = self.kind.block();
        self.shape.iter().product::<usize>() / elements * bytes
    }
}

/// Returns the tensors of the file.
///
/// # Errors
///
/// Returns one error that lists every missing, unexpected and mis-shaped tensor.
pub(super) fn plan(config: &DecoderConfig, tensors: &impl TensorSource, kind: GgufType) -> Result<Vec<Planned>> {
    let expected = expected(config);
    let shapes: BTreeMap<String, Vec<usize>> = expected.iter().cloned().collect();
    weights::check(&shapes, tensors, &names(config))?;
    let mut plan: Vec<Planned> = expected.into_iter().map(|(name, shape)| planned(config, name, shape, kind)).collect();
    if let Scaling::Llama3(constants) = config.scaling {
        let factors = constants.factors(config.rope_theta, config.head_dim);
        let shape = vec![factors.len()];
        let name = rope::FACTORS.to_owned();
        plan.push(Planned { name, shape, kind: TensorType::F32, content: Content::Values(factors) });
    }
    Ok(plan)
}

fn planned(config: &DecoderConfig, name: String, shape: Vec<usize>, kind: GgufType) -> Planned {
    let stored = gguf_name(&name).expect("every expected tensor has a name in GGUF");
    let is_permuted = config.family.permutes_heads() && is_rotated(&stored);
    let kind = kind.of(&shape);
    Planned { name: stored, shape, kind, content: Content::Tensor { name, is_permuted } }
}

/// Returns every tensor of the checkpoint with its shape, in the order of the computation.
fn expected(config: &DecoderConfig) -> Vec<(String, Vec<usize>)> {
    let hidden = config.hidden_size;
    let mut all = vec![("model.embed_tokens.weight".to_owned(), vec![config.vocab_size, hidden])];
    (0..config.num_hidden_layers).for_each(|index| all.extend(layer(config, index)));
    all.push(("model.norm.weight".to_owned(), vec![hidden]));
    if !config.tie_word_embeddings {
        all.push(("lm_head.weight".to_owned(), vec![config.vocab_size, hidden]));
    }
    all
}

fn layer(config: &DecoderConfig, index: usize) -> impl Iterator<Item = (String, Vec<usize>)> {
    let (hidden, inner) = (config.hidden_size, config.intermediate_size);
    let queries = config.num_attention_heads * config.head_dim;
    let keys = config.num_key_value_heads * config.head_dim;
    let has_qkv_bias = config.attention_bias || config.family == Family::Qwen2;
    let linears = [
        ("self_attn.q_proj", queries, hidden, has_qkv_bias),
        ("self_attn.k_proj", keys, hidden, has_qkv_bias),
        ("self_attn.v_proj", keys, hidden, has_qkv_bias),
        ("self_attn.o_proj", hidden, queries, config.attention_bias),
        ("mlp.gate_proj", inner, hidden, config.mlp_bias),
        ("mlp.up_proj", inner, hidden, config.mlp_bias),
        ("mlp.down_proj", hidden, inner, config.mlp_bias),
    ];
    let norms = ["input_layernorm", "post_attention_layernorm"].map(|norm| (format!("{norm}.weight"), vec![hidden]));
    let linears = linears.into_iter().flat_map(|(name, rows, columns, has_bias)| {
        let bias = has_bias.then(|| (format!("{name}.bias"), vec![rows]));
        [(format!("{name}.weight"), vec![rows, columns])].into_iter().chain(bias)
    });
    norms.into_iter().chain(linears).map(move |(name, shape)| (format!("model.layers.{index}.{name}"), shape))
}

/// Returns which tensors of the checkpoint are left aside.
fn names(config: &DecoderConfig) -> Names {
    let is_unused: fn(&str) -> bool = if config.tie_word_embeddings {
        |name| name == "lm_head.weight" || name.ends_with(".rotary_emb.inv_freq")
    } else {
        |name| name.ends_with(".rotary_emb.inv_freq")
    };
    Names { prefix: String::new(), rename: str::to_owned, is_unused }
}
