//! The BERT encoder: bidirectional attention, learned positions, normalization after each block.
//!
//! # References
//!
//! Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding", 2019. Fields are
//! named as in the checkpoints of Hugging Face `transformers`, except where Rust forbids it ([`NAMES`]).

use std::path::Path;

use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor, TensorData};
use serde::Deserialize;

use crate::dropout::Dropout;
use crate::encoder::TokenBatch;
use crate::kernels::{self, AttentionRule, Curve, Mask, Residual};
use crate::weights::Names;
use crate::{Error, Result, limits};

/// What is added to the attention scores of padding; its exponential is 0.
pub(crate) const MASKED: f32 = -1e9;

/// The names of the parameters in a checkpoint.
pub const NAMES: Names = Names { prefix: String::new(), rename, is_unused };

/// The configuration of a BERT or RoBERTa encoder, from `config.json`.
#[derive(Debug, Clone, Deserialize)]
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
    #[serde(default)]
    pub pad_token_id: u32,
    #[serde(default)]
    position_embedding_type: Option<String>,
    #[serde(default)]
    is_decoder: bool,
    #[serde(default)]
    add_cross_attention: bool,
    #[serde(default)]
    quantization_config: Option<serde_json::Value>,
}

/// The activation of a feed-forward layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Activation {
    /// The exact GELU, `x * (1 + erf(x / sqrt(2))) / 2`.
    Gelu,
    /// The GELU approximated by a hyperbolic tangent.
    GeluNew,
    /// `max(x, 0)`.
    Relu,
}

impl Activation {
    fn curve(self) -> Curve {
        match self {
            Self::Gelu => Curve::Gelu,
            Self::GeluNew => Curve::GeluTanh,
            Self::Relu => Curve::Relu,
        }
    }
}

impl TryFrom<String> for Activation {
    type Error = String;

    fn try_from(name: String) -> std::result::Result<Self, String> {
        match name.as_str() {
            "gelu" => Ok(Self::Gelu),
            "gelu_new" | "gelu_pytorch_tanh" => Ok(Self::GeluNew),
            "relu" => Ok(Self::Relu),
            _ => Err(format!("hidden_act: `{name}` is not implemented: expected gelu, gelu_new or relu")),
        }
    }
}

impl BertConfig {
    /// Checks that the configuration asks for nothing that is not implemented, and that its values fit together.
    ///
    /// # Errors
    ///
    /// Returns an error that names the first key in the way; `path` is the file it names.
    pub fn validate(&self, path: &Path) -> Result<()> {
        let refuse = |key, message| Err(Error::config(path, key, message));
        let positions = self.position_embedding_type.as_deref().unwrap_or("absolute");
        if positions != "absolute" {
            return refuse("position_embedding_type", format!("`{positions}` is not implemented, only `absolute`"));
        }
        if self.is_decoder || self.add_cross_attention {
            return refuse("is_decoder", "a decoder is not an encoder".to_owned());
        }
        if self.quantization_config.is_some() {
            return refuse("quantization_config", "quantized weights are not implemented".to_owned());
        }
        self.validate_values(path)
    }

    fn validate_values(&self, path: &Path) -> Result<()> {
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
        limits::check_positive(path, "layer_norm_eps", self.layer_norm_eps)?;
        let probabilities = [
            ("hidden_dropout_prob", self.hidden_dropout_prob),
            ("attention_probs_dropout_prob", self.attention_probs_dropout_prob),
        ];
        for (key, probability) in probabilities {
            if !(0.0..1.0).contains(&probability) {
                return refuse(key, format!("{probability} is not at least 0 and below 1"));
            }
        }
        Ok(())
    }

    /// Creates the encoder with random weights.
    #[must_use]
    pub fn init(&self, device: &Device) -> BertModel {
        BertModel { embeddings: self.init_embeddings(device), encoder: self.init_encoder(device) }
    }

    /// Creates the embeddings with random weights.
    pub(crate) fn init_embeddings(&self, device: &Device) -> BertEmbeddings {
        let embedding = |n| EmbeddingConfig::new(n, self.hidden_size).init(device);
        BertEmbeddings {
            word_embeddings: embedding(self.vocab_size),
            position_embeddings: embedding(self.max_position_embeddings),
            token_type_embeddings: embedding(self.type_vocab_size),
            layer_norm: self.layer_norm(device),
            layer_norm_eps: self.layer_norm_eps,
            hidden_dropout_prob: self.hidden_dropout_prob,
        }
    }

    /// Creates the layers with random weights.
    pub(crate) fn init_encoder(&self, device: &Device) -> BertEncoder {
        BertEncoder { layer: (0..self.num_hidden_layers).map(|_| self.init_layer(device)).collect() }
    }

