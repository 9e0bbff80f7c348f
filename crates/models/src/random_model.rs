//! Tiny random models in the layout of Hugging Face, for tests and for experiments that only check the machinery.
//!
//! The same seed gives the same bytes. Both models share one byte-level tokenizer, so that any text can be encoded.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rand::RngExt;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::weights::{self, HostTensor};
use crate::{Error, Result};

const HIDDEN: usize = 32;
const INTERMEDIATE: usize = 64;
const LAYERS: usize = 2;
const HEADS: usize = 4;
const KEY_VALUE_HEADS: usize = 2;
const BERT_POSITIONS: usize = 512;
const LLAMA_POSITIONS: usize = 4096;

/// The special tokens, in the order of their numbers.
const SPECIAL_TOKENS: [&str; 6] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<|endoftext|>"];

/// The pairs that are merged, in order: runs of spaces and parts of frequent words (`Ġ` is a space).
const MERGES: [(&str, &str); 36] = [
    ("Ġ", "Ġ"),
    ("ĠĠ", "ĠĠ"),
    ("ĠĠĠĠ", "ĠĠĠĠ"),
    ("Ċ", "ĠĠĠĠ"),
    ("e", "r"),
    ("i", "n"),
    ("r", "e"),
    ("s", "e"),
    ("t", "e"),
    ("o", "r"),
    ("a", "t"),
    ("l", "e"),
    ("e", "l"),
    ("o", "n"),
    ("s", "t"),
    ("d", "e"),
    ("e", "n"),
    ("a", "l"),
    ("a", "n"),
    ("t", "h"),
    ("i", "o"),
    ("m", "e"),
    ("p", "a"),
    ("c", "o"),
    ("l", "f"),
    ("se", "lf"),
    ("de", "f"),
    ("re", "t"),
    ("ret", "u"),
    ("retu", "r"),
    ("retur", "n"),
    ("n", "a"),
    ("na", "me"),
    ("i", "m"),
    ("_", "_"),
    ("(", ")"),
];

/// Writes a BERT encoder of two layers and hidden size 32 into `directory`.
///
/// # Errors
///
/// Returns an error if a file cannot be written.
pub fn write_bert(directory: &Path, seed: u64) -> Result<()> {
    let config = json!({
        "architectures": ["BertModel"],
        "model_type": "bert",
        "vocab_size": vocabulary().len(),
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": INTERMEDIATE,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "max_position_embeddings": BERT_POSITIONS,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
    });
    write(directory, &config, &bert_shapes(), seed)
}

/// Writes a Llama decoder of two layers, hidden size 32 and a tied head into `directory`.
///
/// # Errors
///
/// Returns an error if a file cannot be written.
pub fn write_llama(directory: &Path, seed: u64) -> Result<()> {
    let config = json!({
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": vocabulary().len(),
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_VALUE_HEADS,
        "head_dim": HIDDEN / HEADS,
        "intermediate_size": INTERMEDIATE,
        "hidden_act": "silu",
        "max_position_embeddings": LLAMA_POSITIONS,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "rope_scaling": null,
        "attention_bias": false,
        "mlp_bias": false,
        "tie_word_embeddings": true,
        "bos_token_id": end_of_text(),
        "eos_token_id": end_of_text(),
    });
    write(directory, &config, &llama_shapes(), seed)
}

fn write(directory: &Path, config: &Value, shapes: &BTreeMap<String, Vec<usize>>, seed: u64) -> Result<()> {
    fs::create_dir_all(directory).map_err(Error::write(directory))?;
    let tokenizer_config = json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": SPECIAL_TOKENS[5],
        "pad_token": SPECIAL_TOKENS[0],
        "unk_token": SPECIAL_TOKENS[1],
        "cls_token": SPECIAL_TOKENS[2],
        "sep_token": SPECIAL_TOKENS[3],
        "mask_token": SPECIAL_TOKENS[4],
    });
    let files =
        [("config.json", config), ("tokenizer.json", &tokenizer()), ("tokenizer_config.json", &tokenizer_config)];
    for (name, json) in files {
        let path = directory.join(name);
        fs::write(&path, format!("{json:#}\n")).map_err(Error::write(&path))?;
    }
    let random = |(name, shape): (&String, &Vec<usize>)| (name.clone(), named_tensor(name, shape, seed));
    let tensors = shapes.iter().map(random).collect();
    weights::write(&directory.join("model.safetensors"), &tensors)
}

/// Returns a tensor of values between -1 and 1 that `seed` decides.
#[cfg(test)]
pub(crate) fn random_tensor<const D: usize>(
    shape: [usize; D],
    seed: u64,
    device: &burn::tensor::Device,
) -> burn::tensor::Tensor<D> {
    let mut stream = ChaCha8Rng::seed_from_u64(seed);
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| 2.0 * stream.random::<f32>() - 1.0).collect();
    burn::tensor::Tensor::from_data(burn::tensor::TensorData::new(values, shape), device)
}

/// Returns a tensor of its own random stream: normalizations near 1, biases near 0, matrices that keep the scale.
fn named_tensor(name: &str, shape: &[usize], seed: u64) -> HostTensor {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(name.as_bytes());
    let mut stream = ChaCha8Rng::from_seed(*hasher.finalize().as_bytes());
    let is_norm = name.to_lowercase().contains("norm");
    let (center, radius) = match shape {
        [_] if is_norm && name.ends_with("weight") => (1.0, 0.1),
        [_] => (0.0, 0.1),
        [.., columns] => (0.0, (3.0 / *columns as f32).sqrt()),
        [] => (0.0, 1.0),
    };
    let values = (0..shape.iter().product()).map(|_| center + radius * (2.0 * stream.random::<f32>() - 1.0));
    HostTensor { shape: shape.to_vec(), values: values.collect() }
}

