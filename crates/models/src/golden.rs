//! What the reference implementations computed with the checkpoints in `tests/golden`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;
use serde_json::Value;

use crate::Result;
use crate::config::Fields;
use crate::decoder::{Decoder, DecoderModel, load, nll};
use crate::device::{DeviceSpec, resolve};
use crate::dropout::Dropout;
use crate::pass::{Padding, Rows};
use crate::tokenizer::Tokenizer;
use crate::weights::{Checkpoint, HostTensor, MemoryTensors, TensorSource};

/// The largest difference between a logit and the reference's.
pub(crate) const TOLERANCE: f32 = 1e-4;

/// The checkpoints of decoders, of every architecture.
pub(crate) const DECODERS: [&str; 13] = [
    // Grouped queries and a tied head; biases, an own head size and scaled positions; positions of Llama 3.
    "llama_grouped",
    "llama_scaled",
    "llama3_scaled",
    // A tied head; a head of its own, and attention scores that shrink with depth.
    "gpt2_tiny",
    "gpt2_untied_scaled",
    // One head of keys and values for all; query, key and value of a head side by side.
    "gpt_bigcode_multi_query",
    "gpt_bigcode_multi_head",
    // Heads that are rotated in part and as a whole.
    "codegen_tiny",
    "codegen_whole",
    // Biases of queries, keys and values alone; a window that one layer has.
    "qwen2_tied",
    "qwen2_window",
    // A window that is shorter than the text; no biases.
    "starcoder2_window",
    "starcoder2_no_bias",
];

/// Returns a directory of `tests/golden`.
pub(crate) fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

pub(crate) fn device() -> Device {
    resolve(&DeviceSpec::Auto).unwrap()
}

/// Loads a tiny checkpoint.
pub(crate) fn model(name: &str) -> DecoderModel {
    changed_model(name, &serde_json::json!({})).unwrap()
}

/// Loads a tiny checkpoint whose configuration has other values for some keys, null for none.
pub(crate) fn changed_model(name: &str, changes: &Value) -> Result<DecoderModel> {
    build(name, changes, &Checkpoint::open(&directory(name)).unwrap(), &device())
}

/// Returns the tensors of a tiny checkpoint.
pub(crate) fn tensors(name: &str) -> BTreeMap<String, HostTensor> {
    let checkpoint = Checkpoint::open(&directory(name)).unwrap();
    let tensor = |name: &String, shape: &Vec<usize>| {
        (name.clone(), HostTensor { shape: shape.clone(), values: checkpoint.read(name).unwrap() })
    };
    checkpoint.shapes().iter().map(|(name, shape)| tensor(name, shape)).collect()
}

/// Loads a tiny checkpoint with other tensors.
pub(crate) fn model_of(name: &str, tensors: BTreeMap<String, HostTensor>, device: &Device) -> Result<DecoderModel> {
    build(name, &serde_json::json!({}), &MemoryTensors::new("memory".as_ref(), tensors), device)
}

pub(crate) fn build(name: &str, changes: &Value, source: &impl TensorSource, device: &Device) -> Result<DecoderModel> {
    load::network(fields(name, changes), source, device)
}

/// Returns the configuration of a tiny checkpoint with other values for some keys, null for none.
pub(crate) fn fields(name: &str, changes: &Value) -> Fields {
    let path = directory(name).join("config.json");
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    for (key, value) in changes.as_object().unwrap() {
        config[key] = value.clone();
    }
    Fields::new(config, &path).unwrap()
}

/// Checks that every change of the configuration is refused, with the words of an error that name the key.
pub(crate) fn assert_refused(name: &str, refusals: &[(Value, &str)]) {
    for (changes, words) in refusals {
        let error = changed_model(name, changes).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(words), "{changes}: {error}");
    }
}

/// Loads a tiny checkpoint with a tokenizer that is not used.
pub(crate) fn decoder(name: &str) -> Decoder {
    with_tokenizer(model(name))
}

pub(crate) fn with_tokenizer(model: DecoderModel) -> Decoder {
    let json = r#"{"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": {"x": 0}, "merges": []}}"#;
    let inner = tokenizers::Tokenizer::from_bytes(json).unwrap();
    Decoder::new(model, Tokenizer::from_inner(inner, "none".as_ref()).unwrap())
}

/// What `transformers` computes with a tiny checkpoint.
#[derive(Deserialize)]
#[serde(from = "Stored")]
pub(crate) struct Golden {
    name: String,
    pub(crate) cases: Vec<Case>,
}

/// The logits after every token of a text, and for some checkpoints the NLL of every token but the first.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) tokens: Vec<u32>,
    pub(crate) logits: Vec<Vec<f32>>,
    #[serde(default)]
    nll: Vec<f32>,
}

impl Case {
    /// Returns the NLL of every token but the first: the reference's own, or that of its logits.
    pub(crate) fn nll(&self) -> Vec<f32> {
        if self.nll.is_empty() {
            return self.logits.iter().zip(&self.tokens[1..]).map(|(logits, &token)| nll(logits, token)).collect();
        }
        self.nll.clone()
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Cases(Vec<Case>),
    Whole { cases: Vec<Case> },
}

impl From<Stored> for Golden {
    fn from(stored: Stored) -> Self {
        match stored {
            Stored::Cases(cases) | Stored::Whole { cases } => Self { name: String::new(), cases },
        }
    }
}

impl Golden {
    pub(crate) fn load(name: &str) -> Self {
        let text = std::fs::read_to_string(directory(name).join("golden.json")).unwrap();
        Self { name: name.to_owned(), ..serde_json::from_str(&text).unwrap() }
    }

    /// Checks every logit of every text.
    pub(crate) fn check(&self, model: &DecoderModel) {
        for case in &self.cases {
            let error = largest_error(&logits(model, &case.tokens), &case.logits.concat());
            assert!(error <= TOLERANCE, "{}: the largest error is {error}", self.name);
        }
    }
}

/// Returns the logits after every token.
pub(crate) fn logits(model: &DecoderModel, tokens: &[u32]) -> Vec<f32> {
    let hidden = model.hidden(Rows::new(&[tokens], Padding::Right), None, None);
    model.logits(hidden).into_data().try_into_vec().unwrap()
}

/// Returns the logits of two texts in training, with the masks of a seed.
pub(crate) fn training_logits(model: &DecoderModel, seed: u64) -> Vec<f32> {
    let mut dropout = Dropout::new(ChaCha8Rng::seed_from_u64(seed));
    let rows = Rows::new(&[[3, 4, 5, 6, 7, 8], [9, 8, 7, 6, 5, 4]], Padding::Right);
    let hidden = model.hidden(rows, None, Some(&mut dropout));
    model.logits(hidden).into_data().try_into_vec().unwrap()
}

pub(crate) fn assert_close(found: &[f32], expected: &[f32]) {
    let error = largest_error(found, expected);
    assert!(error <= TOLERANCE, "the largest error is {error}");
}

/// Returns the largest difference, which is not a number if one of the differences is not.
pub(crate) fn largest_error(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let errors = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs());
    errors.fold(0.0, |largest: f32, error| if error > largest || error.is_nan() { error } else { largest })
}
