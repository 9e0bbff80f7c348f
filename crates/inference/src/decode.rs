//! Decoding with a completion tool: the model writes triggers, and chooses among what the tool suggests there.
//!
//! ```text
//! choose: the most probable token, or among the children of a trie node
//!   |         \-> a trigger -> the tool -> its suggestions as a trie
//!   v
//! write what leaves nothing to choose -> read all of it in one pass -> choose ...
//! ```
//!
//! Several texts are followed side by side, each at its own place among suggestions of its own; following one is greedy
//! decoding. A trigger that leads to no suggestion stays in the text, and the model goes on as it would without a tool.
//!
//! # References
//!
//! `ToolGen` (arXiv 2401.06391), Algorithms 2 and 3; [`DecodingRule::released`] names what its code does otherwise. Beam
//! search and the weight of ranks are ours.

mod endings;
mod hypothesis;
mod question;
mod rule;
mod spelling;
mod tool;

use models::decoder::BatchedLanguageModel;
pub use models::generate::Finish;
use models::generate::Limit;
use models::{Padding, Tokenizer};

pub use question::{Outcome, Question, Refusal, SuggestionSource};
pub use rule::{DecodingRule, Terminal};

use endings::Endings;
use hypothesis::{Choice, Hypothesis};
use spelling::Spelling;
use tool::Tool;

use crate::Result;

/// How a token came to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The model chose it from its whole vocabulary.
    Sampled,
    /// The model chose to ask: the trigger itself.
    Trigger,
    /// The model chose it from those that continue suggestions.
    Chosen,
    /// It is the only one that continues a suggestion.
    Forced,
}

impl Step {
    /// Returns the stable name: `sampled`, `trigger`, `chosen` or `forced`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sampled => "sampled",
            Self::Trigger => "trigger",
            Self::Chosen => "chosen",
            Self::Forced => "forced",
        }
    }
}

/// A token and how it came to be written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DecodedToken {
    /// The token.
    pub token: u32,
    /// How it came.
    pub step: Step,
    /// The log-probability among those that it was chosen from, in nats; 0 if it was forced.
    pub log_probability: f64,
}

/// What a model wrote with a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    /// The tokens, triggers included, without the one that ends the sequence.
    pub tokens: Vec<DecodedToken>,
    /// Their text, triggers included.
    pub text: String,
    /// Their text without the triggers.
    pub unmarked: String,
    /// The sum of the log-probabilities divided by the penalty on length; forced tokens count in neither.
    pub score: f64,
    /// Why there are no more.
    pub finish: Finish,
    /// Every trigger of the text, in order.
    pub questions: Vec<Question>,
    /// How often the tool was asked, for texts that were given up included.
    pub n_asked: usize,
    /// How often it gave no answer.
    pub n_refused: usize,
    /// How long it took to answer, in seconds.
    pub tool_seconds: f64,
    /// How often the model was run.
    pub n_passes: usize,
}

/// Writes texts with a tool.
#[derive(Debug)]
pub struct ToolDecoder<'a, M> {
    /// The model; one without the trigger among its tokens never asks.
    pub model: &'a M,
    /// Its tokenizer.
    pub tokenizer: &'a Tokenizer,
    /// How it is done.
    pub rule: DecodingRule,
}

impl<M: BatchedLanguageModel> ToolDecoder<'_, M> {
    /// Continues a prompt; `source` is asked at triggers.
    ///
    /// # Errors
    ///
    /// Returns an error if the rule is not valid, or if the prompt is empty, holds a token outside the vocabulary or is
    /// longer than the model's context.
    pub fn decode(&self, prompt: &[u32], source: &mut dyn SuggestionSource) -> Result<Decoded> {
        self.rule.check()?;
        let limit = Limit::new(self.model, prompt, self.rule.tokens_max)?;
        let ends = self.model.eos();
        let spelling = Spelling::new(self.tokenizer, self.model.vocabulary_size());
        let mut tool = Tool::new(source, spelling);
        let mut ended = Endings::new(self.rule.beam_search(), limit);
        let mut open = vec![Hypothesis::default()];
        let mut cache = self.model.new_cache();
        let mut logits = self.model.feed_rows(&mut cache, &[prompt.to_vec()], Padding::Left);
        let mut n_passes = 1;
        while limit.tokens > 0 {
            let candidates = self.candidates(&open, &logits, ends.len(), tool.trigger());
            open = ended.take_from(candidates, &ends);
            if ended.are_best(&open) {
                break;
            }
            for text in &mut open {
                tool.answer(text, &self.rule, &ends);
                text.write_forced(limit.tokens);
            }
            ended.take_full(&mut open);
            if open.is_empty() {
                break;
            }
            let rows: Vec<usize> = open.iter().map(|text| text.row).collect();
            if !rows.iter().copied().eq(0..logits.len()) {
                cache = self.model.select_rows(&cache, &rows);
            }
            open.iter_mut().enumerate().for_each(|(row, text)| text.row = row);
            let unread: Vec<Vec<u32>> = open.iter().map(Hypothesis::unread).collect();
            logits = self.model.feed_rows(&mut cache, &unread, Padding::Left);
            n_passes += 1;
        }
        Ok(tool.decoded(ended.best(), n_passes))
    }

    /// Returns the best texts with one more token, the best first: each is one of `open` and what is added to it.
    fn candidates<'t>(
        &self,
        open: &'t [Hypothesis],
        logits: &[Vec<f32>],
        n_ends: usize,
        trigger: Option<u32>,
    ) -> Vec<(&'t Hypothesis, Choice)> {
        let rule = &self.rule;
        let n_max = if rule.num_beams == 1 { 1 } else { rule.beam_search().candidates_max(n_ends) };
        let choices = |text: &'t Hypothesis| {
            let choices = text.choices(&logits[text.row], n_max, trigger, rule.rank_weight);
            choices.into_iter().map(move |choice| (text, choice))
        };
        let mut candidates: Vec<(&Hypothesis, Choice)> = open.iter().flat_map(choices).collect();
        candidates.sort_by(|(a, next_a), (b, next_b)| {
            (b.total() + next_b.log_probability).total_cmp(&(a.total() + next_a.log_probability))
        });
        candidates.truncate(n_max);
        candidates
    }
}

#[cfg(test)]
mod fake;

#[cfg(test)]
mod tests;
