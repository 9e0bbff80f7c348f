//! The BERT encoder: attention to the whole text, learned positions, normalization after each block.
//!
//! # References
//!
//! Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding", 2019. Fields are
//! named as in the checkpoints of Hugging Face `transformers`, except where Rust forbids it ([`NAMES`]).

use std::path::Path;

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};

use crate::activation::Activation;
use crate::attention::{Mask, attend, merge_heads, split_heads};
use crate::config::Fields;
use crate::dropout::{Dropout, drop_out};
use crate::embedding::Embedding;
use crate::encoder::{AttentionReading, TokenBatch};
use crate::kernels::{self, Residual};
use crate::linear::Linear;
use crate::norm::LayerNorm;
use crate::weights::Names;
use crate::{Error, Result, limits};

/// The names of the parameters in a checkpoint.
pub const NAMES: Names = Names { prefix: String::new(), rename, is_unused };

/// The configuration of a BERT or RoBERTa encoder, from `config.json`.
#[derive(Debug, Clone)]
pub struct BertConfig {
    /// The number of tokens in the vocabulary.
    pub vocab_size: usize,
    /// The width of the hidden states.
    pub hidden_size: usize,
    /// The number of layers.
    pub num_hidden_layers: usize,
    /// The number of attention heads.
    pub num_attention_heads: usize,
    /// The width of the feed-forward layers.
    pub intermediate_size: usize,
    /// The activation of the feed-forward layers.
    pub hidden_act: Activation,
    /// The dropout probability of the embeddings and of each block's output.
    pub hidden_dropout_prob: f64,
    /// The dropout probability of the attention weights.
    pub attention_probs_dropout_prob: f64,
    /// The number of learned positions.
    pub max_position_embeddings: usize,
    /// The number of token types; the encoder uses the first.
    pub type_vocab_size: usize,
    /// The epsilon of every normalization.
    pub layer_norm_eps: f64,
    /// The padding token.
    pub pad_token_id: u32,
    /// What a token sees of its text: `is_decoder`.
    pub attention: AttentionReading,
}

impl BertConfig {
    pub(crate) fn read(mut fields: Fields) -> Result<Self> {
        let config = Self {
            vocab_size: fields.required("vocab_size")?,
            hidden_size: fields.required("hidden_size")?,
            num_hidden_layers: fields.required("num_hidden_layers")?,
            num_attention_heads: fields.required("num_attention_heads")?,
            intermediate_size: fields.required("intermediate_size")?,
            hidden_act: fields.required("hidden_act")?,
            hidden_dropout_prob: fields.dropout("hidden_dropout_prob", 0.1)?,
            attention_probs_dropout_prob: fields.dropout("attention_probs_dropout_prob", 0.1)?,
            max_position_embeddings: fields.required("max_position_embeddings")?,
            type_vocab_size: fields.required("type_vocab_size")?,
            layer_norm_eps: fields.or("layer_norm_eps", 1e-12)?,
            pad_token_id: fields.or("pad_token_id", 0)?,
            attention: AttentionReading::from_is_decoder(fields.or("is_decoder", false)?),
        };
        fields.only("position_embedding_type", "absolute".to_owned())?;
        fields.only("add_cross_attention", false)?;
        config.validate(fields.path())?;
        fields.finish()?;
        Ok(config)
    }

    /// Checks that the values fit together.
    pub(crate) fn validate(&self, path: &Path) -> Result<()> {
        let refuse = |key, message| Err(Error::config(path, key, message));
        let sizes = [
            ("vocab_size", self.vocab_size),
            ("hidden_size", self.hidden_size),
            ("num_attention_heads", self.num_attention_heads),
            ("intermediate_size", self.intermediate_size),
            ("max_position_embeddings", self.max_position_embeddings),
            ("type_vocab_size", self.type_vocab_size),
        ];
        limits::check_sizes(path, &sizes, self.num_hidden_layers)?;
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            return refuse("num_attention_heads", format!("does not divide hidden_size {}", self.hidden_size));
        }
        if self.pad_token_id as usize >= self.vocab_size {
            let message = format!("{} is not below vocab_size {}", self.pad_token_id, self.vocab_size);
            return refuse("pad_token_id", message);
        }
        limits::check_positive(path, "layer_norm_eps", self.layer_norm_eps)
    }

    /// Creates the encoder, whose weights are yet to be loaded.
    #[must_use]
    pub fn init(&self, device: &Device) -> BertModel {
        BertModel { embeddings: self.init_embeddings(device), encoder: self.init_encoder(device) }
    }

    /// Creates the embeddings, whose weights are yet to be loaded.
    pub(crate) fn init_embeddings(&self, device: &Device) -> BertEmbeddings {
        let embedding = |n| Embedding::new(n, self.hidden_size, device);
        BertEmbeddings {
            word_embeddings: embedding(self.vocab_size),
            position_embeddings: embedding(self.max_position_embeddings),
            token_type_embeddings: embedding(self.type_vocab_size),
            layer_norm: self.layer_norm(device),
            hidden_dropout_prob: self.hidden_dropout_prob,
        }
    }

    /// Creates the layers, whose weights are yet to be loaded.
    pub(crate) fn init_encoder(&self, device: &Device) -> BertEncoder {
        let layer = (0..self.num_hidden_layers).map(|_| self.init_layer(device)).collect();
        BertEncoder { layer, attention: self.attention }
    }

    fn init_layer(&self, device: &Device) -> BertLayer {
        let linear = |input, output| Linear::new(input, output, true, device);
        let output = |input| BertOutput {
            dense: linear(input, self.hidden_size),
            layer_norm: self.layer_norm(device),
            hidden_dropout_prob: self.hidden_dropout_prob,
        };
        BertLayer {
            attention: BertAttention {
                self_attention: BertSelfAttention {
                    query: linear(self.hidden_size, self.hidden_size),
                    key: linear(self.hidden_size, self.hidden_size),
                    value: linear(self.hidden_size, self.hidden_size),
                    num_attention_heads: self.num_attention_heads,
                    attention_probs_dropout_prob: self.attention_probs_dropout_prob,
                },
                output: output(self.hidden_size),
            },
            intermediate: BertIntermediate {
                dense: linear(self.hidden_size, self.intermediate_size),
                hidden_act: self.hidden_act,
            },
            output: output(self.intermediate_size),
        }
    }

    fn layer_norm(&self, device: &Device) -> LayerNorm {
        LayerNorm::new(self.hidden_size, self.layer_norm_eps, device)
    }
}

