//! Models for tests: one that follows a script, and one that reads everything again at every step.

use crate::decoder::{BatchedLanguageModel, Decoder, LanguageModel};
use crate::pass::Padding;

/// The token that ends a scripted text.
pub(super) const END: u32 = 9;

/// A model of ten tokens whose logits are a function of all tokens before.
pub(super) struct Scripted {
    pub(super) logits: fn(&[u32]) -> Vec<f32>,
    pub(super) context_tokens_max: usize,
}

/// Returns the logits of a model that is sure of one token.
pub(super) fn sure(token: u32) -> Vec<f32> {
    (0..10).map(|other| if other == token { 2.0 } else { 0.0 }).collect()
}

/// Returns logits without any order, which depend on every token.
pub(super) fn scattered(tokens: &[u32]) -> Vec<f32> {
    let hash = tokens.iter().fold(7_u32, |hash, token| hash.wrapping_mul(31).wrapping_add(token + 1));
    (0..10).map(|token| (hash.wrapping_add(token).wrapping_mul(2_654_435_769) >> 20) as f32 / 1024.0).collect()
}

impl Scripted {
    pub(super) fn counting() -> Self {
        Self { logits: |tokens| sure((tokens[tokens.len() - 1] + 1) % 10), context_tokens_max: 100 }
    }

    pub(super) fn scattered() -> Self {
        Self { logits: scattered, context_tokens_max: 100 }
    }
}

impl LanguageModel for Scripted {
    /// The tokens of every row.
    type Cache = Vec<Vec<u32>>;

    fn vocabulary_size(&self) -> usize {
        10
    }

    fn new_cache(&self) -> Self::Cache {
        Vec::new()
    }

    fn feed(&self, cache: &mut Self::Cache, tokens: &[u32]) -> Vec<f32> {
        self.feed_rows(cache, &[tokens.to_vec()], Padding::Left).remove(0)
    }

    fn eos(&self) -> Vec<u32> {
        vec![END]
    }

    fn context_tokens_max(&self) -> usize {
        self.context_tokens_max
    }
}

impl BatchedLanguageModel for Scripted {
    fn feed_rows(&self, cache: &mut Self::Cache, rows: &[Vec<u32>], _padding: Padding) -> Vec<Vec<f32>> {
        cache.resize(rows.len().max(cache.len()), Vec::new());
        assert_eq!(cache.len(), rows.len(), "every row of the cache goes on");
        let read = |(read, new): (&mut Vec<u32>, &Vec<u32>)| {
            assert!(!new.is_empty(), "every row reads a token");
            read.extend(new);
            assert!(read.len() <= self.context_tokens_max, "the context is exceeded");
            (self.logits)(read)
        };
        cache.iter_mut().zip(rows).map(read).collect()
    }

    fn select_rows(&self, cache: &Self::Cache, rows: &[usize]) -> Self::Cache {
        rows.iter().map(|&row| cache[row].clone()).collect()
    }
}

/// A decoder that keeps tokens instead of keys and values.
pub(super) struct Uncached<'a>(pub(super) &'a Decoder);

/// What a row has read: the prompt (the source of an encoder-decoder), and what followed.
type Read = (Vec<u32>, Vec<u32>);

impl LanguageModel for Uncached<'_> {
    type Cache = Vec<Read>;

    fn vocabulary_size(&self) -> usize {
        self.0.vocabulary_size()
    }

    fn new_cache(&self) -> Vec<Read> {
        Vec::new()
    }

    fn feed(&self, cache: &mut Vec<Read>, tokens: &[u32]) -> Vec<f32> {
        self.feed_rows(cache, &[tokens.to_vec()], Padding::Left).remove(0)
    }

    fn eos(&self) -> Vec<u32> {
        self.0.eos()
    }

    fn context_tokens_max(&self) -> usize {
        self.0.context_tokens_max()
    }

    fn new_tokens_max(&self, prompt_tokens: usize) -> usize {
        self.0.new_tokens_max(prompt_tokens)
    }
}

impl BatchedLanguageModel for Uncached<'_> {
    fn feed_rows(&self, cache: &mut Vec<Read>, rows: &[Vec<u32>], _padding: Padding) -> Vec<Vec<f32>> {
        if cache.is_empty() {
            *cache = rows.iter().map(|row| (row.clone(), Vec::new())).collect();
        } else {
            assert_eq!(cache.len(), rows.len(), "every row of the cache goes on");
            cache.iter_mut().zip(rows).for_each(|((_, rest), new)| rest.extend(new));
        }
        let read = |(prompt, rest): &Read| {
            let mut fresh = self.0.new_cache();
            let logits = self.0.feed(&mut fresh, prompt);
            if rest.is_empty() { logits } else { self.0.feed(&mut fresh, rest) }
        };
        cache.iter().map(read).collect()
    }

    fn select_rows(&self, cache: &Vec<Read>, rows: &[usize]) -> Vec<Read> {
        rows.iter().map(|&row| cache[row].clone()).collect()
    }
}
