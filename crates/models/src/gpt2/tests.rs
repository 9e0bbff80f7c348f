//! Tests of the module above.

use serde_json::{Value, json};

use crate::golden::{
    Golden, assert_refused, build, changed_model, device, logits, model, model_of, tensors, training_logits,
};
use crate::weights::{HostTensor, MemoryTensors};

#[test]
fn a_checkpoint_saved_without_a_head_has_no_prefix() {
    for name in ["gpt2_tiny", "gpt_bigcode_multi_query"] {
        let bare = tensors(name).into_iter();
        let bare = bare.map(|(name, tensor)| (name.strip_prefix("transformer.").unwrap().to_owned(), tensor));
        Golden::load(name).check(&model_of(name, bare.collect(), &device()).unwrap());
    }
}

#[test]
fn buffers_of_masks_are_left_aside() {
    let mut tensors = tensors("gpt2_tiny");
    let buffer = HostTensor { shape: vec![1], values: vec![0.0] };
    for name in ["transformer.h.0.attn.bias", "transformer.h.1.attn.masked_bias"] {
        tensors.insert(name.to_owned(), buffer.clone());
    }
    Golden::load("gpt2_tiny").check(&model_of("gpt2_tiny", tensors.clone(), &device()).unwrap());
    tensors.insert("transformer.h.0.crossattention.c_attn.weight".to_owned(), buffer);
    let error = model_of("gpt2_tiny", tensors, &device()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("unexpected transformer.h.0.crossattention.c_attn.weight"), "{error}");
}

/// The keys of a configuration by `transformers` 2, as `CodeGPT`'s is.
fn old_keys() -> Value {
    json!({
        "_num_labels": 1, "n_ctx": 40, "is_decoder": false, "is_encoder_decoder": false, "num_labels": 1,
        "pruned_heads": {}, "output_past": true, "finetuning_task": null, "reorder_and_upcast_attn": true,
    })
}

#[test]
fn keys_without_effect_change_nothing() {
    let tokens = [3, 4, 5, 6];
    let changed = changed_model("gpt2_tiny", &old_keys()).unwrap();
    assert_eq!(logits(&changed, &tokens), logits(&model("gpt2_tiny"), &tokens));
}

#[test]
fn the_scale_of_attention_is_honoured() {
    let tokens = [3, 4, 5, 6];
    let expected = logits(&model("gpt2_tiny"), &tokens);
    for changes in [json!({"scale_attn_weights": false}), json!({"scale_attn_by_inverse_layer_idx": true})] {
        assert_ne!(logits(&changed_model("gpt2_tiny", &changes).unwrap(), &tokens), expected, "{changes}");
    }
}

#[test]
fn what_attention_and_feed_forward_add_is_dropped_alike() {
    let changes = json!({"embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.5});
    for name in ["gpt2_tiny", "gpt_bigcode_multi_query", "codegen_tiny"] {
        for other in [".mlp.", ".attn."] {
            let mut model_tensors = tensors(name);
            for (tensor, HostTensor { values, .. }) in &mut model_tensors {
                if tensor.contains(other) {
                    values.fill(0.0);
                }
            }
            let source = MemoryTensors::new("memory".as_ref(), model_tensors);
            let model = build(name, &changes, &source, &device()).unwrap();
            assert_ne!(training_logits(&model, 1), training_logits(&model, 2), "{name}: without {other}");
        }
    }
}

#[test]
fn a_configuration_that_computes_something_else_is_refused_by_key() {
    let refusals = [
        (json!({"add_cross_attention": true}), "add_cross_attention"),
        (json!({"is_encoder_decoder": true}), "is_encoder_decoder"),
        (json!({"pruned_heads": {"0": [1]}}), "pruned_heads"),
        (json!({"activation_function": "tanh"}), "activation_function"),
        (json!({"n_head": 4}), "n_head: 4 does not divide n_embd, 18"),
        (json!({"n_head": 0}), "n_head"),
        (json!({"n_layer": 2000}), "n_layer: 2000 is not in 1..=1024"),
        (json!({"n_inner": 0}), "n_inner"),
        (json!({"n_positions": 0}), "n_positions"),
        (json!({"n_embd": null}), "n_embd: is missing"),
        (json!({"vocab_size": 1_u64 << 40}), "vocab_size"),
        (json!({"layer_norm_epsilon": 0.0}), "layer_norm_epsilon"),
        (json!({"embd_pdrop": 1.0}), "embd_pdrop"),
        (json!({"attn_pdrop": -0.1}), "attn_pdrop"),
        (json!({"resid_pdrop": 2.0}), "resid_pdrop"),
        (json!({"quantization_config": {"bits": 4}}), "quantization_config"),
        (json!({"n_inner": 80}), "transformer.h.0.mlp.c_fc.weight is [18, 72] where the model has [18, 80]"),
        (json!({"tie_word_embeddings": false}), "missing lm_head.weight"),
    ];
    assert_refused("gpt2_tiny", &refusals);
}
