//! Attaching adapters to a decoder: everything else is frozen.

use burn::module::Module;
use rand_chacha::ChaCha8Rng;

use super::lora::HEAD;
use super::{Lora, LoraConfig, TrainableRows};
use crate::decoder::DecoderModel;
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

impl DecoderModel {
    /// Freezes the model and attaches what `config` describes; A is drawn from `stream`, layer by layer.
    ///
    /// # Errors
    ///
    /// Returns an error if a value is out of range, if a target matches no layer, if a token has no row, or if nothing
    /// would be trained; the model is then left as it was.
    pub fn adapt(&mut self, config: &AdapterConfig, stream: &mut ChaCha8Rng) -> Result<()> {
        let mut adapted = self.clone().no_grad();
        if config.lora.is_none() && config.tokens.is_empty() {
            return Err(Error::adapter("adapter", "neither layers nor tokens would be trained"));
        }
        if let Some(lora) = &config.lora {
            adapted.attach_lora(lora, stream)?;
        }
        if !config.tokens.is_empty() {
            adapted.attach_rows(&config.tokens)?;
        }
        *self = adapted;
        Ok(())
    }

    /// Tells whether anything is attached.
    #[must_use]
    pub fn is_adapted(&self) -> bool {
        let mut model = self.clone();
        let network = model.network_mut();
        let is_adapted = network.linears().iter().any(|(_, linear)| linear.lora.is_some() || linear.rows.is_some());
        is_adapted || network.token_embedding().1.rows.is_some()
    }

    fn attach_lora(&mut self, config: &LoraConfig, stream: &mut ChaCha8Rng) -> Result<()> {
        config.validate()?;
        let mut linears = self.network_mut().linears();
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

    fn attach_rows(&mut self, tokens: &[u32]) -> Result<()> {
        let mut tokens = tokens.to_vec();
        tokens.sort_unstable();
        tokens.dedup();
        let vocab_size = self.network().shape().vocab_size;
        if let Some(token) = tokens.iter().find(|&&token| token as usize >= vocab_size) {
            return Err(Error::adapter("tokens", format!("{token} is outside the vocabulary of {vocab_size}")));
        }
        let network = self.network_mut();
        let embedding = network.token_embedding().1;
        embedding.rows = Some(TrainableRows::new(embedding.weight.val(), &tokens));
        if let Some(head) = head(network.linears()) {
            head.rows = Some(TrainableRows::new(head.weight.val(), &tokens));
        }
        Ok(())
    }
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
