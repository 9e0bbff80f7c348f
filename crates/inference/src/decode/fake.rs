//! A model and a tool for tests, both of which follow a script.

use std::cell::RefCell;
use std::collections::VecDeque;

use models::decoder::{BatchedLanguageModel, LanguageModel};
use models::{Padding, Tokenizer};

use super::{Refusal, SuggestionSource};

/// The logits after a sequence of tokens, the prompt included.
pub(super) type Logits<'a> = Box<dyn Fn(&[u32]) -> Vec<f32> + 'a>;

/// A model whose logits are a function of all tokens before.
pub(super) struct Scripted<'a> {
    pub(super) logits: Logits<'a>,
    pub(super) vocabulary_size: usize,
    pub(super) ends: Vec<u32>,
    pub(super) context_tokens_max: usize,
    /// What each pass has read, row by row.
    pub(super) passes: RefCell<Vec<Vec<Vec<u32>>>>,
}

/// After a text with the given end (`^` is the empty one), the first token of another text has a logit; all others have 0.
/// The empty text stands for the end of the sequence.
pub(super) type Line = (&'static str, &'static str, f32);

impl<'a> Scripted<'a> {
    /// Returns a model that follows `lines` after `prompt`; of lines about the same token the last counts.
    pub(super) fn new(tokenizer: &'a Tokenizer, prompt: &[u32], lines: &'a [Line]) -> Self {
        let (vocabulary_size, n_prompt) = (tokenizer.vocabulary_size(), prompt.len());
        let end = tokenizer.eos().unwrap();
        let logits = move |tokens: &[u32]| {
            let text = tokenizer.decode(&tokens[n_prompt..]);
            let mut logits = vec![0.0; vocabulary_size];
            for (after, next, logit) in lines {
                if if *after == "^" { text.is_empty() } else { text.ends_with(after) } {
                    logits[tokenizer.encode(next).first().copied().unwrap_or(end) as usize] = *logit;
                }
            }
            logits
        };
        Self::of(Box::new(logits), vocabulary_size, end)
    }

    pub(super) fn of(logits: Logits<'a>, vocabulary_size: usize, end: u32) -> Self {
        let passes = RefCell::default();
        Self { logits, vocabulary_size, ends: vec![end], context_tokens_max: 100, passes }
    }
}

impl LanguageModel for Scripted<'_> {
    /// The tokens of every row.
    type Cache = Vec<Vec<u32>>;

    fn vocabulary_size(&self) -> usize {
        self.vocabulary_size
    }

    fn new_cache(&self) -> Self::Cache {
        Vec::new()
    }

    fn feed(&self, cache: &mut Self::Cache, tokens: &[u32]) -> Vec<f32> {
        self.feed_rows(cache, &[tokens.to_vec()], Padding::Left).remove(0)
    }

    fn eos(&self) -> Vec<u32> {
        self.ends.clone()
    }

    fn context_tokens_max(&self) -> usize {
        self.context_tokens_max
    }
}

impl BatchedLanguageModel for Scripted<'_> {
    fn feed_rows(&self, cache: &mut Self::Cache, rows: &[Vec<u32>], _padding: Padding) -> Vec<Vec<f32>> {
        self.passes.borrow_mut().push(rows.to_vec());
        if cache.is_empty() {
            cache.resize(rows.len(), Vec::new());
        }
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

/// A model that gives one token more than it should have, and may read everything again at every step.
pub(super) struct Eager<'a, M> {
    pub(super) model: &'a M,
    pub(super) token: u32,
    pub(super) more: f32,
    pub(super) is_cached: bool,
}

impl<M: BatchedLanguageModel> LanguageModel for Eager<'_, M> {
    /// What the model keeps, and the tokens of every row.
    type Cache = (M::Cache, Vec<Vec<u32>>);

    fn vocabulary_size(&self) -> usize {
        self.model.vocabulary_size()
    }

    fn new_cache(&self) -> Self::Cache {
        (self.model.new_cache(), Vec::new())
    }

    fn feed(&self, cache: &mut Self::Cache, tokens: &[u32]) -> Vec<f32> {
        self.feed_rows(cache, &[tokens.to_vec()], Padding::Left).remove(0)
    }

    fn eos(&self) -> Vec<u32> {
        self.model.eos()
    }

    fn context_tokens_max(&self) -> usize {
        self.model.context_tokens_max()
    }
}

impl<M: BatchedLanguageModel> BatchedLanguageModel for Eager<'_, M> {
    fn feed_rows(&self, (cache, read): &mut Self::Cache, rows: &[Vec<u32>], padding: Padding) -> Vec<Vec<f32>> {
        read.resize(rows.len(), Vec::new());
        read.iter_mut().zip(rows).for_each(|(read, new)| read.extend(new));
        let mut logits = if self.is_cached {
            self.model.feed_rows(cache, rows, padding)
        } else {
            read.iter().map(|read| self.model.feed(&mut self.model.new_cache(), read)).collect()
        };
        logits.iter_mut().for_each(|logits| logits[self.token as usize] += self.more);
        logits
    }

    fn select_rows(&self, (cache, read): &Self::Cache, rows: &[usize]) -> Self::Cache {
        let cache = if self.is_cached { self.model.select_rows(cache, rows) } else { cache.clone() };
        (cache, rows.iter().map(|&row| read[row].clone()).collect())
    }
}

/// A tool that gives one answer after another, and then nothing.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) answers: VecDeque<Result<Vec<String>, Refusal>>,
    /// What it was asked.
    pub(super) asked: Vec<String>,
}

impl Answers {
    pub(super) fn new<const N: usize>(answers: [Result<&[&str], Refusal>; N]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self { answers: answers.into_iter().map(|answer| answer.map(owned)).collect(), asked: Vec::new() }
    }
}

impl SuggestionSource for Answers {
    fn suggest(&mut self, written: &str) -> Result<Vec<String>, Refusal> {
        self.asked.push(written.to_owned());
        self.answers.pop_front().unwrap_or(Ok(Vec::new()))
    }
}
