//! The sections of an experiment file, each with the published defaults.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context;
use inference::infill::{Infill, InfillTokens};
use serde::{Deserialize, Serialize};

/// Which of two published readings applies where a paper and its released code differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// As the paper states it.
    #[default]
    Paper,
    /// As the released code does it.
    Released,
}

impl From<Variant> for inference::Variant {
    fn from(variant: Variant) -> Self {
        match variant {
            Variant::Paper => Self::Paper,
            Variant::Released => Self::Released,
        }
    }
}

/// `[hardware]`: where and on how many threads.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HardwareConfig {
    /// `auto`, `cpu` or `cuda:N`.
    pub device: String,
    /// Worker threads; 0 for one per core.
    pub threads: usize,
}

impl Default for HardwareConfig {
    fn default() -> Self {
        Self { device: "auto".into(), threads: 0 }
    }
}

/// `[dataset]`: which repositories, and how many samples of which kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetConfig {
    /// The manifest that lists the repositories.
    pub manifest: PathBuf,
    /// Where the Parquet files go; beside the manifest when absent.
    #[serde(default)]
    pub directory: Option<PathBuf>,
    /// Samples of each split, by target kind (`span`, `line`, `api_call`).
    pub samples: SampleConfig,
    /// How a random span is drawn.
    #[serde(default)]
    pub span: SpanConfig,
}

/// `[dataset.samples]`: number of samples by split and target kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampleConfig {
    /// Samples the policy learns from.
    pub train: BTreeMap<String, usize>,
    /// Samples that choose the best checkpoint.
    pub validation: BTreeMap<String, usize>,
    /// Held-out samples of the report.
    pub test: BTreeMap<String, usize>,
}

/// `[dataset.span]`: the random-span rule, in pieces separated by single spaces.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpanConfig {
    /// Earliest start as a share of the file's pieces.
    pub start_min: f64,
    /// Latest start as a share of the file's pieces.
    pub start_max: f64,
    /// Fewest pieces of a target.
    pub pieces_min: usize,
    /// Most pieces of a target.
    pub pieces_max: usize,
    /// The left context has more words than this.
    pub left_words_min: usize,
    /// The target has more words than this.
    pub target_words_min: usize,
    /// Attempts per cluster before it is skipped.
    pub attempts_max: usize,
}

impl Default for SpanConfig {
    fn default() -> Self {
        let rule = repo::targets::SpanRule::default();
        Self {
            start_min: rule.start_min,
            start_max: rule.start_max,
            pieces_min: rule.pieces_min,
            pieces_max: rule.pieces_max,
            left_words_min: rule.left_words_min,
            target_words_min: rule.target_words_min,
            attempts_max: rule.attempts_max,
        }
    }
}

impl From<&SpanConfig> for repo::targets::SpanRule {
    fn from(config: &SpanConfig) -> Self {
        Self {
            start_min: config.start_min,
            start_max: config.start_max,
            pieces_min: config.pieces_min,
            pieces_max: config.pieces_max,
            left_words_min: config.left_words_min,
            target_words_min: config.target_words_min,
            attempts_max: config.attempts_max,
        }
    }
}

/// How a file is cut into candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateRuleName {
    /// RLCoder's natural candidates.
    #[default]
    SplitAggregate,
    /// Windows of equal length.
    FixedWindow,
}

/// `[candidates]`: the cutting rule.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CandidateConfig {
    /// `split_aggregate` or `fixed_window`.
    pub rule: CandidateRuleName,
    /// Most non-blank lines of a candidate.
    pub lines_max: usize,
    /// Split-Aggregate as in the paper or as released.
    pub variant: Variant,
}

impl Default for CandidateConfig {
    fn default() -> Self {
        Self { rule: CandidateRuleName::default(), lines_max: 15, variant: Variant::Paper }
    }
}

impl From<&CandidateConfig> for repo::candidates::CandidateRule {
    fn from(config: &CandidateConfig) -> Self {
        match config.rule {
            CandidateRuleName::FixedWindow => Self::FixedWindow { lines: config.lines_max },
            CandidateRuleName::SplitAggregate => Self::SplitAggregate {
                lines_max: config.lines_max,
                variant: match config.variant {
                    Variant::Paper => repo::candidates::SplitVariant::Paper,
                    Variant::Released => repo::candidates::SplitVariant::Released,
                },
            },
        }
    }
}

