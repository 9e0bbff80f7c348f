//! Between texts with triggers and tokens.

use std::collections::BTreeMap;

use analysis::triggers::TRIGGER;
use models::tokenizer::Tokenizer;

/// Turns suggestions into the tokens that stand after a trigger, and written tokens into text.
///
/// The trigger is a token of its own, which no tokenizer joins with what stands beside it: the tokens after it are those
/// that the suggestion has in a marked function, whatever comes before the trigger.
pub(super) struct Spelling<'a> {
    tokenizer: &'a Tokenizer,
    /// The trigger as a token, if the model has it.
    pub(super) trigger: Option<u32>,
    /// Whether the tokenizer begins what follows a trigger with a space of its own, as it begins a text.
    is_apart: bool,
    known: BTreeMap<String, Vec<u32>>,
}

impl<'a> Spelling<'a> {
    pub(super) fn new(tokenizer: &'a Tokenizer, vocabulary_size: usize) -> Self {
        let trigger = tokenizer.token(TRIGGER).filter(|&trigger| (trigger as usize) < vocabulary_size);
        let sample = format!("x{TRIGGER}x");
        let is_apart = tokenizer.decode(&tokenizer.encode(&sample)) != sample;
        Self { tokenizer, trigger, is_apart, known: BTreeMap::new() }
    }

    /// Returns the tokens of `suggestion` after a trigger; none if the vocabulary cannot spell it.
    pub(super) fn tokens(&mut self, suggestion: &str) -> Vec<u32> {
        if let Some(tokens) = self.known.get(suggestion) {
            return tokens.clone();
        }
        let marked = [TRIGGER, suggestion].concat();
        let tokens = self.tokenizer.encode(&marked);
        let is_spelled = tokens.first().copied() == self.trigger && self.text(&tokens) == marked;
        let tokens = if is_spelled { tokens[1..].to_vec() } else { Vec::new() };
        self.known.insert(suggestion.to_owned(), tokens.clone());
        tokens
    }

    /// Returns the text of what was written, triggers included.
    pub(super) fn text(&self, tokens: &[u32]) -> String {
        if !self.is_apart {
            return self.tokenizer.decode(tokens);
        }
        self.parts(tokens).join(TRIGGER)
    }

    /// Returns the text of what was written without the triggers.
    pub(super) fn unmarked(&self, tokens: &[u32]) -> String {
        if self.is_apart {
            return self.parts(tokens).concat();
        }
        let others: Vec<u32> = tokens.iter().copied().filter(|&token| Some(token) != self.trigger).collect();
        self.tokenizer.decode(&others)
    }

    /// Returns the texts between triggers, each spelled as a text of its own.
    fn parts(&self, tokens: &[u32]) -> Vec<String> {
        tokens.split(|&token| Some(token) == self.trigger).map(|part| self.tokenizer.decode(part)).collect()
    }
}
