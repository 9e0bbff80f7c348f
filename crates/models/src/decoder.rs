//! A decoder with its tokenizer: next-token logits, and the NLL of a target after a prompt.

use std::path::Path;

use burn::tensor::{Device, Int, Tensor};
use rand_chacha::ChaCha8Rng;

pub(crate) mod load;
mod logits;
mod loss;
pub(crate) mod network;
mod recompute;

use loss::Counted;
pub use loss::CountedSequence;
pub use network::{DecoderModel, Network, NetworkShape};

use crate::Result;
use crate::adapter::AdapterConfig;
use crate::cache::Cache;
use crate::dropout::Dropout;
use crate::export::DecoderFiles;
use crate::kernels;
use crate::linear::Precision;
use crate::pass::{Padding, Rows};
use crate::tokenizer::Tokenizer;

/// Rows of logits held at once: at a vocabulary of 50,000, 64 rows are 13 MB.
const LOGIT_ROWS_MAX: usize = 64;

/// Predicts the next token from those before it.
pub trait LanguageModel {
    /// What the model keeps of the tokens it has read.
    type Cache: Clone;

    /// Returns the number of tokens.
    fn vocabulary_size(&self) -> usize;

    /// Returns the cache of a model that has read nothing.
    fn new_cache(&self) -> Self::Cache;

    /// Reads `tokens` after what the cache holds and returns the logits of the token that follows the last.
    ///
    /// An encoder-decoder reads its source text first; the logits are those of the first target token then.
    ///
    /// # Panics
    ///
    /// Panics if `tokens` is empty, holds a token outside the vocabulary, or exceeds the context.
    fn feed(&self, cache: &mut Self::Cache, tokens: &[u32]) -> Vec<f32>;

    /// Returns the NLL of every token of `target` in nats, after what the cache holds.
    ///
    /// `last_logits` is what [`Self::feed`] returned for the last token in the cache.
    ///
    /// # Panics
    ///
    /// Panics if `target` holds a token outside the vocabulary or exceeds the context.
    fn score_from(&self, cache: &Self::Cache, last_logits: &[f32], target: &[u32]) -> Vec<f32> {
        let mut cache = cache.clone();
        let mut logits = last_logits.to_vec();
        let score = |(position, &token): (usize, &u32)| {
            if position > 0 {
                logits = self.feed(&mut cache, &target[position - 1..position]);
            }
            nll(&logits, token)
        };
        target.iter().enumerate().map(score).collect()
    }

    /// Returns the tokens that end a text.
    fn eos(&self) -> Vec<u32>;

    /// Returns the number of tokens that the model can read; an encoder-decoder, as many of source and of target.
    fn context_tokens_max(&self) -> usize;

    /// Returns the number of tokens that can be written after a prompt of the given length.
    fn new_tokens_max(&self, prompt_tokens: usize) -> usize {
        self.context_tokens_max().saturating_sub(prompt_tokens)
    }
}

/// Predicts the next tokens of several texts at once.
pub trait BatchedLanguageModel: LanguageModel {
    /// Reads each of `rows` after its row of the cache, and returns the logits of the token that follows each.
    ///
    /// What a row gives depends neither on the other rows nor on the side of the padding.
    ///
    /// # Panics
    ///
    /// Panics if a row is empty, holds a token outside the vocabulary or exceeds the context, or if the cache holds
    /// another number of rows.
    fn feed_rows(&self, cache: &mut Self::Cache, rows: &[Vec<u32>], padding: Padding) -> Vec<Vec<f32>>;

    /// Returns a cache of the given rows, in the given order; a row may be taken several times.
    ///
    /// # Panics
    ///
    /// Panics if a row does not exist.
    fn select_rows(&self, cache: &Self::Cache, rows: &[usize]) -> Self::Cache;
}

/// A target and the prompt before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoredSequence {
    /// Tokens before the target, at least one.
    pub prompt: Vec<u32>,
    /// Tokens whose NLL is asked for.
    pub target: Vec<u32>,
}

impl ScoredSequence {
    /// Returns the number of tokens that the model reads: all but the last of the target.
    #[must_use]
    pub fn read_tokens(&self) -> usize {
        (self.prompt.len() + self.target.len()).saturating_sub(1)
    }
}

