//! Text to one vector: special tokens, encoder, mean over the tokens, unit length.

mod layout;
mod reading;
mod template;

use std::path::Path;
use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};

use crate::Result;
use crate::attention::{MASKED, Mask};
use crate::bert::{BertConfig, BertModel};
use crate::dropout::Dropout;
use crate::embedding::Embedding;
use crate::linear::Linear;
use crate::roberta::RobertaModel;
use crate::tokenizer::Tokenizer;

pub use layout::EncoderFiles;
pub use reading::AttentionReading;
pub use template::EncoderTemplate;

/// The smallest length that a vector is divided by.
const LENGTH_MIN: f64 = 1e-12;

/// A network that turns a sequence of tokens into hidden states.
#[derive(Module, Debug)]
pub enum EncoderModel {
    /// BERT.
    Bert(BertModel),
    /// RoBERTa and its descendants.
    Roberta(RobertaModel),
}

impl EncoderModel {
    /// Returns the last hidden states; those of padding have no meaning.
    ///
    /// # Shapes
    ///
    /// - `batch`: `[batch, length]`
    /// - returns: `[batch, length, hidden_size]`
    ///
    /// # Panics
    ///
    /// Panics if the batch is longer than the model has positions.
    #[must_use]
    pub fn forward(&self, batch: &TokenBatch, dropout: Option<&mut Dropout>) -> Tensor<3> {
        match self {
            Self::Bert(model) => model.forward(batch, dropout),
            Self::Roberta(model) => model.forward(batch, dropout),
        }
    }

    /// Returns every linear layer under its name in the checkpoint (`encoder.layer.0.attention.self.query`).
    pub fn linears(&mut self) -> Vec<(String, &mut Linear)> {
        match self {
            Self::Bert(model) => model.encoder.linears(),
            Self::Roberta(model) => model.encoder.linears(),
        }
    }

    /// Returns the table of tokens under its name in the checkpoint.
    pub fn token_embedding(&mut self) -> (&'static str, &mut Embedding) {
        let embeddings = match self {
            Self::Bert(model) => &mut model.embeddings,
            Self::Roberta(model) => &mut model.embeddings,
        };
        ("embeddings.word_embeddings", &mut embeddings.word_embeddings)
    }

    /// Returns the number of tokens that there are positions for.
    fn positions(&self, config: &BertConfig) -> usize {
        let before = match self {
            Self::Bert(_) => 0,
            Self::Roberta(_) => config.pad_token_id as usize + 1,
        };
        config.max_position_embeddings.saturating_sub(before)
    }

    /// Returns the device of the weights, with their gradient setting.
    #[must_use]
    pub fn device(&self) -> Device {
        match self {
            Self::Bert(model) => model.embeddings.device(),
            Self::Roberta(model) => model.embeddings.device(),
        }
    }
}

/// An encoder with its tokenizer; cloning is cheap.
#[derive(Debug, Clone)]
pub struct Encoder {
    /// The network.
    pub model: EncoderModel,
    /// The tokenizer.
    pub tokenizer: Arc<Tokenizer>,
    /// The special tokens around a text.
    pub template: EncoderTemplate,
    files: Arc<EncoderFiles>,
}

impl Encoder {
    /// Loads a model directory in the layout of Hugging Face; its `config.json` says which architecture.
    ///
    /// # Errors
    ///
    /// Returns an error if a file is missing or damaged, if the weights do not fit, or if the configuration asks for
    /// something that is not implemented.
    pub fn load(directory: &Path, device: &Device) -> Result<Self> {
        layout::load(directory, device)
    }

    /// Writes the encoder, adapters folded into its weights, as a directory that Python's `sentence-transformers` loads.
    ///
    /// Its vectors are those of [`Self::candidate_tokens`] at the limit of the model, except that
    /// `sentence-transformers` strips the white space around a text.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be written.
    pub fn save(&self, directory: &Path) -> Result<()> {
        layout::save(&self.with_model(self.model.merged()), directory)
    }

    /// Returns this encoder with other weights.
    #[must_use]
    pub fn with_model(&self, model: EncoderModel) -> Self {
        Self { model, ..self.clone() }
    }

    /// Returns this encoder without gradients.
    #[must_use]
    pub fn valid(&self) -> Self {
        self.with_model(self.model.valid())
    }

    /// Returns a copy with a graph of its own, for a worker thread.
    ///
    /// Threads that share parameters share one graph and wait for one another in the backward pass. The copy's
    /// parameters have the same values and identifiers, so that gradients of several copies can be added.
    #[must_use]
    pub fn fork(&self) -> Self {
        let device = self.model.device();
        self.with_model(self.model.clone().fork(&device))
    }

    /// Returns what a token sees of its text.
    #[must_use]
    pub fn attention(&self) -> AttentionReading {
        self.files.config.attention
    }

