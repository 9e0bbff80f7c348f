//! What a model on disk is, for those who look before they compute.

use std::collections::BTreeMap;
use std::path::Path;

use burn::module::Module;
use burn::tensor::Device;
use serde_json::Value;

use crate::decoder::load::{names, outline};
use crate::decoder::{self, DecoderModel};
use crate::encoder::Encoder;
use crate::gguf::{self, Gguf};
use crate::tokenizer::Tokenizer;
use crate::weights::{self, Checkpoint};
use crate::{Error, Result};

/// How the name of a head of its own ends.
const HEAD: &str = "lm_head.weight";

/// The architectures that give vectors instead of logits.
const ENCODERS: [&str; 2] = ["bert", "roberta"];

/// What a model gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One vector for a text.
    Encoder,
    /// Logits of the next token.
    Decoder,
}

/// What the files of a model say, before its weights are read.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// Encoder or decoder; an architecture that is not implemented counts as a decoder.
    pub kind: Kind,
    /// The architecture: `model_type` of `config.json`, or `general.architecture` of a GGUF file.
    pub architecture: String,
    /// Every whole number of the configuration that is not a token, under its own name.
    pub sizes: BTreeMap<String, u64>,
    /// How many numbers are stored in each type.
    pub weight_types: BTreeMap<String, usize>,
}

/// What is known of a model once it is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// Number of parameters; a head tied to the embedding counts once.
    pub n_parameters: usize,
    /// Number of tokens.
    pub vocabulary_size: usize,
    /// Tokens that the model can read, special ones included.
    pub context_tokens_max: usize,
    /// Whether the head is the table of tokens; none for an encoder.
    pub has_tied_head: Option<bool>,
    /// Tokens that end a text.
    pub eos: Vec<u32>,
    /// The special tokens of the tokenizer and their spelling.
    pub special_tokens: Vec<(u32, String)>,
}

/// Reads the configuration of a directory or GGUF file and the headers of its weights.
///
/// # Errors
///
/// Returns an error if one of them is missing or damaged.
pub fn describe(path: &Path) -> Result<Description> {
    if !path.is_dir() {
        return describe_gguf(&Gguf::open(path)?);
    }
    let (architecture, config) = config(path)?;
    let sizes = config.as_object().into_iter().flatten().filter(|(key, _)| !key.contains("token_id"));
    Ok(Description {
        kind: kind_of(&architecture),
        architecture,
        sizes: sizes.filter_map(|(key, value)| Some((key.clone(), value.as_u64()?))).collect(),
        weight_types: Checkpoint::open(path)?.weight_types(),
    })
}

/// Tells whether a directory or GGUF file holds an encoder or a decoder.
///
/// # Errors
///
/// Returns an error if the configuration is missing or damaged.
pub fn kind(path: &Path) -> Result<Kind> {
    if path.is_dir() { Ok(kind_of(&config(path)?.0)) } else { Ok(Kind::Decoder) }
}

fn kind_of(architecture: &str) -> Kind {
    if ENCODERS.contains(&architecture) { Kind::Encoder } else { Kind::Decoder }
}

/// Returns the architecture and the whole configuration of a directory.
fn config(directory: &Path) -> Result<(String, Value)> {
    let path = directory.join("config.json");
    let text = std::fs::read_to_string(&path).map_err(Error::read(&path))?;
    let config: Value = serde_json::from_str(&text).map_err(|source| Error::Json { path: path.clone(), source })?;
    let architecture = config["model_type"].as_str().ok_or_else(|| Error::config(&path, "model_type", "is missing"))?;
    Ok((architecture.to_owned(), config))
}

fn describe_gguf(gguf: &Gguf) -> Result<Description> {
    let architecture = gguf.text("general.architecture")?.unwrap_or_default().to_owned();
    let mut weight_types = BTreeMap::new();
    for tensor in gguf.tensors().values() {
        *weight_types.entry(format!("{:?}", tensor.kind)).or_default() += tensor.shape.iter().product::<usize>();
    }
    let size = |(key, value): (&String, &gguf::Value)| match value {
        gguf::Value::Integer(value) => Some((key.clone(), u64::try_from(*value).ok()?)),
        _ => None,
    };
    let sizes = gguf.metadata().iter().filter(|(key, _)| key.starts_with(&format!("{architecture}.")));
    Ok(Description { kind: Kind::Decoder, sizes: sizes.filter_map(size).collect(), architecture, weight_types })
}

/// Says what a directory or GGUF file is; the weights of a decoder are not read, only compared by name and shape.
///
/// # Errors
///
/// Returns an error if the model could not be loaded, but for damage among the values of a decoder's weights.
pub fn load(path: &Path, device: &Device) -> Result<Loaded> {
    match kind(path)? {
        Kind::Encoder => Ok(of_encoder(&Encoder::load(path, device)?)),
        Kind::Decoder => {
            let (model, tokenizer) = outline(path, device)?;
            Ok(of_decoder(&model, tokenizer.as_ref()))
        }
    }
}

