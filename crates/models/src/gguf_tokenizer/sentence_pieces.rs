//! BPE as `SentencePiece` has it: tokens with scores, spaces spelled `▁`, unknown characters spelled byte by byte.
//!
//! `SentencePiece` joins the neighbors whose joined token has the highest score, the leftmost first. In `tokenizers` pairs
//! of tokens have ranks: every pair that spells a token gets one, in the order of `convert_slow_tokenizer.py` of
//! `transformers`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Description, NORMAL, UNKNOWN, refused, vocabulary};
use crate::Result;
use crate::gguf::Gguf;

/// Above any token in use; every token is cut everywhere.
const TOKEN_BYTES_MAX: usize = 256;
const BYTES: usize = 256;
const SPACE: &str = "▁";

pub(super) fn describe(gguf: &Gguf) -> Result<Description> {
    let vocabulary = vocabulary(gguf)?;
    let kinds = aligned(gguf, "token_type", gguf.integers("tokenizer.ggml.token_type")?, vocabulary.len())?;
    let scores = aligned(gguf, "scores", gguf.floats("tokenizer.ggml.scores")?, vocabulary.len())?;
    if vocabulary.keys().filter(|token| is_byte(token)).count() != BYTES {
        return Err(refused(gguf, "tokenizer.ggml.tokens lacks a token for every byte".to_owned()));
    }
    let normal: BTreeMap<&str, f64> =
        vocabulary.iter().filter(|(_, id)| kinds[**id] == NORMAL).map(|(token, id)| (*token, scores[*id])).collect();
    if let Some(token) = normal.keys().find(|token| token.len() > TOKEN_BYTES_MAX) {
        return Err(refused(gguf, format!("a token of {} bytes is too long", token.len())));
    }
    let unknown = vocabulary.iter().find(|(_, id)| kinds[**id] == UNKNOWN).map(|(token, _)| *token);
    let adds_space = gguf.flag("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
    Ok(Description {
        normalizer: normalizer(adds_space),
        pre_tokenizer: Value::Null,
        decoder: decoder(adds_space),
        model: json!({
            "type": "BPE",
            "unk_token": unknown,
            "fuse_unk": true,
            "byte_fallback": true,
            "merges": merges(&normal),
            "vocab": vocabulary,
        }),
        adds_bos: true,
    })
}

/// Tells whether a token spells a byte, such as `<0x0A>`.
pub(crate) fn is_byte(token: &str) -> bool {
    let digits = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    digits.is_some_and(|digits| digits.len() == 2 && digits.chars().all(|digit| matches!(digit, '0'..='9' | 'A'..='F')))
}

fn aligned<'a, T>(gguf: &Gguf, name: &str, values: Option<&'a [T]>, size: usize) -> Result<&'a [T]> {
    match values {
        Some(values) if values.len() == size => Ok(values),
        _ => Err(refused(gguf, format!("tokenizer.ggml.{name} is missing or not as long as the tokens"))),
    }
}

/// Returns every pair of tokens that spells a token: those of a higher score first, then those with a longer left part.
///
/// Runs of spaces share one score: with the longer ones first, the leftmost run grows to its full length before another
/// begins.
pub(crate) fn merges<'a>(scores: &BTreeMap<&'a str, f64>) -> Vec<(&'a str, &'a str)> {
    let mut pairs = Vec::new();
    for (&token, &score) in scores {
        for (length, (at, _)) in token.char_indices().enumerate().skip(1) {
            let (left, right) = token.split_at(at);
            if scores.contains_key(left) && scores.contains_key(right) {
                pairs.push((score, length, left, right));
            }
        }
    }
    pairs.sort_by(|(score, length, _, right), (other_score, other_length, _, other_right)| {
        let lengths = (other_length, other_right.chars().count()).cmp(&(length, right.chars().count()));
        other_score.total_cmp(score).then(lengths)
    });
    pairs.into_iter().map(|(_, _, left, right)| (left, right)).collect()
}

/// Returns the normalizer of Llama, with or without a space before a text.
pub(crate) fn normalizer(adds_space: bool) -> Value {
    let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": SPACE});
    if !adds_space {
        return replace;
    }
    json!({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": SPACE}, replace]})
}

/// Returns the decoder of Llama, which takes the space before a text away.
pub(crate) fn decoder(adds_space: bool) -> Value {
    let mut parts = vec![
        json!({"type": "Replace", "pattern": {"String": SPACE}, "content": " "}),
        json!({"type": "ByteFallback"}),
        json!({"type": "Fuse"}),
    ];
    if adds_space {
        parts.push(json!({"type": "Strip", "content": " ", "start": 1, "stop": 0}));
    }
    json!({"type": "Sequence", "decoders": parts})
}
