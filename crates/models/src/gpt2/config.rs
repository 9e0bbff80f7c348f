//! The configuration of a GPT-2 checkpoint, and the part of it that later architectures took over.

use serde_json::{Map, Value};

use crate::activation::Activation;
use crate::config::Fields;
use crate::{Error, Result, limits};

/// The sizes and constants that GPT-2, `GPTBigCode` and `CodeGen` share, named as in `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct GptSizes {
    /// Number of tokens.
    pub vocab_size: usize,
    /// Positions that the checkpoint was trained for.
    pub n_positions: usize,
    /// Components of a hidden state.
    pub n_embd: usize,
    /// Number of layers.
    pub n_layer: usize,
    /// Heads of every layer.
    pub n_head: usize,
    /// Components inside the feed-forward block, by default four times as many as outside.
    pub n_inner: usize,
    /// Activation of the feed-forward block.
    pub activation_function: Activation,
    /// The dropout probability of embeddings.
    pub embd_pdrop: f64,
    /// The dropout probability of attention weights.
    pub attn_pdrop: f64,
    /// The dropout probability of what a block adds.
    pub resid_pdrop: f64,
    /// What is added to the variance before its root is taken.
    pub layer_norm_epsilon: f64,
    /// Tokens that end a text.
    pub eos_token_id: Vec<u32>,
}

impl GptSizes {
    /// Reads the shared keys of a `model_type`, with its own defaults for positions and dropout.
    pub(crate) fn read(fields: &mut Fields, model_type: &str, n_positions: usize, dropout: f64) -> Result<Self> {
        let found = fields.model_type()?;
        if found != model_type {
            return Err(fields.error("model_type", format!("`{found}` is not `{model_type}`")));
        }
        refuse_other_computations(fields)?;
        let n_embd = fields.required("n_embd")?;
        let sizes = Self {
            vocab_size: fields.required("vocab_size")?,
            n_positions: fields.or("n_positions", n_positions)?,
            n_embd,
            n_layer: fields.required("n_layer")?,
            n_head: fields.required("n_head")?,
            n_inner: fields.or("n_inner", n_embd.saturating_mul(4))?,
            activation_function: fields.or("activation_function", Activation::GeluNew)?,
            embd_pdrop: fields.dropout("embd_pdrop", dropout)?,
            attn_pdrop: fields.dropout("attn_pdrop", dropout)?,
            resid_pdrop: fields.dropout("resid_pdrop", dropout)?,
            layer_norm_epsilon: fields.or("layer_norm_epsilon", 1e-5)?,
            eos_token_id: fields.eos()?,
        };
        sizes.validate(fields)?;
        Ok(sizes)
    }

    fn validate(&self, fields: &Fields) -> Result<()> {
        let path = fields.path();
        let sizes = [
            ("vocab_size", self.vocab_size),
            ("n_positions", self.n_positions),
            ("n_embd", self.n_embd),
            ("n_head", self.n_head),
            ("n_inner", self.n_inner),
        ];
        limits::check_sizes_and_layers(path, &sizes, ("n_layer", self.n_layer))?;
        if !self.n_embd.is_multiple_of(self.n_head) {
            let message = format!("{} does not divide n_embd, {}", self.n_head, self.n_embd);
            return Err(Error::config(path, "n_head", message));
        }
        limits::check_positive(path, "layer_norm_epsilon", self.layer_norm_epsilon)
    }

    /// Returns the components of a head.
    #[must_use]
    pub fn head_dim(&self) -> usize {
        self.n_embd / self.n_head
    }
}

/// Refuses what no decoder-only network of the family computes, and drops what none of them reads.
fn refuse_other_computations(fields: &mut Fields) -> Result<()> {
    fields.only("add_cross_attention", false)?;
    fields.only("is_encoder_decoder", false)?;
    fields.only("pruned_heads", Map::<String, Value>::new())?;
    fields.without_effect(&[
        "is_decoder",
        "n_ctx",
        "num_labels",
        "reorder_and_upcast_attn",
        "summary_activation",
        "summary_first_dropout",
        "summary_proj_to_labels",
        "summary_type",
        "summary_use_proj",
        "tie_encoder_decoder",
    ]);
    Ok(())
}

/// The sizes and constants of GPT-2, named as in `config.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct Gpt2Config {
    /// What later architectures have too.
    pub sizes: GptSizes,
    /// Whether attention scores are divided by the root of the components of a head.
    pub scale_attn_weights: bool,
    /// Whether the attention scores of the n-th layer are divided by n.
    pub scale_attn_by_inverse_layer_idx: bool,
    /// Whether the head is the transposed token embedding.
    pub tie_word_embeddings: bool,
}

impl Gpt2Config {
    pub(crate) fn read(mut fields: Fields) -> Result<Self> {
        let config = Self {
            sizes: GptSizes::read(&mut fields, "gpt2", 1024, 0.1)?,
            scale_attn_weights: fields.or("scale_attn_weights", true)?,
            scale_attn_by_inverse_layer_idx: fields.or("scale_attn_by_inverse_layer_idx", false)?,
            tie_word_embeddings: fields.or("tie_word_embeddings", true)?,
        };
        fields.finish()?;
        Ok(config)
    }

    /// Returns what the attention scores of a layer are multiplied by.
    pub(crate) fn attention_scale(&self, layer: usize) -> f64 {
        let root = if self.scale_attn_weights { (self.sizes.head_dim() as f64).sqrt() } else { 1.0 };
        let depth = if self.scale_attn_by_inverse_layer_idx { layer as f64 + 1.0 } else { 1.0 };
        (root * depth).recip()
    }
}
