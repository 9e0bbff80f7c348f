//! Tests of the module above.

use std::collections::BTreeMap;
use std::path::Path;

use super::sample::{Sample, write};
use super::{Gguf, Value};
use crate::Error;
use crate::decoder::{DecoderModel, load};
use crate::golden::{Golden, device, directory};
use crate::llama::Llama;
use crate::rope::RopeScaling;
use crate::weights::{self, Checkpoint, TensorSource};

fn small() -> Sample {
    Sample::default()
        .text("general.architecture", "llama")
        .integer("llama.block_count", 1)
        .float("scale", 0.5)
        .entry("flag", 7, &[1])
        .texts("tokens", &["a", "ä", ""])
        .integers("kinds", &[1, -3])
        .floats("plain", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        .tensor("half", &[2], 1, &[0x00, 0x3C, 0x00, 0xC0])
        .tensor("blocks", &[1, 32], 8, &[&[0x00_u8, 0x38][..], &[2; 32]].concat())
}

fn open(sample: &Sample) -> crate::Result<Gguf> {
    let (_guard, path) = sample.write();
    Gguf::open(&path)
}

fn message(sample: &Sample) -> String {
    open(sample).unwrap_err().to_string()
}

#[test]
fn metadata_and_tensors_are_read_as_written() {
    let (_guard, path) = small().write();
    let gguf = Gguf::open(&path).unwrap();
    assert_eq!(gguf.text("general.architecture").unwrap(), Some("llama"));
    assert_eq!(gguf.unsigned("llama.block_count").unwrap(), Some(1));
    assert_eq!(gguf.float("scale").unwrap(), Some(0.5));
    assert_eq!(gguf.get("flag"), Some(&Value::Integer(1)));
    assert_eq!(gguf.texts("tokens").unwrap().unwrap(), ["a", "ä", ""]);
    assert_eq!(gguf.integers("kinds").unwrap(), Some(&[1, -3][..]));
    assert_eq!(gguf.tensors()["plain"].shape, [2, 3]);
    assert_eq!(gguf.read("plain").unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(gguf.read("half").unwrap(), [1.0, -2.0]);
    assert_eq!(gguf.read("blocks").unwrap(), [1.0; 32]);
    assert!(gguf.read("absent").is_err());
    assert!(gguf.unsigned("scale").is_err());
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    let sample = small();
    let bytes = sample.bytes();
    for length in 0..bytes.len() {
        let (_guard, path) = write(&bytes[..length]);
        let opened = Gguf::open(&path);
        let is_whole = opened.is_ok_and(|gguf| gguf.tensors().keys().all(|name| gguf.read(name).is_ok()));
        // The padding after the last tensor belongs to nothing.
        let end = bytes.len() - (64 - 34);
        assert_eq!(is_whole, length >= end, "cut at {length}");
    }
}

#[test]
fn a_header_with_a_damaged_byte_is_an_error_or_another_header() {
    let sample = small();
    let bytes = sample.bytes();
    for position in 0..sample.header_bytes() {
        for flip in [0x01, 0x80, 0xFF] {
            let mut damaged = bytes.clone();
            damaged[position] ^= flip;
            let (_guard, path) = write(&damaged);
            if let Ok(gguf) = Gguf::open(&path) {
                let names = gguf.tensors().keys();
                assert!(names.map(|name| gguf.read(name)).all(|read| read.is_ok()), "{position} ^ {flip}");
            }
        }
    }
}

#[test]
fn a_huge_count_is_refused_before_anything_is_allocated() {
    for count_at in [8, 16] {
        let mut bytes = small().bytes();
        bytes[count_at..count_at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        let (_guard, path) = write(&bytes);
        assert!(Gguf::open(&path).unwrap_err().to_string().contains("do not fit"));
    }
    let endless = [&8_u32.to_le_bytes()[..], &(1_u64 << 60).to_le_bytes()].concat();
    assert!(message(&Sample::default().entry("tokens", 9, &endless)).contains("do not fit"));
}

#[test]
fn what_is_not_supported_is_named() {
    assert!(message(&small().tensor("q", &[256], 14, &[0; 210])).contains("tensor q: type 14 (Q6_K)"));
    assert!(message(&small().floats("plain", &[1], &[0.0])).contains("tensor plain appears twice"));
    assert!(message(&small().integer("flag", 1)).contains("key flag appears twice"));
    assert!(message(&small().tensor("q", &[33], 2, &[0; 36])).contains("whole blocks"));
    assert!(message(&small().integer("general.alignment", 24)).contains("general.alignment"));
    let nested = [&9_u32.to_le_bytes()[..], &1_u64.to_le_bytes()].concat();
    assert!(message(&small().entry("nested", 9, &nested)).contains("array of arrays"));
    for version in [1, 4, 0x0300_0000_u32] {
        let mut bytes = small().bytes();
        bytes[4..8].copy_from_slice(&version.to_le_bytes());
        let (_guard, path) = write(&bytes);
        assert!(Gguf::open(&path).unwrap_err().to_string().contains("version"));
    }
    assert!(matches!(Gguf::open(Path::new("/absent.gguf")), Err(Error::Read { .. })));
}

#[test]
fn names_from_the_file_are_escaped_in_errors() {
    let key = "a\n\x1B[2J";
    for sample in [
        Sample::default().entry(key, 99, &[]),
        Sample::default().integer(key, 1).integer(key, 1),
        Sample::default().tensor(key, &[33], 2, &[0; 36]),
        Sample::default().floats(key, &[1], &[0.0]).floats(key, &[1], &[0.0]),
    ] {
        let message = message(&sample);
        assert!(message.contains(r"a\n\u{1b}[2J"), "{message}");
        assert!(!message.contains(char::is_control), "{message:?}");
    }
}

/// Writes the tiny grouped checkpoint as llama.cpp's converter does: rows of queries and keys interleaved.
fn grouped_as_gguf() -> Sample {
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
            values = interleave(&values, shape[0], 4);
        }
        sample.floats(&gguf_name(name), shape, &values)
    })
}

