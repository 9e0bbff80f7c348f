//! One text of those that are followed side by side.

use std::borrow::Cow;
use std::rc::Rc;

use models::generate::{BeamSearch, largest, log_normalizer, most_probable};

use super::question::{Outcome, Question};
use super::{DecodedToken, Step};
use crate::trie::{Child, Trie};

/// A text that is being written.
#[derive(Debug, Clone, Default)]
pub(super) struct Hypothesis {
    /// Its row in the batch.
    pub(super) row: usize,
    pub(super) tokens: Vec<DecodedToken>,
    /// How many of the tokens, the last ones, the model has not read yet.
    pub(super) n_unread: usize,
    pub(super) questions: Vec<Question>,
    /// Where it is among suggestions.
    pub(super) walk: Option<Walk>,
    /// The sum of the log-probabilities.
    total: f64,
    /// How many tokens were chosen rather than forced.
    n_chosen: usize,
}

/// One more token after a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) token: u32,
    pub(super) step: Step,
    /// The log-probability among all that might be chosen, in nats.
    pub(super) log_probability: f64,
    /// The probability among the whole vocabulary; 0 where no rule asks for it.
    probability: f64,
    /// The node of the trie that it leads to.
    node: Option<usize>,
}

/// A place among the suggestions of one question.
#[derive(Debug, Clone)]
pub(super) struct Walk {
    trie: Rc<Trie>,
    node: usize,
    /// How many tokens of the suggestion are written.
    n_tokens: usize,
    /// The sum of their probabilities among the whole vocabulary.
    probabilities: f64,
}

impl Hypothesis {
    pub(super) fn written(&self) -> Vec<u32> {
        self.tokens.iter().map(|token| token.token).collect()
    }

    pub(super) fn unread(&self) -> Vec<u32> {
        self.written().split_off(self.tokens.len() - self.n_unread)
    }

    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// Returns the sum of the log-probabilities, penalized by the number of tokens that were chosen: forced ones cost
    /// nothing and count for nothing.
    pub(super) fn score(&self, search: &BeamSearch) -> f64 {
        search.penalized(self.total, self.n_chosen)
    }

    /// Returns the tokens that may follow, at most `n_max` of the vocabulary; `logits` follow the last token.
    pub(super) fn choices(&self, logits: &[f32], n_max: usize, trigger: Option<u32>, rank_weight: f32) -> Vec<Choice> {
        if let Some(walk) = &self.walk {
            let choices = walk.choices(logits, rank_weight);
            if walk.goes_on(&choices) {
                return choices;
            }
        }
        self.free_choices(logits, n_max, trigger)
    }

    /// Directly after a trigger there is no other.
    fn free_choices(&self, logits: &[f32], n_max: usize, trigger: Option<u32>) -> Vec<Choice> {
        let mut logits = Cow::Borrowed(logits);
        let forbidden = trigger.filter(|&trigger| self.tokens.last().is_some_and(|last| last.token == trigger));
        if let Some(trigger) = forbidden {
            logits.to_mut()[trigger as usize] = f32::NEG_INFINITY;
        }
        let normalizer = log_normalizer(&logits);
        let tokens = if n_max == 1 { vec![most_probable(&logits)] } else { largest(&logits, n_max) };
        let choice = |token| {
            let step = if Some(token) == trigger { Step::Trigger } else { Step::Sampled };
            let log_probability = f64::from(logits[token as usize]) - normalizer;
            Choice { token, step, log_probability, probability: log_probability.exp(), node: None }
        };
        tokens.into_iter().filter(|&token| Some(token) != forbidden).map(choice).collect()
    }

    /// Returns this text with one more token.
    pub(super) fn extended(&self, choice: Choice) -> Self {
        let mut text = Self { n_unread: 0, ..self.clone() };
        text.write(choice);
        text
    }

    /// Writes the tokens that leave nothing to choose, up to `tokens_max` in all.
    ///
    /// Where the rule will ask for their probabilities they wait for the model to read them one by one.
    pub(super) fn write_forced(&mut self, tokens_max: usize) {
        while let Some(choice) = self.walk.as_ref().and_then(Walk::forced) {
            if self.tokens.len() >= tokens_max {
                return;
            }
            self.write(choice);
        }
    }

    fn write(&mut self, choice: Choice) {
        let Choice { token, step, log_probability, probability, node } = choice;
        if step == Step::Trigger {
            self.questions.push(Question::new(self.tokens.len(), probability));
        }
        self.tokens.push(DecodedToken { token, step, log_probability });
        self.n_unread += 1;
        self.n_chosen += usize::from(step != Step::Forced);
        self.total += log_probability;
        self.walk = self.walk.take().zip(node).and_then(|(walk, node)| self.step_to(walk, node, probability));
    }

    /// Notes what is inserted so far, and returns the walk if there are ways to go on.
    fn step_to(&mut self, mut walk: Walk, node: usize, probability: f64) -> Option<Walk> {
        walk.node = node;
        walk.n_tokens += 1;
        walk.probabilities += probability;
        if let Some(question) = self.questions.last_mut() {
            let inserted = walk.trie.end(node).map(|rank| question.suggestions[rank].clone());
            question.outcome = inserted.map_or(Outcome::CutShort, Outcome::Inserted);
        }
        let goes_on = walk.trie.children(node).len() > 0;
        goes_on.then_some(walk)
    }
}

impl Walk {
    pub(super) fn new(trie: Rc<Trie>) -> Self {
        Self { trie, node: Trie::ROOT, n_tokens: 0, probabilities: 0.0 }
    }

    /// Returns the only token that may follow, if its probability does not matter.
    fn forced(&self) -> Option<Choice> {
        let child = self.trie.children(self.node).next()?;
        let is_forced = self.trie.children(self.node).len() == 1 && !self.trie.forks(self.node);
        is_forced.then(|| Choice::forced(child))
    }

    /// Returns the tokens that continue suggestions, their probabilities adding up to 1.
    fn choices(&self, logits: &[f32], rank_weight: f32) -> Vec<Choice> {
        let logit = |child: &Child| logits[child.token as usize];
        let children: Vec<Child> = self.trie.children(self.node).collect();
        let ranked = |child: &Child| logit(child) - rank_weight * (1.0 + child.rank as f32).ln();
        let ranked: Vec<f32> = children.iter().map(ranked).collect();
        let (normalizer, is_only) = (log_normalizer(&ranked), children.len() == 1);
        let whole = self.trie.forks(self.node).then(|| log_normalizer(logits));
        let choice = |(child, ranked): (&Child, f32)| Choice {
            step: if is_only { Step::Forced } else { Step::Chosen },
            log_probability: if is_only { 0.0 } else { f64::from(ranked) - normalizer },
            probability: whole.map_or(0.0, |whole| (f64::from(logit(child)) - whole).exp()),
            ..Choice::forced(*child)
        };
        children.iter().zip(ranked).map(choice).collect()
    }

    /// Returns whether the suggestion is followed further: where one ends here, only if the best of `choices` would not
    /// lower the mean probability.
    fn goes_on(&self, choices: &[Choice]) -> bool {
        if self.trie.end(self.node).is_none() {
            return true;
        }
        let best = choices.iter().max_by(|a, b| a.log_probability.total_cmp(&b.log_probability));
        let n = self.n_tokens as f64;
        best.is_some_and(|best| (self.probabilities + best.probability) / (n + 1.0) >= self.probabilities / n)
    }
}

impl Choice {
    fn forced(child: Child) -> Self {
        let Child { token, node, .. } = child;
        Self { token, step: Step::Forced, log_probability: 0.0, probability: 0.0, node: Some(node) }
    }
}
