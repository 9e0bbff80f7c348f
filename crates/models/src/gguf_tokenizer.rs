//! The byte-level BPE tokenizer that the metadata of a GGUF file describes.
//!
//! Tokens and merges are stored as such; how text is cut before merging is stored only as a name. Bytes that no token
//! spells are dropped, as llama.cpp does (vocabularies leave out bytes that UTF-8 never uses, and sometimes a few more).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::gguf::Gguf;
use crate::{Error, Result};

/// Ends a text whatever the metadata name as its end: chat models name the end of a turn there.
const END_OF_TEXT: &str = "<|endoftext|>";

/// Number of a token that stands for itself and is never spelled out by merges.
const CONTROL: i64 = 3;
/// Number of a token that is recognized in text but is not special.
const USER_DEFINED: i64 = 4;

/// Returns the tokenizer of a GGUF file, which adds no special tokens.
///
/// # Errors
///
/// Returns an error if the metadata are incomplete, contradict themselves, or name a kind of tokenizer that is not
/// implemented.
pub fn tokenizer(gguf: &Gguf) -> Result<tokenizers::Tokenizer> {
    let model = gguf.text("tokenizer.ggml.model")?.unwrap_or("none");
    if model != "gpt2" {
        return Err(refused(gguf, format!("tokenizer.ggml.model `{model}` is not supported, only `gpt2`")));
    }
    let cut = gguf.text("tokenizer.ggml.pre")?.unwrap_or("none");
    let pre_tokenizer = pre_tokenizer(cut).ok_or_else(|| {
        refused(gguf, format!("tokenizer.ggml.pre `{cut}` is not supported, only {}", CUTS.join(", ")))
    })?;
    let description = json!({
        "version": "1.0",
        "added_tokens": added_tokens(gguf)?,
        "normalizer": null,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": null,
        "decoder": byte_level(),
        "model": byte_pairs(gguf)?,
    });
    tokenizers::Tokenizer::from_bytes(description.to_string()).map_err(|error| refused(gguf, error.to_string()))
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
        ends.extend(gguf.unsigned(key)?);
    }
    let is_end = |(token, kind): (&String, &i64)| token == END_OF_TEXT && *kind == CONTROL;
    ends.extend(tokens.iter().zip(kinds).position(is_end));
    if ends.iter().any(|&end| end >= tokens.len()) {
        return Err(gguf.error("tokenizer.ggml.eos_token_id is outside the vocabulary".to_owned()));
    }
    Ok(ends.into_iter().map(|end| end as u32).collect())
}

/// The names of [`pre_tokenizer`].
const CUTS: [&str; 4] = ["gpt-2", "smollm", "starcoder", "refact"];

/// Returns how text is cut under a name of llama.cpp: always by the pattern of GPT-2, mostly after every digit is cut
/// off on its own.
fn pre_tokenizer(name: &str) -> Option<Value> {
    match name {
        "gpt-2" => Some(byte_level()),
        "smollm" | "starcoder" | "refact" => Some(json!({
            "type": "Sequence",
            "pretokenizers": [{"type": "Digits", "individual_digits": true}, byte_level()],
        })),
        _ => None,
    }
}

fn byte_level() -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true})
}

/// Returns tokens and merges as the BPE model of `tokenizer.json`.
fn byte_pairs(gguf: &Gguf) -> Result<Value> {
    let missing = |key: &str| refused(gguf, format!("{key} is missing"));
    let tokens = gguf.texts("tokenizer.ggml.tokens")?.ok_or_else(|| missing("tokenizer.ggml.tokens"))?;
    let merges = gguf.texts("tokenizer.ggml.merges")?.ok_or_else(|| missing("tokenizer.ggml.merges"))?;
    let vocabulary: BTreeMap<&str, usize> = tokens.iter().enumerate().map(|(id, token)| (token.as_str(), id)).collect();
    if vocabulary.len() != tokens.len() {
        return Err(refused(gguf, "tokenizer.ggml.tokens holds a token twice".to_owned()));
    }
    let pairs = merges.iter().map(|merge| {
        let known = pair(merge).filter(|(left, right)| {
            let joined = [*left, *right].concat();
            [*left, *right, &joined].iter().all(|part| vocabulary.contains_key(part))
        });
        known.ok_or_else(|| refused(gguf, format!("`{merge}` does not merge two tokens into one")))
    });
    let pairs: Vec<(&str, &str)> = pairs.collect::<Result<_>>()?;
    Ok(json!({"type": "BPE", "vocab": vocabulary, "merges": pairs}))
}

