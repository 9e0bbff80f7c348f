//! Text to tokens and back.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tokenizers::{AddedToken, PostProcessorWrapper};

use crate::{Error, Result};

/// Characters that a vocabulary is least likely to hold.
const RARE_TEXT: &str = "\u{10FFFF}\u{E000}\u{0}\u{FFFD}x";

/// Turns text into tokens without special tokens, truncation or padding, and tokens into text.
///
/// The spelling of an added token within a text (`[SEP]`, `</s>`) gives that token, as in the Python library.
#[derive(Debug, Clone)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    post_processor: Option<PostProcessorWrapper>,
    begin: Option<u32>,
    eos: Option<u32>,
}

impl Tokenizer {
    /// Reads `tokenizer.json` of a model directory, and the end-of-sequence token from `tokenizer_config.json` if that
    /// is there.
    ///
    /// # Errors
    ///
    /// Returns an error if `tokenizer.json` is missing, damaged or unable to encode every text.
    pub fn load(directory: &Path) -> Result<Self> {
        let path = directory.join("tokenizer.json");
        let bytes = std::fs::read(&path).map_err(Error::read(&path))?;
        let inner = tokenizers::Tokenizer::from_bytes(bytes).map_err(|error| unusable(&path, &error))?;
        let tokenizer = Self::from_inner(inner, &path)?;
        let eos = eos_token(&directory.join("tokenizer_config.json"))?.and_then(|token| tokenizer.token(&token));
        Ok(tokenizer.with_eos(eos))
    }

    /// Wraps a tokenizer; `path` is what errors name as its origin.
    ///
    /// # Errors
    ///
    /// Returns an error if the tokenizer fails on a text outside its vocabulary.
    pub fn from_inner(mut inner: tokenizers::Tokenizer, path: &Path) -> Result<Self> {
        inner.with_truncation(None).map_err(|error| unusable(path, &error))?;
        inner.with_padding(None);
        inner.encode(RARE_TEXT, false).map_err(|error| unusable(path, &error))?;
        let around_nothing = inner.encode("", true).map_err(|error| unusable(path, &error))?;
        let begin = around_nothing.get_ids().first().copied();
        let post_processor = inner.get_post_processor().cloned();
        inner.with_post_processor(None::<PostProcessorWrapper>);
        Ok(Self { inner, post_processor, begin, eos: None })
    }

    /// Returns the tokenizer with `eos` as its end-of-sequence token.
    #[must_use]
    pub fn with_eos(self, eos: Option<u32>) -> Self {
        Self { eos, ..self }
    }

