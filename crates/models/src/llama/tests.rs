//! Tests of the module above.

use std::path::{Path, PathBuf};

use burn::tensor::{Device, Int, Tensor, TensorData};
use serde::Deserialize;

use super::{Llama, LlamaConfig};
use crate::decoder::names;
use crate::device::{DeviceSpec, resolve};
use crate::weights::{self, Checkpoint, TensorSource};

const TOLERANCE: f32 = 1e-4;

/// Returns a directory of `tests/golden`.
pub(crate) fn golden_directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

pub(crate) fn device() -> Device {
    resolve(&DeviceSpec::Auto).unwrap()
}

/// Loads a tiny checkpoint.
pub(crate) fn tiny(name: &str) -> Llama {
    let directory = golden_directory(name);
    let config = LlamaConfig::load(&directory.join("config.json")).unwrap();
    load(&config, &Checkpoint::open(&directory).unwrap())
}

fn load(config: &LlamaConfig, source: &impl TensorSource) -> Llama {
    weights::load(Llama::new(config, &device()), source, &names()).unwrap()
}

/// What `transformers` computes with a tiny checkpoint.
pub(crate) struct Golden {
    pub(crate) cases: Vec<Case>,
}

#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) tokens: Vec<u32>,
    logits: Vec<Vec<f32>>,
    pub(crate) nll: Vec<f32>,
}

impl Golden {
    pub(crate) fn load(name: &str) -> Self {
        let text = std::fs::read_to_string(golden_directory(name).join("golden.json")).unwrap();
        Self { cases: serde_json::from_str(&text).unwrap() }
    }

    pub(crate) fn check(&self, config: &LlamaConfig, source: &impl TensorSource) {
        let model = load(config, source);
        for case in &self.cases {
            assert_close(&logits(&model, &case.tokens), &case.logits.concat());
        }
    }
}

fn tensor(tokens: &[u32]) -> Tensor<2, Int> {
    let tokens: Vec<i64> = tokens.iter().map(|&token| i64::from(token)).collect();
    let shape = [1, tokens.len()];
    Tensor::from_data(TensorData::new(tokens, shape), &device())
}

fn logits(model: &Llama, tokens: &[u32]) -> Vec<f32> {
    let hidden = model.hidden(tensor(tokens), None);
    let [_batch, length, size] = hidden.dims();
    model.logits(hidden.reshape([length, size])).into_data().try_into_vec().unwrap()
}

pub(crate) fn assert_close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= TOLERANCE, "{index}: {found} is not {expected}");
    }
}

#[test]
fn logits_match_transformers_with_grouped_queries_and_a_tied_head() {
    let directory = golden_directory("llama_grouped");
    let config = LlamaConfig::load(&directory.join("config.json")).unwrap();
    Golden::load("llama_grouped").check(&config, &Checkpoint::open(&directory).unwrap());
}

#[test]
fn logits_match_transformers_with_biases_an_own_head_size_and_scaled_positions() {
    let directory = golden_directory("llama_scaled");
    let config = LlamaConfig::load(&directory.join("config.json")).unwrap();
    Golden::load("llama_scaled").check(&config, &Checkpoint::open(&directory).unwrap());
}

#[test]
fn cached_equals_uncached_however_the_text_is_cut() {
    for name in ["llama_grouped", "llama_scaled"] {
        let model = tiny(name);
        let tokens = &Golden::load(name).cases[0].tokens;
        let whole = logits(&model, tokens);
        for pieces in [[1, 11].as_slice(), &[5, 1, 1, 5], &[1; 12], &[3, 4, 5]] {
            let mut cache = model.new_cache();
            let mut found = Vec::new();
            let mut rest = tokens.as_slice();
            for &piece in pieces {
                let hidden = model.hidden(tensor(&rest[..piece]), Some(&mut cache));
                let [_batch, length, size] = hidden.dims();
                found.extend(model.logits(hidden.reshape([length, size])).into_data().try_into_vec::<f32>().unwrap());
                rest = &rest[piece..];
            }
            assert_eq!(cache.length(), tokens.len());
            assert_close(&found, &whole);
        }
    }
}

