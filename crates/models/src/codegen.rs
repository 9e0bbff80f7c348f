//! `CodeGen`: rotary positions, and attention beside the feed-forward block, both after one layer norm.
//!
//! Fields are named as in a Hugging Face checkpoint.
//!
//! # References
//!
//! Nijkamp et al., "`CodeGen`: An Open Large Language Model for Code with Multi-Turn Program Synthesis", 2023. The
//! architecture is that of GPT-J (Wang and Komatsuzaki, 2021) but for the order of the fused projection.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

mod config;

pub use config::CodeGenConfig;

use crate::activation::Activation;
use crate::attention::{attend, merge_heads, split_heads};
use crate::cache::KeyValues;
use crate::decoder::network::named_linears;
use crate::decoder::{Network, NetworkShape};
use crate::dropout::{Dropout, drop_out};
use crate::embedding::Embedding;
use crate::gpt2::GptSizes;
use crate::linear::Linear;
use crate::norm::LayerNorm;
use crate::pass::Pass;

/// The parts of `qkv_proj`, each with the queries, values and keys of its share of the heads: the model was trained on
/// as many devices.
const N_PARTS: usize = 4;

/// A `CodeGen` decoder with its language-model head.
#[derive(Module, Debug)]
pub struct CodeGen {
    /// The decoder without the head.
    pub transformer: CodeGenModel,
    /// The head.
    pub lm_head: Linear,
    #[module(skip)]
    config: CodeGenConfig,
}

impl CodeGen {
    /// Creates a decoder whose weights are yet to be loaded.
    #[must_use]
    pub fn new(config: &CodeGenConfig, device: &Device) -> Self {
        let sizes = &config.sizes;
        let transformer = CodeGenModel {
            wte: Embedding::new(sizes.vocab_size, sizes.n_embd, device),
            h: (0..sizes.n_layer).map(|_| CodeGenBlock::new(sizes, device)).collect(),
            ln_f: LayerNorm::new(sizes.n_embd, sizes.layer_norm_epsilon, device),
        };
        let lm_head = Linear::new(sizes.n_embd, sizes.vocab_size, true, device);
        Self { transformer, lm_head, config: config.clone() }
    }
}

impl Network for CodeGen {
    fn shape(&self) -> NetworkShape {
        let sizes = &self.config.sizes;
        NetworkShape {
            n_layers: sizes.n_layer,
            vocab_size: self.transformer.wte.n(),
            hidden_size: sizes.n_embd,
            context_tokens_max: sizes.n_positions,
            rope: Some(self.config.rope()),
            sliding_window: None,
            eos: sizes.eos_token_id.clone(),
        }
    }

    fn embed(&self, pass: &Pass, dropout: Option<&mut Dropout>) -> Tensor<2> {
        drop_out(self.transformer.wte.forward(pass.rows().tokens()), self.config.sizes.embd_pdrop, dropout)
    }

    fn layer(
        &self,
        index: usize,
        hidden: Tensor<2>,
        pass: &Pass,
        cached: Option<&mut KeyValues>,
        dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        self.transformer.h[index].forward(hidden, pass, cached, dropout)
    }

    fn head(&self, hidden: Tensor<2>) -> Tensor<2> {
        self.lm_head.forward(self.transformer.ln_f.forward(hidden), None)
    }

    fn token_embedding(&mut self) -> (&'static str, &mut Embedding) {
        ("transformer.wte", &mut self.transformer.wte)
    }

    fn linears(&mut self) -> Vec<(String, &mut Linear)> {
        let layers = self.transformer.h.iter_mut().map(CodeGenBlock::linears);
        named_linears("transformer.h", layers, Some(&mut self.lm_head))
    }
}

/// The decoder without its head.
#[derive(Module, Debug)]
pub struct CodeGenModel {
    /// Token embedding.
    pub wte: Embedding,
    /// Layers, first to last.
    pub h: Vec<CodeGenBlock>,
    /// Final norm.
    pub ln_f: LayerNorm,
}

/// One layer: attention and feed-forward of the same normed input, both added to what came in.
#[derive(Module, Debug)]
pub struct CodeGenBlock {
    /// Norm before both.
    pub ln_1: LayerNorm,
    /// Attention.
    pub attn: CodeGenAttention,
    /// Feed-forward.
    pub mlp: CodeGenMlp,
}

impl CodeGenBlock {
    fn new(sizes: &GptSizes, device: &Device) -> Self {
        Self {
            ln_1: LayerNorm::new(sizes.n_embd, sizes.layer_norm_epsilon, device),
            attn: CodeGenAttention::new(sizes, device),
            mlp: CodeGenMlp::new(sizes, device),
        }
    }

