//! GPT-2 (`CodeGPT`): learned positions, attention and feed-forward each after a layer norm.
//!
//! Fields are named as in a Hugging Face checkpoint. [`crate::gpt_bigcode`] is of the same modules with other
//! projections.
//!
//! # References
//!
//! Radford et al., "Language Models are Unsupervised Multitask Learners", 2019.

use burn::module::Module;
use burn::tensor::{Device, Tensor};

mod config;

pub use config::{Gpt2Config, GptSizes};

use crate::activation::Activation;
use crate::attention::{attend, merge_heads, split_heads};
use crate::cache::KeyValues;
use crate::decoder::network::{head_or_table, named_linears};
use crate::decoder::{Network, NetworkShape};
use crate::dropout::{Dropout, drop_out};
use crate::embedding::Embedding;
use crate::linear::Linear;
use crate::norm::LayerNorm;
use crate::pass::Pass;

/// A GPT-2 decoder with its language-model head.
#[derive(Module, Debug)]
pub struct Gpt2 {
    /// The decoder without the head.
    pub transformer: Gpt2Model,
    /// The head, absent if it is tied to the token embedding.
    pub lm_head: Option<Linear>,
    #[module(skip)]
    sizes: GptSizes,
}

impl Gpt2 {
    /// Creates a decoder whose weights are yet to be loaded.
    #[must_use]
    pub fn new(config: &Gpt2Config, device: &Device) -> Self {
        let n_groups = config.sizes.n_head;
        let kind = |layer| BlockKind {
            linear: Linear::conv1d,
            fused: Fused::Blocks { n_groups },
            scale: config.attention_scale(layer),
        };
        Self::of_blocks(&config.sizes, config.tie_word_embeddings, kind, device)
    }

    /// Creates a decoder of layers of the given kinds.
    pub(crate) fn of_blocks(
        sizes: &GptSizes,
        is_tied: bool,
        kind: impl Fn(usize) -> BlockKind,
        device: &Device,
    ) -> Self {
        let block = |layer| Gpt2Block::new(sizes, kind(layer), device);
        let transformer = Gpt2Model {
            wte: Embedding::new(sizes.vocab_size, sizes.n_embd, device),
            wpe: Embedding::new(sizes.n_positions, sizes.n_embd, device),
            h: (0..sizes.n_layer).map(block).collect(),
            ln_f: LayerNorm::new(sizes.n_embd, sizes.layer_norm_epsilon, device),
        };
        let head = || Linear::new(sizes.n_embd, sizes.vocab_size, false, device);
        Self { transformer, lm_head: (!is_tied).then(head), sizes: sizes.clone() }
    }
}

impl Network for Gpt2 {
    fn shape(&self) -> NetworkShape {
        NetworkShape {
            n_layers: self.sizes.n_layer,
            vocab_size: self.transformer.wte.n(),
            hidden_size: self.sizes.n_embd,
            context_tokens_max: self.sizes.n_positions,
            rope: None,
            sliding_window: None,
            eos: self.sizes.eos_token_id.clone(),
        }
    }

    fn embed(&self, pass: &Pass, dropout: Option<&mut Dropout>) -> Tensor<2> {
        // What stands in the place of padding is never seen.
        let positions: Vec<u32> = pass.positions().iter().map(|position| position.unwrap_or(0)).collect();
        let positions = self.transformer.wpe.forward(&positions);
        let tokens = self.transformer.wte.forward(pass.rows().tokens());
        drop_out(tokens + positions, self.sizes.embd_pdrop, dropout)
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
        head_or_table(self.transformer.ln_f.forward(hidden), self.lm_head.as_ref(), &self.transformer.wte)
    }

    fn token_embedding(&mut self) -> (&'static str, &mut Embedding) {
        ("transformer.wte", &mut self.transformer.wte)
    }

    fn linears(&mut self) -> Vec<(String, &mut Linear)> {
        let layers = self.transformer.h.iter_mut().map(Gpt2Block::linears);
        named_linears("transformer.h", layers, self.lm_head.as_mut())
    }
}

/// The decoder without its head.
#[derive(Module, Debug)]
pub struct Gpt2Model {
    /// Token embedding.
    pub wte: Embedding,
    /// Position embedding.
    pub wpe: Embedding,
    /// Layers, first to last.
    pub h: Vec<Gpt2Block>,
    /// Final norm.
    pub ln_f: LayerNorm,
}

/// What differs between the layers of GPT-2 and of those that follow it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockKind {
    /// Makes a linear layer, with a bias, of so many inputs and outputs.
    pub(crate) linear: fn(usize, usize, &Device) -> Linear,
    /// How the outputs of `c_attn` are shared out.
    pub(crate) fused: Fused,
    /// What attention scores are multiplied by.
    pub(crate) scale: f64,
}

/// One layer: attention and feed-forward, each after a norm and added to its input.
#[derive(Module, Debug)]
pub struct Gpt2Block {
    /// Norm before attention.
    pub ln_1: LayerNorm,
    /// Attention.
    pub attn: Gpt2Attention,
    /// Norm before feed-forward.
    pub ln_2: LayerNorm,
    /// Feed-forward.
    pub mlp: Gpt2Mlp,
}