/// Splits a merge at its first space that is not the first character.
fn pair(merge: &str) -> Option<(&str, &str)> {
    let skip = merge.chars().next()?.len_utf8();
    let space = merge[skip..].find(' ')? + skip;
    Some((&merge[..space], &merge[space + 1..]))
}

fn added_tokens(gguf: &Gguf) -> Result<Vec<Value>> {
    let tokens = gguf.texts("tokenizer.ggml.tokens")?.unwrap_or_default();
    let kinds = gguf.integers("tokenizer.ggml.token_type")?.unwrap_or_default();
    let is_added = |kind: i64| kind == CONTROL || kind == USER_DEFINED;
    let added = tokens.iter().zip(kinds).enumerate().filter(|(_, (_, kind))| is_added(**kind));
    let describe = |(id, (token, &kind)): (usize, (&String, &i64))| {
        json!({
            "id": id,
            "content": token,
            "single_word": false,
            "lstrip": false,
            "rstrip": false,
            "normalized": false,
            "special": kind == CONTROL,
        })
    };
    Ok(added.map(describe).collect())
}

fn refused(gguf: &Gguf, message: String) -> Error {
    Error::Tokenizer { path: gguf.path().to_owned(), message }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::gguf::sample::Sample;
    use crate::tokenizer::Tokenizer;

    fn sample(pre: &str) -> Sample {
        Sample::default()
            .text("tokenizer.ggml.model", "gpt2")
            .text("tokenizer.ggml.pre", pre)
            .texts(
                "tokenizer.ggml.tokens",
                &["<|endoftext|>", "a", "b", "1", "Ġ", "ab", "Ġab", "11", "<x>", "Ã", "¤", "Ċ"],
            )
            .texts("tokenizer.ggml.merges", &["a b", "Ġ ab", "1 1"])
            .integers("tokenizer.ggml.token_type", &[3, 1, 1, 1, 1, 1, 1, 1, 4, 1, 1, 1])
            .integer("tokenizer.ggml.eos_token_id", 1)
    }

    fn open(sample: &Sample) -> Gguf {
        let (_guard, path) = sample.write();
        Gguf::open(&path).unwrap()
    }

    fn build(pre: &str) -> Tokenizer {
        Tokenizer::from_inner(tokenizer(&open(&sample(pre))).unwrap(), Path::new("sample")).unwrap()
    }

    #[test]
    fn digits_stand_alone_where_the_name_says_so() {
        assert_eq!(build("smollm").encode("ab 11"), [5, 4, 3, 3]);
        assert_eq!(build("gpt-2").encode("ab 11ab"), [5, 4, 7, 5]);
    }

    #[test]
    fn special_tokens_are_recognized_and_spelled_out_again() {
        let tokenizer = build("smollm");
        let text = "ab<|endoftext|> ab<x>\nä";
        let tokens = tokenizer.encode(text);
        assert_eq!(tokens, [5, 0, 6, 8, 11, 9, 10]);
        assert_eq!(tokenizer.decode(&tokens), text);
    }

    #[test]
    fn the_ends_are_what_the_metadata_name_and_the_end_of_text() {
        assert_eq!(eos(&open(&sample("smollm"))).unwrap(), [1, 0]);
        let outside = open(&sample("smollm").integer("tokenizer.ggml.eot_token_id", 12));
        assert!(eos(&outside).is_err());
    }

    #[test]
    fn an_incomplete_or_unknown_tokenizer_is_refused() {
        let refused = |sample: Sample| tokenizer(&open(&sample)).unwrap_err().to_string();
        assert!(refused(sample("qwen2")).contains("`qwen2` is not supported"));
        assert!(refused(Sample::default().text("tokenizer.ggml.model", "llama")).contains("only `gpt2`"));
        let start = || Sample::default().text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
        assert!(refused(start()).contains("tokens is missing"));
        let twice = start().texts("tokenizer.ggml.tokens", &["a", "a"]).texts("tokenizer.ggml.merges", &[]);
        assert!(refused(twice).contains("twice"));
        let start = || start().texts("tokenizer.ggml.tokens", &["a", "b"]);
        for merge in ["ab", "a b", "a c", "", " "] {
            let expected = format!("`{merge}` does not merge two tokens into one");
            assert!(refused(start().texts("tokenizer.ggml.merges", &[merge])).contains(&expected));
        }
    }
}
