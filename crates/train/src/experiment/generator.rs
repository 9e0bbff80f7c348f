//! The sections of a generator's experiment, each with the published defaults of `ToolGen`.

use std::path::{Path, PathBuf};

use analysis::triggers::{Context, Eligibility, Limits, Rules};
use serde::{Deserialize, Serialize};

use super::validate::{self, Problem};
use super::{EarlyStoppingConfig, HardwareConfig, Kind, ModelConfig, Setting, Variant};
use crate::schedule::{Schedule, ScheduleRule, Warmup};

/// One experiment with a generator, resolved: what `config.toml` of the run directory records.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeneratorExperiment {
    /// What is trained.
    pub kind: Kind,
    /// Format version, [`EXPERIMENT_VERSION`](super::EXPERIMENT_VERSION).
    pub version: u32,
    /// Name of the run; the file's stem when absent.
    #[serde(default)]
    pub name: String,
    /// The one seed; every use draws from its own named stream of it.
    pub seed: u64,
    /// Device and threads.
    #[serde(default)]
    pub hardware: HardwareConfig,
    /// Repositories, triggers and functions.
    pub dataset: FunctionDatasetConfig,
    /// The language model that is fine-tuned.
    pub generator: ModelConfig,
    /// What the model reads and writes.
    #[serde(default)]
    pub layout: LayoutConfig,
    /// What is trained in place of the model's own weights; all of them without it.
    #[serde(default)]
    pub adapter: Option<AdapterConfig>,
    /// `AdamW`, its schedule and clipping.
    #[serde(default)]
    pub optimizer: FineTuningConfig,
    /// The loop.
    #[serde(default)]
    pub training: GeneratorTrainingConfig,
    /// Held-out evaluation.
    #[serde(default)]
    pub evaluation: GeneratorEvaluationConfig,
    /// Directory of the experiment file; paths in the file are relative to it.
    #[serde(skip)]
    pub directory: PathBuf,
}

/// `[dataset]`: which repositories, where triggers go, and which functions are used.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionDatasetConfig {
    /// The manifest that lists the repositories.
    pub manifest: PathBuf,
    /// Where the Parquet files go; beside the manifest when absent.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// Whether the model learns from functions with triggers; without them it is the baseline.
    #[serde(default = "yes")]
    pub marked: bool,
    /// Where triggers go.
    #[serde(default)]
    pub triggers: TriggerConfig,
    /// Which functions are used.
    #[serde(default)]
    pub functions: FunctionConfig,
}

fn yes() -> bool {
    true
}

/// What the completion tool sees of a function while triggers are inserted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextName {
    /// The function as far as it is written, as the paper and the released code; what it sees in decoding.
    #[default]
    Unfinished,
    /// The whole file, which is far faster.
    Intact,
}

/// `[dataset.triggers]`: where `<COMP>` goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TriggerConfig {
    /// Which identifiers the tool is asked about: all (paper), or neither `self` nor built-in names (released).
    pub eligibility: Variant,
    /// What the tool sees of the function: `unfinished` or `intact`.
    pub context: ContextName,
    /// Whether `self` and `cls` are marked too (paper's eligibility only).
    pub mark_self: bool,
    /// Whether built-in names stay unmarked (paper's eligibility only).
    pub skip_builtins: bool,
}

impl From<&TriggerConfig> for Rules {
    fn from(config: &TriggerConfig) -> Self {
        Self {
            eligibility: match config.eligibility {
                Variant::Paper => Eligibility::Paper,
                Variant::Released => Eligibility::Released,
            },
            context: match config.context {
                ContextName::Unfinished => Context::Unfinished,
                ContextName::Intact => Context::Intact,
            },
            mark_self: config.mark_self,
            skip_builtins: config.skip_builtins,
            limits: Limits::default(),
        }
    }
}

/// `[dataset.functions]`: which functions are used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FunctionConfig {
    /// Most tokens of a function without docstring, comments and triggers; longer ones are left out and counted.
    pub code_tokens_max: usize,
    /// Functions to learn from, drawn from all; 0 takes all.
    pub train_max: usize,
    /// Functions that choose the checkpoint; 0 takes all.
    pub validation_max: usize,
    /// Functions of the report; 0 takes all.
    pub test_max: usize,
}

impl Default for FunctionConfig {
    fn default() -> Self {
        Self { code_tokens_max: 128, train_max: 0, validation_max: 3_000, test_max: 0 }
    }
}

