//! The experiment file: one complete TOML per experiment, unknown keys refused.
//!
//! Every number of the published setup is a key; the defaults are RLCoder's. Paths in the file are relative to the
//! file itself, so an experiment runs the same from any directory.

mod load;
mod sections;
mod validate;

pub use load::{ExperimentError, load};
pub use sections::{
    CandidateConfig, CandidateRuleName, DatasetConfig, EarlyStoppingConfig, EncoderConfig, EvaluationConfig,
    HardwareConfig, ModelConfig, OptimizerConfig, PromptConfig, RetrievalConfig, RewardConfig, RewardRule,
    SampleConfig, SeamName, SpanConfig, TrainingConfig, Variant,
};

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Version of the experiment format that this build reads.
pub const EXPERIMENT_VERSION: u32 = 1;

/// What an experiment trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A dense retriever taught by the reward of a frozen evaluator (RLCoder).
    Retriever,
}

/// One experiment, resolved: what `config.toml` of the run directory records.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// What is trained.
    pub kind: Kind,
    /// Format version, [`EXPERIMENT_VERSION`].
    pub version: u32,
    /// Name of the run; the file's stem when absent.
    #[serde(default)]
    pub name: String,
    /// The one seed; every use draws from its own named stream of it.
    pub seed: u64,
    /// Device and threads.
    #[serde(default)]
    pub hardware: HardwareConfig,
    /// Repositories and samples.
    pub dataset: DatasetConfig,
    /// How files are cut into candidates.
    #[serde(default)]
    pub candidates: CandidateConfig,
    /// The dense retriever's encoder: the policy before training.
    pub encoder: EncoderConfig,
    /// The frozen language model that scores candidates.
    pub evaluator: ModelConfig,
    /// The language model that completes; the evaluator when absent.
    #[serde(default)]
    pub generator: Option<ModelConfig>,
    /// Prefilter, top-k and the stop candidate.
    #[serde(default)]
    pub retrieval: RetrievalConfig,
    /// The evaluator's prompt.
    #[serde(default)]
    pub prompt: PromptConfig,
    /// Weighted perplexity and the reward made of it.
    #[serde(default)]
    pub reward: RewardConfig,
    /// `AdamW`, its schedule and clipping.
    #[serde(default)]
    pub optimizer: OptimizerConfig,
    /// The loop.
    #[serde(default)]
    pub training: TrainingConfig,
    /// Held-out evaluation.
    #[serde(default)]
    pub evaluation: EvaluationConfig,
    /// Directory of the experiment file; paths in the file are relative to it.
    #[serde(skip)]
    pub directory: PathBuf,
}

impl Experiment {
    /// Returns the generator's configuration: its own, or the evaluator's.
    #[must_use]
    pub fn generator(&self) -> &ModelConfig {
        self.generator.as_ref().unwrap_or(&self.evaluator)
    }

    /// Returns a path of the experiment file, made relative to the current directory instead of to the file.
    #[must_use]
    pub fn path(&self, path: &Path) -> PathBuf {
        if path.is_absolute() { path.to_path_buf() } else { self.directory.join(path) }
    }

    /// Returns the dataset's manifest.
    #[must_use]
    pub fn manifest_path(&self) -> PathBuf {
        self.path(&self.dataset.manifest)
    }

    /// Returns the directory that holds the dataset's Parquet files.
    #[must_use]
    pub fn dataset_directory(&self) -> PathBuf {
        match &self.dataset.directory {
            Some(directory) => self.path(directory),
            None => self.manifest_path().with_extension(""),
        }
    }

    /// Returns the number of worker threads, resolved.
    #[must_use]
    pub fn threads(&self) -> usize {
        match self.hardware.threads {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            threads => threads,
        }
    }
}
