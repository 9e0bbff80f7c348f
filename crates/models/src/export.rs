//! A decoder as a Hugging Face directory or a GGUF file, adapters folded into the weights.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::decoder::{Decoder, DecoderModel, LanguageModel, load};
use crate::linear::Precision;
use crate::weights::{self, HostTensor, Names};
use crate::{Error, Result};

mod gguf;

pub use gguf::convert_to_gguf;

const WEIGHTS_FILE: &str = "model.safetensors";
const INDEX_FILE: &str = "model.safetensors.index.json";
const TOKENIZER_CONFIG_FILE: &str = "tokenizer_config.json";

/// Files that only other programs read, kept as they are.
const OTHER_FILES: [&str; 9] = [
    "added_tokens.json",
    "chat_template.jinja",
    "generation_config.json",
    "merges.txt",
    "special_tokens_map.json",
    "tokenizer.model",
    TOKENIZER_CONFIG_FILE,
    "vocab.json",
    "vocab.txt",
];

/// What the directory of a decoder holds beside weights and tokenizer.
#[derive(Debug, Clone, Default)]
pub struct DecoderFiles {
    /// The content of `config.json`; null if it is not known.
    pub config: Value,
    /// Other files by name.
    pub others: BTreeMap<String, Vec<u8>>,
}

impl DecoderFiles {
    /// Reads what there is in `directory`.
    ///
    /// # Errors
    ///
    /// Returns an error if `config.json` is missing or damaged, or if another file cannot be read.
    pub fn load(directory: &Path) -> Result<Self> {
        let mut others = BTreeMap::new();
        for name in OTHER_FILES {
            let path = directory.join(name);
            if path.exists() {
                others.insert(name.to_owned(), fs::read(&path).map_err(Error::read(&path))?);
            }
        }
        Ok(Self { config: read_json(&directory.join("config.json"))?, others })
    }
}

/// How the weights of a directory are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportFormat {
    /// The type of every tensor.
    pub precision: Precision,
    /// The size in bytes above which weights go to several files.
    pub shard_bytes_max: u64,
}

impl Default for ExportFormat {
    fn default() -> Self {
        Self { precision: Precision::F32, shard_bytes_max: 5_000_000_000 }
    }
}

impl DecoderModel {
    /// Returns the weights under the checkpoint's names; adapters must have been merged.
    ///
    /// # Panics
    ///
    /// Panics if an adapter is attached.
    #[must_use]
    pub fn tensors(&self) -> BTreeMap<String, HostTensor> {
        self.tensors_where(|_| true)
    }

    /// Returns the wanted ones of [`Self::tensors`].
    fn tensors_where(&self, is_wanted: impl Fn(&str) -> bool) -> BTreeMap<String, HostTensor> {
        assert!(!self.is_adapted(), "adapters are merged before weights are written");
        weights::tensors_where(self, &names(), is_wanted)
    }

    /// Returns the size of every tensor in bytes.
    fn tensor_bytes(&self, precision: Precision) -> BTreeMap<String, u64> {
        let bytes = |shape: &Vec<usize>| (shape.iter().product::<usize>() * precision.dtype().size()) as u64;
        weights::parameters(self, &names()).iter().map(|(name, shape)| (name.clone(), bytes(shape))).collect()
    }
}

/// Returns the checkpoint's names; the traversal of an enum names its variant first.
fn names() -> Names {
    let rename = |path: &str| path.split_once('.').map_or(path, |(_variant, path)| path).to_owned();
    Names { rename, ..load::names() }
}

impl Decoder {
    /// Writes the decoder, adapters folded into its weights, as a directory that Python's `transformers` loads.
    ///
    /// A head that is tied to the embedding is written once, as the embedding.
    ///
    /// # Errors
    ///
    /// Returns an error if `config.json` is not known or a file cannot be written.
    pub fn save_merged(&self, directory: &Path, format: ExportFormat) -> Result<()> {
        let config_path = directory.join("config.json");
        let mut config = self.config(&config_path)?;
        let precision = match format.precision {
            Precision::F32 => "float32",
            Precision::Bf16 => "bfloat16",
        };
        config.insert("torch_dtype".to_owned(), json!(precision));
        if config.contains_key("dtype") {
            config.insert("dtype".to_owned(), json!(precision));
        }
        fs::create_dir_all(directory).map_err(Error::write(directory))?;
        write_json(&config_path, &Value::Object(config))?;
        self.save_tokenizer(directory)?;
        save_weights(directory, &self.model().merged(), format)
    }

