//! BPE with byte fallback as `SentencePiece` has it: scores in place of merges.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::{Refusal, Token, add_tokens};
use crate::gguf::write::entries::Entries;
use crate::gguf_tokenizer::{BYTE, NORMAL, UNKNOWN, sentence_pieces};

/// The score of a token that nothing is merged into.
const UNMERGED: f64 = -1e9;

/// Adds tokens and scores; refuses merges that no scores stand for.
pub(super) fn describe(
    json: &Json,
    mut tokens: Vec<Token>,
    merges: &[(&str, &str)],
    entries: &mut Entries,
) -> Result<(), Refusal> {
    let adds_space = adds_space(json)?;
    let unknown = json["model"]["unk_token"].as_str();
    for (token, kind) in &mut tokens {
        if sentence_pieces::is_byte(token) {
            *kind = BYTE;
        } else if Some(token.as_str()) == unknown {
            *kind = UNKNOWN;
        }
    }
    let scores = scores(merges);
    let score = |token: &str| scores.get(token).copied().unwrap_or(UNMERGED);
    let normal = tokens.iter().filter(|(_, kind)| *kind == NORMAL);
    let normal: BTreeMap<&str, f64> = normal.map(|(token, _)| (token.as_str(), score(token))).collect();
    if sentence_pieces::merges(&normal) != merges {
        return Err(
            "the order of the merges is not that of scores, which GGUF has for BPE with byte fallback".to_owned()
        );
    }
    entries.text("tokenizer.ggml.model", "llama");
    entries.text("tokenizer.ggml.pre", "default");
    entries.flag("tokenizer.ggml.add_space_prefix", adds_space);
    add_tokens(&tokens, entries);
    entries.floats("tokenizer.ggml.scores", tokens.iter().map(|(token, _)| score(token) as f32));
    if let Some(id) = tokens.iter().position(|(_, kind)| *kind == UNKNOWN) {
        entries.integer("tokenizer.ggml.unknown_token_id", id as u32);
    }
    Ok(())
}

/// Tells whether a space is put before a text; refuses whatever else is done to a text.
fn adds_space(json: &Json) -> Result<bool, Refusal> {
    let is_it = |adds_space: &bool| {
        json["normalizer"] == sentence_pieces::normalizer(*adds_space)
            && json["decoder"] == sentence_pieces::decoder(*adds_space)
            && json["pre_tokenizer"].is_null()
            && json["model"]["ignore_merges"] != true
    };
    let refused = "the normalizer, pre_tokenizer and decoder are not those of Llama, which GGUF takes for granted";
    [true, false].into_iter().find(is_it).ok_or_else(|| refused.to_owned())
}

/// Returns scores that order the merges: tokens whose merges are mingled share one.
fn scores<'a>(merges: &[(&'a str, &'a str)]) -> BTreeMap<String, f64> {
    let products: Vec<String> = merges.iter().map(|(left, right)| format!("{left}{right}")).collect();
    let last: BTreeMap<&str, usize> = products.iter().enumerate().map(|(rank, token)| (token.as_str(), rank)).collect();
    let mut scores = BTreeMap::new();
    let (mut group, mut end) = (0, 0);
    for (rank, token) in products.iter().enumerate() {
        if rank > end {
            group += 1;
        }
        end = end.max(last[token.as_str()]);
        scores.insert(token.clone(), -f64::from(group));
    }
    scores
}
