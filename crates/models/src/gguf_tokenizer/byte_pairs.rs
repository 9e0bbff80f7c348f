//! Byte-level BPE: tokens and merges are stored as they are in `tokenizer.json`.
//!
//! Bytes that no token spells are dropped, as llama.cpp does (vocabularies leave out bytes that UTF-8 never uses, and
//! sometimes a few more).

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Description, cuts, refused, vocabulary};
use crate::Result;
use crate::gguf::Gguf;

pub(super) fn describe(gguf: &Gguf) -> Result<Description> {
    let name = gguf.text("tokenizer.ggml.pre")?.unwrap_or("none");
    let cut = cuts::named(name).ok_or_else(|| {
        let names: Vec<&str> = cuts::names().collect();
        refused(gguf, format!("tokenizer.ggml.pre `{name}` is not supported, only {}", names.join(", ")))
    })?;
    let vocabulary = vocabulary(gguf)?;
    let merges = merges(gguf, &vocabulary)?;
    Ok(Description {
        model: json!({"type": "BPE", "vocab": vocabulary, "merges": merges, "ignore_merges": cut.ignores_merges}),
        normalizer: cut.normalizer,
        pre_tokenizer: cut.pre_tokenizer,
        decoder: cuts::byte_level(true),
        adds_bos: cut.adds_bos,
    })
}

fn merges<'a>(gguf: &'a Gguf, vocabulary: &BTreeMap<&str, usize>) -> Result<Vec<Value>> {
    let merges = gguf.texts("tokenizer.ggml.merges")?;
    let merges: &'a [String] = merges.ok_or_else(|| refused(gguf, "tokenizer.ggml.merges is missing".to_owned()))?;
    let pairs = merges.iter().map(|merge| {
        let known = pair(merge).filter(|(left, right)| {
            let joined = [*left, *right].concat();
            [*left, *right, &joined].iter().all(|part| vocabulary.contains_key(part))
        });
        let known = known.map(|(left, right)| json!([left, right]));
        known.ok_or_else(|| refused(gguf, format!("`{merge}` does not merge two tokens into one")))
    });
    pairs.collect()
}

/// Splits a merge at its first space that is not the first character.
fn pair(merge: &str) -> Option<(&str, &str)> {
    let skip = merge.chars().next()?.len_utf8();
    let space = merge[skip..].find(' ')? + skip;
    Some((&merge[..space], &merge[space + 1..]))
}
