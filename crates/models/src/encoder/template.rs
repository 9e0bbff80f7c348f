//! The special tokens around a text.

use std::path::Path;

use crate::tokenizer::Tokenizer;
use crate::{Error, Result};

/// The tokens that an encoder expects before and after a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncoderTemplate {
    /// The tokens before the text.
    pub before: Vec<u32>,
    /// The tokens after the text.
    pub after: Vec<u32>,
}

impl EncoderTemplate {
    /// Returns BERT's template, `[CLS] text [SEP]`.
    ///
    /// # Errors
    ///
    /// Returns an error if the vocabulary lacks one of the tokens; `path` is the tokenizer it names.
    pub fn bert(tokenizer: &Tokenizer, path: &Path) -> Result<Self> {
        Ok(Self { before: vec![token(tokenizer, "[CLS]", path)?], after: vec![token(tokenizer, "[SEP]", path)?] })
    }

    /// Returns the template of the RoBERTa family: `<s> <encoder-only> </s> text </s>` where the vocabulary has
    /// `<encoder-only>` (UniXcoder), `<s> text </s>` elsewhere.
    ///
    /// # Errors
    ///
    /// Returns an error if the vocabulary lacks one of the tokens; `path` is the tokenizer it names.
    pub fn roberta(tokenizer: &Tokenizer, path: &Path) -> Result<Self> {
        let end = token(tokenizer, "</s>", path)?;
        let mut before = vec![token(tokenizer, "<s>", path)?];
        if let Some(mode) = tokenizer.token("<encoder-only>") {
            before.extend([mode, end]);
        }
        Ok(Self { before, after: vec![end] })
    }

    /// Returns `tokens` between the special tokens.
    #[must_use]
    pub fn wrap(&self, tokens: &[u32]) -> Vec<u32> {
        [&self.before, tokens, &self.after].concat()
    }

    /// Returns the number of special tokens.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a template is never empty")]
    pub fn len(&self) -> usize {
        self.before.len() + self.after.len()
    }
}

fn token(tokenizer: &Tokenizer, text: &str, path: &Path) -> Result<u32> {
    tokenizer
        .token(text)
        .ok_or_else(|| Error::Tokenizer { path: path.to_owned(), message: format!("the vocabulary lacks `{text}`") })
}