    fn init_layer(&self, device: &Device) -> BertLayer {
        let linear = |input, output| LinearConfig::new(input, output).init(device);
        let output = |input| BertOutput {
            dense: linear(input, self.hidden_size),
            layer_norm: self.layer_norm(device),
            layer_norm_eps: self.layer_norm_eps,
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
        LayerNormConfig::new(self.hidden_size).with_epsilon(self.layer_norm_eps).init(device)
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
        let device = self.embeddings.device();
        let positions: Vec<u32> = (0..batch.length() as u32).collect();
        let positions = int_tensor(positions, [1, batch.length()], &device);
        let hidden = self.embeddings.forward(batch.tokens(&device), positions, dropout.as_deref_mut());
        self.encoder.forward(hidden, batch.key_bias(MASKED, &device).as_ref(), dropout)
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
    layer_norm_eps: f64,
    hidden_dropout_prob: f64,
}

impl BertEmbeddings {
    /// Returns the embeddings of tokens of the first type.
    ///
    /// # Shapes
    ///
    /// - `tokens`: `[batch, length]`
    /// - `positions`: `[batch, length]` or `[1, length]`
    /// - returns: `[batch, length, hidden_size]`
    pub(crate) fn forward(
        &self,
        tokens: Tensor<2, Int>,
        positions: Tensor<2, Int>,
        dropout: Option<&mut Dropout>,
    ) -> Tensor<3> {
        let first_type = self.token_type_embeddings.weight.val().narrow(0, 0, 1).unsqueeze::<3>();
        let positions = self.position_embeddings.forward(positions) + first_type;
        let [weight, bias] = parameters(&self.layer_norm);
        let hidden = self.word_embeddings.forward(tokens) + positions;
        let hidden = kernels::layer_norm(hidden, weight, bias, self.layer_norm_eps);
        match mask(dropout, self.hidden_dropout_prob) {
            Some(mask) => kernels::drop_out(hidden, mask),
            None => hidden,
        }
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
}

impl BertEncoder {
    /// Applies every layer.
    ///
    /// # Shapes
    ///
    /// - `hidden`, returns: `[batch, length, hidden_size]`
    /// - `key_bias`: `[batch, 1, 1, length]`, what is added to the scores of each key
    pub(crate) fn forward(
        &self,
        hidden: Tensor<3>,
        key_bias: Option<&Tensor<4>>,
        mut dropout: Option<&mut Dropout>,
    ) -> Tensor<3> {
        let shape = hidden.dims();
        let [batch, length, hidden_size] = shape;
        let mut hidden = hidden.reshape([batch * length, hidden_size]);
        for layer in &self.layer {
            hidden = layer.forward(hidden, length, key_bias, dropout.as_deref_mut());
        }
        hidden.reshape(shape)
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
    /// Applies the layer to sequences of one `length`, one after the other.
    ///
    /// # Shapes
    ///
    /// - `hidden`, returns: `[batch * length, hidden_size]`
    /// - `key_bias`: `[batch, 1, 1, length]`
    fn forward(
        &self,
        hidden: Tensor<2>,
        length: usize,
        key_bias: Option<&Tensor<4>>,
        mut dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        let context = self.attention.self_attention.forward(&hidden, length, key_bias, dropout.as_deref_mut());
        let hidden = self.attention.output.forward(context, hidden, dropout.as_deref_mut());
        let intermediate = self.intermediate.forward(hidden.clone());
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

/// Bidirectional attention over the sequence itself.
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
    /// Returns the values weighted by attention, heads joined.
    ///
    /// # Shapes
    ///
    /// - `hidden`, returns: `[batch * length, hidden_size]`
    /// - `key_bias`: `[batch, 1, 1, length]`
    fn forward(
        &self,
        hidden: &Tensor<2>,
        length: usize,
        key_bias: Option<&Tensor<4>>,
        dropout: Option<&mut Dropout>,
    ) -> Tensor<2> {
        let [rows, hidden_size] = hidden.dims();
        let n_heads = self.num_attention_heads;
        let head_size = hidden_size / n_heads;
        let [query, key, value] = [&self.query, &self.key, &self.value].map(|linear| {
            let states = match &linear.bias {
                Some(bias) => kernels::add_bias(hidden.clone().matmul(linear.weight.val()), bias.val()),
                None => hidden.clone().matmul(linear.weight.val()),
            };
            states.reshape([rows / length, length, n_heads, head_size]).swap_dims(1, 2)
        });
        let rule = AttentionRule {
            scale: (head_size as f32).sqrt().recip(),
            causal: false,
            window: None,
            bias: key_bias.cloned(),
            dropout: mask(dropout, self.attention_probs_dropout_prob),
        };
        kernels::attention(query, key, value, rule).swap_dims(1, 2).reshape([rows, hidden_size])
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
    fn forward(&self, hidden: Tensor<2>) -> Tensor<2> {
        let bias = self.dense.bias.as_ref().map(|bias| bias.val());
        kernels::activate(hidden.matmul(self.dense.weight.val()), bias, self.hidden_act.curve())
    }
}

/// A projection, its residual connection and their normalization.
#[derive(Module, Debug)]
pub struct BertOutput {
    /// The projection to `hidden_size`.
    pub dense: Linear,
    /// The normalization of the sum.
    pub layer_norm: LayerNorm,
    layer_norm_eps: f64,
    hidden_dropout_prob: f64,
}

impl BertOutput {
    fn forward(&self, hidden: Tensor<2>, residual: Tensor<2>, dropout: Option<&mut Dropout>) -> Tensor<2> {
        let block = Residual {
            hidden: hidden.matmul(self.dense.weight.val()),
            bias: self.dense.bias.as_ref().map(|bias| bias.val()),
            residual,
            dropout: mask(dropout, self.hidden_dropout_prob),
        };
        let [weight, bias] = parameters(&self.layer_norm);
        kernels::residual_layer_norm(block, weight, bias, self.layer_norm_eps)
    }
}

/// Returns an integer tensor of `values`.
pub(crate) fn int_tensor(values: Vec<u32>, shape: [usize; 2], device: &Device) -> Tensor<2, Int> {
    let values: Vec<i64> = values.into_iter().map(i64::from).collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn mask(dropout: Option<&mut Dropout>, probability: f64) -> Option<Mask> {
    dropout.and_then(|dropout| dropout.mask(probability))
}

/// Returns the weight and the bias.
fn parameters(layer_norm: &LayerNorm) -> [Tensor<1>; 2] {
    let weight = layer_norm.gamma.val();
    let bias = layer_norm.beta.as_ref().map_or_else(|| weight.zeros_like(), |bias| bias.val());
    [weight, bias]
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
