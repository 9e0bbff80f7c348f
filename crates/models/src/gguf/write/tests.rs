//! Tests of the module above.

use std::collections::BTreeMap;
use std::path::Path;
#[cfg(feature = "golden")]
use std::path::PathBuf;

use half::f16;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::{GgufType, write_gguf};
use crate::config::Fields;
use crate::decoder::{Decoder, LanguageModel, load};
use crate::gguf::{Gguf, TensorType};
use crate::gguf_tokenizer;
use crate::golden::{device, directory as golden_directory, largest_error};
use crate::interop::Output;
use crate::random_model;
use crate::tokenizer::Tokenizer;
use crate::weights::{Checkpoint, HostTensor, MemoryTensors, TensorSource};
use crate::{Error, Result};

/// Four tokens, of which a text never gives the first by chance.
fn tokenizer(pre_tokenizer: &Json) -> Tokenizer {
    let json = json!({
        "version": "1.0",
        "added_tokens": [{
            "id": 0, "content": "<|endoftext|>", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true,
        }],
        "pre_tokenizer": pre_tokenizer,
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "model": {"type": "BPE", "vocab": {"<|endoftext|>": 0, "a": 1, "b": 2, "ab": 5}, "merges": [["a", "b"]]},
    });
    Tokenizer::from_inner(tokenizers::Tokenizer::from_bytes(json.to_string()).unwrap(), Path::new("sample")).unwrap()
}

fn byte_level() -> Json {
    json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": true})
}

fn config_of(directory: &Path) -> Json {
    serde_json::from_str(&std::fs::read_to_string(directory.join("config.json")).unwrap()).unwrap()
}

struct Written {
    directory: TempDir,
    result: Result<()>,
}

impl Written {
    fn new(config: &Json, tokenizer: &Tokenizer, tensors: &impl TensorSource, kind: GgufType) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let result = write_gguf(&directory.path().join("model.gguf"), config, tokenizer, tensors, kind);
        Self { directory, result }
    }

    fn open(self) -> Gguf {
        self.result.unwrap();
        assert_eq!(std::fs::read_dir(self.directory.path()).unwrap().count(), 1, "no partial file is left");
        Gguf::open(&self.directory.path().join("model.gguf")).unwrap()
    }

    fn refused(self) -> String {
        assert_eq!(std::fs::read_dir(self.directory.path()).unwrap().count(), 0, "nothing is left");
        self.result.unwrap_err().to_string()
    }
}

/// Returns the value that is read where `value` was written.
fn rounded(kind: TensorType, values: &[f32]) -> Vec<f32> {
    match kind {
        TensorType::F32 => values.to_vec(),
        TensorType::F16 => values.iter().map(|&value| f16::from_f32(value).to_f32()).collect(),
        _ => kind.dequantize(&super::q8_0_bytes(values).unwrap()),
    }
}

fn assert_same_tensors(gguf: &Gguf, source: &impl TensorSource) {
    let read = gguf.decoder_tensors().unwrap();
    assert_eq!(read.shapes(), source.shapes());
    for name in source.shapes().keys() {
        let stored = &gguf.tensors()[&crate::gguf::names::gguf_name(name).unwrap()];
        assert_eq!(read.read(name).unwrap(), rounded(stored.kind, &source.read(name).unwrap()), "{name}");
    }
}

#[test]
fn a_llama_with_biases_and_scaled_positions_is_read_as_written() {
    let directory = golden_directory("llama_scaled");
    let source = Checkpoint::open(&directory).unwrap();
    let mut config = config_of(&directory);
    for kind in [GgufType::F16, GgufType::Q8_0] {
        let gguf = Written::new(&config, &tokenizer(&byte_level()), &source, kind).open();
        assert_same_tensors(&gguf, &source);
        let read = gguf.config().unwrap();
        for key in ["hidden_size", "head_dim", "rms_norm_eps", "rope_theta", "attention_bias", "vocab_size"] {
            assert_eq!(read[key].as_f64(), config[key].as_f64(), "{key}");
        }
        assert_eq!(read["rope_scaling"], json!({"rope_type": "linear", "factor": 4.0}));
        assert_eq!(read["eos_token_id"], json!([1, 2, 0]));
    }
    config["rope_parameters"] = Json::Null;
    config["rope_scaling"] = json!({
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 1024,
    });
    let gguf = Written::new(&config, &tokenizer(&byte_level()), &source, GgufType::F16).open();
    // Three pairs of components leave the length of the original context open: 512 gives the same factors.
    let scaling = &gguf.config().unwrap()["rope_scaling"];
    assert_eq!((&scaling["rope_type"], &scaling["factor"]), (&json!("llama3"), &json!(8.0)));
    assert_eq!(gguf.read("rope_freqs.weight").unwrap(), [1.0, 1.0, 8.0]);
    assert_same_tensors(&gguf, &source);
}

