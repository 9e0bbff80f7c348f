//! A decoder from a directory in the layout of Hugging Face or from a GGUF file.

use std::path::Path;

use burn::module::Module;
use burn::tensor::Device;

use super::DecoderModel;
use crate::Result;
use crate::config::Fields;
use crate::gguf::Gguf;
use crate::gguf_tokenizer;
use crate::linear::Precision;
use crate::llama::{Llama, LlamaConfig};
use crate::tokenizer::Tokenizer;
use crate::weights::{self, Checkpoint, Names, Stored, TensorSource};

pub(super) fn load(path: &Path, device: &Device, precision: Precision) -> Result<(DecoderModel, Tokenizer)> {
    let (model, tokenizer, origin) = if path.is_dir() {
        let config_path = path.join("config.json");
        let fields = Fields::load(&config_path)?;
        let checkpoint = Checkpoint::open(path)?;
        let model = network(fields, &Stored(&checkpoint, precision), device)?;
        (model, Tokenizer::load(path)?, config_path)
    } else {
        let gguf = Gguf::open(path)?;
        let config = gguf.llama_config()?;
        let tensors = gguf.llama_tensors(&config);
        let model = fill(Llama::new(&config, device), &Stored(&tensors, precision))?;
        (DecoderModel::Llama(model), Tokenizer::from_inner(gguf_tokenizer::tokenizer(&gguf)?, path)?, path.to_owned())
    };
    tokenizer.check_fits(model.network().shape().vocab_size, &origin)?;
    Ok((model, tokenizer))
}

/// Builds the network that `model_type` names and fills it with the tensors of `source`.
pub(crate) fn network(fields: Fields, source: &impl TensorSource, device: &Device) -> Result<DecoderModel> {
    match fields.model_type()? {
        "llama" => Ok(DecoderModel::Llama(fill(Llama::new(&LlamaConfig::read(fields)?, device), source)?)),
        other => {
            Err(fields.error("model_type", format!("`{other}` is not a decoder that is implemented: expected llama")))
        }
    }
}

fn fill<M: Module>(model: M, source: &impl TensorSource) -> Result<M> {
    weights::load(model, source, &names())
}

/// Returns how the fields of a decoder are called in a checkpoint: as they are.
#[must_use]
pub(crate) fn names() -> Names {
    Names { prefix: String::new(), rename: str::to_owned, is_unused: |name| is_unused(name) }
}

/// Tells whether a tensor is a tied head or a buffer.
fn is_unused(name: &str) -> bool {
    name == "lm_head.weight"
        || [".rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias"].iter().any(|end| name.ends_with(end))
}
