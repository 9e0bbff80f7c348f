//! A decoder as a GGUF file, from memory or straight from the files it came in.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::read_json;
use crate::decoder::{Decoder, DecoderModel};
use crate::gguf::{Gguf, GgufType, write_gguf};
use crate::gguf_tokenizer;
use crate::tokenizer::Tokenizer;
use crate::weights::{self, Checkpoint, TensorSource};
use crate::{Error, Result};

/// The weights of a network under the checkpoint's names, copied one at a time.
struct NetworkTensors<'a> {
    model: &'a DecoderModel,
    path: &'a Path,
    shapes: BTreeMap<String, Vec<usize>>,
}

impl TensorSource for NetworkTensors<'_> {
    fn path(&self) -> &Path {
        self.path
    }

    fn shapes(&self) -> &BTreeMap<String, Vec<usize>> {
        &self.shapes
    }

    fn read(&self, name: &str) -> Result<Vec<f32>> {
        let missing = || Error::Weights { path: self.path.to_owned(), message: format!("missing {name}") };
        let found = self.model.tensors_where(|found| found == name).remove(name);
        found.map(|tensor| tensor.values).ok_or_else(missing)
    }
}

impl Decoder {
    /// Writes the decoder, adapters folded into its weights, as a GGUF file; `path` is replaced once all is written.
    ///
    /// # Errors
    ///
    /// Returns an error if `config.json` or the tokenizer is not known, and as [`write_gguf`] does.
    pub fn save_gguf(&self, path: &Path, kind: GgufType) -> Result<()> {
        let config = Value::Object(self.config(path)?);
        let tokenizer = self.tokenizer_if_any().ok_or_else(|| Error::Tokenizer {
            path: path.to_owned(),
            message: "the model came without one, which a GGUF file holds".to_owned(),
        })?;
        let model = self.model().merged();
        let shapes = weights::parameters(&model, &super::names());
        write_gguf(path, &config, tokenizer, &NetworkTensors { model: &model, path, shapes }, kind)
    }
}

/// Writes the decoder of a directory or a GGUF file as another GGUF file, without ever holding more than one of its
/// tensors; `path` is replaced once all is written.
///
/// # Errors
///
/// Returns an error if a file of the decoder is missing or damaged, and as [`write_gguf`] does.
pub fn convert_to_gguf(decoder: &Path, path: &Path, kind: GgufType) -> Result<()> {
    if decoder.is_dir() {
        let config = read_json(&decoder.join("config.json"))?;
        return write_gguf(path, &config, &Tokenizer::load(decoder)?, &Checkpoint::open(decoder)?, kind);
    }
    let gguf = Gguf::open(decoder)?;
    let tokenizer = Tokenizer::from_inner(gguf_tokenizer::tokenizer(&gguf)?, decoder)?;
    write_gguf(path, &gguf.config()?, &tokenizer, &gguf.decoder_tensors()?, kind)
}
