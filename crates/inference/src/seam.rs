//! The seam between the left context and what follows it.
//!
//! Code tokenizers attach white space to the text after it: `"\n        return"` is `"\n       "` and `" return"`. Where
//! a left context ends in white space, its last tokens and the first ones of the target are therefore a pair that the
//! model has never read, and it is surprised by the seam rather than by the target. Moving the white space to the
//! target's side of the seam avoids that.

use models::tokenizer::Tokenizer;

/// The most white space that is moved, in bytes; a longer run is left where it is.
pub const MOVED_BYTES_MAX: usize = 32;

/// What becomes of white space at the end of a left context.
///
/// # References
///
/// RLCoder keeps it. Its models (DeepSeek-Coder, `CodeLlama`) split line breaks from indentation, so that the seam after a
/// line break is harmless there; with the pre-tokenizer of GPT-2 it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Seam {
    /// It stays in the prompt.
    #[default]
    Kept,
    /// It is tokenized together with what follows.
    Moved,
}

impl Seam {
    /// Returns the left context that a prompt shows, and the white space that goes with what follows.
    #[must_use]
    pub fn split(self, left_context: &str) -> (&str, &str) {
        let shown = left_context.trim_end_matches([' ', '\t', '\n', '\r']);
        let moved = self == Self::Moved && left_context.len() - shown.len() <= MOVED_BYTES_MAX;
        left_context.split_at(if moved { shown.len() } else { left_context.len() })
    }
}

/// The tokens that can bring a completion over a seam: those that begin with white space.
#[derive(Debug, Clone)]
pub struct SeamTokens {
    tokens: Vec<(u32, String)>,
}

impl SeamTokens {
    /// Looks through a vocabulary.
    #[must_use]
    pub fn new(tokenizer: &Tokenizer) -> Self {
        let all = (0..tokenizer.vocabulary_size() as u32).map(|token| (token, tokenizer.decode(&[token])));
        Self { tokens: all.filter(|(_, text)| text.starts_with([' ', '\t', '\n', '\r'])).collect() }
    }

    /// Returns the most probable token that agrees with the white space still to be written, and its text.
    ///
    /// A token agrees if it is the beginning of that white space, or begins with all of it.
    #[must_use]
    pub fn most_probable(&self, logits: &[f32], white_space: &str) -> Option<(u32, &str)> {
        let agrees = |text: &str| text.starts_with(white_space) || white_space.starts_with(text);
        let candidates = self.tokens.iter().filter(|(_, text)| agrees(text));
        let best =
            candidates.reduce(|best, next| if logits[next.0 as usize] > logits[best.0 as usize] { next } else { best });
        best.map(|(token, text)| (*token, text.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    #[test]
    fn trailing_white_space_is_moved_only_when_asked() {
        let left = "def f():\n    ";
        assert_eq!(Seam::Moved.split(left), ("def f():", "\n    "));
        assert_eq!(Seam::Kept.split(left), (left, ""));
        assert_eq!(Seam::Moved.split("x ="), ("x =", ""));
        assert_eq!(Seam::Moved.split(" \n"), ("", " \n"));
    }

    #[test]
    fn a_long_run_of_white_space_stays() {
        let left = format!("x{}", "\n".repeat(MOVED_BYTES_MAX + 1));
        assert_eq!(Seam::Moved.split(&left), (left.as_str(), ""));
    }

    #[test]
    fn a_seam_token_agrees_with_the_white_space() {
        let decoder = fixtures::decoder();
        let tokenizer = decoder.tokenizer();
        let seam = SeamTokens::new(tokenizer);
        let (space, line) = (tokenizer.encode(" ")[0], tokenizer.encode("\n")[0]);
        let mut logits = vec![0.0; tokenizer.vocabulary_size()];
        logits[space as usize] = 2.0;
        logits[line as usize] = 1.0;
        assert_eq!(seam.most_probable(&logits, "\n "), Some((line, "\n")));
        assert_eq!(seam.most_probable(&logits, " \n"), Some((space, " ")));
    }
}
