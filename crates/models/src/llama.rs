//! The Llama family of decoders: grouped-query attention, rotary positions, gated feed-forward.
//!
//! Fields are named as in a Hugging Face checkpoint, and projections keep its `[out, in]` layout.
//!
//! # References
//!
//! Touvron et al., 2023 (the architecture); Ainslie et al., 2023 (grouped queries); Su et al., 2021 (rotary positions).

use burn::module::{Module, Param};
use burn::nn::Initializer;
use burn::tensor::activation::{silu, softmax};
use burn::tensor::module::{attention, embedding};
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Device, Int, Tensor, TensorData};

mod cache;
mod config;

use cache::KeyValues;
pub use cache::LlamaCache;
pub use config::LlamaConfig;

use crate::device::is_cpu;

/// Queries that attend at once on a CPU.
const QUERY_BLOCK: usize = 128;

/// A Llama decoder with its language-model head.
#[derive(Module, Debug)]
pub struct Llama {
    /// The decoder without the head.
    pub model: LlamaModel,
    /// The head, absent if it is tied to the token embedding.
    pub lm_head: Option<Projection>,
    #[module(skip)]
    config: LlamaConfig,
}

impl Llama {
    /// Creates a decoder whose weights are yet to be loaded.
    #[must_use]
    pub fn new(config: &LlamaConfig, device: &Device) -> Self {
        let head = || Projection::new(config.hidden_size, config.vocab_size, false, device);
        Self {
            model: LlamaModel::new(config, device),
            lm_head: (!config.tie_word_embeddings).then(head),
            config: config.clone(),
        }
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &LlamaConfig {
        &self.config
    }

    /// Returns an empty cache.
    #[must_use]
    pub fn new_cache(&self) -> LlamaCache {
        LlamaCache::new(self.config.num_hidden_layers)
    }

    /// Returns the hidden states after the last layer, before the final norm.
    ///
    /// With a cache, `tokens` continue what the cache holds and are added to it.
    ///
    /// # Shapes
    ///
    /// - `tokens`: `[batch, length]`, right-padded with any token
    /// - returns: `[batch, length, hidden]`
    #[must_use]
    pub fn hidden(&self, tokens: Tensor<2, Int>, mut cache: Option<&mut LlamaCache>) -> Tensor<3> {
        let [batch, length] = tokens.dims();
        let start = cache.as_ref().map_or(0, |cache| cache.length());
        let rotary = Rotary::new(&self.config, start, length, &tokens.device());
        let mut hidden = self.model.embed_tokens.forward(tokens).reshape([batch * length, self.config.hidden_size]);
        for (index, layer) in self.model.layers.iter().enumerate() {
            let cached = cache.as_mut().map(|cache| cache.layer_mut(index));
            hidden = layer.forward(hidden, &rotary, cached);
        }
        if let Some(cache) = cache {
            cache.advance(length);
        }
        hidden.reshape([batch, length, self.config.hidden_size])
    }

    /// Returns next-token logits from hidden states.
    ///
    /// # Shapes
    ///
    /// - `hidden`: `[rows, hidden]`
    /// - returns: `[rows, vocabulary]`
    #[must_use]
    pub fn logits(&self, hidden: Tensor<2>) -> Tensor<2> {
        let hidden = self.model.norm.forward(hidden);
        match &self.lm_head {
            Some(head) => head.forward(hidden),
            None => hidden.matmul(self.model.embed_tokens.weight.val().transpose()),
        }
    }
}

/// The decoder without its head.
#[derive(Module, Debug)]
pub struct LlamaModel {
    /// Token embedding.
    pub embed_tokens: TokenEmbedding,
    /// Layers, first to last.
    pub layers: Vec<LlamaDecoderLayer>,
    /// Final norm.
    pub norm: LlamaRmsNorm,
}

impl LlamaModel {
    fn new(config: &LlamaConfig, device: &Device) -> Self {
        let layer = |_| LlamaDecoderLayer::new(config, device);
        Self {
            embed_tokens: TokenEmbedding { weight: unloaded([config.vocab_size, config.hidden_size], device) },
            layers: (0..config.num_hidden_layers).map(layer).collect(),
            norm: LlamaRmsNorm::new(config, device),
        }
    }
}

/// A table of one vector per token.
#[derive(Module, Debug)]
pub struct TokenEmbedding {
    /// `[vocabulary, hidden]`.
    pub weight: Param<Tensor<2>>,
}

impl TokenEmbedding {
    fn forward(&self, tokens: Tensor<2, Int>) -> Tensor<3> {
        embedding(self.weight.val(), tokens)
    }
}

/// One layer: attention and feed-forward, each after a norm and added to its input.
#[derive(Module, Debug)]
pub struct LlamaDecoderLayer {
    /// Attention.
    pub self_attn: LlamaAttention,
    /// Feed-forward.
    pub mlp: LlamaMlp,
    /// Norm before attention.
    pub input_layernorm: LlamaRmsNorm,
    /// Norm before feed-forward.
    pub post_attention_layernorm: LlamaRmsNorm,
}

impl LlamaDecoderLayer {
    fn new(config: &LlamaConfig, device: &Device) -> Self {
        Self {
            self_attn: LlamaAttention::new(config, device),
            mlp: LlamaMlp::new(config, device),
            input_layernorm: LlamaRmsNorm::new(config, device),
            post_attention_layernorm: LlamaRmsNorm::new(config, device),
        }
    }