#[test]
fn blocks_of_queries_attend_as_single_queries_do() {
    let (length, total) = (2 * super::QUERY_BLOCK + 3, 2 * super::QUERY_BLOCK + 10);
    let wave = |heads: usize, length: usize, seed: f32| {
        let values: Vec<f32> = (0..heads * length * 4).map(|i| (i as f32 * seed).sin()).collect();
        Tensor::<4>::from_data(TensorData::new(values, [1, heads, length, 4]), &device())
    };
    let (queries, keys, values) = (wave(6, length, 0.7), wave(2, total, 1.3), wave(2, total, 2.1));
    let found = super::attend_causally(&queries, keys.clone(), values.clone());
    let single = (0..length).map(|position| {
        let seen = total - length + position + 1;
        let query = queries.clone().narrow(2, position, 1);
        super::attend_one(query, keys.clone().narrow(2, 0, seen), values.clone().narrow(2, 0, seen))
    });
    let expected = Tensor::cat(single.collect(), 2);
    let host = |tensor: Tensor<4>| -> Vec<f32> { tensor.into_data().try_into_vec().unwrap() };
    assert_close(&host(found), &host(expected));
}

#[test]
fn a_cloned_cache_is_independent_of_its_original() {
    let model = tiny("llama_grouped");
    let read = |cache: &mut super::LlamaCache, tokens: &[u32]| -> Vec<f32> {
        model.hidden(tensor(tokens), Some(cache)).into_data().try_into_vec().unwrap()
    };
    let mut cache = model.new_cache();
    read(&mut cache, &[3, 4, 5]);
    let mut copy = cache.clone();
    read(&mut copy, &[7]);
    read(&mut copy, &[8]);
    let found = read(&mut cache, &[9]);
    let mut fresh = model.new_cache();
    read(&mut fresh, &[3, 4, 5]);
    assert_close(&found, &read(&mut fresh, &[9]));
    assert_eq!((cache.length(), copy.length()), (4, 5));
}

fn config_with(changes: &serde_json::Value) -> crate::Result<LlamaConfig> {
    let text = std::fs::read_to_string(golden_directory("llama_grouped").join("config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        config[key] = value.clone();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.json");
    std::fs::write(&path, config.to_string()).unwrap();
    LlamaConfig::load(&path)
}

#[test]
fn a_configuration_that_computes_something_else_is_refused_by_key() {
    for (changes, key) in [
        (serde_json::json!({"hidden_act": "gelu"}), "hidden_act"),
        (serde_json::json!({"model_type": "mistral"}), "model_type"),
        (serde_json::json!({"rope_scaling": {"type": "dynamic", "factor": 2.0}}), "dynamic"),
        (serde_json::json!({"rope_scaling": {"rope_type": "linear"}}), "rope_scaling"),
        (serde_json::json!({"rope_parameters": {"rope_type": "llama3", "factor": 8.0}}), "llama3"),
        (serde_json::json!({"quantization_config": {"bits": 4}}), "quantization_config"),
        (serde_json::json!({"partial_rotary_factor": 0.5}), "partial_rotary_factor"),
        (serde_json::json!({"num_key_value_heads": 4}), "num_key_value_heads"),
        (serde_json::json!({"num_attention_heads": 0}), "num_attention_heads"),
        (serde_json::json!({"num_attention_heads": 5, "head_dim": null}), "hidden_size"),
        (serde_json::json!({"head_dim": 3}), "head_dim"),
        (serde_json::json!({"rms_norm_eps": 0.0}), "rms_norm_eps"),
        (serde_json::json!({"vocab_size": 1_u64 << 40}), "vocab_size"),
        (serde_json::json!({"num_hidden_layers": 16_000_000}), "num_hidden_layers: 16000000 is not in 1..=1024"),
    ] {
        let error = config_with(&changes).unwrap_err().to_string();
        assert!(error.contains(key), "{changes}: {error}");
    }
}

#[test]
fn both_spellings_of_the_rotary_embedding_are_read() {
    let old = config_with(&serde_json::json!({"rope_scaling": {"type": "linear", "factor": 4.0}})).unwrap();
    assert!((old.rope_factor - 4.0).abs() < 1e-12);
    let rope = serde_json::json!({"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5});
    let new = config_with(&serde_json::json!({"rope_parameters": rope, "rope_theta": null})).unwrap();
    assert!((new.rope_factor - 2.0).abs() < 1e-12 && (new.rope_theta - 5e5).abs() < 1e-6);
}
