//! The Llama family of decoders: grouped-query attention, rotary positions, gated feed-forward.
//!
//! Fields are named as in a Hugging Face checkpoint. `Code Llama`, `DeepSeek-Coder` and `SmolLM2` are of this family;
//! [`crate::qwen2`] and others share its parts.
//!
//! # References
//!
//! Touvron et al., 2023 (the architecture); Ainslie et al., 2023 (grouped queries); Su et al., 2021 (rotary positions).

use burn::module::Module;
use burn::tensor::{Device, Tensor};

mod config;

pub use config::LlamaConfig;

use crate::attention::{Mask, attend, merge_heads, split_heads};
use crate::cache::KeyValues;
use crate::decoder::network::{head_or_table, named_linears};
use crate::decoder::{Network, NetworkShape};
use crate::dropout::Dropout;
use crate::embedding::Embedding;
use crate::kernels;
use crate::linear::Linear;
use crate::norm::RmsNorm;
use crate::pass::Pass;
use crate::rope::Rotary;

/// A Llama decoder with its language-model head.
#[derive(Module, Debug)]
pub struct Llama {
    /// The decoder without the head.
    pub model: LlamaModel,
    /// The head, absent if it is tied to the token embedding.
    pub lm_head: Option<Linear>,
    #[module(skip)]
    config: LlamaConfig,
}

impl Llama {
    /// Creates a decoder whose weights are yet to be loaded.
    #[must_use]
    pub fn new(config: &LlamaConfig, device: &Device) -> Self {
        let head = || Linear::new(config.hidden_size, config.vocab_size, false, device);
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
}

impl Network for Llama {
    fn shape(&self) -> NetworkShape {
        NetworkShape {
            n_layers: self.config.num_hidden_layers,
            vocab_size: self.model.embed_tokens.n(),
            hidden_size: self.config.hidden_size,
            context_tokens_max: self.config.max_position_embeddings,
            rope: Some(self.config.rope()),
            sliding_window: None,
            eos: self.config.eos_token_id.clone(),
        }
    }

    fn embed(&self, pass: &Pass, _dropout: Option<&mut Dropout>) -> Tensor<2> {
        self.model.embed_tokens.forward(pass.rows().tokens())
    }

    fn layer(
        &self,
        index: usize,
        hidden: Tensor<2>,
        pass: &Pass,
        cached: Option<&mut KeyValues>,
        dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        self.model.layers[index].forward(hidden, pass.mask(false), pass.rotary(), cached, dropout)
    }

    fn head(&self, hidden: Tensor<2>) -> Tensor<2> {
        head_or_table(self.model.norm.forward(hidden), self.lm_head.as_ref(), &self.model.embed_tokens)
    }

    fn token_embedding(&mut self) -> (&'static str, &mut Embedding) {
        ("model.embed_tokens", &mut self.model.embed_tokens)
    }

    fn linears(&mut self) -> Vec<(String, &mut Linear)> {
        let layers = self.model.layers.iter_mut().map(LlamaDecoderLayer::linears);
        named_linears("model.layers", layers, self.lm_head.as_mut())
    }
}

/// The decoder without its head.
#[derive(Module, Debug)]
pub struct LlamaModel {
    /// Token embedding.
    pub embed_tokens: Embedding,
    /// Layers, first to last.
    pub layers: Vec<LlamaDecoderLayer>,
    /// Final norm.
    pub norm: RmsNorm,
}

impl LlamaModel {
    fn new(config: &LlamaConfig, device: &Device) -> Self {
        let layer = |_| LlamaDecoderLayer::new(config, device);
        Self {
            embed_tokens: Embedding::new(config.vocab_size, config.hidden_size, device),
            layers: (0..config.num_hidden_layers).map(layer).collect(),
            norm: RmsNorm::new(config.hidden_size, config.rms_norm_eps, device),
        }
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
    pub input_layernorm: RmsNorm,
    /// Norm before feed-forward.
    pub post_attention_layernorm: RmsNorm,
}

impl LlamaDecoderLayer {
    fn new(config: &LlamaConfig, device: &Device) -> Self {
        let norm = || RmsNorm::new(config.hidden_size, config.rms_norm_eps, device);
        let attention = AttentionShape {
            hidden_size: config.hidden_size,
            num_attention_heads: config.num_attention_heads,
            num_key_value_heads: config.num_key_value_heads,
            head_dim: config.head_dim,
            dropout: config.attention_dropout,
        };
        Self {
            self_attn: LlamaAttention::new(&attention, config.attention_bias, config.attention_bias, device),
            mlp: LlamaMlp::new(config.hidden_size, config.intermediate_size, config.mlp_bias, device),
            input_layernorm: norm(),
            post_attention_layernorm: norm(),
        }
    }

    /// Returns the hidden states after this layer.
    ///
    /// # Shapes
    ///
    /// - `hidden`, returns: `[batch * length, hidden]`
    pub(crate) fn forward(
        &self,
        hidden: Tensor<2>,
        mask: &Mask,
        rotary: &Rotary,
        cached: Option<&mut KeyValues>,
        mut dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        let normed = self.input_layernorm.forward(hidden.clone());
        let hidden = hidden + self.self_attn.forward(&normed, mask, rotary, cached, dropout.as_deref_mut());
        let normed = self.post_attention_layernorm.forward(hidden.clone());
        hidden + self.mlp.forward(normed, dropout)
    }

