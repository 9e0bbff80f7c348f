//! `CrossCodeEval` (Ding et al., 2023): prompt, ground truth and right context are the file.

use serde::{Deserialize, Serialize};

use super::{BenchmarkTask, Given, GivenChunk, inside, language};

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) prompt: String,
    pub(super) groundtruth: String,
    pub(super) right_context: String,
    pub(super) metadata: Metadata,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) crossfile_context: Option<Context>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Metadata {
    pub(super) task_id: String,
    pub(super) repository: String,
    pub(super) file: String,
    #[serde(default)]
    pub(super) context_start_lineno: usize,
    #[serde(default)]
    pub(super) groundtruth_start_lineno: usize,
    #[serde(default)]
    pub(super) right_context_start_lineno: usize,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Context {
    #[serde(default)]
    text: String,
    #[serde(default)]
    list: Vec<Chunk>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Chunk {
    #[serde(rename = "retrieved_chunk")]
    text: String,
    filename: String,
    /// Absent where the context was not chosen by similarity.
    #[serde(default)]
    score: Option<f64>,
}

pub(super) fn task(line: Line) -> Result<BenchmarkTask, String> {
    let Line { prompt, groundtruth, right_context, metadata, crossfile_context } = line;
    inside("metadata.repository", &metadata.repository)?;
    let language = language("metadata.file", &metadata.file)?;
    if groundtruth.trim().is_empty() {
        return Err("`groundtruth` must not be blank".into());
    }
    let chunk = |Chunk { text, filename, score }| GivenChunk { path: filename, text, score: score.unwrap_or_default() };
    let given = |Context { text, list }| Given { text, chunks: list.into_iter().map(chunk).collect() };
    Ok(BenchmarkTask {
        id: metadata.task_id,
        repository: metadata.repository,
        path: metadata.file,
        language,
        kind: "line".into(),
        left_context: prompt,
        target: groundtruth,
        right_context: Some(right_context),
        first_line: metadata.context_start_lineno,
        given: crossfile_context.map(given),
    })
}