/// The BERT encoder without its pooler.
#[derive(Module, Debug)]
pub struct BertModel {
    /// Tokens, positions and token types to vectors.
    pub embeddings: BertEmbeddings,
    /// The layers.
    pub encoder: BertEncoder,
}

impl BertModel {
    /// Returns the last hidden states; those of padding have no meaning.
    ///
    /// # Shapes
    ///
    /// - `batch`: `[batch, length]`
    /// - returns: `[batch, length, hidden_size]`
    ///
    /// # Panics
    ///
    /// Panics if the batch is longer than `max_position_embeddings`.
    #[must_use]
    pub fn forward(&self, batch: &TokenBatch, mut dropout: Option<&mut Dropout>) -> Tensor<3> {
        let positions: Vec<u32> = (0..batch.length() as u32).collect();
        let hidden = self.embeddings.forward(batch, &positions, dropout.as_deref_mut());
        self.encoder.forward(hidden, batch, dropout)
    }
}

/// Tokens, positions and token types to vectors.
#[derive(Module, Debug)]
pub struct BertEmbeddings {
    /// One vector per token.
    pub word_embeddings: Embedding,
    /// One vector per position.
    pub position_embeddings: Embedding,
    /// One vector per token type.
    pub token_type_embeddings: Embedding,
    /// The normalization of their sum.
    pub layer_norm: LayerNorm,
    hidden_dropout_prob: f64,
}

impl BertEmbeddings {
    /// Returns the embeddings of tokens of the first type.
    ///
    /// `positions` are those of every token, or of one row that stands for all.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch * length, hidden_size]`
    pub(crate) fn forward(&self, batch: &TokenBatch, positions: &[u32], dropout: Option<&mut Dropout>) -> Tensor<2> {
        let words = self.word_embeddings.forward(batch.tokens());
        let first_type = self.token_type_embeddings.weight.val().narrow(0, 0, 1);
        let positions = self.position_embeddings.forward(positions) + first_type;
        let [n_tokens, width] = words.dims();
        let [n_positions, _width] = positions.dims();
        let words = words.reshape([n_tokens / n_positions, n_positions, width]) + positions.unsqueeze();
        let hidden = self.layer_norm.forward(words.reshape([n_tokens, width]));
        drop_out(hidden, self.hidden_dropout_prob, dropout)
    }

    /// Returns the device of the weights, with their gradient setting.
    pub(crate) fn device(&self) -> Device {
        self.word_embeddings.weight.lazy_device()
    }
}

/// The layers of the encoder.
#[derive(Module, Debug)]
pub struct BertEncoder {
    /// The layers, first to last.
    pub layer: Vec<BertLayer>,
    #[module(skip)]
    attention: AttentionReading,
}

impl BertEncoder {
    /// Returns every linear layer under its name in the checkpoint (`encoder.layer.0.attention.self.query`).
    pub(crate) fn linears(&mut self) -> Vec<(String, &mut Linear)> {
        let mut linears = Vec::new();
        for (index, layer) in self.layer.iter_mut().enumerate() {
            linears.extend(layer.linears().map(|(name, linear)| (format!("encoder.layer.{index}.{name}"), linear)));
        }
        linears
    }

    /// Applies every layer.
    ///
    /// # Shapes
    ///
    /// - `hidden`: `[batch * length, hidden_size]`
    /// - returns: `[batch, length, hidden_size]`
    pub(crate) fn forward(
        &self,
        mut hidden: Tensor<2>,
        batch: &TokenBatch,
        mut dropout: Option<&mut Dropout>,
    ) -> Tensor<3> {
        let mask = batch.mask(self.attention, &hidden.device());
        for layer in &self.layer {
            hidden = layer.forward(hidden, batch.length(), &mask, dropout.as_deref_mut());
        }
        let [rows, width] = hidden.dims();
        hidden.reshape([rows / batch.length(), batch.length(), width])
    }
}