    /// Returns the hidden states after this layer.
    ///
    /// # Shapes
    ///
    /// - `hidden`: `[batch * length, hidden]`
    /// - returns: `[batch * length, hidden]`
    fn forward(&self, hidden: Tensor<2>, rotary: &Rotary, cached: Option<&mut KeyValues>) -> Tensor<2> {
        let normed = self.input_layernorm.forward(hidden.clone());
        let hidden = hidden + self.self_attn.forward(normed, rotary, cached);
        let normed = self.post_attention_layernorm.forward(hidden.clone());
        hidden + self.mlp.forward(normed)
    }
}

/// Grouped-query attention with rotary positions.
#[derive(Module, Debug)]
pub struct LlamaAttention {
    /// Queries of every head.
    pub q_proj: Projection,
    /// Keys of every group of heads.
    pub k_proj: Projection,
    /// Values of every group of heads.
    pub v_proj: Projection,
    /// Output.
    pub o_proj: Projection,
    num_attention_heads: usize,
    num_key_value_heads: usize,
    head_dim: usize,
}

impl LlamaAttention {
    fn new(config: &LlamaConfig, device: &Device) -> Self {
        let size = config.hidden_size;
        let queries = config.num_attention_heads * config.head_dim;
        let keys = config.num_key_value_heads * config.head_dim;
        let project = |input, output| Projection::new(input, output, config.attention_bias, device);
        Self {
            q_proj: project(size, queries),
            k_proj: project(size, keys),
            v_proj: project(size, keys),
            o_proj: project(queries, size),
            num_attention_heads: config.num_attention_heads,
            num_key_value_heads: config.num_key_value_heads,
            head_dim: config.head_dim,
        }
    }

