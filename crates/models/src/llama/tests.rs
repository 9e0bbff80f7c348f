//! Tests of the module above.

use serde_json::{Value, json};

use super::LlamaConfig;
use crate::golden::{Golden, assert_close, directory, logits, model};
use crate::pass::{Padding, Rows};

#[test]
fn logits_match_transformers() {
    // Grouped queries and a tied head; biases, an own head size and scaled positions; positions of Llama 3.
    for name in ["llama_grouped", "llama_scaled", "llama3_scaled"] {
        Golden::load(name).check(&model(name));
    }
}

#[test]
fn cached_equals_uncached_however_the_text_is_cut() {
    for name in ["llama_grouped", "llama_scaled"] {
        let model = model(name);
        let tokens = &Golden::load(name).cases[0].tokens;
        let whole = logits(&model, tokens);
        for pieces in [[1, 11].as_slice(), &[5, 1, 1, 5], &[1; 12], &[3, 4, 5]] {
            let mut cache = crate::cache::Cache::new(2);
            let mut found = Vec::new();
            let mut rest = tokens.as_slice();
            for &piece in pieces {
                let hidden = model.hidden(Rows::new(&[&rest[..piece]], Padding::Right), Some(&mut cache), None);
                found.extend(model.logits(hidden).into_data().try_into_vec::<f32>().unwrap());
                rest = &rest[piece..];
            }
            assert_eq!(cache.length(), tokens.len());
            assert_close(&found, &whole);
        }
    }
}

#[test]
fn a_cloned_cache_is_independent_of_its_original() {
    let model = model("llama_grouped");
    let read = |cache: &mut crate::cache::Cache, tokens: &[u32]| -> Vec<f32> {
        let rows = Rows::new(&[tokens], Padding::Right);
        model.hidden(rows, Some(cache), None).into_data().try_into_vec().unwrap()
    };
    let mut cache = crate::cache::Cache::new(2);
    read(&mut cache, &[3, 4, 5]);
    let mut copy = cache.clone();
    read(&mut copy, &[7]);
    read(&mut copy, &[8]);
    let found = read(&mut cache, &[9]);
    let mut fresh = crate::cache::Cache::new(2);
    read(&mut fresh, &[3, 4, 5]);
    assert_close(&found, &read(&mut fresh, &[9]));
    assert_eq!((cache.length(), copy.length()), (4, 5));
}

fn config_with(changes: &Value) -> crate::Result<LlamaConfig> {
    let path = directory("llama_grouped").join("config.json");
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        config[key] = value.clone();
    }
    LlamaConfig::from_value(config, &path)
}

#[test]
fn a_configuration_that_computes_something_else_is_refused_by_key() {
    for (changes, key) in [
        (json!({"hidden_act": "gelu"}), "hidden_act"),
        (json!({"model_type": "mistral"}), "model_type"),
        (json!({"rope_scaling": {"type": "dynamic", "factor": 2.0}}), "dynamic"),
        (json!({"quantization_config": {"bits": 4}}), "quantization_config"),
        (json!({"num_key_value_heads": 4}), "num_key_value_heads"),
        (json!({"num_attention_heads": 0}), "num_attention_heads"),
        (json!({"num_attention_heads": 5, "head_dim": null}), "hidden_size"),
        (json!({"head_dim": 3}), "head_dim"),
        (json!({"rms_norm_eps": 0.0}), "rms_norm_eps"),
        (json!({"attention_dropout": 1.0}), "attention_dropout"),
        (json!({"vocab_size": 1_u64 << 40}), "vocab_size"),
        (json!({"num_hidden_layers": 16_000_000}), "num_hidden_layers: 16000000 is not in 1..=1024"),
    ] {
        let error = config_with(&changes).unwrap_err().to_string();
        assert!(error.contains(key), "{changes}: {error}");
    }
}