impl Gpt2Block {
    fn new(sizes: &GptSizes, kind: BlockKind, device: &Device) -> Self {
        let norm = || LayerNorm::new(sizes.n_embd, sizes.layer_norm_epsilon, device);
        Self {
            ln_1: norm(),
            attn: Gpt2Attention::new(sizes, kind, device),
            ln_2: norm(),
            mlp: Gpt2Mlp::new(sizes, kind, device),
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
        let hidden = hidden + self.attn.forward(normed, pass, cached, dropout.as_deref_mut());
        let normed = self.ln_2.forward(hidden.clone());
        hidden + self.mlp.forward(normed, dropout)
    }

    fn linears(&mut self) -> [(&'static str, &mut Linear); 4] {
        [
            ("attn.c_attn", &mut self.attn.c_attn),
            ("attn.c_proj", &mut self.attn.c_proj),
            ("mlp.c_fc", &mut self.mlp.c_fc),
            ("mlp.c_proj", &mut self.mlp.c_proj),
        ]
    }
}

/// How the outputs of `c_attn` are shared out among queries, keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fused {
    /// The queries of all heads, then the keys of all groups of heads, then their values.
    Blocks {
        /// Groups of heads that share keys and values.
        n_groups: usize,
    },
    /// Query, key and value of one head, then those of the next.
    Heads,
}

impl Fused {
    fn n_outputs(self, sizes: &GptSizes) -> usize {
        match self {
            Self::Blocks { n_groups } => sizes.n_embd + 2 * n_groups * sizes.head_dim(),
            Self::Heads => 3 * sizes.n_embd,
        }
    }

    /// Returns queries, keys and values.
    ///
    /// # Shapes
    ///
    /// - `fused`: `[batch * length, outputs]`
    /// - returns: `[batch, heads or groups, length, head_dim]` each
    fn split(self, fused: Tensor<2>, length: usize, n_head: usize) -> [Tensor<4>; 3] {
        match self {
            Self::Blocks { n_groups } => {
                let heads = split_heads(fused, length, n_head + 2 * n_groups);
                let part = |start, n| heads.clone().narrow(1, start, n);
                [part(0, n_head), part(n_head, n_groups), part(n_head + n_groups, n_groups)]
            }
            Self::Heads => {
                let heads = split_heads(fused, length, n_head);
                let head_dim = heads.dims()[3] / 3;
                [0, 1, 2].map(|part| heads.clone().narrow(3, part * head_dim, head_dim))
            }
        }
    }
}

/// Attention with one projection for queries, keys and values.
#[derive(Module, Debug)]
pub struct Gpt2Attention {
    /// Queries, keys and values.
    pub c_attn: Linear,
    /// Output.
    pub c_proj: Linear,
    n_head: usize,
    #[module(skip)]
    fused: Fused,
    scale: f64,
    attn_pdrop: f64,
    resid_pdrop: f64,
}

impl Gpt2Attention {
    fn new(sizes: &GptSizes, kind: BlockKind, device: &Device) -> Self {
        Self {
            c_attn: (kind.linear)(sizes.n_embd, kind.fused.n_outputs(sizes), device),
            c_proj: (kind.linear)(sizes.n_embd, sizes.n_embd, device),
            n_head: sizes.n_head,
            fused: kind.fused,
            scale: kind.scale,
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
        let fused = self.c_attn.forward(hidden, dropout.as_deref_mut());
        let [queries, keys, values] = self.fused.split(fused, pass.length(), self.n_head);
        let (keys, values) = match cached {
            Some(cached) => cached.append(keys, values),
            None => (keys, values),
        };
        let attention_dropout = dropout.as_deref_mut().map(|dropout| (dropout, self.attn_pdrop));
        let attended = attend(queries, keys, values, pass.mask(false), self.scale, attention_dropout);
        let output = self.c_proj.forward(merge_heads(attended), dropout.as_deref_mut());
        drop_out(output, self.resid_pdrop, dropout)
    }
}

/// The feed-forward block.
#[derive(Module, Debug)]
pub struct Gpt2Mlp {
    /// Into the block.
    pub c_fc: Linear,
    /// Output.
    pub c_proj: Linear,
    #[module(skip)]
    activation_function: Activation,
    resid_pdrop: f64,
}

impl Gpt2Mlp {
    fn new(sizes: &GptSizes, kind: BlockKind, device: &Device) -> Self {
        Self {
            c_fc: (kind.linear)(sizes.n_embd, sizes.n_inner, device),
            c_proj: (kind.linear)(sizes.n_inner, sizes.n_embd, device),
            activation_function: sizes.activation_function,
            resid_pdrop: sizes.resid_pdrop,
        }
    }

    fn forward(&self, hidden: Tensor<2>, mut dropout: Option<&mut Dropout>) -> Tensor<2> {
        let inner = self.activation_function.forward(self.c_fc.forward(hidden, dropout.as_deref_mut()));
        let output = self.c_proj.forward(inner, dropout.as_deref_mut());
        drop_out(output, self.resid_pdrop, dropout)
    }
}

#[cfg(test)]
mod tests;