fn qwen2() -> (Json, BTreeMap<String, HostTensor>) {
    let config = json!({
        "model_type": "qwen2", "vocab_size": 8, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1,
        "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
        "rope_theta": 1_000_000.0, "tie_word_embeddings": true, "eos_token_id": 0, "bos_token_id": 0,
    });
    let linear = [("q_proj", 32), ("k_proj", 16), ("v_proj", 16)];
    let mut shapes: Vec<(String, Vec<usize>)> = vec![
        ("model.embed_tokens.weight".to_owned(), vec![8, 32]),
        ("model.norm.weight".to_owned(), vec![32]),
        ("model.layers.0.input_layernorm.weight".to_owned(), vec![32]),
        ("model.layers.0.post_attention_layernorm.weight".to_owned(), vec![32]),
        ("model.layers.0.self_attn.o_proj.weight".to_owned(), vec![32, 32]),
        ("model.layers.0.mlp.gate_proj.weight".to_owned(), vec![64, 32]),
        ("model.layers.0.mlp.up_proj.weight".to_owned(), vec![64, 32]),
        ("model.layers.0.mlp.down_proj.weight".to_owned(), vec![32, 64]),
    ];
    for (name, rows) in linear {
        shapes.push((format!("model.layers.0.self_attn.{name}.weight"), vec![rows, 32]));
        shapes.push((format!("model.layers.0.self_attn.{name}.bias"), vec![rows]));
    }
    let tensors = shapes.into_iter().enumerate().map(|(index, (name, shape))| {
        let count: usize = shape.iter().product();
        let values = (0..count).map(|at| ((at * 37 + index * 11) % 101) as f32 / 50.0 - 1.0).collect();
        (name, HostTensor { shape, values })
    });
    (config, tensors.collect())
}

#[test]
fn a_qwen2_is_read_as_written() {
    let (config, tensors) = qwen2();
    let source = MemoryTensors::new(Path::new("memory"), tensors);
    for (kind, stored) in [(GgufType::F16, TensorType::F16), (GgufType::Q8_0, TensorType::Q8_0)] {
        let gguf = Written::new(&config, &tokenizer(&byte_level()), &source, kind).open();
        assert_eq!(gguf.tensors()["blk.0.ffn_up.weight"].kind, stored);
        assert_eq!(gguf.tensors()["blk.0.attn_q.bias"].kind, TensorType::F32);
        assert_same_tensors(&gguf, &source);
        assert_eq!(gguf.config().unwrap()["tie_word_embeddings"], true);
    }
}

/// Writes a decoder for `tests/interop/load_gguf.py`, with what llama.cpp must compute with it.
fn write_for_llama_cpp(decoder: &Decoder, config: &Json, source: &impl TensorSource, name: &str) {
    let text = "import os\n\n\ndef main(path):\n    print(f\"{os.environ[path]:08.3f}\", 1024)\n";
    let tokens = decoder.tokenizer().encode(text);
    let logits = |decoder: &Decoder| -> BTreeMap<String, Vec<f32>> {
        let after = |read: usize| (read.to_string(), decoder.feed(&mut decoder.new_cache(), &tokens[..read]));
        [1, 8, tokens.len()].into_iter().map(after).collect()
    };
    let original = logits(decoder);
    // Weights are rounded to 11 or to 8 bits, activations not.
    for (kind, label, error_max) in [(GgufType::F16, "f16", 5e-2), (GgufType::Q8_0, "q8_0", 1.0)] {
        let output = Output::new(&format!("{name}_{label}"));
        let path = output.path().join("model.gguf");
        write_gguf(&path, config, decoder.tokenizer(), source, kind).unwrap();
        let read = Decoder::load(&path, &device()).unwrap();
        assert_eq!(read.tokenizer().encode(text), tokens);
        assert_eq!(read.tokenizer().decode(&tokens), text);
        let expected = logits(&read);
        for (position, logits) in &original {
            let error = largest_error(logits, &expected[position]);
            assert!(error < error_max, "{name} as {label} after {position} tokens: {error}");
        }
        output.expect(&json!({"type": label, "text": text, "tokens": tokens, "logits": expected}));
    }
}

#[test]
fn a_tiny_llama_is_written_for_llama_cpp() {
    let directory = tempfile::tempdir().unwrap();
    random_model::write_llama(directory.path(), 3).unwrap();
    let decoder = Decoder::load(directory.path(), &device()).unwrap();
    let source = Checkpoint::open(directory.path()).unwrap();
    write_for_llama_cpp(&decoder, &config_of(directory.path()), &source, "tiny_llama");
}