    /// Returns the tokens of `text`.
    ///
    /// # Panics
    ///
    /// Panics if the vocabulary cannot spell the text, which loading has ruled out.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let encoding = self.inner.encode_fast(text, false).expect("loading has tried a text outside the vocabulary");
        encoding.get_ids().to_vec()
    }

    /// Returns the tokens of `text` and, for each, the span of bytes of `text` that it stands for.
    ///
    /// Where one character takes several tokens, each has the span of the whole character.
    ///
    /// # Panics
    ///
    /// Panics if the vocabulary cannot spell the text, which loading has ruled out.
    #[must_use]
    pub fn encode_with_offsets(&self, text: &str) -> (Vec<u32>, Vec<Range<usize>>) {
        let encoding = self.inner.encode(text, false).expect("loading has tried a text outside the vocabulary");
        let spans = encoding.get_offsets().iter().map(|&(start, end)| start..end);
        (encoding.get_ids().to_vec(), spans.collect())
    }

    /// Returns the text of `tokens`, special tokens spelled out; bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Panics
    ///
    /// Panics if the decoder of the tokenizer fails.
    #[must_use]
    pub fn decode(&self, tokens: &[u32]) -> String {
        self.inner.decode(tokens, false).expect("a decoder joins any tokens")
    }

    /// Returns the token that is spelled `text` in the vocabulary, such as `[CLS]`.
    #[must_use]
    pub fn token(&self, text: &str) -> Option<u32> {
        self.inner.token_to_id(text)
    }

    /// Returns the spelling of a token in the vocabulary, such as `Ġdef`.
    #[must_use]
    pub fn spelling(&self, token: u32) -> Option<String> {
        self.inner.id_to_token(token)
    }

    /// Returns the token that the tokenizer's own template puts before a text, such as `<s>`.
    #[must_use]
    pub fn begin(&self) -> Option<u32> {
        self.begin
    }

    /// Returns the end-of-sequence token.
    #[must_use]
    pub fn eos(&self) -> Option<u32> {
        self.eos
    }

    /// Returns the special tokens with their spelling, the lowest first.
    #[must_use]
    pub fn special_tokens(&self) -> Vec<(u32, String)> {
        let added = self.inner.get_added_tokens_decoder();
        let special = added.into_iter().filter(|(_, token)| token.special).map(|(id, token)| (id, token.content));
        special.collect::<BTreeMap<u32, String>>().into_iter().collect()
    }

    /// Returns the number of tokens, added ones included.
    #[must_use]
    pub fn vocabulary_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }

    /// Adds a special token and returns its number; in a text it is recognized as it is spelled, and the spaces around
    /// it belong to other tokens.
    ///
    /// A token of the vocabulary keeps its number.
    ///
    /// # Errors
    ///
    /// Returns an error if `text` is empty or if the vocabulary leaves no number for it.
    pub(crate) fn add(&mut self, text: &str) -> Result<u32> {
        let highest = self.highest();
        let is_known = self.token(text).is_some();
        let refused = |message: &str| Error::adapter("tokens", format!("`{text}` {message}"));
        let token = AddedToken::from(text, true).single_word(false).lstrip(false).rstrip(false).normalized(false);
        self.inner.add_special_tokens([token]).map_err(|error| refused(&error.to_string()))?;
        let number = self.token(text).ok_or_else(|| refused("cannot be a token"))?;
        if !is_known && highest.is_some_and(|highest| number <= highest) {
            return Err(refused(&format!("would be {number}, which is another token")));
        }
        Ok(number)
    }

    /// Checks that a model of `vocab_size` tokens knows every token that this tokenizer gives; `path` is the file that
    /// holds `vocab_size`.
    ///
    /// # Errors
    ///
    /// Returns an error that names the highest token if the model lacks it.
    pub(crate) fn check_fits(&self, vocab_size: usize, path: &Path) -> Result<()> {
        match self.highest() {
            Some(highest) if highest as usize >= vocab_size => {
                let message = format!("{vocab_size} is not above {highest}, the highest token of the tokenizer");
                Err(Error::config(path, "vocab_size", message))
            }
            _ => Ok(()),
        }
    }

    /// Returns the highest token: tokens may be numbered with gaps, so it can exceed their number.
    pub(crate) fn highest(&self) -> Option<u32> {
        let vocabulary = self.inner.get_vocab(false).into_values().max();
        let added = self.inner.get_added_tokens_decoder().into_keys().max();
        [vocabulary, added, self.begin].into_iter().flatten().max()
    }

    /// Returns the content of `tokenizer.json` without truncation and padding.
    pub(crate) fn json(&self) -> serde_json::Result<serde_json::Value> {
        let mut inner = self.inner.clone();
        inner.with_post_processor(self.post_processor.clone());
        serde_json::to_value(&inner)
    }

    /// Returns the tokens that the tokenizer's own template puts before and after a text.
    ///
    /// # Panics
    ///
    /// Panics if the vocabulary cannot spell a text, which loading has ruled out.
    pub(crate) fn template(&self) -> (Vec<u32>, Vec<u32>) {
        let mut inner = self.inner.clone();
        inner.with_post_processor(self.post_processor.clone());
        let encoding = inner.encode("x", true).expect("loading has tried a text outside the vocabulary");
        let tokens = encoding.get_ids().iter().copied().zip(encoding.get_special_tokens_mask());
        let is_added = |(_, mask): &(u32, &u32)| **mask == 1;
        let before = tokens.clone().take_while(is_added).map(|(token, _)| token).collect();
        let mut after: Vec<u32> = tokens.rev().take_while(is_added).map(|(token, _)| token).collect();
        after.reverse();
        (before, after)
    }

    /// Returns the tokenizer with another template, which other programs put around a text.
    #[must_use]
    pub(crate) fn with_post_processor(&self, post_processor: PostProcessorWrapper) -> Self {
        Self { post_processor: Some(post_processor), ..self.clone() }
    }

    /// Writes `tokenizer.json` with the special tokens of its template, without truncation and padding.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mut inner = self.inner.clone();
        inner.with_post_processor(self.post_processor.clone());
        let json = inner.to_string(true).map_err(|error| unusable(path, &error))?;
        std::fs::write(path, json).map_err(Error::write(path))
    }
}

