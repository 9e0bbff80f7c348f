//! What a model writes after a prompt: greedily, sampled or by beam search, for several prompts at once.
//!
//! What follows a prompt depends on that prompt, its seed and the rule alone: neither on the other prompts of the batch
//! nor on their order. Rows that have ended leave the batch.

mod beam;
mod sampling;

use crate::decoder::BatchedLanguageModel;
use crate::pass::Padding;
use crate::{Error, Result};

pub use beam::{BeamSearch, largest};
pub use sampling::{Sampling, log_normalizer, most_probable};

use sampling::Sampler;

/// A text to continue.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    /// The tokens, at least one.
    pub tokens: Vec<u32>,
    /// Decides what is sampled; several samples of one text differ by their seeds.
    pub seed: u64,
}

impl From<Vec<u32>> for Prompt {
    fn from(tokens: Vec<u32>) -> Self {
        Self { tokens, seed: 0 }
    }
}

/// How the next token is chosen.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Strategy {
    /// The most probable token; of equally probable ones the lowest.
    #[default]
    Greedy,
    /// A random token.
    Sample(Sampling),
    /// The best of several continuations that are followed side by side.
    Beam(BeamSearch),
}

/// How prompts are continued.
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationRule {
    /// Most tokens written after a prompt.
    pub tokens_max: usize,
    /// How each of them is chosen.
    pub strategy: Strategy,
}

impl GenerationRule {
    /// Checks the parameters of the strategy.
    ///
    /// # Errors
    ///
    /// Returns an error that names the parameter that is out of its range.
    pub fn check(&self) -> Result<()> {
        match &self.strategy {
            Strategy::Greedy => Ok(()),
            Strategy::Sample(sampling) => sampling.check(),
            Strategy::Beam(search) => search.check(),
        }
    }
}

/// Why a text ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model ended the sequence; that token is not part of the text.
    EndOfSequence,
    /// The caller's stop rule was reached; the token that reached it is part of the text.
    Stopped,
    /// The limit on tokens was reached.
    TokensMax,
    /// The model's context is full.
    ContextFull,
}

impl Finish {
    /// Returns the stable name: `end_of_sequence`, `stopped`, `tokens_max` or `context_full`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EndOfSequence => "end_of_sequence",
            Self::Stopped => "stopped",
            Self::TokensMax => "tokens_max",
            Self::ContextFull => "context_full",
        }
    }
}

/// The tokens that a model wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The tokens, without the one that ends the sequence.
    pub tokens: Vec<u32>,
    /// The log-probability of each of them in nats, whatever the temperature.
    pub log_probabilities: Vec<f32>,
    /// The sum of the log-probabilities, that of the token that ends the sequence included; beam search divides it by
    /// its penalty on length.
    pub score: f64,
    /// Why there are no more.
    pub finish: Finish,
}

/// Continues every prompt; all are computed as one batch.
///
/// # Errors
///
/// Returns an error if the rule is not valid, or if a prompt is empty, holds a token outside the vocabulary or is longer
/// than the model's context.
pub fn generate<M: BatchedLanguageModel>(
    model: &M,
    prompts: &[Prompt],
    rule: &GenerationRule,
) -> Result<Vec<Generated>> {
    generate_padded(model, prompts, rule, Padding::Left)
}

/// Returns what [`generate`] returns, with short prompts padded on the given side.
fn generate_padded<M: BatchedLanguageModel>(
    model: &M,
    prompts: &[Prompt],
    rule: &GenerationRule,
    padding: Padding,
) -> Result<Vec<Generated>> {
    rule.check()?;
    let limit = |prompt: &Prompt| Limit::new(model, &prompt.tokens, rule.tokens_max);
    let limits = prompts.iter().map(limit).collect::<Result<Vec<Limit>>>()?;
    if prompts.is_empty() {
        return Ok(Vec::new());
    }
    let tokens: Vec<Vec<u32>> = prompts.iter().map(|prompt| prompt.tokens.clone()).collect();
    let mut cache = model.new_cache();
    let logits = model.feed_rows(&mut cache, &tokens, padding);
    let sampling = match &rule.strategy {
        Strategy::Beam(search) => return Ok(beam::search(model, cache, logits, search, &limits)),
        Strategy::Sample(sampling) => Some(sampling),
        Strategy::Greedy => None,
    };
    let row = |(prompt, &limit): (&Prompt, &Limit)| {
        let sampler = sampling.map(|sampling| Sampler::new(sampling.clone(), prompt.seed));
        Row { sampler, limit, stop: &|_| false, generated: limit.nothing() }
    };
    let mut rows: Vec<Row> = prompts.iter().zip(&limits).map(row).collect();
    continue_rows(model, &mut cache, logits, &mut rows);
    Ok(rows.into_iter().map(|row| row.generated).collect())
}

