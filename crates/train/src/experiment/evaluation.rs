//! The section that says what a report compares.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{PromptConfig, SeamName, Variant};

/// When a held-out completion ends before its limit on tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopName {
    /// Only at the end of the text, as published.
    #[default]
    Never,
    /// Once there are as many non-blank lines as the target has. `RepoEval` looks at no more; `CrossCodeEval` may cut a
    /// statement that is longer than the target elsewhere.
    TargetLines,
}

/// `[evaluation]`: what the report compares.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvaluationConfig {
    /// Arms in report order: `none`, `random`, `bm25`, `untrained`, `trained` and others; see
    /// [`Arm`](crate::evaluation::Arm).
    pub arms: Vec<String>,
    /// Retrievers besides `untrained` and `trained`, by name: the `retriever/` directories of other runs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub retrievers: BTreeMap<String, PathBuf>,
    /// Candidates of the `bm25` arm.
    pub bm25_top_k: usize,
    /// Tokens that the generator may write.
    pub generation_tokens_max: usize,
    /// When the generator ends before that.
    pub stop: StopName,
    /// The generator's prompt; the published evaluation shows more than training does.
    pub prompt: PromptConfig,
}

impl Default for EvaluationConfig {
    fn default() -> Self {
        Self {
            arms: ["none", "bm25", "untrained", "trained"].map(String::from).to_vec(),
            retrievers: BTreeMap::new(),
            bm25_top_k: 5,
            generation_tokens_max: 64,
            stop: StopName::Never,
            prompt: PromptConfig {
                cross_tokens_max: 1536,
                context_tokens_max: 2048,
                variant: Variant::Paper,
                seam: SeamName::Kept,
                right_tokens_max: 0,
            },
        }
    }
}
