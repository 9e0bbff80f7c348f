//! The tool while a text is written: questions go to it, answers become tries.

use std::rc::Rc;
use std::time::Instant;

use super::Decoded;
use super::endings::Ended;
use super::hypothesis::{Hypothesis, Walk};
use super::question::{Outcome, SuggestionSource};
use super::rule::{DecodingRule, Terminal};
use super::spelling::Spelling;
use crate::trie::Trie;

/// A source of suggestions, and how it was used.
pub(super) struct Tool<'a> {
    source: &'a mut dyn SuggestionSource,
    spelling: Spelling<'a>,
    n_asked: usize,
    n_refused: usize,
    seconds: f64,
}

impl<'a> Tool<'a> {
    pub(super) fn new(source: &'a mut dyn SuggestionSource, spelling: Spelling<'a>) -> Self {
        Self { source, spelling, n_asked: 0, n_refused: 0, seconds: 0.0 }
    }

    /// Returns the token that asks, if the model has it.
    pub(super) fn trigger(&self) -> Option<u32> {
        self.spelling.trigger
    }

    /// Answers the question of a text that ends in a trigger: a walk among the suggestions begins, if there are any.
    pub(super) fn answer(&mut self, text: &mut Hypothesis, rule: &DecodingRule, ends: &[u32]) {
        let written = text.written();
        let Some(question) = text.questions.last_mut().filter(|question| question.position + 1 == written.len()) else {
            return;
        };
        if question.confidence < f64::from(rule.trigger_confidence_min) {
            question.outcome = Outcome::Unsure;
            return;
        }
        let started = Instant::now();
        let answer = self.source.suggest(&self.spelling.text(&written));
        self.seconds += started.elapsed().as_secs_f64();
        self.n_asked += 1;
        match answer {
            Ok(suggestions) => {
                let trie = self.trie(&suggestions, rule.terminal, ends);
                question.suggestions = suggestions.into();
                question.outcome = if trie.is_empty() { Outcome::Nothing } else { Outcome::CutShort };
                text.walk = (!trie.is_empty()).then(|| Walk::new(Rc::new(trie)));
            }
            Err(refusal) => {
                self.n_refused += 1;
                question.outcome = Outcome::Refused(refusal);
            }
        }
    }

    /// Arranges suggestions; one that would end the text or trigger another question is left out.
    fn trie(&mut self, suggestions: &[String], terminal: Terminal, ends: &[u32]) -> Trie {
        let trigger = self.spelling.trigger;
        let mut tokens: Vec<Vec<u32>> = suggestions.iter().map(|text| self.spelling.tokens(text)).collect();
        let is_special = |token: &u32| Some(*token) == trigger || ends.contains(token);
        tokens.iter_mut().filter(|tokens| tokens.iter().any(is_special)).for_each(Vec::clear);
        match terminal {
            Terminal::First => Trie::of_shortest(&tokens),
            Terminal::MeanProbability => Trie::new(&tokens),
        }
    }

    /// Returns a text in words, with what was counted on the way.
    pub(super) fn decoded(self, ended: Ended, n_passes: usize) -> Decoded {
        let Ended { text: Hypothesis { tokens, questions, .. }, score, finish } = ended;
        let numbers: Vec<u32> = tokens.iter().map(|token| token.token).collect();
        Decoded {
            tokens,
            text: self.spelling.text(&numbers),
            unmarked: self.spelling.unmarked(&numbers),
            score,
            finish,
            questions,
            n_asked: self.n_asked,
            n_refused: self.n_refused,
            tool_seconds: self.seconds,
            n_passes,
        }
    }
}
