//! A decoder from a directory in the layout of Hugging Face or from a GGUF file.

use std::path::Path;

use burn::module::Module;
use burn::tensor::Device;

use super::DecoderModel;
use crate::Result;
use crate::codegen::{CodeGen, CodeGenConfig};
use crate::config::Fields;
use crate::export::DecoderFiles;
use crate::gguf::Gguf;
use crate::gguf_tokenizer;
use crate::gpt_bigcode::GptBigCodeConfig;
use crate::gpt2::{Gpt2, Gpt2Config};
use crate::linear::Precision;
use crate::llama::{Llama, LlamaConfig};
use crate::qwen2::{Qwen2, Qwen2Config};
use crate::starcoder2::{Starcoder2, Starcoder2Config};
use crate::t5::{self, T5, T5Config};
use crate::tokenizer::Tokenizer;
use crate::weights::{self, Checkpoint, Names, Outline, Stored, TensorSource};

/// What precedes the names of a GPT's tensors, those of the head excepted.
const GPT_PREFIX: &str = "transformer.";

pub(super) fn load(
    path: &Path,
    device: &Device,
    precision: Precision,
) -> Result<(DecoderModel, Tokenizer, DecoderFiles)> {
    let (model, tokenizer, files, origin) = if path.is_dir() {
        let (model, files) = load_directory(path, device, precision)?;
        (model, Tokenizer::load(path)?, files, path.join("config.json"))
    } else {
        let gguf = Gguf::open(path)?;
        let (config, tensors) = (gguf.config()?, gguf.decoder_tensors()?);
        let model = network(Fields::new(config.clone(), path)?, &Stored(&tensors, precision), device)?;
        let files = DecoderFiles { config, ..DecoderFiles::default() };
        (model, Tokenizer::from_inner(gguf_tokenizer::tokenizer(&gguf)?, path)?, files, path.to_owned())
    };
    tokenizer.check_fits(model.network().shape().vocab_size, &origin)?;
    Ok((model, tokenizer, files))
}

/// Builds the network of a directory or a GGUF file from the headers of its weights, which are not read; the tokenizer
/// may be missing.
pub(crate) fn outline(path: &Path, device: &Device) -> Result<(DecoderModel, Option<Tokenizer>)> {
    let (model, tokenizer, origin) = if path.is_dir() {
        let fields = Fields::load(&path.join("config.json"))?;
        let model = network(fields, &Outline(&Checkpoint::open(path)?), device)?;
        let has_tokenizer = path.join("tokenizer.json").exists();
        (model, has_tokenizer.then(|| Tokenizer::load(path)).transpose()?, path.join("config.json"))
    } else {
        let gguf = Gguf::open(path)?;
        let model = network(Fields::new(gguf.config()?, path)?, &Outline(&gguf.decoder_tensors()?), device)?;
        (model, Some(Tokenizer::from_inner(gguf_tokenizer::tokenizer(&gguf)?, path)?), path.to_owned())
    };
    if let Some(tokenizer) = &tokenizer {
        tokenizer.check_fits(model.network().shape().vocab_size, &origin)?;
    }
    Ok((model, tokenizer))
}

/// The architectures that [`network`] knows.
const MODEL_TYPES: [&str; 7] = ["codegen", "gpt2", "gpt_bigcode", "llama", "qwen2", "starcoder2", "t5"];

/// Loads the network of a directory without its tokenizer.
pub(super) fn load_directory(
    path: &Path,
    device: &Device,
    precision: Precision,
) -> Result<(DecoderModel, DecoderFiles)> {
    let fields = Fields::load(&path.join("config.json"))?;
    let checkpoint = Checkpoint::open(path)?;
    let model = network(fields, &Stored(&checkpoint, precision), device)?;
    Ok((model, DecoderFiles::load(path)?))
}

/// Builds the network that `model_type` names and fills it with the tensors of `source`.
pub(crate) fn network(fields: Fields, source: &impl TensorSource, device: &Device) -> Result<DecoderModel> {
    match fields.model_type()? {
        "llama" => Ok(DecoderModel::Llama(fill(Llama::new(&LlamaConfig::read(fields)?, device), source)?)),
        "qwen2" => Ok(DecoderModel::Qwen2(fill(Qwen2::new(&Qwen2Config::read(fields)?, device), source)?)),
        "starcoder2" => {
            Ok(DecoderModel::Starcoder2(fill(Starcoder2::new(&Starcoder2Config::read(fields)?, device), source)?))
        }
        "t5" => {
            let config = T5Config::read(fields)?;
            let names = Names { is_unused: t5::is_copy, ..names() };
            let model = weights::load(T5::new(&config, device), source, &names)?;
            t5::check_copies(source, config.tie_word_embeddings)?;
            Ok(DecoderModel::T5(model))
        }
        "gpt2" => Ok(DecoderModel::Gpt2(fill_gpt(Gpt2::new(&Gpt2Config::read(fields)?, device), source)?)),
        "gpt_bigcode" => {
            let model = GptBigCodeConfig::read(fields)?.network(device);
            Ok(DecoderModel::GptBigCode(fill_gpt(model, source)?))
        }
        "codegen" => Ok(DecoderModel::CodeGen(fill_gpt(CodeGen::new(&CodeGenConfig::read(fields)?, device), source)?)),
        other => {
            let implemented = MODEL_TYPES.join(", ");
            let message = format!("`{other}` is not a decoder that is implemented: expected one of {implemented}");
            Err(fields.error("model_type", message))
        }
    }
}

fn fill<M: Module>(model: M, source: &impl TensorSource) -> Result<M> {
    weights::load(model, source, &names())
}

/// Fills a network of the GPT family, whose checkpoints lack the prefix of all names if they were saved without a head.
fn fill_gpt<M: Module>(model: M, source: &impl TensorSource) -> Result<M> {
    let has_prefix = source.shapes().keys().any(|name| name.starts_with(GPT_PREFIX));
    let bare = |name: &str| name.strip_prefix(GPT_PREFIX).unwrap_or(name).to_owned();
    let rename = if has_prefix { str::to_owned } else { bare };
    weights::load(model, source, &Names { rename, ..names() })
}

/// Returns how the fields of a decoder are called in a checkpoint: as they are.
#[must_use]
pub(crate) fn names() -> Names {
    Names { prefix: String::new(), rename: str::to_owned, is_unused: |name| is_unused(name) }
}

/// Tells whether a tensor is a tied head or a buffer.
fn is_unused(name: &str) -> bool {
    name == "lm_head.weight"
        || [".rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias", ".attn.causal_mask"]
            .iter()
            .any(|end| name.ends_with(end))
}