/// A decoder with its tokenizer.
#[derive(Debug)]
pub struct Decoder {
    model: DecoderModel,
    tokenizer: Option<Tokenizer>,
    shape: NetworkShape,
    eos: Vec<u32>,
    device: Device,
    files: DecoderFiles,
    /// Tokens added since loading.
    pub(crate) added: Vec<u32>,
    /// The model before an adapter was folded into it.
    pub(crate) unmerged: Option<DecoderModel>,
}

impl Decoder {
    /// Loads a model from a directory in the layout of Hugging Face or from a GGUF file.
    ///
    /// # Errors
    ///
    /// Returns an error if a file is missing, damaged, or asks for a computation that is not implemented.
    pub fn load(path: &Path, device: &Device) -> Result<Self> {
        Self::load_as(path, device, Precision::F32)
    }

    /// Loads a model as [`Self::load`] does, its matrices kept and multiplied in `precision`.
    ///
    /// Norms, softmax, losses and adapters stay in `f32`; matrices in another type cannot be trained themselves.
    ///
    /// # Errors
    ///
    /// Returns an error as [`Self::load`] does.
    pub fn load_as(path: &Path, device: &Device, precision: Precision) -> Result<Self> {
        let (model, tokenizer, files) = load::load(path, device, precision)?;
        Ok(Self::new(model, tokenizer).with_files(files))
    }

    /// Loads a model for work on tokens alone: the directory may lack `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// As [`Self::load`], except for a tokenizer that is not there.
    pub fn load_for_tokens(path: &Path, device: &Device) -> Result<Self> {
        if !path.is_dir() || path.join("tokenizer.json").exists() {
            return Self::load(path, device);
        }
        let (model, files) = load::load_directory(path, device, Precision::F32)?;
        Ok(Self::with(model, None).with_files(files))
    }

    /// Puts a network and its tokenizer together.
    #[must_use]
    pub fn new(model: DecoderModel, tokenizer: Tokenizer) -> Self {
        Self::with(model, Some(tokenizer))
    }

    fn with(model: DecoderModel, tokenizer: Option<Tokenizer>) -> Self {
        let shape = model.network().shape();
        let eos = ends(&shape, tokenizer.as_ref());
        let device = model.device();
        let files = DecoderFiles::default();
        Self { model, tokenizer, shape, eos, device, files, added: Vec::new(), unmerged: None }
    }

    /// Returns this decoder with what its directory holds beside weights and tokenizer.
    #[must_use]
    pub fn with_files(self, files: DecoderFiles) -> Self {
        Self { files, ..self }
    }

    /// Returns what the directory of the model holds beside weights and tokenizer.
    #[must_use]
    pub fn files(&self) -> &DecoderFiles {
        &self.files
    }

    /// Puts another network, such as one that was trained, in place of this one's, which is returned.
    ///
    /// What was merged before can no longer be unmerged.
    pub fn replace_model(&mut self, model: DecoderModel) -> DecoderModel {
        self.unmerged = None;
        self.shape = model.network().shape();
        self.device = model.device();
        std::mem::replace(&mut self.model, model)
    }

    pub(crate) fn replace_tokenizer(&mut self, tokenizer: Tokenizer) {
        self.tokenizer = Some(tokenizer);
    }

    /// Returns the tokenizer.
    ///
    /// # Panics
    ///
    /// Panics if [`Self::load_for_tokens`] found none.
    #[must_use]
    pub fn tokenizer(&self) -> &Tokenizer {
        self.tokenizer.as_ref().expect("a decoder that reads text has a tokenizer")
    }

    /// Returns the tokenizer, if the model came with one.
    #[must_use]
    pub fn tokenizer_if_any(&self) -> Option<&Tokenizer> {
        self.tokenizer.as_ref()
    }

    /// Returns the network.
    #[must_use]
    pub fn model(&self) -> &DecoderModel {
        &self.model
    }