/// A model: where it comes from and what its bytes must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// `dir:PATH`, `hf:ORG/NAME@REVISION`, `pypi:NAME==VERSION#PATH` or `random:ARCHITECTURE`.
    pub model: String,
    /// SHA-256 of the downloaded package, for `pypi:`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// `[encoder]`: the policy's network and its token limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncoderConfig {
    /// `dir:PATH`, `hf:ORG/NAME@REVISION`, `pypi:NAME==VERSION#PATH` or `random:ARCHITECTURE`.
    pub model: String,
    /// SHA-256 of the downloaded package, for `pypi:`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Non-blank lines of the left context that make the query.
    #[serde(default = "defaults::query_lines_max")]
    pub query_lines_max: usize,
    /// Tokens of a query, special ones included; the last are kept.
    #[serde(default = "defaults::query_tokens_max")]
    pub query_tokens_max: usize,
    /// Tokens of a candidate, special ones included; the first are kept.
    #[serde(default = "defaults::candidate_tokens_max")]
    pub candidate_tokens_max: usize,
    /// Tokens of one encoding batch, padding included.
    #[serde(default = "defaults::batch_tokens_max")]
    pub batch_tokens_max: usize,
}

impl EncoderConfig {
    /// Returns the source of the weights.
    #[must_use]
    pub fn source(&self) -> ModelConfig {
        ModelConfig { model: self.model.clone(), sha256: self.sha256.clone() }
    }
}

mod defaults {
    pub(super) fn query_lines_max() -> usize {
        20
    }
    pub(super) fn query_tokens_max() -> usize {
        256
    }
    pub(super) fn candidate_tokens_max() -> usize {
        512
    }
    pub(super) fn batch_tokens_max() -> usize {
        4096
    }
}

/// `[retrieval]`: from all candidates of a cluster to the ones shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetrievalConfig {
    /// Candidates that BM25 passes on to the policy.
    pub prefilter: usize,
    /// Candidates that the policy chooses, the stop candidate included.
    pub top_k: usize,
    /// Whether the stop candidate takes part.
    pub stop_candidate: bool,
    /// BM25's query: as released (case kept) or lower-cased like the documents.
    pub bm25: Variant,
}

impl Default for RetrievalConfig {
    fn default() -> Self {
        Self { prefilter: 100, top_k: 10, stop_candidate: true, bm25: Variant::Paper }
    }
}

/// `[prompt]` and `[evaluation.prompt]`: the token budget of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PromptConfig {
    /// Tokens of other files' code.
    pub cross_tokens_max: usize,
    /// Tokens of the whole prompt.
    pub context_tokens_max: usize,
    /// Token lists concatenated (paper) or decoded and encoded again (released).
    pub variant: Variant,
    /// White space at the end of the left context: `kept` in the prompt as published, or `moved` to what follows.
    pub seam: SeamName,
    /// Tokens of the code after the target, for models that fill in the middle; the published prompt shows none.
    pub right_tokens_max: usize,
}

/// What becomes of white space at the end of a left context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeamName {
    /// It stays in the prompt, as published.
    #[default]
    Kept,
    /// It is tokenized together with what follows: what models with GPT-2's pre-tokenizer need.
    Moved,
}

impl From<SeamName> for inference::Seam {
    fn from(name: SeamName) -> Self {
        match name {
            SeamName::Kept => Self::Kept,
            SeamName::Moved => Self::Moved,
        }
    }
}

impl Default for PromptConfig {
    fn default() -> Self {
        Self {
            cross_tokens_max: 512,
            context_tokens_max: 1024,
            variant: Variant::Paper,
            seam: SeamName::Kept,
            right_tokens_max: 0,
        }
    }
}

impl PromptConfig {
    /// Returns the rule for the prompts of a decoder; its tokenizer says which tokens stand around the parts.
    ///
    /// # Errors
    ///
    /// Returns an error if the right context is to be shown to a model that has no tokens for it.
    pub fn rule(&self, decoder: &models::Decoder) -> anyhow::Result<inference::prompt::PromptRule> {
        let tokenizer = decoder.tokenizer();
        let infill = (self.right_tokens_max > 0)
            .then(|| InfillTokens::find(tokenizer).context("`right_tokens_max` needs a model that fills in the middle"))
            .transpose()?;
        Ok(inference::prompt::PromptRule {
            cross_tokens_max: self.cross_tokens_max,
            context_tokens_max: self.context_tokens_max,
            begin_token: tokenizer.begin(),
            seam: self.seam.into(),
            infill: infill.map(|tokens| Infill { tokens, right_tokens_max: self.right_tokens_max }),
            variant: self.variant.into(),
            ..inference::prompt::PromptRule::default()
        })
    }
}