fn of_encoder(encoder: &Encoder) -> Loaded {
    Loaded {
        n_parameters: encoder.model.num_params(),
        vocabulary_size: encoder.vocabulary_size(),
        context_tokens_max: encoder.tokens_max(),
        has_tied_head: None,
        eos: Vec::new(),
        special_tokens: encoder.tokenizer.special_tokens(),
    }
}

fn of_decoder(model: &DecoderModel, tokenizer: Option<&Tokenizer>) -> Loaded {
    let shape = model.network().shape();
    let parameters = weights::parameters(model, &names());
    Loaded {
        n_parameters: model.num_params(),
        vocabulary_size: shape.vocab_size,
        context_tokens_max: shape.context_tokens_max,
        has_tied_head: Some(!parameters.keys().any(|name| name.ends_with(HEAD))),
        eos: decoder::ends(&shape, tokenizer),
        special_tokens: tokenizer.map(Tokenizer::special_tokens).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use serde_json::json;

    use super::*;
    use crate::export::{read_json, write_json};
    use crate::golden::{device, directory};
    use crate::llama::{Llama, LlamaConfig};
    use crate::random_model;

    #[test]
    fn sizes_have_the_names_of_the_configuration() {
        let description = describe(&directory("llama_grouped")).unwrap();
        assert_eq!((description.kind, description.architecture.as_str()), (Kind::Decoder, "llama"));
        assert_eq!(description.sizes["num_hidden_layers"], 2);
        assert!(description.sizes.keys().all(|key| !key.ends_with("token_id")));
        assert_eq!(description.weight_types.keys().collect::<Vec<_>>(), ["F32"]);
    }

    #[test]
    fn a_tied_head_is_stored_and_counted_once() {
        for (name, has_tied_head) in [("llama_grouped", true), ("llama3_scaled", false)] {
            let loaded = load(&directory(name), &device()).unwrap();
            let stored: usize = describe(&directory(name)).unwrap().weight_types.values().sum();
            assert_eq!((loaded.has_tied_head, loaded.n_parameters), (Some(has_tied_head), stored));
            assert!(loaded.special_tokens.is_empty());
        }
    }

    /// Writes a Llama whose weights take 26 GB, all holes of a sparse file; returns the number of its parameters.
    fn write_large(directory: &Path) -> usize {
        random_model::write_llama(directory, 1).unwrap();
        let path = directory.join("config.json");
        let mut config = read_json(&path).unwrap();
        for (key, size) in [("hidden_size", 8192), ("intermediate_size", 32_768), ("num_hidden_layers", 16)] {
            config[key] = size.into();
        }
        write_json(&path, &config).unwrap();
        let model = Llama::new(&LlamaConfig::read(crate::config::Fields::load(&path).unwrap()).unwrap(), &device());
        let (mut header, mut end) = (serde_json::Map::new(), 0);
        for (name, shape) in weights::parameters(&model, &names()) {
            let start = end;
            end += 2 * shape.iter().product::<usize>();
            header.insert(name, json!({ "dtype": "F16", "shape": shape, "data_offsets": [start, end] }));
        }
        let header = Value::Object(header).to_string().into_bytes();
        let file = std::fs::File::create(directory.join("model.safetensors")).unwrap();
        (&file).write_all(&[&(header.len() as u64).to_le_bytes()[..], &header].concat()).unwrap();
        file.set_len((8 + header.len() + end) as u64).unwrap();
        end / 2
    }

    #[test]
    fn the_weights_of_a_decoder_are_not_read() {
        let directory = tempfile::tempdir().unwrap();
        let n_parameters = write_large(directory.path());
        let loaded = load(directory.path(), &device()).unwrap();
        assert_eq!((loaded.n_parameters, loaded.vocabulary_size), (n_parameters, 298));
        assert!(n_parameters > 12_000_000_000);
        assert_eq!(describe(directory.path()).unwrap().weight_types["F16"], n_parameters);
        std::fs::write(directory.path().join("model.safetensors"), b"").unwrap();
        assert!(load(directory.path(), &device()).is_err());
    }

    #[test]
    fn an_encoder_is_known_by_its_architecture() {
        let written = tempfile::tempdir().unwrap();
        random_model::write_bert(written.path(), 1).unwrap();
        assert_eq!(kind(written.path()).unwrap(), Kind::Encoder);
        let loaded = load(written.path(), &device()).unwrap();
        assert_eq!((loaded.vocabulary_size, loaded.context_tokens_max, loaded.has_tied_head), (298, 512, None));
        assert_eq!(loaded.special_tokens.len(), 6);
        assert!(kind(&written.path().join("absent")).is_ok() && describe(&written.path().join("absent")).is_err());
    }
}