fn bert_shapes() -> BTreeMap<String, Vec<usize>> {
    let mut shapes = BTreeMap::new();
    let mut add = |name: String, shape: &[usize]| drop(shapes.insert(name, shape.to_vec()));
    let embeddings = [("word", vocabulary().len()), ("position", BERT_POSITIONS), ("token_type", 2)];
    for (kind, n) in embeddings {
        add(format!("embeddings.{kind}_embeddings.weight"), &[n, HIDDEN]);
    }
    let layers = (0..LAYERS).map(|layer| format!("encoder.layer.{layer}"));
    for layer in layers.clone() {
        let linears = [
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", INTERMEDIATE, HIDDEN),
            ("output.dense", HIDDEN, INTERMEDIATE),
        ];
        for (name, output, input) in linears {
            add(format!("{layer}.{name}.weight"), &[output, input]);
            add(format!("{layer}.{name}.bias"), &[output]);
        }
    }
    let blocks = layers.flat_map(|layer| [format!("{layer}.attention.output"), format!("{layer}.output")]);
    for block in blocks.chain(["embeddings".to_owned()]) {
        add(format!("{block}.LayerNorm.weight"), &[HIDDEN]);
        add(format!("{block}.LayerNorm.bias"), &[HIDDEN]);
    }
    shapes
}

fn llama_shapes() -> BTreeMap<String, Vec<usize>> {
    let key_value = HIDDEN / HEADS * KEY_VALUE_HEADS;
    let mut shapes = BTreeMap::from([
        ("model.embed_tokens.weight".to_owned(), vec![vocabulary().len(), HIDDEN]),
        ("model.norm.weight".to_owned(), vec![HIDDEN]),
    ]);
    for layer in 0..LAYERS {
        let tensors: [(&str, &[usize]); 9] = [
            ("self_attn.q_proj", &[HIDDEN, HIDDEN]),
            ("self_attn.k_proj", &[key_value, HIDDEN]),
            ("self_attn.v_proj", &[key_value, HIDDEN]),
            ("self_attn.o_proj", &[HIDDEN, HIDDEN]),
            ("mlp.gate_proj", &[INTERMEDIATE, HIDDEN]),
            ("mlp.up_proj", &[INTERMEDIATE, HIDDEN]),
            ("mlp.down_proj", &[HIDDEN, INTERMEDIATE]),
            ("input_layernorm", &[HIDDEN]),
            ("post_attention_layernorm", &[HIDDEN]),
        ];
        let named = tensors.map(|(name, shape)| (format!("model.layers.{layer}.{name}.weight"), shape.to_vec()));
        shapes.extend(named);
    }
    shapes
}

/// Returns the spelling of every token: special tokens, bytes, merges.
fn vocabulary() -> Vec<String> {
    let special = SPECIAL_TOKENS.iter().map(|token| (*token).to_owned());
    let bytes = (0..=u8::MAX).map(|byte| spelling(byte).to_string());
    let merges = MERGES.iter().map(|(left, right)| format!("{left}{right}"));
    special.chain(bytes).chain(merges).collect()
}

fn end_of_text() -> usize {
    SPECIAL_TOKENS.len() - 1
}

/// Returns the character that GPT-2's byte-level vocabulary has for a byte: itself if printable, else the next free one.
fn spelling(byte: u8) -> char {
    let is_printable = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if is_printable(&byte) {
        return char::from(byte);
    }
    let n_before = (0..byte).filter(|byte| !is_printable(byte)).count();
    char::from_u32(256 + n_before as u32).expect("a number below 512 is a character")
}

fn tokenizer() -> Value {
    let vocabulary = vocabulary();
    let numbered: serde_json::Map<String, Value> =
        vocabulary.iter().enumerate().map(|(index, token)| (token.clone(), json!(index))).collect();
    let added_tokens = SPECIAL_TOKENS.iter().enumerate().map(|(index, token)| {
        json!({
            "id": index, "content": token, "special": true,
            "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
        })
    });
    let byte_level = json!({
        "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": true,
    });
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added_tokens.collect::<Vec<Value>>(),
        "normalizer": null,
        "pre_tokenizer": byte_level,
        "post_processor": null,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": null,
            "unk_token": null,
            "continuing_subword_prefix": null,
            "end_of_word_suffix": null,
            "fuse_unk": false,
            "byte_fallback": false,
            "ignore_merges": false,
            "vocab": numbered,
            "merges": MERGES.to_vec(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::fingerprint;

    #[test]
    fn a_seed_decides_every_byte() {
        let hash = |seed| {
            let directory = tempfile::tempdir().unwrap();
            write_bert(&directory.path().join("bert"), seed).unwrap();
            write_llama(&directory.path().join("llama"), seed).unwrap();
            fingerprint(directory.path()).unwrap()
        };
        assert_eq!(hash(1), hash(1));
        assert_ne!(hash(1), hash(2));
    }

    #[test]
    fn every_token_is_spelled_once() {
        let mut vocabulary = vocabulary();
        let n = vocabulary.len();
        vocabulary.sort();
        vocabulary.dedup();
        assert_eq!((vocabulary.len(), n), (298, 298));
    }

    #[test]
    fn bytes_are_spelled_as_in_gpt_2() {
        assert_eq!([b' ', b'\n', b'a', 0xAD, 0xFF].map(spelling), ['Ġ', 'Ċ', 'a', 'Ń', 'ÿ']);
    }
}