/// Which tokens count in the loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossName {
    /// All but the first, those that are read included, as the released code does for decoder-only models.
    #[default]
    Whole,
    /// Those that are written.
    Completion,
}

/// `[layout]`: what the model reads and writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LayoutConfig {
    /// `inline` for decoder-only models, `sections` for encoder-decoders.
    pub form: String,
    /// `whole` or `completion`; an encoder-decoder's is always that of the completion.
    pub loss: LossName,
    /// Tokens of prompt and completion together; the rest is cut and counted.
    pub tokens_max: usize,
}

impl Default for LayoutConfig {
    fn default() -> Self {
        Self { form: "inline".into(), loss: LossName::Whole, tokens_max: 256 }
    }
}

impl LayoutConfig {
    /// Returns the layout.
    ///
    /// # Panics
    ///
    /// Panics if the experiment was not validated.
    #[must_use]
    pub fn layout(&self) -> inference::layout::Layout {
        self.form.parse().expect("a validated experiment names a layout")
    }
}

/// `[adapter]`: low-rank additions; the row of the trigger is trained besides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdapterConfig {
    /// Rank of the additions.
    pub rank: usize,
    /// What they are multiplied by, times the rank.
    pub alpha: f64,
    /// Dropout probability of their input.
    pub dropout: f64,
    /// Names of the layers.
    pub targets: Vec<String>,
}

impl Default for AdapterConfig {
    fn default() -> Self {
        let targets = ["q_proj", "k_proj", "v_proj", "o_proj"].map(str::to_owned).to_vec();
        Self { rank: 16, alpha: 16.0, dropout: 0.05, targets }
    }
}

impl AdapterConfig {
    /// Returns the additions as the model takes them.
    #[must_use]
    pub fn lora(&self) -> models::LoraConfig {
        let Self { rank, alpha, dropout, targets } = self.clone();
        models::LoraConfig { rank, alpha, dropout, targets }
    }
}

/// `[optimizer]`: `AdamW` with linear warm-up and decay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FineTuningConfig {
    /// Learning rate at the end of the warm-up.
    pub learning_rate: f64,
    /// First moment's decay.
    pub beta_1: f32,
    /// Second moment's decay.
    pub beta_2: f32,
    /// Added to the root of the second moment.
    pub epsilon: f32,
    /// Decoupled weight decay.
    pub weight_decay: f32,
    /// Steps over which the learning rate rises.
    pub warmup_steps: usize,
    /// Gradients are scaled down to this global norm.
    pub gradient_norm_max: f64,
}

impl Default for FineTuningConfig {
    fn default() -> Self {
        Self {
            learning_rate: 5e-6,
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.0,
            warmup_steps: 100,
            gradient_norm_max: 1.0,
        }
    }
}

/// `[training]`: the fine-tuning loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GeneratorTrainingConfig {
    /// Epochs.
    pub epochs: usize,
    /// Functions of a step.
    pub batch_size: usize,
    /// Tokens of one graph, padding included; a step's gradient is the sum over its graphs, the same for any value.
    pub micro_batch_tokens_max: usize,
    /// Whether several functions share a row, none of which sees another; else short rows are padded.
    pub packing: bool,
    /// Steps between two validations; 0 for epoch ends only.
    pub validation_steps: usize,
    /// Steps between two checkpoints; there is one after each validation besides.
    pub checkpoint_steps: usize,
    /// Checkpoints kept besides the best.
    pub checkpoints_max: usize,
    /// Early stopping on the validation loss.
    pub early_stopping: EarlyStoppingConfig,
}

impl Default for GeneratorTrainingConfig {
    fn default() -> Self {
        Self {
            epochs: 10,
            batch_size: 32,
            micro_batch_tokens_max: 2_048,
            packing: false,
            validation_steps: 1_000,
            checkpoint_steps: 100,
            checkpoints_max: 3,
            early_stopping: EarlyStoppingConfig { patience: 0 },
        }
    }
}

/// `[evaluation]`: what the report compares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GeneratorEvaluationConfig {
    /// Arms in report order, of [`ARMS`](crate::writing::ARMS).
    pub arms: Vec<String>,
    /// The run directory of the same experiment with `dataset.marked = false`, whose predictions join the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<PathBuf>,
    /// Tokens that the generator may write.
    pub tokens_max: usize,
    /// Continuations that the beam arm follows.
    pub num_beams: usize,
    /// What the ranked arm multiplies the tool's order with.
    pub rank_weight: f32,
    /// A Python that has pylint, for the paper's Static Validity Rate; the native check needs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pylint: Option<PathBuf>,
}

