//! A tokenizer as GGUF metadata.

mod pieces;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value as Json;

use super::config::DecoderConfig;
use super::entries::Entries;
use crate::gguf_tokenizer::{CONTROL, NORMAL, UNUSED, USER_DEFINED, cuts};
use crate::tokenizer::Tokenizer;
use crate::{Error, Result};

/// Why a tokenizer cannot be written.
type Refusal = String;

/// A token and the number of its kind.
type Token = (String, i64);

/// Adds the tokenizer of a decoder.
pub(super) fn describe(
    config: &DecoderConfig,
    tokenizer: &Tokenizer,
    path: &Path,
    entries: &mut Entries,
) -> Result<()> {
    let refused = |message: String| Error::Tokenizer { path: path.to_owned(), message };
    let json = tokenizer.json().map_err(|error| refused(error.to_string()))?;
    model(&json, config.vocab_size, entries).map_err(refused)?;
    specials(config, tokenizer, entries).map_err(refused)
}

fn model(json: &Json, vocab_size: usize, entries: &mut Entries) -> std::result::Result<(), Refusal> {
    let model = &json["model"];
    if model["type"] != "BPE" {
        return Err("only BPE can be written as GGUF".to_owned());
    }
    for key in ["dropout", "continuing_subword_prefix", "end_of_word_suffix"] {
        if !(model[key].is_null() || model[key] == "") {
            return Err(format!("`{key}` cannot be written as GGUF"));
        }
    }
    let tokens = tokens(json, vocab_size)?;
    let merges = merges(model)?;
    if model["byte_fallback"] == true {
        return pieces::describe(json, tokens, &merges, entries);
    }
    entries.text("tokenizer.ggml.model", "gpt2");
    entries.text("tokenizer.ggml.pre", cut(json)?);
    add_tokens(&tokens, entries);
    let merges: Vec<String> = merges.iter().map(|(left, right)| format!("{left} {right}")).collect();
    match merges.iter().find(|merge| merge.matches(' ').count() > 1) {
        Some(merge) => return Err(format!("the merge `{merge}` cannot be written as GGUF")),
        None => entries.texts("tokenizer.ggml.merges", merges.iter().map(String::as_str)),
    }
    Ok(())
}

/// Returns the name of how text is cut before bytes are merged.
fn cut(json: &Json) -> std::result::Result<&'static str, Refusal> {
    if json["decoder"]["type"] != "ByteLevel" {
        return Err("only byte-level BPE and BPE with byte fallback can be written as GGUF".to_owned());
    }
    let unknown = || {
        let known: Vec<&str> = cuts::names().collect();
        let known = known.join(", ");
        format!("GGUF has no known name for this normalizer and pre_tokenizer, only for those of {known}")
    };
    cuts::name_of(json).ok_or_else(unknown)
}

/// Returns every token with its kind, in the order of their numbers; a number without a token gets one that no text
/// gives.
fn tokens(json: &Json, vocab_size: usize) -> std::result::Result<Vec<Token>, Refusal> {
    let mut tokens: Vec<Option<Token>> = vec![None; vocab_size];
    let mut put = |id: Option<u64>, token: &str, kind: i64| {
        let slot = id.and_then(|id| tokens.get_mut(usize::try_from(id).ok()?));
        let slot = slot.ok_or_else(|| format!("token `{token}` is not below the vocab_size of {vocab_size}"))?;
        *slot = Some((token.to_owned(), kind));
        Ok::<(), Refusal>(())
    };
    for (token, id) in json["model"]["vocab"].as_object().into_iter().flatten() {
        put(id.as_u64(), token, NORMAL)?;
    }
    for added in json["added_tokens"].as_array().into_iter().flatten() {
        let token = added["content"].as_str().unwrap_or_default();
        for key in ["lstrip", "rstrip", "single_word"] {
            if added[key] == true {
                return Err(format!("`{key}` of token `{token}` cannot be written as GGUF"));
            }
        }
        put(added["id"].as_u64(), token, if added["special"] == true { CONTROL } else { USER_DEFINED })?;
    }
    let padding = |(id, token): (usize, Option<Token>)| token.unwrap_or_else(|| (format!("[PAD{id}]"), UNUSED));
    let tokens: Vec<Token> = tokens.into_iter().enumerate().map(padding).collect();
    let mut distinct = BTreeSet::new();
    match tokens.iter().find(|(token, _)| !distinct.insert(token)) {
        Some((token, _)) => Err(format!("token `{token}` has two numbers")),
        None => Ok(tokens),
    }
}

fn add_tokens(tokens: &[Token], entries: &mut Entries) {
    entries.texts("tokenizer.ggml.tokens", tokens.iter().map(|(token, _)| token.as_str()));
    entries.integers("tokenizer.ggml.token_type", tokens.iter().map(|(_, kind)| *kind as i32));
}

/// Returns the pairs of tokens that are merged, in order.
fn merges(model: &Json) -> std::result::Result<Vec<(&str, &str)>, Refusal> {
    let merges = model["merges"].as_array().into_iter().flatten().map(|merge| {
        let pair = match merge {
            Json::String(pair) => pair.split_once(' '),
            pair => pair[0].as_str().zip(pair[1].as_str()),
        };
        pair.ok_or_else(|| format!("the merge {merge} is not a pair of tokens"))
    });
    merges.collect()
}

/// Adds which tokens begin, end and pad a text, and which of them a text gets by itself.
fn specials(config: &DecoderConfig, tokenizer: &Tokenizer, entries: &mut Entries) -> std::result::Result<(), Refusal> {
    let (before, after) = tokenizer.template();
    let mut ends = config.eos_token_id.clone();
    ends.extend(tokenizer.eos());
    if let [end] = after[..] {
        ends.insert(0, end);
    }
    // llama.cpp takes some token for the end if the file names none.
    let Some(&end) = ends.first() else {
        return Err("neither eos_token_id nor the tokenizer names the token that ends a text".to_owned());
    };
    let turn_end = ends.iter().copied().find(|&other| other != end);
    let begin = before.first().copied().or(config.bos_token_id);
    if before.len() > 1 || after.len() > 1 {
        return Err(format!("a template of {before:?} and {after:?} around a text cannot be written as GGUF"));
    }
    for (name, id) in [("eos", Some(end)), ("eot", turn_end), ("bos", begin), ("padding", config.pad_token_id)] {
        match id {
            Some(id) if id as usize >= config.vocab_size => return Err(format!("{name} {id} is not a token")),
            Some(id) => entries.integer(&format!("tokenizer.ggml.{name}_token_id"), id),
            None => {}
        }
    }
    entries.flag("tokenizer.ggml.add_bos_token", !before.is_empty());
    entries.flag("tokenizer.ggml.add_eos_token", !after.is_empty());
    Ok(())
}
