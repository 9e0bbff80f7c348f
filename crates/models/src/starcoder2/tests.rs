//! Tests of the module above.

use serde_json::{Value, json};

use super::Starcoder2Config;
use crate::golden::{Golden, assert_close, logits, model};
use crate::pass::{Padding, Rows};

const NAMES: [&str; 2] = ["starcoder2_window", "starcoder2_no_bias"];

#[test]
fn logits_match_transformers() {
    // A window of five, biases and a tied head; no window, no biases and a head of its own.
    for name in NAMES {
        Golden::load(name).check(&model(name));
    }
}

#[test]
fn cached_equals_uncached_beyond_the_window() {
    for name in NAMES {
        let model = model(name);
        let tokens = &Golden::load(name).cases[0].tokens;
        let whole = logits(&model, tokens);
        for pieces in [[9, 1, 5].as_slice(), &[1; 15], &[3, 8, 4]] {
            let mut cache = crate::cache::Cache::new(2);
            let mut found = Vec::new();
            let mut rest = tokens.as_slice();
            for &piece in pieces {
                let hidden = model.hidden(Rows::new(&[&rest[..piece]], Padding::Right), Some(&mut cache), None);
                found.extend(model.logits(hidden).into_data().try_into_vec::<f32>().unwrap());
                rest = &rest[piece..];
            }
            assert_close(&found, &whole);
        }
    }
}

fn config_with(changes: &Value) -> crate::Result<Starcoder2Config> {
    Starcoder2Config::read(crate::golden::fields("starcoder2_window", changes))
}

#[test]
fn the_keys_of_the_released_checkpoints_are_known() {
    let changes = json!({
        "activation_function": "gelu", "attention_softmax_in_fp32": true, "layer_norm_epsilon": 1e-5,
        "mlp_type": "default", "norm_type": "layer_norm", "scale_attention_softmax_in_fp32": true,
        "scale_attn_weights": true, "residual_dropout": 0.1, "embedding_dropout": 0.2, "attention_dropout": 0.3,
    });
    let config = config_with(&changes).unwrap();
    assert_eq!((config.hidden_act, config.sliding_window), (crate::activation::Activation::GeluNew, Some(5)));
    let probabilities = [config.residual_dropout, config.embedding_dropout, config.attention_dropout];
    assert_eq!(probabilities.map(f64::to_bits), [0.1, 0.2, 0.3].map(f64::to_bits));
}

#[test]
fn a_configuration_that_computes_something_else_is_refused_by_key() {
    for (changes, key) in [
        (json!({"model_type": "gpt_bigcode"}), "model_type"),
        (json!({"norm_type": "rms_norm"}), "norm_type"),
        (json!({"mlp_type": "gated"}), "mlp_type"),
        (json!({"hidden_act": "tanh"}), "hidden_act"),
        (json!({"scale_attn_weights": false}), "scale_attn_weights"),
        (json!({"attention_softmax_in_fp32": false}), "attention_softmax_in_fp32"),
        (json!({"layer_norm_epsilon": 1e-6}), "layer_norm_epsilon"),
        (json!({"rope_scaling": {"type": "dynamic", "factor": 2.0}}), "dynamic"),
        (json!({"layer_types": ["full_attention", "full_attention"]}), "layer_types"),
        (json!({"sliding_window": 0}), "sliding_window"),
        (json!({"num_key_value_heads": 4}), "num_key_value_heads"),
        (json!({"head_dim": 3}), "head_dim"),
        (json!({"norm_epsilon": 0.0}), "norm_epsilon"),
        (json!({"residual_dropout": 1.0}), "residual_dropout"),
        (json!({"embedding_dropout": -0.1}), "embedding_dropout"),
        (json!({"num_hidden_layers": 0}), "num_hidden_layers"),
    ] {
        let error = config_with(&changes).unwrap_err().to_string();
        assert!(error.contains(key), "{changes}: {error}");
    }
}