    /// Returns the attended values of `hidden`, whose keys and values are added to `cached`.
    ///
    /// # Shapes
    ///
    /// - `hidden`: `[batch * length, hidden]`
    /// - returns: `[batch * length, hidden]`
    fn forward(&self, hidden: Tensor<2>, rotary: &Rotary, cached: Option<&mut KeyValues>) -> Tensor<2> {
        let [rows, _hidden] = hidden.dims();
        let length = rotary.length();
        let split = |projected: Tensor<2>, heads| {
            projected.reshape([rows / length, length, heads, self.head_dim]).swap_dims(1, 2)
        };
        let queries = rotary.rotate(split(self.q_proj.forward(hidden.clone()), self.num_attention_heads));
        let keys = rotary.rotate(split(self.k_proj.forward(hidden.clone()), self.num_key_value_heads));
        let values = split(self.v_proj.forward(hidden), self.num_key_value_heads);
        let (keys, values) = match cached {
            Some(cached) => cached.append(keys, values),
            None => (keys, values),
        };
        let attended =
            if length == 1 { attend_one(queries, keys, values) } else { attend_causally(&queries, keys, values) };
        self.o_proj.forward(attended.swap_dims(1, 2).reshape([rows, self.num_attention_heads * self.head_dim]))
    }
}

/// Attends from one position to all that precede it and to itself.
///
/// The heads of a group are rows of one product, so that keys and values are read where they are.
///
/// # Shapes
///
/// - `queries`: `[batch, heads, 1, head_dim]`
/// - `keys`, `values`: `[batch, groups, total, head_dim]`
/// - returns: `[batch, heads, 1, head_dim]`
fn attend_one(queries: Tensor<4>, keys: Tensor<4>, values: Tensor<4>) -> Tensor<4> {
    let [batch, heads, _one, head_dim] = queries.dims();
    let [_batch, groups, _total, _head_dim] = keys.dims();
    let grouped = queries.reshape([batch, groups, heads / groups, head_dim]);
    let scores = grouped.mul_scalar((head_dim as f32).sqrt().recip()).matmul(keys.transpose());
    softmax(scores, 3).matmul(values).reshape([batch, heads, 1, head_dim])
}

/// Attends from each of the last positions to those that precede it and to itself.
///
/// On a CPU the kernel computes masked scores too, so that queries go to it in blocks, each with the keys it may see;
/// it knows groups, which other kernels do not.
///
/// # Shapes
///
/// - `queries`: `[batch, heads, length, head_dim]`
/// - `keys`, `values`: `[batch, groups, total, head_dim]`, `total >= length`
/// - returns: `[batch, heads, length, head_dim]`
fn attend_causally(queries: &Tensor<4>, keys: Tensor<4>, values: Tensor<4>) -> Tensor<4> {
    let [_batch, heads, length, _head_dim] = queries.dims();
    let [_batch, _groups, total, _head_dim] = keys.dims();
    let (keys, values, block) = if is_cpu(&queries.device()) {
        (keys, values, QUERY_BLOCK)
    } else {
        (repeat_groups(keys, heads), repeat_groups(values, heads), length)
    };
    let blocks = (0..length).step_by(block).map(|start| {
        let queries = queries.clone().narrow(2, start, block.min(length - start));
        let seen = total - length + start + queries.dims()[2];
        let options = AttentionModuleOptions { is_causal: true, ..AttentionModuleOptions::default() };
        attention(queries, keys.clone().narrow(2, 0, seen), values.clone().narrow(2, 0, seen), None, None, options)
    });
    Tensor::cat(blocks.collect(), 2)
}

/// Repeats each group's keys or values for every head of the group.
///
/// # Shapes
///
/// - `grouped`: `[batch, groups, total, head_dim]`
/// - returns: `[batch, heads, total, head_dim]`
fn repeat_groups(grouped: Tensor<4>, heads: usize) -> Tensor<4> {
    let [batch, groups, total, head_dim] = grouped.dims();
    if groups == heads {
        return grouped;
    }
    grouped
        .unsqueeze_dim::<5>(2)
        .expand([batch, groups, heads / groups, total, head_dim])
        .reshape([batch, heads, total, head_dim])
}

/// The feed-forward block, gated by `SiLU`.
#[derive(Module, Debug)]
pub struct LlamaMlp {
    /// Gate.
    pub gate_proj: Projection,
    /// What the gate multiplies.
    pub up_proj: Projection,
    /// Output.
    pub down_proj: Projection,
}

impl LlamaMlp {
    fn new(config: &LlamaConfig, device: &Device) -> Self {
        let [size, inner] = [config.hidden_size, config.intermediate_size];
        let project = |input, output| Projection::new(input, output, config.mlp_bias, device);
        Self { gate_proj: project(size, inner), up_proj: project(size, inner), down_proj: project(inner, size) }
    }