    /// Returns the hidden states after this layer.
    ///
    /// # Shapes
    ///
    /// - `hidden`, returns: `[batch * length, hidden]`
    fn forward(
        &self,
        hidden: Tensor<2>,
        pass: &Pass,
        cached: Option<&mut KeyValues>,
        mut dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        let normed = self.ln_1.forward(hidden.clone());
        let attended = self.attn.forward(normed.clone(), pass, cached, dropout.as_deref_mut());
        hidden + attended + self.mlp.forward(normed, dropout)
    }

    fn linears(&mut self) -> [(&'static str, &mut Linear); 4] {
        [
            ("attn.qkv_proj", &mut self.attn.qkv_proj),
            ("attn.out_proj", &mut self.attn.out_proj),
            ("mlp.fc_in", &mut self.mlp.fc_in),
            ("mlp.fc_out", &mut self.mlp.fc_out),
        ]
    }
}

/// Attention with rotary positions and one projection for queries, values and keys.
#[derive(Module, Debug)]
pub struct CodeGenAttention {
    /// Queries, values and keys, in this order in each of four parts.
    pub qkv_proj: Linear,
    /// Output.
    pub out_proj: Linear,
    n_head: usize,
    attn_pdrop: f64,
    resid_pdrop: f64,
}

impl CodeGenAttention {
    fn new(sizes: &GptSizes, device: &Device) -> Self {
        Self {
            qkv_proj: Linear::new(sizes.n_embd, 3 * sizes.n_embd, false, device),
            out_proj: Linear::new(sizes.n_embd, sizes.n_embd, false, device),
            n_head: sizes.n_head,
            attn_pdrop: sizes.attn_pdrop,
            resid_pdrop: sizes.resid_pdrop,
        }
    }

    /// Returns the attended values of `hidden`, whose keys and values are added to `cached`.
    ///
    /// # Shapes
    ///
    /// - `hidden`, returns: `[batch * length, hidden]`
    fn forward(
        &self,
        hidden: Tensor<2>,
        pass: &Pass,
        cached: Option<&mut KeyValues>,
        mut dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        let fused = self.qkv_proj.forward(hidden, dropout.as_deref_mut());
        let [queries, values, keys] = self.split(&fused, pass.length());
        let [queries, keys] = [queries, keys].map(|heads| pass.rotary().rotate(heads));
        let (keys, values) = match cached {
            Some(cached) => cached.append(keys, values),
            None => (keys, values),
        };
        let scale = (queries.dims()[3] as f64).sqrt().recip();
        let attention_dropout = dropout.as_deref_mut().map(|dropout| (dropout, self.attn_pdrop));
        let attended = attend(queries, keys, values, pass.mask(false), scale, attention_dropout);
        let output = self.out_proj.forward(merge_heads(attended), dropout.as_deref_mut());
        drop_out(output, self.resid_pdrop, dropout)
    }

    /// Returns queries, values and keys.
    ///
    /// # Shapes
    ///
    /// - `fused`: `[batch * length, 3 * hidden]`
    /// - returns: `[batch, heads, length, head_dim]` each
    fn split(&self, fused: &Tensor<2>, length: usize) -> [Tensor<4>; 3] {
        let [rows, size] = fused.dims();
        let hidden = size / 3;
        let parts = fused.clone().reshape([rows, N_PARTS, 3, hidden / N_PARTS]);
        [0, 1, 2].map(|index| {
            let part = parts.clone().narrow(2, index, 1).reshape([rows, hidden]);
            split_heads(part, length, self.n_head)
        })
    }
}

/// The feed-forward block.
#[derive(Module, Debug)]
pub struct CodeGenMlp {
    /// Into the block.
    pub fc_in: Linear,
    /// Output.
    pub fc_out: Linear,
    #[module(skip)]
    activation_function: Activation,
    resid_pdrop: f64,
}

impl CodeGenMlp {
    fn new(sizes: &GptSizes, device: &Device) -> Self {
        Self {
            fc_in: Linear::new(sizes.n_embd, sizes.n_inner, true, device),
            fc_out: Linear::new(sizes.n_inner, sizes.n_embd, true, device),
            activation_function: sizes.activation_function,
            resid_pdrop: sizes.resid_pdrop,
        }
    }

    fn forward(&self, hidden: Tensor<2>, mut dropout: Option<&mut Dropout>) -> Tensor<2> {
        let inner = self.activation_function.forward(self.fc_in.forward(hidden, dropout.as_deref_mut()));
        let output = self.fc_out.forward(inner, dropout.as_deref_mut());
        drop_out(output, self.resid_pdrop, dropout)
    }
}

#[cfg(test)]
mod tests;
