//! Tests of the module above.

use serde_json::json;

use crate::golden::{assert_refused, changed_model, logits, model};

const NAME: &str = "gpt_bigcode_multi_query";

#[test]
fn keys_without_effect_change_nothing() {
    // All that StarCoder's configuration has beyond the tiny one's.
    let changes = json!({
        "inference_runner": 0, "max_batch_size": null, "max_sequence_length": null, "pad_key_length": true,
        "pre_allocate_kv_cache": false, "validate_runner_input": true, "summary_type": "cls_index",
        "attention_softmax_in_fp32": false, "scale_attention_softmax_in_fp32": false,
    });
    let tokens = [3, 4, 5, 6];
    assert_eq!(logits(&changed_model(NAME, &changes).unwrap(), &tokens), logits(&model(NAME), &tokens));
    let unscaled = changed_model(NAME, &json!({"scale_attn_weights": false})).unwrap();
    assert_ne!(logits(&unscaled, &tokens), logits(&model(NAME), &tokens));
}

#[test]
fn a_configuration_that_computes_something_else_is_refused_by_key() {
    let refusals = [
        (json!({"multi_query": false}), "num_key_value_heads: 1 is not implemented, only 5"),
        (json!({"multi_query": false, "num_key_value_heads": null}), "c_attn.weight is [28, 20]"),
        (json!({"num_key_value_heads": 5}), "num_key_value_heads"),
        (json!({"scale_attn_by_inverse_layer_idx": true}), "scale_attn_by_inverse_layer_idx"),
        (json!({"attention_type": 1}), "attention_type"),
        (json!({"add_cross_attention": true}), "add_cross_attention"),
        (json!({"n_head": 3}), "n_head"),
        (json!({"n_layer": 0}), "n_layer"),
        (json!({"activation_function": "mish"}), "activation_function"),
    ];
    assert_refused(NAME, &refusals);
}