    /// Returns the content of `config.json`, added tokens counted; `path` is named in errors.
    fn config(&self, path: &Path) -> Result<serde_json::Map<String, Value>> {
        let Value::Object(mut config) = self.files().config.clone() else {
            return Err(Error::config(path, "config.json", "the model came without one"));
        };
        config.insert("vocab_size".to_owned(), json!(self.model().network().shape().vocab_size));
        Ok(config)
    }

    /// Writes the tokenizer, if the model came with one, and the other files, added tokens included.
    pub(crate) fn save_tokenizer(&self, directory: &Path) -> Result<()> {
        if let Some(tokenizer) = self.tokenizer_if_any() {
            tokenizer.save(&directory.join("tokenizer.json"))?;
        }
        if self.tokenizer_if_any().is_some() && !self.files().others.contains_key(TOKENIZER_CONFIG_FILE) {
            write_json(&directory.join(TOKENIZER_CONFIG_FILE), &self.tokenizer_config())?;
        }
        for (name, bytes) in &self.files().others {
            let path = directory.join(name);
            if name == TOKENIZER_CONFIG_FILE && !self.added.is_empty() {
                let mut config = serde_json::from_slice(bytes)
                    .map_err(|source| Error::Json { path: TOKENIZER_CONFIG_FILE.into(), source })?;
                self.declare_added(&mut config);
                write_json(&path, &config)?;
            } else {
                fs::write(&path, bytes).map_err(Error::write(&path))?;
            }
        }
        Ok(())
    }

    /// Returns what `transformers` needs to read a `tokenizer.json` that came without its own configuration.
    fn tokenizer_config(&self) -> Value {
        let spelling = |token: Option<u32>| token.and_then(|token| self.tokenizer().spelling(token));
        json!({
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": spelling(self.tokenizer().begin()),
            "eos_token": spelling(self.tokenizer().eos().or(self.eos().first().copied())),
        })
    }

    /// Lists the added tokens where `transformers` lists them, if the file does that at all.
    fn declare_added(&self, config: &mut Value) {
        let Some(declared) = config.get_mut("added_tokens_decoder").and_then(Value::as_object_mut) else {
            return;
        };
        for &token in &self.added {
            let token_json = json!({
                "content": self.tokenizer().spelling(token),
                "lstrip": false, "normalized": false, "rstrip": false, "single_word": false, "special": true,
            });
            declared.insert(token.to_string(), token_json);
        }
    }
}

/// Writes weights as one file, or as shards with their index, and removes what an earlier save left of the other.
fn save_weights(directory: &Path, model: &DecoderModel, format: ExportFormat) -> Result<()> {
    let sizes = model.tensor_bytes(format.precision);
    let total: u64 = sizes.values().sum();
    let single = directory.join(WEIGHTS_FILE);
    let index = directory.join(INDEX_FILE);
    if total <= format.shard_bytes_max {
        weights::write_as(&single, &model.tensors(), format.precision)?;
        return remove(&index);
    }
    let shards = shards(&sizes, format.shard_bytes_max);
    let mut weight_map = serde_json::Map::new();
    for (number, shard) in shards.iter().enumerate() {
        let name = format!("model-{:05}-of-{:05}.safetensors", number + 1, shards.len());
        // One shard at a time is in memory.
        let tensors = model.tensors_where(|name| shard.contains(name));
        weights::write_as(&directory.join(&name), &tensors, format.precision)?;
        weight_map.extend(shard.iter().map(|&tensor| (tensor.to_owned(), json!(name))));
    }
    write_json(&index, &json!({ "metadata": { "total_size": total }, "weight_map": weight_map }))?;
    remove(&single)
}

/// Fills one shard after another in the order of names; a tensor above the limit has a shard of its own.
fn shards(sizes: &BTreeMap<String, u64>, bytes_max: u64) -> Vec<BTreeSet<&str>> {
    let mut shards = vec![BTreeSet::new()];
    let mut filled = 0;
    for (name, size) in sizes {
        if filled > 0 && filled + size > bytes_max {
            shards.push(BTreeSet::new());
            filled = 0;
        }
        filled += size;
        shards.last_mut().expect("there is always a shard").insert(name.as_str());
    }
    shards
}

fn remove(path: &Path) -> Result<()> {
    if path.exists() { fs::remove_file(path).map_err(Error::write(path)) } else { Ok(()) }
}

pub(crate) fn read_json(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).map_err(Error::read(path))?;
    serde_json::from_str(&text).map_err(|source| Error::Json { path: path.to_owned(), source })
}

pub(crate) fn write_json(path: &Path, json: &Value) -> Result<()> {
    fs::write(path, format!("{json:#}\n")).map_err(Error::write(path))
}

#[cfg(test)]
mod tests;
