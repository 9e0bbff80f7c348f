//! Where an experiment's models come from.

use std::str::FromStr;

use corpus::fetch::ModelSpec;

/// A model as an experiment names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// Real weights: a directory, a hub repository or a registry package.
    Stored(ModelSpec),
    /// A tiny network with random weights, for `experiments/smoke.toml` and tests.
    Random(RandomArchitecture),
}

/// A tiny random network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RandomArchitecture {
    /// An encoder.
    Bert,
    /// A decoder.
    Llama,
}

impl ModelSource {
    /// Reads `dir:`, `hf:`, `pypi:` or `random:`.
    ///
    /// # Errors
    ///
    /// Returns what is wrong, for a message that names the key.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix("random:") {
            Some("bert") => Ok(Self::Random(RandomArchitecture::Bert)),
            Some("llama") => Ok(Self::Random(RandomArchitecture::Llama)),
            Some(_) => Err("the random architectures are random:bert and random:llama".into()),
            None => ModelSpec::from_str(text).map(Self::Stored).map_err(|error| error.to_string()),
        }
    }
}