/// Returns the spelling of `eos_token`, which is text or an object with its `content`.
fn eos_token(path: &Path) -> Result<Option<String>> {
    if !path.exists() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(path).map_err(Error::read(path))?;
    let config: serde_json::Value =
        serde_json::from_str(&text).map_err(|source| Error::Json { path: path.to_owned(), source })?;
    let token = &config["eos_token"];
    let text = token.as_str().or_else(|| token["content"].as_str());
    Ok(text.map(str::to_owned))
}

fn unusable(path: &Path, error: &tokenizers::Error) -> Error {
    Error::Tokenizer { path: PathBuf::from(path), message: error.to_string() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random_model;

    fn byte_level() -> Tokenizer {
        let directory = tempfile::tempdir().unwrap();
        random_model::write_llama(directory.path(), 0).unwrap();
        Tokenizer::load(directory.path()).unwrap()
    }

    fn spelled(tokenizer: &Tokenizer, text: &str) -> String {
        let spelling = |token: &u32| tokenizer.spelling(*token).unwrap();
        tokenizer.encode(text).iter().map(spelling).collect::<Vec<String>>().join(" ")
    }

    /// Writes a `WordPiece` tokenizer as `MiniLM` ships it: lowercasing, truncated, padded, with special tokens.
    fn word_piece(unknown: &str) -> tempfile::TempDir {
        let json = serde_json::json!({
            "version": "1.0",
            "truncation": { "direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0 },
            "padding": {
                "strategy": { "Fixed": 8 }, "direction": "Right", "pad_to_multiple_of": null,
                "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]",
            },
            "added_tokens": [],
            "normalizer": { "type": "Lowercase" },
            "pre_tokenizer": { "type": "Whitespace" },
            "post_processor": { "type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2] },
            "decoder": { "type": "WordPiece", "prefix": "##", "cleanup": false },
            "model": {
                "type": "WordPiece", "unk_token": unknown, "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": { "[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "return": 4, "##s": 5, "x": 6 },
            },
        });
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("tokenizer.json"), json.to_string()).unwrap();
        directory
    }

    #[test]
    fn truncation_padding_and_special_tokens_of_the_file_are_left_out() {
        let tokenizer = Tokenizer::load(word_piece("[UNK]").path()).unwrap();
        assert_eq!(tokenizer.encode("Returns x x x x x y"), [4, 5, 6, 6, 6, 6, 6, 1]);
        assert_eq!(tokenizer.encode(""), [0; 0]);
        assert_eq!((tokenizer.begin(), tokenizer.eos()), (Some(2), None));
    }

    #[test]
    fn a_saved_tokenizer_keeps_its_special_tokens_but_no_limits() {
        let directory = word_piece("[UNK]");
        let path = directory.path().join("tokenizer.json");
        Tokenizer::load(directory.path()).unwrap().save(&path).unwrap();
        let python = tokenizers::Tokenizer::from_file(&path).unwrap();
        let encoding = python.encode("x x x x x", true).unwrap();
        assert_eq!(encoding.get_ids(), [2, 6, 6, 6, 6, 6, 3]);
    }

    #[test]
    fn a_tokenizer_that_cannot_spell_every_text_is_refused() {
        let error = Tokenizer::load(word_piece("[NO]").path()).unwrap_err();
        assert!(error.to_string().contains("cannot be used"), "{error}");
    }

    #[test]
    fn a_model_must_know_the_highest_token_even_where_numbers_have_gaps() {
        let json = |added: &str, vocabulary: &str| {
            format!(
                r#"{{"version": "1.0", "added_tokens": [{added}],
                "model": {{"type": "BPE", "vocab": {vocabulary}, "merges": []}}}}"#
            )
        };
        let added = r#"{"id": 8, "content": "<x>", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true}"#;
        for (added, vocabulary, highest) in [("", r#"{"a": 0, "b": 7}"#, 7), (added, r#"{"a": 8, "<x>": 2}"#, 8)] {
            let inner = tokenizers::Tokenizer::from_bytes(json(added, vocabulary)).unwrap();
            let tokenizer = Tokenizer::from_inner(inner, Path::new("sample")).unwrap();
            assert!(tokenizer.check_fits(highest + 1, Path::new("config.json")).is_ok());
            let error = tokenizer.check_fits(highest, Path::new("config.json")).unwrap_err().to_string();
            let expected = format!("{highest} is not above {highest}, the highest token of the tokenizer");
            assert_eq!(error, format!("config.json: vocab_size: {expected}"));
        }
        let added = byte_level().inner.get_vocab_size(true);
        let mut inner = byte_level().inner;
        inner.add_special_tokens([tokenizers::AddedToken::from("<new>", true)]).unwrap();
        let tokenizer = Tokenizer::from_inner(inner, Path::new("sample")).unwrap();
        assert!(tokenizer.check_fits(added, Path::new("config.json")).is_err());
        assert!(tokenizer.check_fits(added + 1, Path::new("config.json")).is_ok());
    }

    #[test]
    fn a_missing_or_damaged_file_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert!(matches!(Tokenizer::load(directory.path()), Err(Error::Read { .. })));
        std::fs::write(directory.path().join("tokenizer.json"), "{").unwrap();
        assert!(matches!(Tokenizer::load(directory.path()), Err(Error::Tokenizer { .. })));
    }

    #[test]
    fn offsets_are_bytes_of_the_text() {
        let tokenizer = byte_level();
        let text = "  return größe()";
        let (tokens, spans) = tokenizer.encode_with_offsets(text);
        assert_eq!(tokens, tokenizer.encode(text));
        let covered: Vec<&str> = spans.iter().map(|span| &text[span.clone()]).collect();
        assert_eq!(covered, [" ", " ", "return", " ", "g", "r", "ö", "ö", "ß", "ß", "e", "()"]);
        assert_eq!(spelled(&tokenizer, "x = self"), "x Ġ = Ġ self");
    }

    #[test]
    fn the_end_of_a_sequence_is_read_from_the_configuration() {
        let tokenizer = byte_level();
        assert_eq!(tokenizer.eos(), tokenizer.token("<|endoftext|>"));
        assert!(tokenizer.eos().is_some());
        assert_eq!(tokenizer.begin(), None);
        let special = tokenizer.special_tokens();
        assert_eq!((special.len(), special[0].clone(), special[5].0), (6, (0, "[PAD]".to_owned()), 5));
    }

    proptest! {
        #[test]
        fn byte_level_tokens_spell_the_text(text in "\\PC*|[ \n\ta-z()_]*") {
            let tokenizer = byte_level();
            prop_assert_eq!(tokenizer.decode(&tokenizer.encode(&text)), text.clone());
            let (tokens, spans) = tokenizer.encode_with_offsets(&text);
            prop_assert_eq!(tokens.len(), spans.len());
            let mut end = 0;
            for span in spans {
                prop_assert!(span.start <= end && span.end >= end && text.is_char_boundary(span.start));
                end = span.end;
            }
            prop_assert_eq!(end, text.len());
        }
    }
}
