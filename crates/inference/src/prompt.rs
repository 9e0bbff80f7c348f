//! The prompt: code from other files, the path of this one, and the left context, within a budget of tokens.

mod tail;
#[cfg(test)]
mod tests;

use std::ops::Range;

use models::tokenizer::Tokenizer;
use repo::candidates::Candidate;
use repo::language::Language;

use crate::infill::Infill;
use crate::{Cursor, Seam, Variant};
pub(crate) use tail::last_tokens;

/// Tokens that the left context leaves free, as in the released code.
const SPARE_TOKENS: usize = 10;
/// What separates two candidates.
const SEPARATOR: &str = "\n\n";

/// How much of what a prompt holds.
///
/// # References
///
/// `RLCoder` §IV-D. Training: 512 tokens of 1,024 for code from other files; evaluation: 1,536 of 2,048.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptRule {
    /// Tokens of code from other files.
    pub cross_tokens_max: usize,
    /// Tokens of the whole prompt. Room for what the model writes is not part of it.
    pub context_tokens_max: usize,
    /// Characters per token of `cross_tokens_max` that are tokenized at all.
    pub cross_chars_per_token: usize,
    /// The token that the model expects before every text, for models trained with one.
    pub begin_token: Option<u32>,
    /// What becomes of white space at the end of the left context.
    pub seam: Seam,
    /// The right context in the prompt, for models that fill in the middle; the published prompt shows none.
    pub infill: Option<Infill>,
    /// The paper's definition or the released code's.
    ///
    /// The paper's concatenates the tokens of the three parts and writes the path as a comment of the file's language.
    /// The released code decodes the concatenated tokens to text and tokenizes that again, which merges tokens across
    /// the seams, and writes a hash comment in every language.
    pub variant: Variant,
}

impl Default for PromptRule {
    /// Returns the limits `RLCoder` trains with.
    fn default() -> Self {
        Self {
            cross_tokens_max: 512,
            context_tokens_max: 1024,
            cross_chars_per_token: 10,
            begin_token: None,
            seam: Seam::Kept,
            infill: None,
            variant: Variant::Paper,
        }
    }
}

/// How much of a candidate a prompt shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shown {
    /// Nothing.
    Not,
    /// Its beginning.
    Partly,
    /// Everything.
    Whole,
}

/// A prompt and what became of its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The tokens, in the released variant those of the text tokenized again.
    pub tokens: Vec<u32>,
    /// How many tokens the code from other files has.
    pub cross_tokens: usize,
    /// How many bytes at the end of the code from other files are not shown.
    pub cross_bytes_dropped: usize,
    /// How many tokens the path has.
    pub path_tokens: usize,
    /// How many tokens of the left context are shown.
    pub left_tokens: usize,
    /// How many bytes at the start of the left context are not shown.
    pub left_bytes_dropped: usize,
    /// How many tokens at the start of the assembled prompt exceeded the budget and are left out, which happens where the
    /// path alone fills it or, in the released variant, where cut characters take more tokens the second time.
    pub start_tokens_dropped: usize,
    /// How much of each candidate is shown, in the order in which they were given.
    pub shown: Vec<Shown>,
}

/// Returns the prompt at a cursor that shows the candidates which precede the stop candidate.
#[must_use]
pub fn build(tokenizer: &Tokenizer, rule: &PromptRule, cursor: Cursor<'_>, candidates: &[&Candidate]) -> Prompt {
    PromptFrame::new(tokenizer, rule, cursor).build(candidates)
}

/// The parts of a prompt that do not depend on the candidates, tokenized once for all prompts at one cursor.
#[derive(Debug, Clone)]
pub struct PromptFrame<'a> {
    tokenizer: &'a Tokenizer,
    rule: PromptRule,
    language: Language,
    path: Vec<u32>,
    /// The first tokens of the right context; empty unless the prompt fills in the middle.
    right: Vec<u32>,
    /// The last tokens of the left context, as many as fit with no candidate, each with its first byte.
    left: Vec<(u32, usize)>,
    left_bytes: usize,
}

impl<'a> PromptFrame<'a> {
    /// Tokenizes the path and the end of the left context.
    #[must_use]
    pub fn new(tokenizer: &'a Tokenizer, rule: &PromptRule, cursor: Cursor<'_>) -> Self {
        let comment = match rule.variant {
            Variant::Paper => cursor.language.comment_prefix(),
            Variant::Released => Language::Python.comment_prefix(),
        };
        let path = tokenizer.encode(&format!("\n\n{comment}file path: {}\n\n", cursor.path));
        let (left_context, _) = rule.seam.split(cursor.left_context);
        let right = rule.infill.map(|infill| infill.right(tokenizer, cursor.right_context)).unwrap_or_default();
        let mut frame = Self {
            tokenizer,
            rule: *rule,
            language: cursor.language,
            path,
            right,
            left: Vec::new(),
            left_bytes: left_context.len(),
        };
        frame.left = last_tokens(tokenizer, left_context, frame.room(0));
        frame
    }

