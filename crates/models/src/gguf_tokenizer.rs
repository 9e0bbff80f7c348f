//! The tokenizer that the metadata of a GGUF file describe.
//!
//! Tokens and merges (or the scores that order merges) are stored as such; how text is cut before merging is stored
//! only as a name, see `cuts`.

mod byte_pairs;
pub(crate) mod cuts;
pub(crate) mod sentence_pieces;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::gguf::Gguf;
use crate::{Error, Result};

/// Ends a text whatever the metadata name as its end: chat models name the end of a turn there.
const END_OF_TEXT: &str = "<|endoftext|>";

/// Number of a token that merges spell.
pub(crate) const NORMAL: i64 = 1;
/// Number of a token that stands for what no other spells.
pub(crate) const UNKNOWN: i64 = 2;
/// Number of a token that stands for itself and is never spelled out by merges.
pub(crate) const CONTROL: i64 = 3;
/// Number of a token that is recognized in text but is not special.
pub(crate) const USER_DEFINED: i64 = 4;
/// Number of a token that no text gives.
pub(crate) const UNUSED: i64 = 5;
/// Number of a token that spells a byte.
pub(crate) const BYTE: i64 = 6;

/// Returns the tokenizer of a GGUF file; its template adds what the metadata tell to add before and after a text.
///
/// # Errors
///
/// Returns an error if the metadata are incomplete, contradict themselves, or name a kind of tokenizer that is not
/// implemented.
pub fn tokenizer(gguf: &Gguf) -> Result<tokenizers::Tokenizer> {
    let description = match gguf.text("tokenizer.ggml.model")?.unwrap_or("none") {
        "gpt2" => byte_pairs::describe(gguf)?,
        "llama" => sentence_pieces::describe(gguf)?,
        other => {
            let message = format!("tokenizer.ggml.model `{other}` is not supported, only `gpt2` and `llama`");
            return Err(refused(gguf, message));
        }
    };
    let json = json!({
        "version": "1.0",
        "added_tokens": added_tokens(gguf)?,
        "normalizer": description.normalizer,
        "pre_tokenizer": description.pre_tokenizer,
        "post_processor": template(gguf, description.adds_bos)?,
        "decoder": description.decoder,
        "model": description.model,
    });
    tokenizers::Tokenizer::from_bytes(json.to_string()).map_err(|error| refused(gguf, error.to_string()))
}

/// The parts of `tokenizer.json` that depend on the kind of tokenizer.
struct Description {
    normalizer: Value,
    pre_tokenizer: Value,
    decoder: Value,
    model: Value,
    /// Whether a text begins with the token for it if the metadata do not say.
    adds_bos: bool,
}

/// Returns the tokens that end a text: those the metadata name, and `<|endoftext|>`.
///
/// # Errors
///
/// Returns an error if the metadata name something other than a token.
pub fn eos(gguf: &Gguf) -> Result<Vec<u32>> {
    let tokens = gguf.texts("tokenizer.ggml.tokens")?.unwrap_or_default();
    let kinds = gguf.integers("tokenizer.ggml.token_type")?.unwrap_or_default();
    let mut ends = Vec::new();
    for key in ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"] {
        ends.extend(special(gguf, key)?);
    }
    let is_end = |(token, kind): (&String, &i64)| token == END_OF_TEXT && *kind == CONTROL;
    ends.extend(tokens.iter().zip(kinds).position(is_end).map(|end| end as u32));
    let mut distinct = Vec::new();
    for end in ends {
        if !distinct.contains(&end) {
            distinct.push(end);
        }
    }
    Ok(distinct)
}

/// Returns the token that a key names.
fn special(gguf: &Gguf, key: &str) -> Result<Option<u32>> {
    let size = gguf.texts("tokenizer.ggml.tokens")?.unwrap_or_default().len();
    match gguf.unsigned(key)? {
        Some(id) if id >= size => Err(gguf.error(format!("{key} is outside the vocabulary"))),
        id => Ok(id.map(|id| id as u32)),
    }
}

/// Returns the number of every token.
fn vocabulary(gguf: &Gguf) -> Result<BTreeMap<&str, usize>> {
    let tokens = gguf.texts("tokenizer.ggml.tokens")?;
    let tokens = tokens.ok_or_else(|| refused(gguf, "tokenizer.ggml.tokens is missing".to_owned()))?;
    let vocabulary: BTreeMap<&str, usize> = tokens.iter().enumerate().map(|(id, token)| (token.as_str(), id)).collect();
    if vocabulary.len() != tokens.len() {
        return Err(refused(gguf, "tokenizer.ggml.tokens holds a token twice".to_owned()));
    }
    Ok(vocabulary)
}

fn added_tokens(gguf: &Gguf) -> Result<Vec<Value>> {
    let tokens = gguf.texts("tokenizer.ggml.tokens")?.unwrap_or_default();
    let kinds = gguf.integers("tokenizer.ggml.token_type")?.unwrap_or_default();
    let is_added = |kind: i64| [UNKNOWN, CONTROL, USER_DEFINED].contains(&kind);
    let added = tokens.iter().zip(kinds).enumerate().filter(|(_, (_, kind))| is_added(**kind));
    let describe = |(id, (token, &kind)): (usize, (&String, &i64))| {
        json!({
            "id": id,
            "content": token,
            "single_word": false,
            "lstrip": false,
            "rstrip": false,
            "normalized": false,
            "special": kind != USER_DEFINED,
        })
    };
    Ok(added.map(describe).collect())
}

/// Returns the post-processor that puts the tokens for begin and end around a text, or null.
fn template(gguf: &Gguf, adds_bos: bool) -> Result<Value> {
    let tokens = gguf.texts("tokenizer.ggml.tokens")?.unwrap_or_default();
    let mut single = vec![json!({"Sequence": {"id": "A", "type_id": 0}})];
    let mut specials = serde_json::Map::new();
    for (name, is_added) in [("eos", false), ("bos", adds_bos)] {
        if !gguf.flag(&format!("tokenizer.ggml.add_{name}_token"))?.unwrap_or(is_added) {
            continue;
        }
        let key = format!("tokenizer.ggml.{name}_token_id");
        let id = special(gguf, &key)?.ok_or_else(|| refused(gguf, format!("{key} is missing")))?;
        let token = &tokens[id as usize];
        let at = usize::from(name == "eos");
        single.insert(at, json!({"SpecialToken": {"id": token, "type_id": 0}}));
        specials.insert(token.clone(), json!({"id": token, "ids": [id], "tokens": [token]}));
    }
    if specials.is_empty() {
        return Ok(Value::Null);
    }
    let pair = [&single[..], &[json!({"Sequence": {"id": "B", "type_id": 0}})]].concat();
    Ok(json!({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": specials}))
}

fn refused(gguf: &Gguf, message: String) -> Error {
    Error::Tokenizer { path: gguf.path().to_owned(), message }
}

#[cfg(test)]
pub(crate) mod tests;