#[test]
fn a_tiny_qwen2_is_written_for_llama_cpp() {
    let directory = tempfile::tempdir().unwrap();
    random_model::write_llama(directory.path(), 3).unwrap();
    let tokenizer = Tokenizer::load(directory.path()).unwrap();
    let (mut config, mut tensors) = qwen2();
    let n_tokens = tokenizer.vocabulary_size();
    config["vocab_size"] = json!(n_tokens);
    config["eos_token_id"] = json!(tokenizer.eos());
    config["bos_token_id"] = json!(tokenizer.eos());
    let values = (0..n_tokens * 32).map(|at| ((at * at * 29 + at * 37) % 211) as f32 / 105.0 - 1.0).collect();
    tensors.insert("model.embed_tokens.weight".to_owned(), HostTensor { shape: vec![n_tokens, 32], values });
    let source = MemoryTensors::new(Path::new("memory"), tensors);
    let model = load::network(Fields::new(config.clone(), Path::new("memory")).unwrap(), &source, &device()).unwrap();
    write_for_llama_cpp(&Decoder::new(model, tokenizer), &config, &source, "tiny_qwen2");
}

#[cfg(feature = "golden")]
#[test]
fn a_real_decoder_is_written_for_llama_cpp() {
    let path = std::env::var_os("RETORT_SMOLLM2").map(PathBuf::from);
    let path = path.expect("RETORT_SMOLLM2 is the path of SmolLM2-135M-Instruct.Q4_1.gguf");
    let (decoder, gguf) = (Decoder::load(&path, &device()).unwrap(), Gguf::open(&path).unwrap());
    write_for_llama_cpp(&decoder, &gguf.config().unwrap(), &gguf.decoder_tensors().unwrap(), "smollm2");
}

#[test]
fn pieces_are_read_as_written() {
    let (_guard, path) = gguf_tokenizer::tests::pieces().write();
    let inner = gguf_tokenizer::tokenizer(&Gguf::open(&path).unwrap()).unwrap();
    let pieces = Tokenizer::from_inner(inner, &path).unwrap();
    let (mut config, mut tensors) = qwen2();
    config["vocab_size"] = json!(300);
    config["eos_token_id"] = json!(2);
    tensors.get_mut("model.embed_tokens.weight").unwrap().shape = vec![300, 32];
    tensors.get_mut("model.embed_tokens.weight").unwrap().values = vec![0.5; 300 * 32];
    let source = MemoryTensors::new(Path::new("memory"), tensors);
    let gguf = Written::new(&config, &pieces, &source, GgufType::F16).open();
    let read = Tokenizer::from_inner(gguf_tokenizer::tokenizer(&gguf).unwrap(), gguf.path()).unwrap();
    for text in ["abc bc", "ä\n  b", "<s>a</s>", "   aabbcc"] {
        assert_eq!(read.encode(text), pieces.encode(text));
    }
    assert_eq!((read.begin(), gguf_tokenizer::eos(&gguf).unwrap()), (Some(1), vec![2]));
}

#[test]
fn tensors_that_do_not_fit_are_all_listed() {
    let (config, mut tensors) = qwen2();
    tensors.remove("model.layers.0.self_attn.q_proj.bias");
    tensors.insert("extra".to_owned(), HostTensor { shape: vec![1], values: vec![0.0] });
    let source = MemoryTensors::new(Path::new("memory"), tensors);
    let refused = Written::new(&config, &tokenizer(&byte_level()), &source, GgufType::F16).refused();
    assert!(refused.contains("missing model.layers.0.self_attn.q_proj.bias; unexpected extra"), "{refused}");
}

#[test]
fn a_value_beyond_the_range_leaves_no_file() {
    let (config, mut tensors) = qwen2();
    tensors.get_mut("model.layers.0.mlp.up_proj.weight").unwrap().values[5] = 1e6;
    let source = MemoryTensors::new(Path::new("memory"), tensors);
    let refused = Written::new(&config, &tokenizer(&byte_level()), &source, GgufType::F16).refused();
    assert!(refused.contains("blk.0.ffn_up.weight: 1000000 is beyond the range of F16"), "{refused}");
}

#[test]
fn what_the_format_cannot_say_is_refused_by_name() {
    let (config, tensors) = qwen2();
    let source = MemoryTensors::new(Path::new("memory"), tensors);
    let refused = |key: &str, value: Json| {
        let mut config = config.clone();
        config[key] = value;
        Written::new(&config, &tokenizer(&byte_level()), &source, GgufType::F16).refused()
    };
    assert!(refused("model_type", json!("gpt2")).contains("model_type: architecture `gpt2`"));
    assert!(refused("hidden_act", json!("gelu")).contains("hidden_act"));
    assert!(refused("use_sliding_window", json!(true)).contains("use_sliding_window"));
    assert!(refused("rope_scaling", json!({"type": "yarn", "factor": 4.0})).contains("yarn"));
    assert!(refused("eos_token_id", Json::Null).contains("neither eos_token_id"));
    assert!(refused("bos_token_id", json!(8)).contains("bos 8 is not a token"));
    let cut = json!({"type": "Whitespace"});
    let other = Written::new(&config, &tokenizer(&cut), &source, GgufType::F16).refused();
    assert!(other.contains("no known name for this normalizer and pre_tokenizer"), "{other}");
    let absent = write_gguf(Path::new("/absent/x"), &config, &tokenizer(&byte_level()), &source, GgufType::F16);
    assert!(matches!(absent, Err(Error::Write { .. })));
}