fn interleave(values: &[f32], rows: usize, head_dim: usize) -> Vec<f32> {
    let columns = values.len() / rows;
    let row = |row: usize| {
        let (head, component) = (row / head_dim, row % head_dim);
        let source = head * head_dim + (component % 2) * head_dim / 2 + component / 2;
        &values[source * columns..(source + 1) * columns]
    };
    (0..rows).flat_map(|index| row(index).to_vec()).collect()
}

fn gguf_name(name: &str) -> String {
    [
        ("model.embed_tokens", "token_embd"),
        ("model.norm", "output_norm"),
        ("model.layers", "blk"),
        ("self_attn.q_proj", "attn_q"),
        ("self_attn.k_proj", "attn_k"),
        ("self_attn.v_proj", "attn_v"),
        ("self_attn.o_proj", "attn_output"),
        ("input_layernorm", "attn_norm"),
        ("post_attention_layernorm", "ffn_norm"),
        ("mlp.gate_proj", "ffn_gate"),
        ("mlp.up_proj", "ffn_up"),
        ("mlp.down_proj", "ffn_down"),
    ]
    .iter()
    .fold(name.to_owned(), |name, (from, to)| name.replace(from, to))
}

#[test]
fn a_llama_in_gguf_computes_what_its_checkpoint_does() {
    let (_guard, path) = grouped_as_gguf().write();
    let gguf = Gguf::open(&path).unwrap();
    let config = gguf.llama_config().unwrap();
    assert!(config.tie_word_embeddings);
    let model = Llama::new(&config, &device());
    let model = weights::load(model, &gguf.llama_tensors(&config), &load::names()).unwrap();
    Golden::load("llama_grouped").check(&DecoderModel::Llama(model));
}

#[test]
fn a_llama_in_gguf_that_computes_something_else_is_refused() {
    let refused = |sample: Sample| open(&sample).unwrap().llama_config().unwrap_err().to_string();
    let base = grouped_as_gguf;
    assert!(refused(base().text("llama.rope.scaling.type", "yarn")).contains("yarn"));
    assert!(refused(base().integer("llama.expert_count", 8)).contains("experts"));
    assert!(refused(base().floats("rope_freqs.weight", &[2], &[1.0, 2.0])).contains("rope_freqs"));
    assert!(refused(base().integer("llama.attention.value_length", 2)).contains("value_length"));
    assert!(refused(small()).contains("llama.embedding_length is missing"));
    assert!(refused(grouped_as_gguf_of(16_000_000)).contains("num_hidden_layers: 16000000 is not in 1..=1024"));
    let linear = base().text("llama.rope.scaling.type", "linear").float("llama.rope.scaling.factor", 4.0);
    let scaling = open(&linear).unwrap().llama_config().unwrap().rope_scaling;
    assert_eq!(scaling, RopeScaling::Linear { factor: 4.0 });
}
