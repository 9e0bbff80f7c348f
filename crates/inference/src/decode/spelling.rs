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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    const PIECES: [&str; 16] =
        ["▁", "▁s", "▁se", "▁self", "se", "lf", "self", "na", "me", "name", "names", "▁n", "▁na", "▁name", "._", "(n"];

    /// Adds the trigger to what a tokenizer is written as.
    fn load(mut tokenizer: Value) -> Tokenizer {
        let size = tokenizer["model"]["vocab"].as_object().map(serde_json::Map::len);
        let id = size.unwrap_or_else(|| tokenizer["model"]["vocab"].as_array().unwrap().len());
        let flags = json!({ "single_word": false, "lstrip": false, "rstrip": false, "normalized": false });
        let mut trigger = json!({ "id": id, "content": TRIGGER, "special": true });
        trigger.as_object_mut().unwrap().extend(flags.as_object().unwrap().clone());
        tokenizer["added_tokens"].as_array_mut().unwrap().push(trigger);
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
        Tokenizer::load(directory.path()).unwrap()
    }

    fn letters() -> impl Iterator<Item = String> {
        "▁\n".chars().chain('!'..='~').map(String::from)
    }

    /// Joins bytes and pieces as Llama does.
    fn sentence_pieces(normalizer: &Value, pre_tokenizer: &Value) -> Tokenizer {
        let bytes = (0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>"));
        let letters = letters().filter(|letter| letter != "\n");
        let merges = [("▁", "s"), ("s", "e"), ("l", "f"), ("se", "lf"), ("▁s", "e"), ("▁se", "lf"), ("n", "a")];
        let merges = merges.into_iter().chain([("m", "e"), ("na", "me"), ("▁", "na"), ("▁na", "me"), ("name", "s")]);
        let joined = merges.clone().map(|(left, right)| [left, right].concat());
        let tokens = ["<unk>".to_owned()].into_iter().chain(bytes).chain(letters).chain(joined);
        let vocabulary: serde_json::Map<String, Value> =
            tokens.enumerate().map(|(id, token)| (token, id.into())).collect();
        let space = json!({ "type": "Replace", "pattern": { "String": "▁" }, "content": " " });
        let strip = json!({ "type": "Strip", "content": " ", "start": 1, "stop": 0 });
        let decoders = json!([space, { "type": "ByteFallback" }, { "type": "Fuse" }, strip]);
        load(json!({
            "version": "1.0",
            "added_tokens": [],
            "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer,
            "decoder": { "type": "Sequence", "decoders": decoders },
            "model": {
                "type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true, "vocab": vocabulary,
                "merges": merges.map(|(left, right)| format!("{left} {right}")).collect::<Vec<String>>(),
            },
        }))
    }

    /// Cuts into the most probable pieces as T5 does.
    fn unigrams() -> Tokenizer {
        let pieces = PIECES.map(str::to_owned).into_iter().chain(letters().skip(1));
        let scored = pieces.map(|piece| json!([piece, -8.0 / piece.chars().count() as f64]));
        let vocabulary: Vec<Value> = [json!(["<unk>", 0.0])].into_iter().chain(scored).collect();
        let spaces = json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true });
        load(json!({
            "version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": spaces, "decoder": spaces,
            "model": { "type": "Unigram", "unk_id": 0, "vocab": vocabulary },
        }))
    }

    fn tokenizers() -> [(&'static str, Tokenizer); 4] {
        let space = json!({ "type": "Replace", "pattern": { "String": " " }, "content": "▁" });
        let prepend = json!({ "type": "Sequence", "normalizers": [{ "type": "Prepend", "prepend": "▁" }, space] });
        let first = json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false });
        [
            ("GPT-2", crate::fixtures::asking_decoder().tokenizer().clone()),
            ("Llama", sentence_pieces(&prepend, &Value::Null)),
            ("Llama, space at the beginning only", sentence_pieces(&Value::Null, &first)),
            ("T5", unigrams()),
        ]
    }

    fn check(name: &str, tokenizer: &Tokenizer, before: &str, suggestion: &str) {
        let mut spelling = Spelling::new(tokenizer, tokenizer.vocabulary_size());
        let lead = tokenizer.encode(&[before, TRIGGER].concat());
        let tokens = spelling.tokens(suggestion);
        let in_context = tokenizer.encode(&[before, TRIGGER, suggestion].concat());
        assert_eq!([lead, tokens].concat(), in_context, "{name}: {before:?} {suggestion:?}");
        assert_eq!(spelling.text(&in_context), [before, TRIGGER, suggestion].concat(), "{name}");
        let unmarked = [before, suggestion].concat().replace(TRIGGER, "");
        assert_eq!(spelling.unmarked(&in_context), unmarked, "{name}");
    }

    #[test]
    fn a_suggestion_has_the_tokens_of_a_marked_function_in_every_kind_of_vocabulary() {
        for (name, tokenizer) in tokenizers() {
            for before in ["", "\n    return self.", "x = ", "self._", "f(", "na", "\n    <COMP>self.<COMP>name = "] {
                for suggestion in ["name", "names", "self", "me", "_private", "(name", "x1"] {
                    check(name, &tokenizer, before, suggestion);
                }
            }
        }
    }

    #[test]
    fn some_vocabularies_begin_what_follows_a_trigger_with_a_space() {
        let is_apart = |tokenizer: &Tokenizer| Spelling::new(tokenizer, tokenizer.vocabulary_size()).is_apart;
        let apart = tokenizers().map(|(_, tokenizer)| is_apart(&tokenizer));
        assert_eq!(apart, [false, true, false, true]);
    }

    #[test]
    fn what_a_vocabulary_cannot_spell_has_no_tokens() {
        for (name, tokenizer) in tokenizers() {
            let tokens = Spelling::new(&tokenizer, tokenizer.vocabulary_size()).tokens("größe");
            assert_eq!(tokens.is_empty(), name == "T5", "{name}");
        }
    }

    #[test]
    fn a_model_without_the_trigger_has_no_token_for_it() {
        let tokenizer = crate::fixtures::asking_decoder().tokenizer().clone();
        let trigger = tokenizer.token(TRIGGER).unwrap();
        assert_eq!(Spelling::new(&tokenizer, trigger as usize).trigger, None);
        assert_eq!(Spelling::new(&tokenizer, trigger as usize + 1).trigger, Some(trigger));
        assert_eq!(Spelling::new(&crate::fixtures::tokenizer(), 1_000).trigger, None);
    }

    proptest! {
        #[test]
        fn no_text_before_a_trigger_changes_the_tokens_behind_it(
            before in "[\n.(=a-e_]( |self|name|<COMP>[a-e]|[\n.(=a-e_]){0,8}",
            suggestion in "[a-zA-Z_][a-z_0-9]{0,8}",
        ) {
            thread_local! {
                static TOKENIZERS: [(&'static str, Tokenizer); 4] = tokenizers();
            }
            TOKENIZERS.with(|tokenizers| {
                tokenizers.iter().for_each(|(name, tokenizer)| check(name, tokenizer, &before, &suggestion));
            });
        }
    }
}