    /// Freezes the model and attaches what `config` describes; see [`DecoderModel::adapt`].
    ///
    /// # Errors
    ///
    /// Returns an error as [`DecoderModel::adapt`] does.
    pub fn adapt(&mut self, config: &AdapterConfig, stream: &mut ChaCha8Rng) -> Result<()> {
        self.model.adapt(config, stream)?;
        self.unmerged = None;
        Ok(())
    }

    /// Returns the NLL of every target token in nats; the sequences are computed as one batch.
    ///
    /// Only the positions before target tokens pass through the head. Sequences are padded to the longest, so that a
    /// batch of similar lengths wastes least.
    ///
    /// # Panics
    ///
    /// Panics if a prompt is empty, a token is outside the vocabulary, or a sequence exceeds the context.
    #[must_use]
    pub fn target_nll(&self, sequences: &[ScoredSequence]) -> Vec<Vec<f32>> {
        if sequences.iter().all(|sequence| sequence.target.is_empty()) {
            return vec![Vec::new(); sequences.len()];
        }
        let counted = self.counted(sequences);
        let nlls = self.nll_at(&self.model.hidden_of(&counted, None), &counted.indices, &counted.targets);
        split(&nlls, sequences.iter().map(|sequence| sequence.target.len()))
    }

    /// Returns the hidden states of all that is read of `sequences`, and which of them come before target tokens.
    ///
    /// The prompt of an encoder-decoder is its source text.
    ///
    /// # Shapes
    ///
    /// - returns: `[rows, hidden]`, as [`DecoderModel::logits`] takes them, and as many indices as target tokens
    ///
    /// # Panics
    ///
    /// Panics if a prompt is empty, a token is outside the vocabulary, or a sequence exceeds the context.
    #[must_use]
    pub fn hidden_before_targets(
        &self,
        sequences: &[ScoredSequence],
        dropout: Option<&mut Dropout>,
    ) -> (Tensor<2>, Vec<u32>) {
        let counted = self.counted(sequences);
        (self.model.hidden_of(&counted, dropout), counted.indices)
    }

    fn counted(&self, sequences: &[ScoredSequence]) -> Counted {
        assert!(sequences.iter().all(|sequence| !sequence.prompt.is_empty()), "a prompt holds at least one token");
        let sequences: Vec<CountedSequence> = sequences.iter().map(CountedSequence::from).collect();
        let counted = Counted::new(&sequences, self.model.network().start_token());
        self.check_counted(&counted);
        counted
    }

    /// Returns the NLL in nats of the token that follows each of the selected rows of `hidden`.
    ///
    /// # Shapes
    ///
    /// - `hidden`: `[rows, hidden]`
    /// - `indices`: rows of `hidden`
    /// - `targets`: as many as `indices`
    fn nll_at(&self, hidden: &Tensor<2>, indices: &[u32], targets: &[u32]) -> Vec<f32> {
        let mut nlls = Vec::with_capacity(indices.len());
        for (indices, targets) in indices.chunks(LOGIT_ROWS_MAX).zip(targets.chunks(LOGIT_ROWS_MAX)) {
            self.check_tokens(targets);
            let logits = self.model.logits(hidden.clone().select(0, self.indices(indices)));
            nlls.extend(values(kernels::nll_of_rows(logits, targets)));
        }
        nlls
    }

    fn indices(&self, values: &[u32]) -> Tensor<1, Int> {
        let values: Vec<i64> = values.iter().map(|&value| i64::from(value)).collect();
        Tensor::from_data(values.as_slice(), &self.device)
    }

    fn check(&self, rows: &Rows, total: usize) {
        let context = self.context_tokens_max();
        assert!(total <= context, "{total} tokens exceed the context of {context}");
        self.check_tokens(rows.tokens());
    }

    fn check_tokens(&self, tokens: &[u32]) {
        let size = self.vocabulary_size();
        let outside = tokens.iter().find(|&&token| token as usize >= size);
        assert!(outside.is_none(), "token {outside:?} is outside the vocabulary of {size}");
    }

    /// Returns the hidden states of what the decoder reads after what the cache holds.
    fn read(&self, cache: &mut Cache, rows: Rows) -> Tensor<2> {
        self.check(&rows, total(cache, &rows));
        self.model.hidden(rows, Some(cache), None)
    }

