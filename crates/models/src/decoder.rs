//! A decoder with its tokenizer: next-token logits, and the NLL of a target after a prompt.

use std::path::Path;

use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor};

use crate::Result;
use crate::gguf::Gguf;
use crate::gguf_tokenizer;
use crate::llama::{Llama, LlamaCache, LlamaConfig};
use crate::tokenizer::Tokenizer;
use crate::weights::{self, Checkpoint, Names};

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

    /// Returns the number of tokens that the model can read.
    fn context_tokens_max(&self) -> usize;
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

/// A Llama decoder with its tokenizer.
#[derive(Debug)]
pub struct Decoder {
    model: Llama,
    tokenizer: Tokenizer,
    eos: Vec<u32>,
    device: Device,
}

impl Decoder {
    /// Loads a model from a directory in the layout of Hugging Face or from a GGUF file.
    ///
    /// # Errors
    ///
    /// Returns an error if a file is missing, damaged, or asks for a computation that is not implemented.
    pub fn load(path: &Path, device: &Device) -> Result<Self> {
        if path.is_dir() { Self::load_directory(path, device) } else { Self::load_gguf(path, device) }
    }

    fn load_directory(path: &Path, device: &Device) -> Result<Self> {
        let config_path = path.join("config.json");
        let config = LlamaConfig::load(&config_path)?;
        let tokenizer = Tokenizer::load(path)?;
        tokenizer.check_fits(config.vocab_size, &config_path)?;
        let model = weights::load(Llama::new(&config, device), &Checkpoint::open(path)?, &names())?;
        Ok(Self::new(model, tokenizer, device))
    }

    fn load_gguf(path: &Path, device: &Device) -> Result<Self> {
        let gguf = Gguf::open(path)?;
        let config = gguf.llama_config()?;
        let tokenizer = Tokenizer::from_inner(gguf_tokenizer::tokenizer(&gguf)?, path)?;
        tokenizer.check_fits(config.vocab_size, path)?;
        let model = weights::load(Llama::new(&config, device), &gguf.llama_tensors(&config), &names())?;
        Ok(Self::new(model, tokenizer, device))
    }

    /// Puts a network on `device` and its tokenizer together.
    #[must_use]
    pub fn new(model: Llama, tokenizer: Tokenizer, device: &Device) -> Self {
        let mut eos = model.config().eos_token_id.clone();
        eos.extend(tokenizer.eos());
        eos.sort_unstable();
        eos.dedup();
        Self { model, tokenizer, eos, device: device.clone() }
    }

    /// Returns the tokenizer.
    #[must_use]
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Returns the network.
    #[must_use]
    pub fn model(&self) -> &Llama {
        &self.model
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
        let length = sequences.iter().map(ScoredSequence::read_tokens).max().unwrap_or(0);
        let mut tokens = Vec::with_capacity(sequences.len() * length);
        let mut rows = Vec::new();
        let mut targets = Vec::new();
        for (index, sequence) in sequences.iter().enumerate() {
            assert!(!sequence.prompt.is_empty(), "a prompt holds at least one token");
            let first = index * length + sequence.prompt.len() - 1;
            rows.extend((first..first + sequence.target.len()).map(|row| row as u32));
            targets.extend_from_slice(&sequence.target);
            tokens.extend(sequence.prompt.iter().chain(&sequence.target).take(sequence.read_tokens()));
            tokens.resize((index + 1) * length, 0);
        }
        let hidden = self.model.hidden(self.batch(&tokens, length), None);
        let nlls = self.nll_at(hidden, &rows, &targets);
        split(&nlls, sequences.iter().map(|sequence| sequence.target.len()))
    }

    /// Returns the NLL in nats of the token that follows each of the selected rows of `hidden`.
    ///
    /// # Shapes
    ///
    /// - `hidden`: `[batch, length, hidden]`
    /// - `rows`: indices into `batch * length`
    /// - `targets`: as many as `rows`
    fn nll_at(&self, hidden: Tensor<3>, rows: &[u32], targets: &[u32]) -> Vec<f32> {
        let [batch, length, size] = hidden.dims();
        let hidden = hidden.reshape([batch * length, size]);
        let mut nlls = Vec::with_capacity(rows.len());
        for (rows, targets) in rows.chunks(LOGIT_ROWS_MAX).zip(targets.chunks(LOGIT_ROWS_MAX)) {
            self.check_tokens(targets);
            let logits = self.model.logits(hidden.clone().select(0, self.indices(rows)));
            let log_probabilities = log_softmax(logits, 1).gather(1, self.indices(targets).unsqueeze_dim(1));
            nlls.extend(values(log_probabilities).into_iter().map(|log_probability| -log_probability));
        }
        nlls
    }

    fn batch(&self, tokens: &[u32], length: usize) -> Tensor<2, Int> {
        self.check_tokens(tokens);
        let context = self.context_tokens_max();
        assert!(length <= context, "{length} tokens exceed the context of {context}");
        let batch = tokens.len() / length;
        self.indices(tokens).reshape([batch, length])
    }

    fn indices(&self, values: &[u32]) -> Tensor<1, Int> {
        let values: Vec<i64> = values.iter().map(|&value| i64::from(value)).collect();
        Tensor::from_data(values.as_slice(), &self.device)
    }

    fn check_tokens(&self, tokens: &[u32]) {
        let size = self.vocabulary_size();
        let outside = tokens.iter().find(|&&token| token as usize >= size);
        assert!(outside.is_none(), "token {outside:?} is outside the vocabulary of {size}");
    }

    /// Returns the hidden states of `tokens`, read after what the cache holds.
    fn read(&self, cache: &mut LlamaCache, tokens: &[u32]) -> Tensor<3> {
        let context = self.context_tokens_max();
        let total = cache.length() + tokens.len();
        assert!(total <= context, "{total} tokens exceed the context of {context}");
        self.model.hidden(self.batch(tokens, tokens.len()), Some(cache))
    }
}

impl LanguageModel for Decoder {
    type Cache = LlamaCache;

    fn vocabulary_size(&self) -> usize {
        self.model.config().vocab_size
    }

    fn new_cache(&self) -> LlamaCache {
        self.model.new_cache()
    }

    fn feed(&self, cache: &mut LlamaCache, tokens: &[u32]) -> Vec<f32> {
        assert!(!tokens.is_empty(), "at least one token is fed");
        let hidden = self.read(cache, tokens);
        let [_batch, length, size] = hidden.dims();
        values(self.model.logits(hidden.narrow(1, length - 1, 1).reshape([1, size])))
    }

    fn score_from(&self, cache: &LlamaCache, last_logits: &[f32], target: &[u32]) -> Vec<f32> {
        let Some((&first, rest)) = target.split_first() else {
            return Vec::new();
        };
        let mut nlls = vec![nll(last_logits, first)];
        if !rest.is_empty() {
            let hidden = self.read(&mut cache.clone(), &target[..rest.len()]);
            let rows: Vec<u32> = (0..rest.len() as u32).collect();
            nlls.extend(self.nll_at(hidden, &rows, rest));
        }
        nlls
    }

    fn eos(&self) -> Vec<u32> {
        self.eos.clone()
    }

    fn context_tokens_max(&self) -> usize {
        self.model.config().max_position_embeddings
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

/// Returns how the fields of a [`Llama`] are called in a checkpoint.
#[must_use]
pub fn names() -> Names {
    Names {
        prefix: String::new(),
        rename: str::to_owned,
        is_unused: |name| name == "lm_head.weight" || name.ends_with(".rotary_emb.inv_freq"),
    }
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
