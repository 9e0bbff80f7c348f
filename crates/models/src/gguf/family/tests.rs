//! Tests of the module above.

use std::collections::BTreeMap;

use serde_json::json;

use super::Family;
use crate::config::Fields;
use crate::decoder::load;
use crate::gguf::Gguf;
use crate::gguf::names::gguf_name;
use crate::gguf::rope::Llama3;
use crate::gguf::sample::Sample;
use crate::gguf::tensors::interleave_halves;
use crate::golden::{Golden, device, directory};
use crate::weights::{Checkpoint, TensorSource};

fn open(sample: &Sample) -> Gguf {
    let (_guard, path) = sample.write();
    Gguf::open(&path).unwrap()
}

fn refused(sample: &Sample) -> String {
    open(sample).config().unwrap_err().to_string()
}

/// Writes the tiny grouped checkpoint as llama.cpp's converter does: rows of queries and keys interleaved.
pub(in crate::gguf) fn grouped_as_gguf() -> Sample {
    grouped_as_gguf_of(2)
}

fn grouped_as_gguf_of(layers: u32) -> Sample {
    let source = Checkpoint::open(&directory("llama_grouped")).unwrap();
    let shapes: BTreeMap<String, Vec<usize>> = source.shapes().clone();
    let header = Sample::default()
        .text("general.architecture", "llama")
        .integer("llama.vocab_size", 61)
        .integer("llama.block_count", layers)
        .integer("llama.context_length", 64)
        .integer("llama.embedding_length", 24)
        .integer("llama.feed_forward_length", 40)
        .integer("llama.attention.head_count", 6)
        .integer("llama.attention.head_count_kv", 2)
        .integer("llama.rope.dimension_count", 4)
        .float("llama.attention.layer_norm_rms_epsilon", 1e-5);
    shapes.iter().fold(header, |sample, (name, shape)| {
        let mut values = source.read(name).unwrap();
        if name.contains("q_proj") || name.contains("k_proj") {
            values = interleave_halves(&values, shape[0], 4);
        }
        sample.floats(&gguf_name(name).unwrap(), shape, &values)
    })
}

#[test]
fn a_llama_in_gguf_computes_what_its_checkpoint_does() {
    let (_guard, path) = grouped_as_gguf().write();
    let gguf = Gguf::open(&path).unwrap();
    let fields = Fields::new(gguf.config().unwrap(), &path).unwrap();
    let model = load::network(fields, &gguf.decoder_tensors().unwrap(), &device()).unwrap();
    Golden::load("llama_grouped").check(&model);
}

#[test]
fn a_llama_in_gguf_that_computes_something_else_is_refused() {
    let base = grouped_as_gguf;
    assert!(refused(&base().text("llama.rope.scaling.type", "yarn")).contains("yarn"));
    assert!(refused(&base().integer("llama.expert_count", 8)).contains("expert_count `8`"));
    assert!(refused(&base().integer("llama.attention.sliding_window", 16)).contains("sliding_window `16`"));
    assert!(refused(&base().float("llama.attention.scale", 0.5)).contains("llama.attention.scale is not supported"));
    assert!(refused(&base().floats("rope_freqs.weight", &[2], &[3.0, 2.5])).contains("rope_freqs"));
    assert!(refused(&base().integer("llama.attention.value_length", 2)).contains("value_length"));
    assert!(refused(&Sample::default().text("general.architecture", "llama")).contains("embedding_length is missing"));
    assert!(refused(&Sample::default().text("general.architecture", "gemma")).contains("only llama, qwen2"));
    let layers = open(&grouped_as_gguf_of(16_000_000));
    let fields = Fields::new(layers.config().unwrap(), layers.path()).unwrap();
    let error = load::network(fields, &layers.decoder_tensors().unwrap(), &device()).unwrap_err().to_string();
    assert!(error.contains("num_hidden_layers: 16000000 is not in 1..=1024"));
    assert!(open(&base().integer("llama.expert_count", 0)).config().is_ok());
}

