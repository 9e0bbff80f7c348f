//! What the reference implementations computed with the checkpoints in `tests/golden`.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use serde::Deserialize;

use crate::config::Fields;
use crate::decoder::{Decoder, DecoderModel, load};
use crate::device::{DeviceSpec, resolve};
use crate::pass::{Padding, Rows};
use crate::tokenizer::Tokenizer;
use crate::weights::Checkpoint;

/// The largest difference between a logit and the reference's.
pub(crate) const TOLERANCE: f32 = 1e-4;

/// Returns a directory of `tests/golden`.
pub(crate) fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

pub(crate) fn device() -> Device {
    resolve(&DeviceSpec::Auto).unwrap()
}

/// Loads a tiny checkpoint.
pub(crate) fn model(name: &str) -> DecoderModel {
    let directory = directory(name);
    let fields = Fields::load(&directory.join("config.json")).unwrap();
    load::network(fields, &Checkpoint::open(&directory).unwrap(), &device()).unwrap()
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
    pub(crate) cases: Vec<Case>,
}

/// The logits after every token of a text, and for some checkpoints the NLL of every token but the first.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) tokens: Vec<u32>,
    pub(crate) logits: Vec<Vec<f32>>,
    #[serde(default)]
    pub(crate) nll: Vec<f32>,
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
            Stored::Cases(cases) | Stored::Whole { cases } => Self { cases },
        }
    }
}

impl Golden {
    pub(crate) fn load(name: &str) -> Self {
        let text = std::fs::read_to_string(directory(name).join("golden.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Checks every logit of every text.
    pub(crate) fn check(&self, model: &DecoderModel) {
        for case in &self.cases {
            assert_close(&logits(model, &case.tokens), &case.logits.concat());
        }
    }
}

/// Returns the logits after every token.
pub(crate) fn logits(model: &DecoderModel, tokens: &[u32]) -> Vec<f32> {
    let hidden = model.hidden(Rows::new(&[tokens], Padding::Right), None, None);
    model.logits(hidden).into_data().try_into_vec().unwrap()
}

pub(crate) fn assert_close(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    let errors = found.iter().zip(expected).map(|(found, expected)| (found - expected).abs());
    let max = errors.fold(0.0, f32::max);
    assert!(max <= TOLERANCE, "the largest error is {max}");
}
