//! The special tokens around a text.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

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

    /// Returns `tokenizer` such that other programs put this template around a text too.
    ///
    /// # Errors
    ///
    /// Returns an error if a token has no spelling; `path` is the tokenizer it names.
    pub(super) fn stated_by(&self, tokenizer: &Tokenizer, path: &Path) -> Result<Tokenizer> {
        if tokenizer.template() == (self.before.clone(), self.after.clone()) {
            return Ok(tokenizer.clone());
        }
        let unusable = |message: String| Error::Tokenizer { path: path.to_owned(), message };
        let special = |&token: &u32| {
            let text = tokenizer.spelling(token).ok_or_else(|| unusable(format!("{token} has no spelling")))?;
            Ok((text.clone(), json!({ "id": text, "ids": [token], "tokens": [text] })))
        };
        let special_tokens =
            self.before.iter().chain(&self.after).map(special).collect::<Result<BTreeMap<String, _>>>()?;
        let piece = |token: &u32| json!({ "SpecialToken": { "id": tokenizer.spelling(*token), "type_id": 0 } });
        let sequence = |name: &str| json!({ "Sequence": { "id": name, "type_id": 0 } });
        let [before, after] = [&self.before, &self.after].map(|tokens| tokens.iter().map(piece).collect::<Vec<_>>());
        let single = [&before[..], &[sequence("A")], &after].concat();
        let pair = [&single[..], &[sequence("B")], &after].concat();
        let template = json!({
            "type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special_tokens,
        });
        let template = serde_json::from_value(template).map_err(|error| unusable(error.to_string()))?;
        Ok(tokenizer.with_post_processor(template))
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