#[test]
fn linear_scaling_is_read_from_the_metadata() {
    let linear = grouped_as_gguf().text("llama.rope.scaling.type", "linear").float("llama.rope.scaling.factor", 4.0);
    assert_eq!(open(&linear).config().unwrap()["rope_scaling"], json!({"rope_type": "linear", "factor": 4.0}));
}

#[test]
fn the_scaling_of_llama_3_is_recovered_from_its_factors() {
    let scaled = |factor, original_max_position_embeddings, theta: f32, head_dim: u32| {
        let constants =
            Llama3 { factor, low_freq_factor: 1.0, high_freq_factor: 4.0, original_max_position_embeddings };
        let factors = constants.factors(f64::from(theta), head_dim as usize);
        let sample = Sample::default()
            .text("general.architecture", "llama")
            .integer("llama.vocab_size", 61)
            .integer("llama.block_count", 1)
            .integer("llama.context_length", 64)
            .integer("llama.embedding_length", 6 * head_dim)
            .integer("llama.feed_forward_length", 40)
            .integer("llama.attention.head_count", 6)
            .float("llama.attention.layer_norm_rms_epsilon", 1e-5)
            .float("llama.rope.freq_base", theta)
            .floats("rope_freqs.weight", &[factors.len()], &factors);
        open(&sample).config().unwrap()["rope_scaling"].clone()
    };
    for (factor, length) in [(8.0, 8192.0), (32.0, 8192.0), (4.0, 2048.0)] {
        let expected = json!({
            "rope_type": "llama3",
            "factor": factor,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": length as u64,
        });
        assert_eq!(scaled(factor, length, 500_000.0, 128), expected);
        assert_eq!(scaled(factor, length, 500_000.0, 64), expected);
    }
    assert!(scaled(1.0, 8192.0, 500_000.0, 128).is_null());
}

#[test]
fn a_qwen2_in_gguf_is_neither_permuted_nor_given_other_biases() {
    let values: Vec<f32> = (0..16).map(|value| value as f32).collect();
    let qwen = Sample::default()
        .text("general.architecture", "qwen2")
        .integer("qwen2.block_count", 1)
        .integer("qwen2.context_length", 64)
        .integer("qwen2.embedding_length", 4)
        .integer("qwen2.feed_forward_length", 8)
        .integer("qwen2.attention.head_count", 1)
        .float("qwen2.attention.layer_norm_rms_epsilon", 1e-6)
        .float("qwen2.rope.freq_base", 1e6)
        .floats("token_embd.weight", &[4, 4], &values)
        .floats("output.weight", &[4, 4], &values)
        .floats("blk.0.attn_q.weight", &[4, 4], &values)
        .floats("blk.0.attn_q.bias", &[4], &values[..4]);
    let gguf = open(&qwen);
    assert_eq!(gguf.family().unwrap(), Family::Qwen2);
    expect_test::expect![[r#"
        {"architectures":["Qwen2ForCausalLM"],"bos_token_id":null,"eos_token_id":[],"hidden_act":"silu","hidden_size":4,"intermediate_size":8,"max_position_embeddings":64,"model_type":"qwen2","num_attention_heads":1,"num_hidden_layers":1,"num_key_value_heads":1,"rms_norm_eps":1e-6,"rope_scaling":null,"rope_theta":1000000.0,"tie_word_embeddings":false,"use_sliding_window":false,"vocab_size":4}"#]]
    .assert_eq(&gguf.config().unwrap().to_string());
    let tensors = gguf.decoder_tensors().unwrap();
    assert_eq!(tensors.read("model.layers.0.self_attn.q_proj.weight").unwrap(), values);
    assert_eq!(tensors.read("model.layers.0.self_attn.q_proj.bias").unwrap(), values[..4]);
    assert_eq!(tensors.read("lm_head.weight").unwrap(), values);
}

#[test]
fn a_tensor_of_no_checkpoint_is_called_unexpected() {
    let sample = grouped_as_gguf().floats("model.norm.weight", &[1], &[0.0]);
    let gguf = open(&sample);
    let tensors = gguf.decoder_tensors().unwrap();
    assert_eq!(tensors.shapes()["model.norm.weight"], [24]);
    assert_eq!(tensors.shapes()["model.norm.weight (GGUF)"], [1]);
}
