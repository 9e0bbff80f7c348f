//! The directory of an encoder: Hugging Face's files, and those that make it a `sentence-transformers` model.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use serde_json::{Value, json};

use super::{Encoder, EncoderModel, EncoderTemplate};
use crate::bert::{self, BertConfig};
use crate::config::Fields;
use crate::roberta::RobertaModel;
use crate::tokenizer::Tokenizer;
use crate::weights::{self, Checkpoint, HostTensor, Names, TensorSource};
use crate::{Error, Result};

/// Files that only the Python tokenizer reads, kept as they are.
const TOKENIZER_FILES: [&str; 4] = ["tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "merges.txt"];

/// The kinds of module that `sentence-transformers` may chain after the network.
const MODULES: [&str; 3] = ["Transformer", "Pooling", "Normalize"];

/// What a model directory holds beside what is computed with.
#[derive(Debug)]
pub struct EncoderFiles {
    /// The configuration.
    pub config: BertConfig,
    config_json: Value,
    tokenizer_files: BTreeMap<&'static str, Vec<u8>>,
    pooler: BTreeMap<String, HostTensor>,
}

pub(super) fn load(directory: &Path, device: &Device) -> Result<Encoder> {
    let config_path = directory.join("config.json");
    let config_json = read_json(&config_path)?;
    let model_type = config_json["model_type"].as_str().unwrap_or_default().to_owned();
    if !["bert", "roberta"].contains(&model_type.as_str()) {
        let message = format!("`{model_type}` is not an encoder that is implemented: expected bert or roberta");
        return Err(Error::config(&config_path, "model_type", message));
    }
    let config = BertConfig::read(Fields::new(config_json.clone(), &config_path)?)?;
    check_pooling(directory)?;
    let tokenizer = Tokenizer::load(directory)?;
    tokenizer.check_fits(config.vocab_size, &config_path)?;
    let checkpoint = Checkpoint::open(directory)?;
    let names = names(&checkpoint, &format!("{model_type}."));
    let tokenizer_path = directory.join("tokenizer.json");
    let (model, template) = if model_type == "bert" {
        let model = weights::load(config.init(device), &checkpoint, &names)?;
        (EncoderModel::Bert(model), EncoderTemplate::bert(&tokenizer, &tokenizer_path)?)
    } else {
        let model = weights::load(RobertaModel::init(&config, device), &checkpoint, &names)?;
        (EncoderModel::Roberta(model), EncoderTemplate::roberta(&tokenizer, &tokenizer_path)?)
    };
    let positions = model.positions(&config);
    if positions <= template.len() {
        let message = format!("has positions for {positions} tokens, where {} stand around a text", template.len());
        return Err(Error::config(&config_path, "max_position_embeddings", message));
    }
    let files = EncoderFiles {
        config,
        config_json,
        tokenizer_files: tokenizer_files(directory)?,
        pooler: pooler(&checkpoint, &names)?,
    };
    Ok(Encoder { model, tokenizer: Arc::new(tokenizer), template, files: Arc::new(files) })
}

pub(super) fn save(encoder: &Encoder, directory: &Path) -> Result<()> {
    for folder in [directory, &directory.join("1_Pooling"), &directory.join("2_Normalize")] {
        fs::create_dir_all(folder).map_err(Error::write(folder))?;
    }
    let mut tensors = match &encoder.model {
        EncoderModel::Bert(model) => weights::tensors(model, &bert::NAMES),
        EncoderModel::Roberta(model) => weights::tensors(model, &bert::NAMES),
    };
    tensors.extend(encoder.files.pooler.clone());
    weights::write(&directory.join("model.safetensors"), &tensors)?;
    let tokenizer_path = directory.join("tokenizer.json");
    encoder.template.stated_by(&encoder.tokenizer, &tokenizer_path)?.save(&tokenizer_path)?;
    for (name, bytes) in &encoder.files.tokenizer_files {
        let path = directory.join(name);
        fs::write(&path, bytes).map_err(Error::write(&path))?;
    }
    for (name, json) in descriptions(encoder) {
        let path = directory.join(name);
        fs::write(&path, format!("{json:#}\n")).map_err(Error::write(&path))?;
    }
    Ok(())
}

/// Returns the JSON files of a `sentence-transformers` model: mean pooling, then unit length.
fn descriptions(encoder: &Encoder) -> [(&'static str, Value); 5] {
    let mut config = encoder.files.config_json.clone();
    let architecture = match encoder.model {
        EncoderModel::Bert(_) => "BertModel",
        EncoderModel::Roberta(_) => "RobertaModel",
    };
    config["architectures"] = json!([architecture]);
    config["torch_dtype"] = json!("float32");
    let module = |index: usize, path: &str, kind: &str| {
        let class = format!("sentence_transformers.models.{kind}");
        json!({ "idx": index, "name": index.to_string(), "path": path, "type": class })
    };
    let modules =
        json!([module(0, "", MODULES[0]), module(1, "1_Pooling", MODULES[1]), module(2, "2_Normalize", MODULES[2]),]);
    let pooling = json!({
        "word_embedding_dimension": encoder.dim(),
        "pooling_mode_cls_token": false,
        "pooling_mode_mean_tokens": true,
        "pooling_mode_max_tokens": false,
        "pooling_mode_mean_sqrt_len_tokens": false,
    });
    let limits = json!({ "max_seq_length": encoder.tokens_max(), "do_lower_case": false });
    let similarity = json!({ "prompts": {}, "default_prompt_name": null, "similarity_fn_name": "cosine" });
    [
        ("config.json", config),
        ("modules.json", modules),
        ("1_Pooling/config.json", pooling),
        ("sentence_bert_config.json", limits),
        ("config_sentence_transformers.json", similarity),
    ]
}

/// Refuses a `sentence-transformers` model that is not mean pooling with at most a normalization.
fn check_pooling(directory: &Path) -> Result<()> {
    let modules_path = directory.join("modules.json");
    if modules_path.exists() {
        let modules = read_json(&modules_path)?;
        let mut kinds = modules.as_array().into_iter().flatten().filter_map(|module| module["type"].as_str());
        if let Some(kind) = kinds.find(|kind| !MODULES.contains(&kind.rsplit('.').next().unwrap_or(kind))) {
            return Err(Error::config(&modules_path, "type", format!("`{kind}` is not implemented")));
        }
    }
    let pooling_path = directory.join("1_Pooling/config.json");
    if pooling_path.exists() {
        let pooling = read_json(&pooling_path)?;
        let mut modes = pooling.as_object().into_iter().flatten().filter(|(key, value)| {
            key.starts_with("pooling_mode") && **value != json!(false) && **value != json!("mean")
        });
        if let Some((key, _)) = modes.find(|(key, _)| *key != "pooling_mode_mean_tokens") {
            return Err(Error::config(&pooling_path, key, "only the mean over tokens is implemented"));
        }
    }
    let limits_path = directory.join("sentence_bert_config.json");
    if limits_path.exists() && read_json(&limits_path)?["do_lower_case"] == json!(true) {
        return Err(Error::config(
            &limits_path,
            "do_lower_case",
            "lowercasing outside the tokenizer is not implemented",
        ));
    }
    Ok(())
}

/// Returns the names of a checkpoint that puts `prefix` before them, or does not.
fn names(checkpoint: &Checkpoint, prefix: &str) -> Names {
    let is_prefixed = checkpoint.shapes().contains_key(&format!("{prefix}embeddings.word_embeddings.weight"));
    Names { prefix: if is_prefixed { prefix.to_owned() } else { String::new() }, ..bert::NAMES }
}

/// Returns the tensors of the pooler: not computed with, but Python's `AutoModel` wants them back.
fn pooler(checkpoint: &Checkpoint, names: &Names) -> Result<BTreeMap<String, HostTensor>> {
    let mut pooler = BTreeMap::new();
    for (name, shape) in checkpoint.shapes() {
        let plain = name.strip_prefix(&names.prefix).unwrap_or(name);
        if plain.starts_with("pooler.") {
            let tensor = HostTensor { shape: shape.clone(), values: checkpoint.read(name)? };
            pooler.insert(plain.to_owned(), tensor);
        }
    }
    Ok(pooler)
}

fn tokenizer_files(directory: &Path) -> Result<BTreeMap<&'static str, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for name in TOKENIZER_FILES {
        let path = directory.join(name);
        if path.exists() {
            files.insert(name, fs::read(&path).map_err(Error::read(&path))?);
        }
    }
    Ok(files)
}

fn read_json(path: &Path) -> Result<Value> {
    let text = fs::read_to_string(path).map_err(Error::read(path))?;
    serde_json::from_str(&text).map_err(|source| Error::Json { path: path.to_owned(), source })
}