/// Continues a sequence that a model has read with the most probable token at each step: `cache` holds the sequence and
/// `logits` follow its last token.
///
/// `stop` sees the tokens written so far, after each of them. The caller sees to it that `tokens_max` more tokens fit
/// the model's context.
pub fn greedy_from<M: BatchedLanguageModel>(
    model: &M,
    cache: &mut M::Cache,
    logits: Vec<f32>,
    tokens_max: usize,
    stop: impl Fn(&[u32]) -> bool,
) -> Generated {
    let limit = Limit { tokens: tokens_max, finish: Finish::TokensMax };
    let mut row = [Row { sampler: None, limit, stop: &stop, generated: limit.nothing() }];
    continue_rows(model, cache, vec![logits], &mut row);
    let [row] = row;
    row.generated
}

fn check_prompt<M: BatchedLanguageModel>(model: &M, tokens: &[u32]) -> Result<()> {
    let wrong = |message: String| Err(Error::Generation { key: "prompt", message });
    let (size, context) = (model.vocabulary_size(), model.context_tokens_max());
    if tokens.is_empty() {
        return wrong("is empty".to_owned());
    }
    if let Some(token) = tokens.iter().find(|&&token| token as usize >= size) {
        return wrong(format!("token {token} is outside the vocabulary of {size}"));
    }
    if tokens.len() > context {
        return wrong(format!("its {} tokens exceed the context of {context}", tokens.len()));
    }
    Ok(())
}

/// How many tokens may be written after a prompt, and what sets that limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Most tokens written.
    pub tokens: usize,
    /// Why a text that reaches the limit ended.
    pub finish: Finish,
}

impl Limit {
    /// Returns the limit of what follows `prompt`: `tokens_max`, or what is left of the model's context.
    ///
    /// # Errors
    ///
    /// Returns an error if the prompt is empty, holds a token outside the vocabulary or is longer than the model's
    /// context.
    pub fn new<M: BatchedLanguageModel>(model: &M, prompt: &[u32], tokens_max: usize) -> Result<Self> {
        check_prompt(model, prompt)?;
        let room = model.new_tokens_max(prompt.len());
        if room < tokens_max {
            Ok(Self { tokens: room, finish: Finish::ContextFull })
        } else {
            Ok(Self { tokens: tokens_max, finish: Finish::TokensMax })
        }
    }

    /// Returns a text that has not begun.
    fn nothing(self) -> Generated {
        Generated { tokens: Vec::new(), log_probabilities: Vec::new(), score: 0.0, finish: self.finish }
    }
}

/// A text being written.
struct Row<'a> {
    /// None takes the most probable token.
    sampler: Option<Sampler>,
    limit: Limit,
    stop: &'a dyn Fn(&[u32]) -> bool,
    generated: Generated,
}

impl Row<'_> {
    /// Writes the next token and returns it, or nothing if the text has ended.
    fn step(&mut self, logits: &[f32], ends: &[u32]) -> Option<u32> {
        if self.limit.tokens == 0 {
            return None;
        }
        let token = self.sampler.as_mut().map_or_else(|| most_probable(logits), |sampler| sampler.choose(logits));
        let log_probability = f64::from(logits[token as usize]) - log_normalizer(logits);
        let generated = &mut self.generated;
        generated.score += log_probability;
        if ends.contains(&token) {
            generated.finish = Finish::EndOfSequence;
            return None;
        }
        generated.tokens.push(token);
        generated.log_probabilities.push(log_probability as f32);
        if (self.stop)(&generated.tokens) {
            generated.finish = Finish::Stopped;
            return None;
        }
        (generated.tokens.len() < self.limit.tokens).then_some(token)
    }
}

/// Writes every row to its end; `cache` holds what the rows continue and `logits` follow the last token of each.
fn continue_rows<M: BatchedLanguageModel>(
    model: &M,
    cache: &mut M::Cache,
    mut logits: Vec<Vec<f32>>,
    rows: &mut [Row<'_>],
) {
    let ends = model.eos();
    let mut open: Vec<usize> = (0..rows.len()).collect();
    loop {
        let (mut kept, mut next) = (Vec::new(), Vec::new());
        for (position, (&row, logits)) in open.iter().zip(&logits).enumerate() {
            if let Some(token) = rows[row].step(logits, &ends) {
                kept.push(position);
                next.push(vec![token]);
            }
        }
        if kept.is_empty() {
            return;
        }
        if kept.len() < open.len() {
            *cache = model.select_rows(cache, &kept);
            open = kept.iter().map(|&position| open[position]).collect();
        }
        logits = model.feed_rows(cache, &next, Padding::Left);
    }
}

#[cfg(test)]
mod fake;

#[cfg(test)]
mod tests;
