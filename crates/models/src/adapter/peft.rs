//! An adapter as a folder of Python's `peft`: `adapter_config.json` and `adapter_model.safetensors`.
//!
//! Rows of tokens are saved whole, under the name that `peft` gives to what it calls a delta but replaces rows with.

mod config;
mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use burn::tensor::Tensor;
use serde_json::{Value, json};

use super::attach::{Adaptable, head};
use super::lora::HEAD;
use crate::decoder::{Decoder, DecoderModel};
use crate::encoder::Encoder;
use crate::export::write_json;
use crate::linear::Layout;
use crate::weights::{self, HostTensor};
use crate::{Error, Result};

const CONFIG_FILE: &str = "adapter_config.json";
const WEIGHTS_FILE: &str = "adapter_model.safetensors";
/// What `peft` puts before the name of every layer.
const PREFIX: &str = "base_model.model.";
const ROWS: &str = "trainable_tokens_delta";
/// The tables of an encoder-decoder that `peft` sees beside the one they share.
const SHARING: [&str; 2] = ["encoder.embed_tokens", "decoder.embed_tokens"];

/// What is attached to a model, apart from its values.
#[derive(Debug, Default)]
struct Attached {
    /// Layers with a low-rank addition.
    layers: BTreeSet<String>,
    /// All linear layers.
    all: BTreeSet<String>,
    rank: usize,
    scale: f64,
    dropout: f64,
    is_conv1d: bool,
    /// The tables with trained rows, by the last part of their names, and the tokens of these rows.
    tables: BTreeMap<String, Vec<u32>>,
}

impl Decoder {
    /// Writes the adapter as a folder that Python's `peft` loads on the model that this decoder was loaded from, or on
    /// `base`, the name of that model.
    ///
    /// If tokens were added, the tokenizer is written too.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing is attached, if the row of an added token is not part of the adapter, if `peft` could
    /// not apply the adapter, or if a file cannot be written.
    pub fn save_peft(&self, directory: &Path, base: &str) -> Result<()> {
        let mut model = self.unmerged.as_ref().unwrap_or(self.model()).clone();
        let (attached, tensors) = collect(&mut model, true);
        let has_encoder = model.network().start_token().is_some();
        let task = if has_encoder { "SEQ_2_SEQ_LM" } else { "CAUSAL_LM" };
        self.check_saved(&attached, &mut model)?;
        attached.save(directory, &tensors, base, task)?;
        if self.added.is_empty() { Ok(()) } else { self.save_tokenizer(directory) }
    }

    fn check_saved(&self, attached: &Attached, model: &mut DecoderModel) -> Result<()> {
        attached.check()?;
        let has_row = |token: &&u32| attached.tables.values().all(|tokens| tokens.contains(token));
        if !self.added.is_empty() && attached.tables.is_empty() || !self.added.iter().all(|token| has_row(&token)) {
            return Err(Error::adapter("tokens", "an added token is not trained: an adapter cannot carry its row"));
        }
        let has_encoder = model.network().start_token().is_some();
        if has_encoder && !attached.tables.is_empty() && attached.all.contains(HEAD) {
            return Err(Error::adapter(
                "tokens",
                "peft trains other rows where the head of an encoder-decoder is untied",
            ));
        }
        let head = head(model.network_mut().linears());
        let has_rows = |head: &&mut crate::linear::Linear| head.rows.is_some();
        match head.filter(has_rows) {
            Some(head) if head.bias.is_some() => Err(Error::adapter("tokens", "peft drops the bias of such a head")),
            Some(head) if head.lora.is_some() => {
                Err(Error::adapter("targets", format!("peft does not wrap `{HEAD}` twice")))
            }
            _ => Ok(()),
        }
    }
}

impl Encoder {
    /// Writes the adapter as a folder that Python's `peft` loads on the `AutoModel` that this encoder was loaded from, or
    /// on `base`, the name of that model.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing is attached or if a file cannot be written.
    pub fn save_peft(&self, directory: &Path, base: &str) -> Result<()> {
        let (attached, tensors) = collect(&mut self.model.clone(), false);
        attached.check()?;
        attached.save(directory, &tensors, base, "FEATURE_EXTRACTION")
    }
}

