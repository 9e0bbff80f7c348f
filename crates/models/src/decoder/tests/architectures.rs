//! What holds for every architecture.

use burn::tensor::Tensor;
use serde_json::{Value, json};

use super::super::{BatchedLanguageModel, LanguageModel, ScoredSequence};
use crate::cache::Cache;
use crate::golden::{
    DECODERS, Golden, assert_close, assert_refused, changed_model, decoder, directory, logits, model, training_logits,
};
use crate::pass::{Padding, Rows};

#[test]
fn logits_match_transformers() {
    for name in DECODERS {
        Golden::load(name).check(&model(name));
    }
}

#[test]
fn cached_equals_uncached_however_the_text_is_cut() {
    for name in DECODERS {
        let model = model(name);
        let tokens = &Golden::load(name).cases[0].tokens[..12];
        let whole = logits(&model, tokens);
        for pieces in [[1, 11].as_slice(), &[5, 1, 1, 5], &[1; 12], &[3, 4, 5]] {
            let mut cache = Cache::new(model.network().shape().n_layers);
            let mut found = Vec::new();
            let mut rest = tokens;
            for &piece in pieces {
                let hidden = model.hidden(Rows::new(&[&rest[..piece]], Padding::Right), Some(&mut cache), None);
                found.extend(values(model.logits(hidden)));
                rest = &rest[piece..];
            }
            assert_eq!(cache.length(), tokens.len());
            assert_close(&found, &whole);
        }
    }
}

fn sequence(tokens: &[u32], prompt_tokens: usize) -> ScoredSequence {
    let (prompt, target) = tokens.split_at(prompt_tokens);
    ScoredSequence { prompt: prompt.to_vec(), target: target.to_vec() }
}

#[test]
fn the_nll_of_a_padded_batch_matches_transformers() {
    for name in DECODERS {
        let golden = Golden::load(name);
        let [long, short, _one] = golden.cases.as_slice() else {
            panic!("three cases");
        };
        let sequences = [
            sequence(&long.tokens, 1),
            sequence(&short.tokens, 4),
            sequence(&short.tokens, short.tokens.len()),
            sequence(&long.tokens, long.tokens.len() - 1),
        ];
        let found = decoder(name).target_nll(&sequences);
        assert_close(&found[0], &long.nll());
        assert_close(&found[1], &short.nll()[3..]);
        assert!(found[2].is_empty());
        assert_close(&found[3], &long.nll()[long.tokens.len() - 2..]);
    }
}

#[test]
fn a_row_gives_the_same_whatever_its_batch_and_the_side_of_the_padding() {
    for name in DECODERS {
        let decoder = decoder(name);
        let rows = [vec![3, 4, 5, 6, 7], vec![9], vec![8, 7, 3]];
        let next = [vec![vec![1], vec![2], vec![3]], vec![vec![4, 5], vec![6], vec![7, 8, 9]]];
        let alone = |row: usize| {
            let mut cache = decoder.new_cache();
            let first = decoder.feed(&mut cache, &rows[row]);
            [first].into_iter().chain(next.iter().map(|next| decoder.feed(&mut cache, &next[row]))).collect::<Vec<_>>()
        };
        let alone: Vec<Vec<Vec<f32>>> = (0..3).map(alone).collect();
        for padding in [Padding::Left, Padding::Right] {
            let mut cache = decoder.new_cache();
            let mut found = vec![decoder.feed_rows(&mut cache, &rows, padding)];
            found.push(decoder.feed_rows(&mut cache, &next[0], padding));
            let mut reversed = decoder.select_rows(&cache, &[2, 1, 0]);
            let last: Vec<Vec<u32>> = next[1].iter().rev().cloned().collect();
            let mut last = decoder.feed_rows(&mut reversed, &last, padding);
            last.reverse();
            found.push(last);
            for (step, logits) in found.iter().enumerate() {
                (0..3).for_each(|row| assert_close(&logits[row], &alone[row][step]));
            }
        }
    }
}

#[test]
fn every_tensor_of_a_checkpoint_is_a_linear_layer_a_table_or_a_norm_under_its_name() {
    for name in DECODERS {
        let mut model = model(name);
        let shapes = crate::weights::tensors(&model, &crate::decoder::load::names());
        let (embedding, _) = model.network_mut().token_embedding();
        let linears: Vec<String> = model.network_mut().linears().into_iter().map(|(name, _)| name).collect();
        for tensor in shapes.keys() {
            let (_variant, tensor) = tensor.split_once('.').unwrap();
            let layer = tensor.strip_suffix(".weight").or_else(|| tensor.strip_suffix(".bias")).unwrap();
            let other = ["norm", "ln_", "wpe"].iter().any(|part| layer.contains(part));
            assert!(other || layer == embedding || linears.iter().any(|linear| linear == layer), "{name}: {tensor}");
        }
    }
}

fn dropout_keys(name: &str) -> Vec<String> {
    let config = std::fs::read_to_string(directory(name).join("config.json")).unwrap();
    let config: serde_json::Map<String, Value> = serde_json::from_str(&config).unwrap();
    let is_dropout = |key: &String| key.ends_with("_pdrop") || key.ends_with("_dropout") && !key.contains("summary");
    config.keys().filter(|key| is_dropout(key)).cloned().collect()
}

#[test]
fn every_probability_of_dropout_is_used_in_training_alone() {
    for name in DECODERS {
        let keys = dropout_keys(name);
        assert!(!keys.is_empty());
        let with = |dropped: &[&String]| {
            let mut changes = json!({});
            for key in &keys {
                changes[key] = (if dropped.contains(&key) { 0.5 } else { 0.0 }).into();
            }
            changed_model(name, &changes).unwrap()
        };
        let none = training_logits(&with(&[]), 1);
        for key in &keys {
            let model = with(&[key]);
            assert_eq!(training_logits(&model, 1), training_logits(&model, 1));
            assert_ne!(training_logits(&model, 1), none, "{name}: {key}");
            assert_eq!(logits(&model, &[3, 4, 5]), logits(&with(&[]), &[3, 4, 5]));
        }
    }
}

#[test]
fn an_unknown_architecture_is_refused_with_those_that_are_known() {
    let error = changed_model("llama_grouped", &json!({"model_type": "mamba"})).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("model_type: `mamba` is not a decoder that is implemented: expected one of"), "{error}");
    assert_refused("llama_grouped", &[(json!({"model_type": null}), "model_type: is missing")]);
    for model_type in ["gpt2", "gpt_bigcode", "codegen", "llama"] {
        assert!(error.contains(model_type), "{error}");
    }
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().unwrap()
}
