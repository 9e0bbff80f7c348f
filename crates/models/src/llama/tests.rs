//! Tests of the module above.

use serde_json::json;

use crate::golden::{assert_close, assert_refused, model};
use crate::pass::{Padding, Rows};

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

#[test]
fn a_configuration_that_computes_something_else_is_refused_by_key() {
    let refusals = [
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
    ];
    assert_refused("llama_grouped", &refusals);
}