    /// Returns the logits of the token that follows each of `rows`, row after row.
    fn next_logits(&self, cache: &mut Cache, rows: Rows) -> Vec<f32> {
        self.check(&rows, total(cache, &rows));
        let rows = self.model.read_source(rows, cache, None);
        let last: Vec<u32> = (0..rows.n()).map(|row| rows.span(row).end as u32 - 1).collect();
        let hidden = self.read(cache, rows);
        values(self.model.logits(hidden.select(0, self.indices(&last))))
    }
}

impl LanguageModel for Decoder {
    type Cache = Cache;

    fn vocabulary_size(&self) -> usize {
        self.shape.vocab_size
    }

    fn new_cache(&self) -> Cache {
        Cache::new(self.shape.n_layers)
    }

    fn feed(&self, cache: &mut Cache, tokens: &[u32]) -> Vec<f32> {
        self.next_logits(cache, Rows::new(&[tokens], Padding::Right))
    }

    fn score_from(&self, cache: &Cache, last_logits: &[f32], target: &[u32]) -> Vec<f32> {
        let Some((&first, rest)) = target.split_first() else {
            return Vec::new();
        };
        let mut nlls = vec![nll(last_logits, first)];
        if !rest.is_empty() {
            let hidden = self.read(&mut cache.clone(), Rows::new(&[&target[..rest.len()]], Padding::Right));
            let indices: Vec<u32> = (0..rest.len() as u32).collect();
            nlls.extend(self.nll_at(&hidden, &indices, rest));
        }
        nlls
    }

    fn eos(&self) -> Vec<u32> {
        self.eos.clone()
    }

    fn context_tokens_max(&self) -> usize {
        self.shape.context_tokens_max
    }

    fn new_tokens_max(&self, prompt_tokens: usize) -> usize {
        // The prompt of an encoder-decoder is its source, and the target begins with one token of its own.
        let before = self.model.network().start_token().map_or(prompt_tokens, |_| 1);
        self.context_tokens_max().saturating_sub(before)
    }
}

impl BatchedLanguageModel for Decoder {
    fn feed_rows(&self, cache: &mut Cache, rows: &[Vec<u32>], padding: Padding) -> Vec<Vec<f32>> {
        assert!(rows.iter().all(|row| !row.is_empty()), "every row reads a token");
        let logits = self.next_logits(cache, Rows::new(rows, padding));
        logits.chunks_exact(self.vocabulary_size()).map(<[f32]>::to_vec).collect()
    }

    fn select_rows(&self, cache: &Cache, rows: &[usize]) -> Cache {
        cache.select(rows)
    }
}

/// Returns the NLL of `token` in nats.
///
/// # Panics
///
/// Panics if `token` is outside the vocabulary.
#[must_use]
pub fn nll(logits: &[f32], token: u32) -> f32 {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - max).exp()).sum();
    sum.ln() as f32 + (max - logits[token as usize])
}

/// Returns the tokens that end a text, as the configuration and the tokenizer name them.
pub(crate) fn ends(shape: &NetworkShape, tokenizer: Option<&Tokenizer>) -> Vec<u32> {
    let mut ends = shape.eos.clone();
    ends.extend(tokenizer.and_then(Tokenizer::eos));
    ends.sort_unstable();
    ends.dedup();
    ends
}

/// Returns the number of tokens of the longest row once `rows` are read after what the cache holds.
fn total(cache: &Cache, rows: &Rows) -> usize {
    let row_total = |row| cache.next_position(row) as usize + rows.span(row).len();
    (0..rows.n()).map(row_total).max().unwrap_or(0)
}

/// Copies a tensor to the host.
fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().expect("a decoder computes in f32")
}

/// Cuts `values` into consecutive parts of the given lengths.
fn split(mut values: &[f32], lengths: impl Iterator<Item = usize>) -> Vec<Vec<f32>> {
    let mut next = |length| {
        let (part, rest) = values.split_at(length);
        values = rest;
        part.to_vec()
    };
    lengths.map(&mut next).collect()
}

#[cfg(test)]
mod tests;

#[cfg(all(test, feature = "golden"))]
mod smollm2;
