//! How text is cut before its parts are merged, by the names that llama.cpp has for it.
//!
//! A GGUF file says no more than the name: what it stands for is written in llama.cpp (`llama-vocab.cpp`), and here as
//! the parts of `tokenizer.json` of the models that the name comes from.

use serde_json::{Value, json};

/// What a name stands for.
pub(crate) struct Cut {
    /// The name that a file is written with.
    pub(crate) name: &'static str,
    pub(crate) normalizer: Value,
    pub(crate) pre_tokenizer: Value,
    /// Whether a part that is a token is taken as it is.
    pub(crate) ignores_merges: bool,
    /// Whether a text begins with the token for it if the metadata do not say.
    pub(crate) adds_bos: bool,
}

/// Names that stand for the same, the one that is written first.
const NAMES: [&[&str]; 5] = [
    &["gpt-2"],
    &["smollm", "starcoder", "refact"],
    &["qwen2"],
    &["llama-bpe", "llama3", "llama-v3"],
    &["deepseek-coder"],
];

/// Returns every name, those that a file is written with first in their group.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().flatten().copied()
}

/// Returns what `name` stands for.
pub(crate) fn named(name: &str) -> Option<Cut> {
    let name = NAMES.into_iter().find(|names| names.contains(&name))?[0];
    let plain =
        |pre_tokenizer| Cut { name, normalizer: Value::Null, pre_tokenizer, ignores_merges: false, adds_bos: false };
    match name {
        "gpt-2" => Some(plain(byte_level(true))),
        "smollm" => Some(plain(sequence(&[digits(), byte_level(true)]))),
        "qwen2" => Some(Cut {
            normalizer: json!({"type": "NFC"}),
            ..plain(sequence(&[isolate(&words("\\p{N}")), byte_level(false)]))
        }),
        "llama-bpe" => Some(Cut {
            ignores_merges: true,
            adds_bos: true,
            ..plain(sequence(&[isolate(&words("\\p{N}{1,3}")), byte_level(false)]))
        }),
        "deepseek-coder" => {
            let mut parts: Vec<Value> = DEEPSEEK_CODER.iter().map(|pattern| isolate(pattern)).collect();
            parts.extend([digits(), byte_level(false)]);
            Some(plain(sequence(&parts)))
        }
        _ => None,
    }
}

/// Returns the name of a tokenizer that is described as in `tokenizer.json`.
pub(crate) fn name_of(tokenizer: &Value) -> Option<&'static str> {
    let found = [comparable(&tokenizer["normalizer"]), comparable(&tokenizer["pre_tokenizer"])];
    let ignores_merges = tokenizer["model"]["ignore_merges"].as_bool().unwrap_or(false);
    let is_it = |cut: &Cut| {
        cut.ignores_merges == ignores_merges && [comparable(&cut.normalizer), comparable(&cut.pre_tokenizer)] == found
    };
    NAMES.iter().filter_map(|names| named(names[0])).find(is_it).map(|cut| cut.name)
}

/// Returns a description without what does not change tokens, and without sequences of one or none.
fn comparable(part: &Value) -> Value {
    let mut part = part.clone();
    if let Some(object) = part.as_object_mut() {
        object.remove("trim_offsets");
    }
    for key in ["normalizers", "pretokenizers"] {
        if let Some(parts) = part[key].as_array() {
            let parts: Vec<Value> = parts.iter().map(comparable).filter(|part| !part.is_null()).collect();
            part = match &parts[..] {
                [] => Value::Null,
                [only] => only.clone(),
                _ => json!({"type": "Sequence", "parts": parts}),
            };
        }
    }
    part
}

/// What DeepSeek-Coder cuts off, in this order.
const DEEPSEEK_CODER: [&str; 4] = ["[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[一-龥ࠀ-一가-퟿]+"];

/// Returns the pattern of Llama 3 and Qwen 2, which differ in the digits that stay together.
fn words(digits: &str) -> String {
    format!(
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{{L}}\\p{{N}}]?\\p{{L}}+|{digits}| \
         ?[^\\s\\p{{L}}\\p{{N}}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
    )
}

fn sequence(parts: &[Value]) -> Value {
    json!({"type": "Sequence", "pretokenizers": parts})
}

fn digits() -> Value {
    json!({"type": "Digits", "individual_digits": true})
}

fn isolate(pattern: &str) -> Value {
    json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false})
}

/// Returns the spelling of bytes as characters, after cuts by the pattern of GPT-2 if `cuts`.
pub(super) fn byte_level(cuts: bool) -> Value {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": cuts})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(name: &str) -> Value {
        let cut = named(name).unwrap();
        json!({
            "normalizer": cut.normalizer,
            "pre_tokenizer": cut.pre_tokenizer,
            "model": {"ignore_merges": cut.ignores_merges},
        })
    }

    #[test]
    fn a_description_leads_back_to_its_first_name() {
        for names in NAMES {
            for name in names {
                assert_eq!(name_of(&described(name)), Some(names[0]));
            }
        }
    }

    #[test]
    fn what_does_not_change_tokens_does_not_matter() {
        let mut tokenizer = described("gpt-2");
        tokenizer["pre_tokenizer"]["trim_offsets"] = json!(false);
        tokenizer["normalizer"] = json!({"type": "Sequence", "normalizers": []});
        assert_eq!(name_of(&tokenizer), Some("gpt-2"));
        tokenizer["pre_tokenizer"] = sequence(&[tokenizer["pre_tokenizer"].clone()]);
        assert_eq!(name_of(&tokenizer), Some("gpt-2"));
    }

    #[test]
    fn another_description_has_no_name() {
        assert!(named("tekken").is_none());
        let mut tokenizer = described("qwen2");
        tokenizer["normalizer"] = Value::Null;
        assert_eq!(name_of(&tokenizer), None);
        let mut tokenizer = described("gpt-2");
        tokenizer["pre_tokenizer"]["add_prefix_space"] = json!(true);
        assert_eq!(name_of(&tokenizer), None);
    }
}
