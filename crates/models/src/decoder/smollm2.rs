//! SmolLM2-135M against `transformers`: `tests/golden/llama.py` made `smollm2.json`.

use std::path::PathBuf;

use proptest::prelude::*;
use serde::Deserialize;

use super::{Decoder, LanguageModel, ScoredSequence};
use crate::golden::{device, directory};

const TOLERANCE: f32 = 1e-3;

#[derive(Deserialize)]
struct Golden {
    texts: Vec<Text>,
    tokens: Vec<u32>,
    logits: Vec<Selected>,
    nll: Vec<f32>,
}

#[derive(Deserialize)]
struct Text {
    text: String,
    tokens: Vec<u32>,
}

#[derive(Deserialize)]
struct Selected {
    position: usize,
    tokens: Vec<usize>,
    logits: Vec<f32>,
}

fn golden() -> Golden {
    let text = std::fs::read_to_string(directory("smollm2.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn load() -> Decoder {
    let path = std::env::var_os("RETORT_SMOLLM2").map(PathBuf::from);
    let path = path.expect("RETORT_SMOLLM2 is the path of SmolLM2-135M-Instruct.Q4_1.gguf");
    Decoder::load(&path, &device()).unwrap()
}

fn assert_close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    let errors = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs());
    let max = errors.fold(0.0, f32::max);
    assert!(max <= TOLERANCE, "the largest error is {max}");
}

#[test]
fn a_real_model_matches_transformers() {
    let (decoder, golden) = (load(), golden());
    let mut cache = decoder.new_cache();
    let mut read = 0;
    for selected in &golden.logits {
        let logits = decoder.feed(&mut cache, &golden.tokens[read..=selected.position]);
        let found: Vec<f32> = selected.tokens.iter().map(|&token| logits[token]).collect();
        assert_close(&found, &selected.logits);
        read = selected.position + 1;
    }
    let (prompt, target) = golden.tokens.split_at(1);
    let sequence = ScoredSequence { prompt: prompt.to_vec(), target: target.to_vec() };
    assert_close(&decoder.target_nll(&[sequence])[0], &golden.nll);
    let mut cache = decoder.new_cache();
    let logits = decoder.feed(&mut cache, &golden.tokens[..40]);
    assert_close(&decoder.score_from(&cache, &logits, &golden.tokens[40..]), &golden.nll[39..]);
}

#[test]
fn a_real_tokenizer_matches_the_reference_and_keeps_the_text() {
    let decoder = load();
    for Text { text, tokens } in golden().texts {
        assert_eq!(decoder.tokenizer().encode(&text), tokens, "{text:?}");
        assert_eq!(decoder.tokenizer().decode(&tokens), text);
    }
    assert_eq!(decoder.tokenizer().token("<file_sep>"), Some(5));
    assert_eq!(decoder.eos(), [0, 2]);
}

#[test]
fn a_real_tokenizer_gives_any_text_back() {
    let decoder = load();
    // Control characters and planes that are not in use have no token.
    let text = "[\\t\\r\\n -~\u{a0}-\u{2fff}\u{4e00}-\u{9fff}\u{1f300}-\u{1faff}]{0,200}";
    proptest!(|(text in text)| {
        let tokenizer = decoder.tokenizer();
        prop_assert_eq!(tokenizer.decode(&tokenizer.encode(&text)), text);
    });
}