    /// Returns the linear layers under their names.
    pub(crate) fn linears(&mut self) -> impl Iterator<Item = (&'static str, &mut Linear)> {
        self.self_attn.linears().into_iter().chain(self.mlp.linears())
    }
}

/// The sizes of [`LlamaAttention`].
#[derive(Debug, Clone)]
pub(crate) struct AttentionShape {
    pub(crate) hidden_size: usize,
    pub(crate) num_attention_heads: usize,
    pub(crate) num_key_value_heads: usize,
    pub(crate) head_dim: usize,
    pub(crate) dropout: f64,
}

/// Grouped-query attention with rotary positions.
#[derive(Module, Debug)]
pub struct LlamaAttention {
    /// Queries of every head.
    pub q_proj: Linear,
    /// Keys of every group of heads.
    pub k_proj: Linear,
    /// Values of every group of heads.
    pub v_proj: Linear,
    /// Output.
    pub o_proj: Linear,
    num_attention_heads: usize,
    num_key_value_heads: usize,
    dropout: f64,
}

impl LlamaAttention {
    pub(crate) fn new(shape: &AttentionShape, bias: bool, output_bias: bool, device: &Device) -> Self {
        let queries = shape.num_attention_heads * shape.head_dim;
        let keys = shape.num_key_value_heads * shape.head_dim;
        Self {
            q_proj: Linear::new(shape.hidden_size, queries, bias, device),
            k_proj: Linear::new(shape.hidden_size, keys, bias, device),
            v_proj: Linear::new(shape.hidden_size, keys, bias, device),
            o_proj: Linear::new(queries, shape.hidden_size, output_bias, device),
            num_attention_heads: shape.num_attention_heads,
            num_key_value_heads: shape.num_key_value_heads,
            dropout: shape.dropout,
        }
    }

    /// Returns the attended values of `hidden`, whose keys and values are added to `cached`.
    ///
    /// # Shapes
    ///
    /// - `hidden`, returns: `[batch * length, hidden]`
    pub(crate) fn forward(
        &self,
        hidden: &Tensor<2>,
        mask: &Mask,
        rotary: &Rotary,
        cached: Option<&mut KeyValues>,
        mut dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        let length = rotary.length();
        let mut project =
            |layer: &Linear, heads| split_heads(layer.forward(hidden.clone(), dropout.as_deref_mut()), length, heads);
        let queries = rotary.rotate(project(&self.q_proj, self.num_attention_heads));
        let keys = rotary.rotate(project(&self.k_proj, self.num_key_value_heads));
        let values = project(&self.v_proj, self.num_key_value_heads);
        let (keys, values) = match cached {
            Some(cached) => cached.append(keys, values),
            None => (keys, values),
        };
        let scale = (queries.dims()[3] as f64).sqrt().recip();
        let attention_dropout = dropout.as_deref_mut().map(|dropout| (dropout, self.dropout));
        let attended = attend(queries, keys, values, mask, scale, attention_dropout);
        self.o_proj.forward(merge_heads(attended), dropout)
    }

    pub(crate) fn linears(&mut self) -> [(&'static str, &mut Linear); 4] {
        [
            ("self_attn.q_proj", &mut self.q_proj),
            ("self_attn.k_proj", &mut self.k_proj),
            ("self_attn.v_proj", &mut self.v_proj),
            ("self_attn.o_proj", &mut self.o_proj),
        ]
    }
}

/// The feed-forward block, gated by `SiLU`.
#[derive(Module, Debug)]
pub struct LlamaMlp {
    /// Gate.
    pub gate_proj: Linear,
    /// What the gate multiplies.
    pub up_proj: Linear,
    /// Output.
    pub down_proj: Linear,
}

impl LlamaMlp {
    pub(crate) fn new(size: usize, inner: usize, bias: bool, device: &Device) -> Self {
        Self {
            gate_proj: Linear::new(size, inner, bias, device),
            up_proj: Linear::new(size, inner, bias, device),
            down_proj: Linear::new(inner, size, bias, device),
        }
    }

    fn forward(&self, hidden: Tensor<2>, mut dropout: Option<&mut Dropout>) -> Tensor<2> {
        let gate = self.gate_proj.forward(hidden.clone(), dropout.as_deref_mut());
        let up = self.up_proj.forward(hidden, dropout.as_deref_mut());
        self.down_proj.forward(kernels::silu_gate(gate, up), dropout)
    }

    pub(crate) fn linears(&mut self) -> [(&'static str, &mut Linear); 3] {
        [
            ("mlp.gate_proj", &mut self.gate_proj),
            ("mlp.up_proj", &mut self.up_proj),
            ("mlp.down_proj", &mut self.down_proj),
        ]
    }
}

#[cfg(test)]
pub(crate) mod tests;