    fn forward(&self, hidden: Tensor<2>) -> Tensor<2> {
        let gate = silu(self.gate_proj.forward(hidden.clone()));
        self.down_proj.forward(gate * self.up_proj.forward(hidden))
    }
}

/// A linear map that keeps the checkpoint's layout.
#[derive(Module, Debug)]
pub struct Projection {
    /// `[out, in]`.
    pub weight: Param<Tensor<2>>,
    /// `[out]`.
    pub bias: Option<Param<Tensor<1>>>,
}

impl Projection {
    fn new(input: usize, output: usize, bias: bool, device: &Device) -> Self {
        Self { weight: unloaded([output, input], device), bias: bias.then(|| unloaded([output], device)) }
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let output = input.matmul(self.weight.val().transpose());
        match &self.bias {
            Some(bias) => output + bias.val().unsqueeze(),
            None => output,
        }
    }
}

/// Scales every vector to a root mean square of one, then by a weight per component.
#[derive(Module, Debug)]
pub struct LlamaRmsNorm {
    /// `[hidden]`.
    pub weight: Param<Tensor<1>>,
    epsilon: f64,
}

impl LlamaRmsNorm {
    fn new(config: &LlamaConfig, device: &Device) -> Self {
        Self { weight: unloaded([config.hidden_size], device), epsilon: config.rms_norm_eps }
    }

    fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let mean_square = (input.clone() * input.clone()).mean_dim(1);
        let scale = mean_square.add_scalar(self.epsilon).sqrt().recip();
        input * scale * self.weight.val().unsqueeze()
    }
}

/// Cosines and sines that rotate queries and keys by their position.
struct Rotary {
    cosines: Tensor<4>,
    sines: Tensor<4>,
}

impl Rotary {
    /// Returns the rotations of positions `start..start + length`.
    fn new(config: &LlamaConfig, start: usize, length: usize, device: &Device) -> Self {
        let half = config.head_dim / 2;
        let frequencies = config.rotary_frequencies();
        let angles: Vec<f32> = (start..start + length)
            .flat_map(|position| frequencies.iter().map(move |frequency| position as f32 * frequency))
            .collect();
        let table = |function: fn(f32) -> f32| {
            let values: Vec<f32> = angles.iter().map(|&angle| function(angle)).collect();
            Tensor::from_data(TensorData::new(values, [1, 1, length, half]), device)
        };
        Self { cosines: table(f32::cos), sines: table(f32::sin) }
    }

    /// Returns the number of positions.
    fn length(&self) -> usize {
        self.cosines.dims()[2]
    }

    /// Rotates the pairs that the two halves of each head make.
    ///
    /// # Shapes
    ///
    /// - `heads`: `[batch, heads, length, head_dim]`
    /// - returns: `[batch, heads, length, head_dim]`
    fn rotate(&self, heads: Tensor<4>) -> Tensor<4> {
        let [_batch, _heads, _length, head_dim] = heads.dims();
        let first = heads.clone().narrow(3, 0, head_dim / 2);
        let second = heads.narrow(3, head_dim / 2, head_dim / 2);
        let [cosines, sines] = [&self.cosines, &self.sines];
        let rotated_first = first.clone() * cosines.clone() - second.clone() * sines.clone();
        let rotated_second = second * cosines.clone() + first * sines.clone();
        Tensor::cat(vec![rotated_first, rotated_second], 3)
    }
}

/// Returns a parameter whose values are yet to be loaded.
fn unloaded<const D: usize>(shape: [usize; D], device: &Device) -> Param<Tensor<D>> {
    Initializer::Zeros.init(shape, device)
}

#[cfg(test)]
pub(crate) mod tests;