impl Default for GeneratorEvaluationConfig {
    fn default() -> Self {
        Self {
            arms: vec!["toolgen_paper".into(), "toolgen_released".into()],
            baseline: None,
            tokens_max: 192,
            num_beams: 4,
            rank_weight: 0.5,
            pylint: None,
        }
    }
}

impl GeneratorExperiment {
    /// Returns what experiments of every kind have.
    #[must_use]
    pub fn setting(&self) -> Setting {
        let dataset = (self.dataset.manifest.as_path(), self.dataset.directory.as_deref());
        Setting::new(&self.name, self.seed, &self.hardware, &self.directory, dataset)
    }

    /// Returns a path of the experiment file, made relative to the current directory instead of to the file.
    #[must_use]
    pub fn path(&self, path: &Path) -> PathBuf {
        self.setting().path(path)
    }

    /// Returns which tokens count in the loss.
    #[must_use]
    pub fn loss(&self) -> LossName {
        match self.layout.layout() {
            inference::layout::Layout::Inline => self.layout.loss,
            inference::layout::Layout::Sections => LossName::Completion,
        }
    }

    /// Returns the schedule over `n_functions` training functions.
    #[must_use]
    pub fn schedule(&self, n_functions: usize) -> Schedule {
        let rule = ScheduleRule {
            seed: self.seed,
            epochs: self.training.epochs,
            samples_per_epoch: 0,
            batch_size: self.training.batch_size,
            learning_rate: self.optimizer.learning_rate,
            warmup: Warmup::Steps(self.optimizer.warmup_steps),
        };
        Schedule::new(rule, n_functions)
    }

    /// Checks every value that its type leaves open.
    pub(super) fn check(&self) -> Result<(), Problem> {
        use validate::{at_least_one, decay, positive, require};
        validate::model("generator.model", &self.generator.model)?;
        let triggers = &self.dataset.triggers;
        require(
            "dataset.triggers.eligibility",
            triggers.eligibility == Variant::Paper || !(triggers.mark_self || triggers.skip_builtins),
            "of the released code never marks `self` and built-in names: leave mark_self and skip_builtins out",
        )?;
        at_least_one("dataset.functions.code_tokens_max", self.dataset.functions.code_tokens_max)?;
        let form = self.layout.form.parse::<inference::layout::Layout>();
        require("layout.form", form.is_ok(), "must be inline or sections")?;
        require("layout.tokens_max", self.layout.tokens_max >= 16, "must be at least 16")?;
        if let Some(adapter) = &self.adapter {
            adapter.lora().validate().map_err(|error| Problem { key: "adapter".into(), reason: error.to_string() })?;
        }
        let optimizer = &self.optimizer;
        positive("optimizer.learning_rate", optimizer.learning_rate)?;
        decay("optimizer.beta_1", optimizer.beta_1)?;
        decay("optimizer.beta_2", optimizer.beta_2)?;
        positive("optimizer.epsilon", f64::from(optimizer.epsilon))?;
        require("optimizer.weight_decay", optimizer.weight_decay >= 0.0, "must not be negative")?;
        positive("optimizer.gradient_norm_max", optimizer.gradient_norm_max)?;
        let training = &self.training;
        at_least_one("training.epochs", training.epochs)?;
        at_least_one("training.batch_size", training.batch_size)?;
        let holds_a_row = training.micro_batch_tokens_max >= self.layout.tokens_max;
        require("training.micro_batch_tokens_max", holds_a_row, "must not be below layout.tokens_max")?;
        at_least_one("training.checkpoints_max", training.checkpoints_max)?;
        let has_one_text = self.layout.form == "sections";
        require("training.packing", !(training.packing && has_one_text), "is for decoder-only models")?;
        self.check_evaluation()
    }

    fn check_evaluation(&self) -> Result<(), Problem> {
        use validate::{at_least_one, require};
        let evaluation = &self.evaluation;
        let known = crate::writing::ARMS;
        validate::arms(&evaluation.arms, &known.join(", "), |name| known.contains(&name))?;
        let asks = evaluation.arms.iter().any(|arm| arm != crate::writing::PLAIN);
        require("evaluation.arms", self.dataset.marked || !asks, "can only be `plain`: this model knows no trigger")?;
        at_least_one("evaluation.tokens_max", evaluation.tokens_max)?;
        at_least_one("evaluation.num_beams", evaluation.num_beams)?;
        require("evaluation.rank_weight", evaluation.rank_weight >= 0.0, "must not be negative")
    }
}