    /// Returns the number of components of an embedding.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.files.config.hidden_size
    }

    /// Returns the number of tokens.
    #[must_use]
    pub fn vocabulary_size(&self) -> usize {
        self.files.config.vocab_size
    }

    /// Returns the largest number of tokens, special ones included, that the model has positions for.
    #[must_use]
    pub fn tokens_max(&self) -> usize {
        self.model.positions(&self.files.config)
    }

    /// Returns the tokens of a query: special tokens around the last tokens of `text`, `tokens_max` in all.
    #[must_use]
    pub fn query_tokens(&self, text: &str, tokens_max: usize) -> Vec<u32> {
        let room = self.room(tokens_max);
        let tokens = self.tokenizer.encode(text);
        self.template.wrap(&tokens[tokens.len().saturating_sub(room)..])
    }

    /// Returns the tokens of a candidate: special tokens around the first tokens of `text`, `tokens_max` in all.
    #[must_use]
    pub fn candidate_tokens(&self, text: &str, tokens_max: usize) -> Vec<u32> {
        let room = self.room(tokens_max);
        let tokens = self.tokenizer.encode(text);
        self.template.wrap(&tokens[..tokens.len().min(room)])
    }

    fn room(&self, tokens_max: usize) -> usize {
        tokens_max.min(self.tokens_max()).saturating_sub(self.template.len())
    }

    /// Returns the embeddings of sequences that include their special tokens, differentiable if the model is.
    ///
    /// The embedding of a sequence depends on no other sequence in the batch (up to rounding); sequences of similar
    /// length make the least padding.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch, dim]`, L2-normalized
    ///
    /// # Panics
    ///
    /// Panics if there are no sequences, if one is empty, or if one is longer than [`Encoder::tokens_max`].
    #[must_use]
    pub fn embed_batch(&self, sequences: &[Vec<u32>], dropout: Option<&mut Dropout>) -> Tensor<2> {
        let batch = TokenBatch::new(sequences, self.files.config.pad_token_id);
        assert!(batch.length() <= self.tokens_max(), "the model has a position for every token");
        let hidden = self.model.forward(&batch, dropout);
        let [batch_size, _, dim] = hidden.dims();
        let weights = batch.mean_weights(&hidden.device());
        let mean = weights.matmul(hidden).reshape([batch_size, dim]);
        let length = mean.clone().square().sum_dim(1).sqrt().clamp_min(LENGTH_MIN);
        mean / length
    }
}

/// Sequences of tokens, padded on the right to one length.
#[derive(Debug, Clone)]
pub struct TokenBatch {
    tokens: Vec<u32>,
    lengths: Vec<usize>,
    length: usize,
}

impl TokenBatch {
    /// Pads `sequences` with `pad`.
    ///
    /// # Panics
    ///
    /// Panics if there are no sequences or one is empty.
    #[must_use]
    pub fn new(sequences: &[Vec<u32>], pad: u32) -> Self {
        assert!(!sequences.is_empty() && sequences.iter().all(|s| !s.is_empty()), "a batch has tokens in every row");
        let lengths: Vec<usize> = sequences.iter().map(Vec::len).collect();
        let length = lengths.iter().copied().max().unwrap_or(0);
        let padded = |sequence: &Vec<u32>| {
            let padding = std::iter::repeat_n(pad, length - sequence.len());
            sequence.iter().copied().chain(padding).collect::<Vec<u32>>()
        };
        Self { tokens: sequences.iter().flat_map(padded).collect(), lengths, length }
    }

    /// Returns the number of sequences.
    #[must_use]
    pub fn n_sequences(&self) -> usize {
        self.lengths.len()
    }

    /// Returns the number of tokens of the longest sequence.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Iterates over the padded sequences.
    pub fn rows(&self) -> impl Iterator<Item = &[u32]> {
        self.tokens.chunks_exact(self.length)
    }

    /// Returns the tokens, row after row.
    #[must_use]
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Returns which tokens every token sees; what padding sees has no meaning.
    #[must_use]
    pub fn mask(&self, reading: AttentionReading, device: &Device) -> Mask {
        let has_padding = self.lengths.iter().any(|length| *length < self.length);
        match reading {
            // Padding is on the right: it precedes no token.
            AttentionReading::Causal => Mask::Causal,
            AttentionReading::Bidirectional if has_padding => {
                let values = self.per_position(|index, length| if index < length { 0.0 } else { MASKED });
                let shape = [self.n_sequences(), 1, 1, self.length];
                Mask::Bias(Tensor::from_data(TensorData::new(values, shape), device))
            }
            AttentionReading::Bidirectional => Mask::All,
        }
    }

    /// Returns the weights of the mean over the tokens of each sequence: 0 for padding.
    ///
    /// # Shapes
    ///
    /// - returns: `[batch, 1, length]`
    fn mean_weights(&self, device: &Device) -> Tensor<3> {
        let values = self.per_position(|index, length| if index < length { 1.0 / length as f32 } else { 0.0 });
        Tensor::from_data(TensorData::new(values, [self.n_sequences(), 1, self.length]), device)
    }

    fn per_position(&self, value: impl Fn(usize, usize) -> f32) -> Vec<f32> {
        let row = |&length: &usize| (0..self.length).map(|index| value(index, length)).collect::<Vec<f32>>();
        self.lengths.iter().flat_map(row).collect()
    }
}

#[cfg(test)]
mod tests;
