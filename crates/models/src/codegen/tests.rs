//! Tests of the module above.

use serde_json::json;

use crate::golden::{assert_refused, changed_model, logits, model};

#[test]
fn keys_without_effect_change_nothing() {
    let changes = json!({"n_ctx": 2, "scale_attn_weights": true, "summary_type": "cls_index", "n_inner": 96});
    let tokens = [3, 4, 5, 6];
    let same = changed_model("codegen_tiny", &changes).unwrap();
    assert_eq!(logits(&same, &tokens), logits(&model("codegen_tiny"), &tokens));
    let whole = changed_model("codegen_tiny", &json!({"rotary_dim": 6})).unwrap();
    assert_ne!(logits(&whole, &tokens), logits(&same, &tokens));
}

#[test]
fn a_configuration_that_computes_something_else_is_refused_by_key() {
    let refusals = [
        (json!({"tie_word_embeddings": true}), "tie_word_embeddings"),
        (json!({"scale_attn_weights": false}), "scale_attn_weights"),
        (json!({"auto_map": {"AutoModelForCausalLM": "modeling_codegen.CodeGenForCausalLM"}}), "auto_map"),
        (json!({"n_head": 6}), "n_head: 6 is not a multiple of 4"),
        (json!({"rotary_dim": 3}), "rotary_dim: 3 is not an even number in 1..=6"),
        (json!({"rotary_dim": 8}), "rotary_dim"),
        (json!({"rotary_dim": 0}), "rotary_dim"),
        (json!({"rotary_dim": null}), "rotary_dim: is missing"),
        (json!({"rope_theta": 5000.0}), "rope_theta"),
        (json!({"add_cross_attention": true}), "add_cross_attention"),
        (json!({"activation_function": "tanh"}), "activation_function"),
        (json!({"layer_norm_epsilon": -1.0}), "layer_norm_epsilon"),
    ];
    assert_refused("codegen_tiny", &refusals);
}
