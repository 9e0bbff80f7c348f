//! The experiment's models on disk: found, fetched or made, before any work starts.

use std::path::{Path, PathBuf};

use anyhow::Context;
use corpus::fetch::fetch_model;

use super::Options;
use crate::experiment::{ModelConfig, RetrieverExperiment, Setting};
use crate::weights::{ModelSource, RandomArchitecture};

/// Where models are looked for and put.
#[derive(Clone, Debug)]
pub struct Store<'a> {
    cache: &'a Path,
    offline: bool,
    random: PathBuf,
    seed: u64,
    directory: PathBuf,
}

impl<'a> Store<'a> {
    /// Returns the places that an experiment's options name.
    #[must_use]
    pub fn new(setting: &Setting, options: &'a Options) -> Self {
        Self {
            cache: &options.cache,
            offline: options.offline,
            random: options.run_directory.join("random"),
            seed: setting.seed,
            directory: setting.directory.clone(),
        }
    }

    /// Returns a model's directory or file, fetched if need be.
    ///
    /// # Errors
    ///
    /// Returns an error if the model is missing, cannot be fetched or is not what its hash says.
    pub fn locate(&self, config: &ModelConfig) -> anyhow::Result<PathBuf> {
        match ModelSource::parse(&config.model).map_err(anyhow::Error::msg)? {
            ModelSource::Stored(spec) => {
                Ok(fetch_model(&spec, config.sha256.as_deref(), &self.directory, self.cache, self.offline)?)
            }
            ModelSource::Random(architecture) => self.random(architecture),
        }
    }

    fn random(&self, architecture: RandomArchitecture) -> anyhow::Result<PathBuf> {
        let (name, write): (_, fn(&Path, u64) -> models::Result<()>) = match architecture {
            RandomArchitecture::Bert => ("bert", models::random_model::write_bert),
            RandomArchitecture::Llama => ("llama", models::random_model::write_llama),
        };
        let directory = self.random.join(name);
        write(&directory, self.seed)?;
        Ok(directory)
    }
}

/// A model on disk and the hash of its files.
#[derive(Clone, Debug)]
pub struct Located {
    /// The name in the experiment.
    pub name: String,
    /// Directory or file.
    pub path: PathBuf,
    /// Hash of its files.
    pub fingerprint: String,
}

impl Located {
    /// Finds the model of a key, so that a missing one is known before any work starts.
    ///
    /// # Errors
    ///
    /// Returns an error that names the key if the model cannot be had.
    pub fn find(store: &Store, key: &str, config: &ModelConfig) -> anyhow::Result<Self> {
        let located = || -> anyhow::Result<Self> {
            let path = store.locate(config)?;
            let fingerprint = models::fingerprint::fingerprint(&path)?;
            Ok(Self { name: config.model.clone(), path, fingerprint })
        };
        located().with_context(|| format!("{key} = \"{}\" is not to be had", config.model))
    }
}

/// The models of a retriever's experiment.
#[derive(Clone, Debug)]
pub struct Models {
    /// The policy before training.
    pub encoder: Located,
    /// The frozen language model that rewards.
    pub evaluator: Located,
    /// The language model that completes.
    pub generator: Located,
}

impl Models {
    /// Finds every model, so that a missing one is known before any work starts.
    ///
    /// # Errors
    ///
    /// Returns an error that names the key of the first model that cannot be had.
    pub fn find(experiment: &RetrieverExperiment, store: &Store) -> anyhow::Result<Self> {
        Ok(Self {
            encoder: Located::find(store, "encoder.model", &experiment.encoder.source())?,
            evaluator: Located::find(store, "evaluator.model", &experiment.evaluator)?,
            generator: Located::find(store, "generator.model", experiment.generator())?,
        })
    }
}