/// Takes stock of what is attached, and returns its tensors under the names of `peft`.
fn collect(model: &mut impl Adaptable, has_head: bool) -> (Attached, BTreeMap<String, HostTensor>) {
    let mut attached = Attached::default();
    let mut tensors = BTreeMap::new();
    let mut rows = Vec::new();
    let has_encoder = model.has_encoder();
    for (name, linear) in model.linears() {
        if let Some(lora) = &linear.lora {
            tensors.insert(format!("{PREFIX}{name}.lora_A.weight"), host(lora.lora_a.val()));
            tensors.insert(format!("{PREFIX}{name}.lora_B.weight"), host(lora.lora_b.val()));
            (attached.rank, attached.scale, attached.dropout) = (lora.rank(), lora.scale(), lora.dropout());
            attached.is_conv1d |= linear.layout() == Layout::InOut;
            attached.layers.insert(name.clone());
        }
        rows.extend(linear.rows.clone().map(|rows| (name.clone(), rows)));
        attached.all.insert(name);
    }
    let (name, embedding) = model.token_embedding();
    rows.extend(embedding.rows.clone().map(|rows| (name.to_owned(), rows)));
    let wrapper = if attached.layers.is_empty() { "" } else { "token_adapter." };
    for (name, rows) in rows {
        tensors.insert(format!("{PREFIX}{name}.{wrapper}{ROWS}"), host(rows.values.val()));
        attached.tables.insert(ending(&name).to_owned(), rows.tokens().to_vec());
    }
    let embedding = format!("{PREFIX}{name}.{ROWS}");
    if let Some(rows) = tensors.get(&embedding).cloned() {
        // Without layers, `peft` stores the rows again for what is tied to the embedding, and asks for them.
        let head = [HEAD].into_iter().filter(|_| has_head && !attached.all.contains(HEAD));
        let tables = SHARING.into_iter().filter(|_| has_encoder);
        tensors.extend(head.chain(tables).map(|tied| (format!("{PREFIX}{tied}.{ROWS}"), rows.clone())));
    }
    (attached, tensors)
}

impl Attached {
    fn check(&self) -> Result<()> {
        if self.layers.is_empty() && self.tables.is_empty() {
            return Err(Error::adapter("adapter", "nothing is attached to the model"));
        }
        Ok(())
    }

    fn save(&self, directory: &Path, tensors: &BTreeMap<String, HostTensor>, base: &str, task: &str) -> Result<()> {
        fs::create_dir_all(directory).map_err(Error::write(directory))?;
        weights::write(&directory.join(WEIGHTS_FILE), tensors)?;
        write_json(&directory.join(CONFIG_FILE), &self.config(base, task))
    }

    /// Returns the content of `adapter_config.json`.
    fn config(&self, base: &str, task: &str) -> Value {
        let common = json!({
            "auto_mapping": null, "base_model_name_or_path": base, "inference_mode": true, "revision": null,
            "task_type": task,
        });
        let own = if self.layers.is_empty() { self.rows_config() } else { self.lora_config() };
        let entries = [common, own].into_iter().filter_map(|part| match part {
            Value::Object(entries) => Some(entries),
            _ => None,
        });
        Value::Object(entries.flatten().collect())
    }

    fn lora_config(&self) -> Value {
        let alpha = self.scale * self.rank as f64;
        let alpha = if alpha.fract() == 0.0 { json!(alpha as u64) } else { json!(alpha) };
        let tables = if self.tables.is_empty() { Value::Null } else { json!(self.tables) };
        json!({
            "peft_type": "LORA", "r": self.rank, "lora_alpha": alpha, "lora_dropout": self.dropout,
            "target_modules": self.targets(), "trainable_token_indices": tables,
            "fan_in_fan_out": self.is_conv1d, "bias": "none", "lora_bias": false, "init_lora_weights": true,
            "modules_to_save": null, "exclude_modules": null, "layers_pattern": null, "layers_to_transform": null,
            "layer_replication": null, "rank_pattern": {}, "alpha_pattern": {}, "use_dora": false, "use_rslora": false,
        })
    }

    fn rows_config(&self) -> Value {
        json!({
            "peft_type": "TRAINABLE_TOKENS", "init_weights": true,
            "token_indices": self.tables.values().next(), "target_modules": self.tables.keys().collect::<Vec<_>>(),
        })
    }

    /// Returns the last parts of the layers' names where these say which layers are meant, and whole names elsewhere.
    fn targets(&self) -> BTreeSet<&str> {
        let endings: BTreeSet<&str> = self.layers.iter().map(|name| ending(name)).collect();
        let named = self.all.iter().filter(|name| endings.contains(ending(name))).count();
        if named == self.layers.len() { endings } else { self.layers.iter().map(String::as_str).collect() }
    }
}

fn ending(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn host(tensor: Tensor<2>) -> HostTensor {
    HostTensor { shape: tensor.dims().to_vec(), values: tensor.into_data().iter::<f32>().collect() }
}
