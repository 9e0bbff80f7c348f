//! Tests of the module above.

use serde_json::{Value, json};

use super::Qwen2Config;
use crate::golden::{Golden, assert_close, logits, model};
use crate::pass::{Padding, Rows};
use crate::rope::RopeScaling;

#[test]
fn logits_match_transformers() {
    // A tied head and three heads to a group; a window of five on the second layer alone, and an untied head.
    for name in ["qwen2_tied", "qwen2_window"] {
        Golden::load(name).check(&model(name));
    }
}

#[test]
fn cached_equals_uncached_beyond_the_window() {
    for name in ["qwen2_tied", "qwen2_window"] {
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

fn config_with(name: &str, changes: &Value) -> crate::Result<Qwen2Config> {
    Qwen2Config::read(crate::golden::fields(name, changes))
}

#[test]
fn layers_slide_from_max_window_layers_or_as_listed() {
    let sliding = |changes| {
        let config = config_with("qwen2_window", &changes).unwrap();
        (config.sliding_window, config.is_sliding)
    };
    assert_eq!(sliding(json!({})), (Some(5), vec![false, true]));
    assert_eq!(sliding(json!({"layer_types": null, "max_window_layers": 0})), (Some(5), vec![true, true]));
    assert_eq!(sliding(json!({"layer_types": null, "max_window_layers": 2})), (Some(5), vec![false, false]));
    let denied = json!({"layer_types": null, "use_sliding_window": false, "max_window_layers": 0});
    assert_eq!(sliding(denied), (None, vec![false, false]));
    let listed = json!({"layer_types": ["sliding_attention", "full_attention"]});
    assert_eq!(sliding(listed), (Some(5), vec![true, false]));
}

#[test]
fn scaled_positions_are_read() {
    let config = config_with("qwen2_tied", &json!({"rope_scaling": {"type": "linear", "factor": 2.0}})).unwrap();
    assert_eq!((config.rope_theta, config.rope_scaling), (1e6, RopeScaling::Linear { factor: 2.0 }));
}

#[test]
fn a_configuration_that_computes_something_else_is_refused_by_key() {
    for (changes, key) in [
        (json!({"model_type": "qwen3"}), "model_type"),
        (json!({"hidden_act": "gelu"}), "hidden_act"),
        (json!({"rope_scaling": {"type": "yarn", "factor": 4.0}}), "rope_scaling: type `yarn`"),
        (json!({"use_mrope": true}), "use_mrope"),
        (json!({"attention_bias": false}), "attention_bias"),
        (json!({"quantization_config": {"bits": 4}}), "quantization_config"),
        (json!({"sliding_window": null}), "sliding_window"),
        (json!({"sliding_window": 0}), "sliding_window"),
        (json!({"use_sliding_window": false}), "layer_types"),
        (json!({"layer_types": ["full_attention"]}), "layer_types"),
        (json!({"layer_types": ["full_attention", "chunked_attention"]}), "chunked_attention"),
        (json!({"num_key_value_heads": 3}), "num_key_value_heads"),
        (json!({"num_key_value_heads": null}), "num_key_value_heads"),
        (json!({"hidden_size": 21}), "hidden_size"),
        (json!({"head_dim": 5}), "head_dim"),
        (json!({"rms_norm_eps": 0.0}), "rms_norm_eps"),
        (json!({"attention_dropout": 1.0}), "attention_dropout"),
        (json!({"num_hidden_layers": 16_000_000}), "num_hidden_layers"),
    ] {
        let error = config_with("qwen2_window", &changes).unwrap_err().to_string();
        assert!(error.contains(key), "{changes}: {error}");
    }
}