/// One layer: attention, then a feed-forward network.
#[derive(Module, Debug)]
pub struct BertLayer {
    /// The attention block.
    pub attention: BertAttention,
    /// The first half of the feed-forward network.
    pub intermediate: BertIntermediate,
    /// The second half of the feed-forward network.
    pub output: BertOutput,
}

impl BertLayer {
    fn linears(&mut self) -> [(&'static str, &mut Linear); 6] {
        let Self { attention, intermediate, output } = self;
        let BertSelfAttention { query, key, value, .. } = &mut attention.self_attention;
        [
            ("attention.self.query", query),
            ("attention.self.key", key),
            ("attention.self.value", value),
            ("attention.output.dense", &mut attention.output.dense),
            ("intermediate.dense", &mut intermediate.dense),
            ("output.dense", &mut output.dense),
        ]
    }

    /// Returns the hidden states after this layer.
    ///
    /// # Shapes
    ///
    /// - `hidden`, returns: `[batch * length, hidden_size]`
    fn forward(&self, hidden: Tensor<2>, length: usize, mask: &Mask, mut dropout: Option<&mut Dropout>) -> Tensor<2> {
        let attention = &self.attention.self_attention;
        let context = attention.forward(&hidden, length, mask, dropout.as_deref_mut());
        let hidden = self.attention.output.forward(context, hidden, dropout.as_deref_mut());
        let intermediate = self.intermediate.forward(hidden.clone(), dropout.as_deref_mut());
        self.output.forward(intermediate, hidden, dropout)
    }
}

/// The attention block of a layer.
#[derive(Module, Debug)]
pub struct BertAttention {
    /// The attention, `self` in the checkpoint.
    pub self_attention: BertSelfAttention,
    /// The projection of the attention's result.
    pub output: BertOutput,
}

/// Attention over the sequence itself.
#[derive(Module, Debug)]
pub struct BertSelfAttention {
    /// The projection to queries.
    pub query: Linear,
    /// The projection to keys.
    pub key: Linear,
    /// The projection to values.
    pub value: Linear,
    num_attention_heads: usize,
    attention_probs_dropout_prob: f64,
}

impl BertSelfAttention {
    fn forward(&self, hidden: &Tensor<2>, length: usize, mask: &Mask, mut dropout: Option<&mut Dropout>) -> Tensor<2> {
        let mut project = |layer: &Linear| {
            let projected = layer.forward(hidden.clone(), dropout.as_deref_mut());
            split_heads(projected, length, self.num_attention_heads)
        };
        let [query, key, value] = [&self.query, &self.key, &self.value].map(&mut project);
        let scale = (query.dims()[3] as f64).sqrt().recip();
        let dropout = dropout.map(|dropout| (dropout, self.attention_probs_dropout_prob));
        merge_heads(attend(query, key, value, mask, scale, dropout))
    }
}

/// The first half of a feed-forward network.
#[derive(Module, Debug)]
pub struct BertIntermediate {
    /// The projection to `intermediate_size`.
    pub dense: Linear,
    #[module(skip)]
    hidden_act: Activation,
}

impl BertIntermediate {
    fn forward(&self, hidden: Tensor<2>, dropout: Option<&mut Dropout>) -> Tensor<2> {
        let bias = self.dense.bias.as_ref().map(Param::val);
        kernels::activate(self.dense.forward_without_bias(hidden, dropout), bias, self.hidden_act)
    }
}

/// A projection, its residual connection and their normalization.
#[derive(Module, Debug)]
pub struct BertOutput {
    /// The projection to `hidden_size`.
    pub dense: Linear,
    /// The normalization of the sum.
    pub layer_norm: LayerNorm,
    hidden_dropout_prob: f64,
}

impl BertOutput {
    fn forward(&self, hidden: Tensor<2>, residual: Tensor<2>, mut dropout: Option<&mut Dropout>) -> Tensor<2> {
        let block = Residual {
            hidden: self.dense.forward_without_bias(hidden, dropout.as_deref_mut()),
            bias: self.dense.bias.as_ref().map(Param::val),
            residual,
            dropout: dropout.and_then(|dropout| dropout.mask(self.hidden_dropout_prob)),
        };
        self.layer_norm.forward_residual(block)
    }
}

fn rename(path: &str) -> String {
    path.replace("layer_norm", "LayerNorm").replace("self_attention", "self")
}

/// Tells whether a tensor is a buffer or belongs to a head that encoding does not use.
fn is_unused(name: &str) -> bool {
    let name = name.strip_prefix("bert.").or_else(|| name.strip_prefix("roberta.")).unwrap_or(name);
    let heads = ["pooler.", "cls.", "lm_head.", "classifier."];
    heads.iter().any(|head| name.starts_with(head))
        || matches!(name, "embeddings.position_ids" | "embeddings.token_type_ids")
}
