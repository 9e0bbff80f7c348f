//! The sections that say how a retriever learns: rewards, optimizer, loop; each with the published defaults.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Variant;

/// How weighted perplexities become rewards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewardRule {
    /// The candidate of the lowest weighted perplexity earns 1, every other 0 (the paper).
    #[default]
    Best,
    /// All candidates share a reward of 1, by the softmax of their weighted NLLs over `softness`: a listwise target, in
    /// which near ties count as such.
    Softmax,
    /// A candidate earns the nats by which it lowers the weighted NLL. The policy draws candidates, and each draw is
    /// reinforced by how much it earns above the mean of the others.
    Sampled,
}

/// `[reward]`: weighted perplexity and the reward made of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RewardConfig {
    /// Who earns what.
    pub rule: RewardRule,
    /// With `rule = "softmax"`: the difference in weighted NLL, in nats, that multiplies a share by e.
    pub softness: f64,
    /// With `rule = "sampled"`: candidates drawn from the policy for each sample.
    pub draws: usize,
    /// Token weights by word (paper) or by token piece (released).
    pub formula: Variant,
    /// Weight of a token of an identifier.
    pub identifier_weight: f64,
    /// Weight of the target's first tokens.
    pub first_token_weight: f64,
    /// How many tokens count as first.
    pub first_tokens: usize,
    /// Tokens of the target that are scored; the rest is cut and counted.
    pub target_tokens_max: usize,
    /// Tokens of one scoring batch, padding included; 0 scores one sequence at a time, which is fastest on a CPU and
    /// makes a score independent of what else is scored.
    pub batch_tokens_max: usize,
    /// The file that keeps scores, for experiments that share them; that of the run directory when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<PathBuf>,
}

impl RewardConfig {
    /// Returns what decides a reward: everything but where scores are kept.
    #[must_use]
    pub fn without_cache(&self) -> Self {
        Self { cache: None, ..self.clone() }
    }
}

impl Default for RewardConfig {
    fn default() -> Self {
        Self {
            rule: RewardRule::Best,
            softness: 0.1,
            draws: 8,
            formula: Variant::Paper,
            identifier_weight: 3.0,
            first_token_weight: 5.0,
            first_tokens: 1,
            target_tokens_max: 64,
            batch_tokens_max: 0,
            cache: None,
        }
    }
}

impl From<&RewardConfig> for inference::perplexity::WeightRule {
    fn from(config: &RewardConfig) -> Self {
        Self {
            identifier: config.identifier_weight as f32,
            first: config.first_token_weight as f32,
            first_tokens: config.first_tokens,
            variant: config.formula.into(),
        }
    }
}

/// `[optimizer]`: `AdamW` with linear warm-up and decay.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OptimizerConfig {
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
    /// Share of all steps over which the learning rate rises.
    pub warmup_fraction: f64,
    /// Gradients are scaled down to this global norm.
    pub gradient_norm_max: f64,
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self {
            learning_rate: 5e-5,
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            weight_decay: 0.01,
            warmup_fraction: 0.2,
            gradient_norm_max: 1.0,
        }
    }
}

/// `[training.early_stopping]`: when a run gives up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EarlyStoppingConfig {
    /// Epochs without a better validation value before the run stops; 0 never stops.
    pub patience: usize,
}

impl Default for EarlyStoppingConfig {
    fn default() -> Self {
        Self { patience: 5 }
    }
}

/// Which policy's choices are rewarded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelRule {
    /// Those of the policy as it is now: reinforcement learning.
    #[default]
    Current,
    /// Those of the encoder before training, so that every sample has the same labels in every epoch: supervised
    /// fine-tuning (SFT), the paper's baseline.
    Initial,
}

/// `[training]`: the reinforcement-learning loop.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingConfig {
    /// Epochs.
    pub epochs: usize,
    /// Samples of an epoch, taken in turn from the training split; 0 for all of them.
    pub samples_per_epoch: usize,
    /// Samples of a step.
    pub batch_size: usize,
    /// Samples whose graph is held at once; gradients are summed over the batch.
    pub micro_batch_size: usize,
    /// Similarities are divided by it before the softmax.
    pub temperature: f64,
    /// Whose choices are rewarded: those of the `current` policy, or of the `initial` one.
    pub labels: LabelRule,
    /// Whether the candidates of the other samples of a micro-batch are further ones that earn nothing.
    pub in_batch_negatives: bool,
    /// Whether the encoder's own dropout is on.
    pub dropout: bool,
    /// Steps between two checkpoints inside an epoch; 0 for epoch ends only.
    pub checkpoint_steps: usize,
    /// Checkpoints kept besides the best.
    pub checkpoints_max: usize,
    /// Early stopping on the validation loss.
    pub early_stopping: EarlyStoppingConfig,
}

impl Default for TrainingConfig {
    fn default() -> Self {
        Self {
            epochs: 20,
            samples_per_epoch: 0,
            batch_size: 16,
            micro_batch_size: 2,
            temperature: 0.05,
            labels: LabelRule::Current,
            in_batch_negatives: false,
            dropout: true,
            checkpoint_steps: 1,
            checkpoints_max: 2,
            early_stopping: EarlyStoppingConfig::default(),
        }
    }
}
