//! The section that says what a report compares.

use std::collections::BTreeMap;
use std::path::PathBuf;

use inference::repocoder::RepoCoderRule;
use inference::windows::WindowRule;
use serde::{Deserialize, Serialize};

use super::{PromptConfig, SeamName, TestsConfig, Variant};

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

/// `[evaluation.repocoder]`: windows and iterations.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RepoCoderConfig {
    /// Lines of a window.
    pub window_lines: usize,
    /// Lines from one window to the next.
    pub window_step: usize,
    /// Windows that a prompt shows at most.
    pub blocks_max: usize,
    /// Iterations, the first retrieval included.
    pub iterations: usize,
    /// The most iterations of the arm `repocoder_adaptive`.
    pub adaptive_iterations_max: usize,
    /// As the paper states it, or as the released code does it.
    pub variant: Variant,
}

impl Default for RepoCoderConfig {
    fn default() -> Self {
        let rule = RepoCoderRule::default();
        Self {
            window_lines: rule.windows.lines,
            window_step: rule.windows.step,
            blocks_max: rule.blocks_max,
            iterations: rule.iterations_max,
            adaptive_iterations_max: 4,
            variant: Variant::Paper,
        }
    }
}

impl RepoCoderConfig {
    /// Returns the rule of an arm with an adaptive number of iterations or with the fixed one.
    #[must_use]
    pub fn rule(&self, is_adaptive: bool) -> RepoCoderRule {
        RepoCoderRule {
            windows: WindowRule { lines: self.window_lines, step: self.window_step },
            iterations_max: if is_adaptive { self.adaptive_iterations_max } else { self.iterations },
            is_adaptive,
            blocks_max: self.blocks_max,
            variant: self.variant.into(),
            ..RepoCoderRule::default()
        }
    }
}

/// `[evaluation.benchmark]`: a published benchmark in place of the dataset's test samples.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BenchmarkConfig {
    /// The file: JSON lines of `CrossCodeEval` or `RepoEval`, or a `samples.parquet`.
    pub file: PathBuf,
    /// `crosscodeeval`, `repoeval` or `samples`; told by the file when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The folder that holds the repositories under the names that the benchmark gives them. Without it only the arms
    /// `none` and `given` can run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repositories: Option<PathBuf>,
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
    /// A published benchmark that is evaluated on; the dataset's test samples when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<BenchmarkConfig>,
    /// Test samples that are looked at, spread evenly over all of them; 0 looks at all.
    pub samples_max: usize,
    /// Candidates of the `bm25` arm.
    pub bm25_top_k: usize,
    /// Windows and iterations of the `jaccard` and `repocoder` arms.
    pub repocoder: RepoCoderConfig,
    /// Tokens that the generator may write.
    pub generation_tokens_max: usize,
    /// When the generator ends before that.
    pub stop: StopName,
    /// The generator's prompt; the published evaluation shows more than training does.
    pub prompt: PromptConfig,
    /// The tests of repositories, for the pass rate.
    pub tests: TestsConfig,
}

impl Default for EvaluationConfig {
    fn default() -> Self {
        Self {
            arms: ["none", "bm25", "untrained", "trained"].map(String::from).to_vec(),
            retrievers: BTreeMap::new(),
            benchmark: None,
            samples_max: 0,
            bm25_top_k: 5,
            repocoder: RepoCoderConfig::default(),
            generation_tokens_max: 64,
            stop: StopName::Never,
            prompt: PromptConfig {
                cross_tokens_max: 1536,
                context_tokens_max: 2048,
                variant: Variant::Paper,
                seam: SeamName::Kept,
                right_tokens_max: 0,
            },
            tests: TestsConfig::default(),
        }
    }
}
