//! The experiment file: one complete TOML per experiment, unknown keys refused.
//!
//! Every number of the published setup is a key; the defaults are RLCoder's. Paths in the file are relative to the
//! file itself, so an experiment runs the same from any directory.

mod evaluation;
mod generator;
mod learning;
mod load;
mod pass_rate;
mod sections;
mod validate;

pub use evaluation::{BenchmarkConfig, EvaluationConfig, RepoCoderConfig, StopName};
pub use generator::{
    AdapterConfig, FineTuningConfig, FunctionConfig, FunctionDatasetConfig, GeneratorEvaluationConfig,
    GeneratorExperiment, GeneratorTrainingConfig, LayoutConfig, LossName, TriggerConfig,
};
pub use learning::{EarlyStoppingConfig, LabelRule, OptimizerConfig, RewardConfig, RewardRule, TrainingConfig};
pub use load::{ExperimentError, load};
pub use pass_rate::{SuiteConfig, TestsConfig};
pub use sections::{
    CandidateConfig, CandidateRuleName, DatasetConfig, EncoderConfig, HardwareConfig, ModelConfig, PromptConfig,
    RetrievalConfig, SampleConfig, SeamName, SpanConfig, Variant,
};

use std::path::{Path, PathBuf};

use models::Workers;
use serde::{Deserialize, Serialize};

use crate::evaluation::{Arm, TRAINED, UNTRAINED};
use crate::schedule::{Schedule, ScheduleRule, Warmup};

/// Version of the experiment format that this build reads.
pub const EXPERIMENT_VERSION: u32 = 1;

/// What an experiment trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A dense retriever taught by the reward of a frozen evaluator (RLCoder).
    Retriever,
    /// A generator fine-tuned to ask a completion tool (`ToolGen`).
    Generator,
}

/// One experiment of either kind.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Experiment {
    /// A dense retriever is trained.
    Retriever(Box<RetrieverExperiment>),
    /// A generator is trained.
    Generator(Box<GeneratorExperiment>),
}

impl Experiment {
    /// Returns what experiments of every kind have.
    #[must_use]
    pub fn setting(&self) -> Setting {
        match self {
            Self::Retriever(experiment) => experiment.setting(),
            Self::Generator(experiment) => experiment.setting(),
        }
    }
}

/// What experiments of every kind have; paths are relative to the current directory.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Name of the run.
    pub name: String,
    /// The one seed.
    pub seed: u64,
    /// Device and threads.
    pub hardware: HardwareConfig,
    /// Directory of the experiment file.
    pub directory: PathBuf,
    /// The dataset's manifest.
    pub manifest: PathBuf,
    /// The directory that holds the dataset's Parquet files.
    pub dataset: PathBuf,
}

impl Setting {
    /// Returns a path of the experiment file, made relative to the current directory instead of to the file.
    #[must_use]
    pub fn path(&self, path: &Path) -> PathBuf {
        if path.is_absolute() { path.to_path_buf() } else { self.directory.join(path) }
    }

    /// Returns the number of worker threads, resolved.
    #[must_use]
    pub fn threads(&self) -> usize {
        match self.hardware.threads {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            threads => threads,
        }
    }

    /// Returns the workers of the device.
    #[must_use]
    pub fn workers(&self) -> Workers {
        if self.hardware.device.starts_with("cuda") { Workers::inline() } else { Workers::new(self.threads()) }
    }

    fn new(
        name: &str,
        seed: u64,
        hardware: &HardwareConfig,
        directory: &Path,
        dataset: (&Path, Option<&Path>),
    ) -> Self {
        let (manifest, dataset) = dataset;
        let mut setting = Self {
            name: name.to_owned(),
            seed,
            hardware: hardware.clone(),
            directory: directory.to_path_buf(),
            manifest: PathBuf::new(),
            dataset: PathBuf::new(),
        };
        setting.manifest = setting.path(manifest);
        setting.dataset = dataset.map_or_else(|| setting.manifest.with_extension(""), |dataset| setting.path(dataset));
        setting
    }
}

/// One experiment with a retriever, resolved: what `config.toml` of the run directory records.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetrieverExperiment {
    /// What is trained.
    pub kind: Kind,
    /// Format version, [`EXPERIMENT_VERSION`].
    pub version: u32,
    /// Name of the run; the file's stem when absent.
    #[serde(default)]
    pub name: String,
    /// The one seed; every use draws from its own named stream of it.
    pub seed: u64,
    /// Paper or released code, for every key that tells them apart and that the file does not give.
    #[serde(default)]
    pub compat: Variant,
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

impl RetrieverExperiment {
    /// Applies `compat` to the keys that tell paper and released code apart; `is_given` says which the file has itself.
    ///
    /// Besides the variants there is one: the released code never stops early. Two differences have no key: a short list
    /// is not filled with copies of the stop candidate (see [`inference::strategies::Chosen`]), and labels are those of
    /// the policy at each step, where the released code takes that at the start of the epoch.
    fn reconcile(&mut self, is_given: impl Fn(&str) -> bool) {
        let variants = [
            ("candidates.variant", &mut self.candidates.variant),
            ("retrieval.bm25", &mut self.retrieval.bm25),
            ("prompt.variant", &mut self.prompt.variant),
            ("evaluation.prompt.variant", &mut self.evaluation.prompt.variant),
            ("evaluation.repocoder.variant", &mut self.evaluation.repocoder.variant),
            ("reward.formula", &mut self.reward.formula),
        ];
        for (key, variant) in variants {
            if !is_given(key) {
                *variant = self.compat;
            }
        }
        if self.compat == Variant::Released && !is_given("training.early_stopping.patience") {
            self.training.early_stopping.patience = 0;
        }
    }

    /// Returns the generator's configuration: its own, or the evaluator's.
    #[must_use]
    pub fn generator(&self) -> &ModelConfig {
        self.generator.as_ref().unwrap_or(&self.evaluator)
    }

    /// Returns the names of the retrievers that arms may use.
    #[must_use]
    pub fn retrievers(&self) -> Vec<&str> {
        let others = self.evaluation.retrievers.keys().map(String::as_str);
        [UNTRAINED, TRAINED].into_iter().chain(others).collect()
    }

    /// Returns the arms of the evaluation, in report order.
    #[must_use]
    pub fn arms(&self) -> Vec<Arm> {
        let retrievers = self.retrievers();
        self.evaluation.arms.iter().filter_map(|name| Arm::parse(name, &retrievers)).collect()
    }

    /// Returns whether an arm needs the retriever that this experiment trains.
    #[must_use]
    pub fn compares_trained(&self) -> bool {
        self.arms().iter().any(|arm| arm.retriever() == Some(TRAINED))
    }

    /// Returns what experiments of every kind have.
    #[must_use]
    pub fn setting(&self) -> Setting {
        let dataset = (self.dataset.manifest.as_path(), self.dataset.directory.as_deref());
        Setting::new(&self.name, self.seed, &self.hardware, &self.directory, dataset)
    }

    /// Returns the schedule over `n_samples` training samples.
    #[must_use]
    pub fn schedule(&self, n_samples: usize) -> Schedule {
        let RetrieverExperiment { seed, training, optimizer, .. } = self;
        let rule = ScheduleRule {
            seed: *seed,
            epochs: training.epochs,
            samples_per_epoch: training.samples_per_epoch,
            batch_size: training.batch_size,
            learning_rate: optimizer.learning_rate,
            warmup: Warmup::Fraction(optimizer.warmup_fraction),
        };
        Schedule::new(rule, n_samples)
    }
}
