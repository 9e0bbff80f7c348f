//! The `StarCoder2` decoder: grouped queries in a sliding window, rotary positions, layer norms, biases throughout.
//!
//! Fields are named as in a Hugging Face checkpoint.
//!
//! # References
//!
//! Lozhkov et al., "`StarCoder` 2 and The Stack v2: The Next Generation", 2024.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

mod config;

pub use config::Starcoder2Config;

use crate::activation::Activation;
use crate::cache::KeyValues;
use crate::decoder::network::{head_or_table, named_linears};
use crate::decoder::{Network, NetworkShape};
use crate::dropout::{Dropout, drop_out};
use crate::embedding::Embedding;
use crate::linear::Linear;
use crate::llama::{AttentionShape, LlamaAttention};
use crate::norm::LayerNorm;
use crate::pass::Pass;

/// A `StarCoder2` decoder with its language-model head.
#[derive(Module, Debug)]
pub struct Starcoder2 {
    /// The decoder without the head.
    pub model: Starcoder2Model,
    /// The head, absent if it is tied to the token embedding.
    pub lm_head: Option<Linear>,
    #[module(skip)]
    config: Starcoder2Config,
}

impl Starcoder2 {
    /// Creates a decoder whose weights are yet to be loaded.
    #[must_use]
    pub fn new(config: &Starcoder2Config, device: &Device) -> Self {
        let head = || Linear::new(config.hidden_size, config.vocab_size, false, device);
        Self {
            model: Starcoder2Model::new(config, device),
            lm_head: (!config.tie_word_embeddings).then(head),
            config: config.clone(),
        }
    }

    /// Returns the configuration.
    #[must_use]
    pub fn config(&self) -> &Starcoder2Config {
        &self.config
    }
}

impl Network for Starcoder2 {
    fn shape(&self) -> NetworkShape {
        NetworkShape {
            n_layers: self.config.num_hidden_layers,
            vocab_size: self.model.embed_tokens.n(),
            hidden_size: self.config.hidden_size,
            context_tokens_max: self.config.max_position_embeddings,
            rope: Some(self.config.rope()),
            sliding_window: self.config.sliding_window,
            eos: self.config.eos_token_id.clone(),
        }
    }

    fn embed(&self, pass: &Pass, dropout: Option<&mut Dropout>) -> Tensor<2> {
        drop_out(self.model.embed_tokens.forward(pass.rows().tokens()), self.config.embedding_dropout, dropout)
    }

    fn layer(
        &self,
        index: usize,
        hidden: Tensor<2>,
        pass: &Pass,
        cached: Option<&mut KeyValues>,
        dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        self.model.layers[index].forward(hidden, pass, cached, dropout)
    }

    fn head(&self, hidden: Tensor<2>) -> Tensor<2> {
        head_or_table(self.model.norm.forward(hidden), self.lm_head.as_ref(), &self.model.embed_tokens)
    }

    fn token_embedding(&mut self) -> (&'static str, &mut Embedding) {
        ("model.embed_tokens", &mut self.model.embed_tokens)
    }

    fn linears(&mut self) -> Vec<(String, &mut Linear)> {
        let layers = self.model.layers.iter_mut().map(Starcoder2DecoderLayer::linears);
        named_linears("model.layers", layers, self.lm_head.as_mut())
    }
}

/// The decoder without its head.
#[derive(Module, Debug)]
pub struct Starcoder2Model {
    /// Token embedding.
    pub embed_tokens: Embedding,
    /// Layers, first to last.
    pub layers: Vec<Starcoder2DecoderLayer>,
    /// Final norm.
    pub norm: LayerNorm,
}

impl Starcoder2Model {
    fn new(config: &Starcoder2Config, device: &Device) -> Self {
        let layer = |_| Starcoder2DecoderLayer::new(config, device);
        Self {
            embed_tokens: Embedding::new(config.vocab_size, config.hidden_size, device),
            layers: (0..config.num_hidden_layers).map(layer).collect(),
            norm: LayerNorm::new(config.hidden_size, config.norm_epsilon, device),
        }
    }
}

/// One layer: attention and feed-forward, each after a norm and added to its input.
#[derive(Module, Debug)]
pub struct Starcoder2DecoderLayer {
    /// Attention.
    pub self_attn: LlamaAttention,
    /// Feed-forward.
    pub mlp: Starcoder2Mlp,
    /// Norm before attention.
    pub input_layernorm: LayerNorm,
    /// Norm before feed-forward.
    pub post_attention_layernorm: LayerNorm,
    residual_dropout: f64,
}

impl Starcoder2DecoderLayer {
    fn new(config: &Starcoder2Config, device: &Device) -> Self {
        let norm = || LayerNorm::new(config.hidden_size, config.norm_epsilon, device);
        let attention = AttentionShape {
            hidden_size: config.hidden_size,
            num_attention_heads: config.num_attention_heads,
            num_key_value_heads: config.num_key_value_heads,
            head_dim: config.head_dim,
            dropout: config.attention_dropout,
        };
        Self {
            self_attn: LlamaAttention::new(&attention, config.use_bias, config.use_bias, device),
            mlp: Starcoder2Mlp::new(config, device),
            input_layernorm: norm(),
            post_attention_layernorm: norm(),
            residual_dropout: config.residual_dropout,
        }
    }

    fn forward(
        &self,
        hidden: Tensor<2>,
        pass: &Pass,
        cached: Option<&mut KeyValues>,
        mut dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        let normed = self.input_layernorm.forward(hidden.clone());
        // Without a window, the mask of sliding layers is the causal one.
        let mask = pass.mask(true);
        let attended = self.self_attn.forward(&normed, mask, pass.rotary(), cached, dropout.as_deref_mut());
        let hidden = hidden + drop_out(attended, self.residual_dropout, dropout.as_deref_mut());
        let normed = self.post_attention_layernorm.forward(hidden.clone());
        let fed = self.mlp.forward(normed, dropout.as_deref_mut());
        hidden + drop_out(fed, self.residual_dropout, dropout)
    }

    fn linears(&mut self) -> impl Iterator<Item = (&'static str, &mut Linear)> {
        let mlp = [("mlp.c_fc", &mut self.mlp.c_fc), ("mlp.c_proj", &mut self.mlp.c_proj)];
        self.self_attn.linears().into_iter().chain(mlp)
    }
}

/// The feed-forward block.
#[derive(Module, Debug)]
pub struct Starcoder2Mlp {
    /// To the inner size.
    pub c_fc: Linear,
    /// Output.
    pub c_proj: Linear,
    #[module(skip)]
    hidden_act: Activation,
}

impl Starcoder2Mlp {
    fn new(config: &Starcoder2Config, device: &Device) -> Self {
        Self {
            c_fc: Linear::new(config.hidden_size, config.intermediate_size, config.use_bias, device),
            c_proj: Linear::new(config.intermediate_size, config.hidden_size, config.use_bias, device),
            hidden_act: config.hidden_act,
        }
    }

    fn forward(&self, hidden: Tensor<2>, mut dropout: Option<&mut Dropout>) -> Tensor<2> {
        let inner = self.hidden_act.forward(self.c_fc.forward(hidden, dropout.as_deref_mut()));
        self.c_proj.forward(inner, dropout)
    }
}

#[cfg(test)]
mod tests;