    /// Returns the prompt that shows the candidates which precede the stop candidate, as many as fit.
    #[must_use]
    pub fn build(&self, candidates: &[&Candidate]) -> Prompt {
        let (text, spans) = self.join(candidates);
        let (cross, bytes_shown) = self.cross(&text);
        let room = self.room(cross.len());
        let left = &self.left[self.left.len() - room.min(self.left.len())..];
        let prompt: Vec<u32> =
            cross.iter().chain(&self.path).copied().chain(left.iter().map(|(token, _)| *token)).collect();
        let (tokens, start_tokens_dropped) = self.finish(prompt);
        Prompt {
            tokens,
            start_tokens_dropped,
            cross_tokens: cross.len(),
            cross_bytes_dropped: text.len() - bytes_shown,
            path_tokens: self.path.len(),
            left_tokens: left.len(),
            left_bytes_dropped: left.first().map_or(self.left_bytes, |(_, first_byte)| *first_byte),
            shown: shown(&spans, bytes_shown, candidates.len()),
        }
    }

    /// Returns the texts of the candidates before the stop candidate, joined, and the byte span of each.
    fn join(&self, candidates: &[&Candidate]) -> (String, Vec<Range<usize>>) {
        let mut text = String::new();
        let mut spans = Vec::new();
        for candidate in candidates.iter().take_while(|candidate| !candidate.is_stop()) {
            if !spans.is_empty() {
                text.push_str(SEPARATOR);
            }
            let start = text.len();
            text.push_str(&candidate.text(self.language));
            spans.push(start..text.len());
        }
        (text, spans)
    }

    /// Returns the first tokens of the joined candidates that fit, and how many bytes they stand for.
    fn cross(&self, text: &str) -> (Vec<u32>, usize) {
        let tokens_max = self.rule.cross_tokens_max.min(self.room(0));
        let chars_max = self.rule.cross_tokens_max * self.rule.cross_chars_per_token;
        let cut = text.char_indices().nth(chars_max).map_or(text.len(), |(byte, _)| byte);
        let (mut tokens, spans) = self.tokenizer.encode_with_offsets(&text[..cut]);
        if tokens.len() <= tokens_max {
            return (tokens, cut);
        }
        tokens.truncate(tokens_max);
        (tokens, spans[..tokens_max].last().map_or(0, |span| span.end))
    }

    /// Returns the tokens left of a prompt's budget by the parts that are already there.
    fn room(&self, cross: usize) -> usize {
        let around = self.rule.infill.map_or(0, |infill| infill.extra(self.right.len()));
        self.rule.context_tokens_max.saturating_sub(self.path.len() + cross + around + SPARE_TOKENS)
    }

    /// Returns what the model reads of the concatenated parts, and how many tokens before that exceed the budget.
    fn finish(&self, parts: Vec<u32>) -> (Vec<u32>, usize) {
        let parts = match self.rule.variant {
            Variant::Paper => parts,
            Variant::Released => self.tokenizer.encode(&self.tokenizer.decode(&parts)),
        };
        let infill = self.rule.infill.map(|infill| infill.tokens);
        let around = self.rule.infill.map_or(0, |infill| infill.extra(self.right.len()));
        let mut tokens: Vec<u32> = self.rule.begin_token.into_iter().chain(parts).collect();
        let dropped = tokens.len().saturating_sub(self.rule.context_tokens_max.saturating_sub(around));
        tokens.drain(..dropped);
        if let Some(infill) = infill {
            let begin = usize::from(dropped == 0 && self.rule.begin_token.is_some());
            tokens.insert(begin, infill.prefix);
            tokens.push(infill.suffix);
            tokens.extend(&self.right);
            tokens.push(infill.middle);
        }
        (tokens, dropped)
    }
}

/// Returns how much of each of `n` candidates is in the first bytes of their joined text; those after `spans` are not.
fn shown(spans: &[Range<usize>], bytes_shown: usize, n: usize) -> Vec<Shown> {
    let shown = |span: &Range<usize>| match bytes_shown {
        bytes if bytes >= span.end => Shown::Whole,
        bytes if bytes > span.start => Shown::Partly,
        _ => Shown::Not,
    };
    spans.iter().map(shown).chain(std::iter::repeat(Shown::Not)).take(n).collect()
}
