//! Attaching adapters to a decoder or an encoder: everything else is frozen.

use burn::module::Module;
use rand_chacha::ChaCha8Rng;

use super::lora::HEAD;
use super::{Lora, LoraConfig, TrainableRows};
use crate::decoder::DecoderModel;
use crate::embedding::Embedding;
use crate::encoder::EncoderModel;
use crate::linear::Linear;
use crate::{Error, Result};

/// What of a model is trained in place of its own weights.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AdapterConfig {
    /// Low-rank additions.
    pub lora: Option<LoraConfig>,
    /// Tokens whose rows are trained: in the embedding and in the head, which are the same rows where they are tied.
    pub tokens: Vec<u32>,
}

/// A model whose linear layers and table of tokens adapters are attached to.
pub(crate) trait Adaptable: Module {
    /// Returns every linear layer under its name in the checkpoint.
    fn linears(&mut self) -> Vec<(String, &mut Linear)>;

    /// Returns the table of tokens under its name in the checkpoint.
    fn token_embedding(&mut self) -> (&'static str, &mut Embedding);

    /// Tells whether an encoder and a decoder share the table of tokens.
    fn has_encoder(&self) -> bool {
        false
    }
}

impl Adaptable for DecoderModel {
    fn linears(&mut self) -> Vec<(String, &mut Linear)> {
        self.network_mut().linears()
    }

    fn token_embedding(&mut self) -> (&'static str, &mut Embedding) {
        self.network_mut().token_embedding()
    }

    fn has_encoder(&self) -> bool {
        self.network().start_token().is_some()
    }
}

impl Adaptable for EncoderModel {
    fn linears(&mut self) -> Vec<(String, &mut Linear)> {
        EncoderModel::linears(self)
    }

    fn token_embedding(&mut self) -> (&'static str, &mut Embedding) {
        EncoderModel::token_embedding(self)
    }
}

impl DecoderModel {
    /// Freezes the model and attaches what `config` describes; A is drawn from `stream`, layer by layer.
    ///
    /// # Errors
    ///
    /// Returns an error if a value is out of range, if a target matches no layer, if a token has no row, or if nothing
    /// would be trained; the model is then left as it was.
    pub fn adapt(&mut self, config: &AdapterConfig, stream: &mut ChaCha8Rng) -> Result<()> {
        adapt(self, config, stream)
    }

    /// Tells whether anything is attached.
    #[must_use]
    pub fn is_adapted(&self) -> bool {
        is_adapted(self)
    }
}

impl EncoderModel {
    /// Freezes the model and attaches what `config` describes, as [`DecoderModel::adapt`] does.
    ///
    /// # Errors
    ///
    /// Returns an error as [`DecoderModel::adapt`] does.
    pub fn adapt(&mut self, config: &AdapterConfig, stream: &mut ChaCha8Rng) -> Result<()> {
        adapt(self, config, stream)
    }

    /// Tells whether anything is attached.
    #[must_use]
    pub fn is_adapted(&self) -> bool {
        is_adapted(self)
    }
}

fn adapt(model: &mut impl Adaptable, config: &AdapterConfig, stream: &mut ChaCha8Rng) -> Result<()> {
    let mut adapted = model.clone().no_grad();
    if config.lora.is_none() && config.tokens.is_empty() {
        return Err(Error::adapter("adapter", "neither layers nor tokens would be trained"));
    }
    if let Some(lora) = &config.lora {
        attach_lora(adapted.linears(), lora, stream)?;
    }
    if !config.tokens.is_empty() {
        attach_rows(&mut adapted, &config.tokens)?;
    }
    *model = adapted;
    Ok(())
}

fn is_adapted(model: &impl Adaptable) -> bool {
    let mut model = model.clone();
    let is_adapted = model.linears().iter().any(|(_, linear)| linear.lora.is_some() || linear.rows.is_some());
    is_adapted || model.token_embedding().1.rows.is_some()
}

fn attach_lora(mut linears: Vec<(String, &mut Linear)>, config: &LoraConfig, stream: &mut ChaCha8Rng) -> Result<()> {
    config.validate()?;
    for target in &config.targets {
        if !linears.iter().any(|(name, _)| LoraConfig::is_target(target, name)) {
            let message = format!("`{target}` matches no layer: there are {}", endings(&linears));
            return Err(Error::adapter("targets", message));
        }
    }
    for (name, linear) in &mut linears {
        if config.targets.iter().any(|target| LoraConfig::is_target(target, name)) {
            let device = linear.weight.lazy_device();
            linear.lora = Some(Lora::new(linear.size(), config, stream, &device));
        }
    }
    Ok(())
}

fn attach_rows(model: &mut impl Adaptable, tokens: &[u32]) -> Result<()> {
    let mut tokens = tokens.to_vec();
    tokens.sort_unstable();
    tokens.dedup();
    let embedding = model.token_embedding().1;
    let vocab_size = embedding.n();
    if let Some(token) = tokens.iter().find(|&&token| token as usize >= vocab_size) {
        return Err(Error::adapter("tokens", format!("{token} is outside the vocabulary of {vocab_size}")));
    }
    embedding.rows = Some(TrainableRows::new(embedding.weight.val(), &tokens));
    if let Some(head) = head(model.linears()) {
        head.rows = Some(TrainableRows::new(head.weight.val(), &tokens));
    }
    Ok(())
}

/// Returns the head, unless it is tied to the embedding.
pub(super) fn head(linears: Vec<(String, &mut Linear)>) -> Option<&mut Linear> {
    linears.into_iter().find(|(name, _)| name == HEAD).map(|(_, head)| head)
}

/// Lists the last parts of the names of layers.
fn endings(linears: &[(String, &mut Linear)]) -> String {
    let mut endings: Vec<&str> = linears.iter().filter_map(|(name, _)| name.rsplit('.').next()).collect();
    endings.sort_unstable();
    endings.dedup();
    endings.join(", ")
}
