//! Files of one JSON object a line.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{BenchmarkTask, Format, problem};
use crate::{Error, Result};

/// Reads every line that is not blank as `T` and makes a task of it; the number of its line, from one, comes with each.
pub(super) fn read<T: DeserializeOwned>(
    path: &Path,
    task: impl Fn(T) -> std::result::Result<BenchmarkTask, String>,
) -> Result<Vec<(usize, BenchmarkTask)>> {
    let text = text(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parsed = lines.map(|(index, line)| {
        let number = index + 1;
        let value: T = serde_json::from_str(line).map_err(|error| problem(path, number, error.to_string()))?;
        Ok((number, task(value).map_err(|reason| problem(path, number, reason))?))
    });
    parsed.collect()
}

/// Tells the format by the keys of the first line.
pub(super) fn format(path: &Path) -> Result<Format> {
    let text = text(path)?;
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let first: Value = serde_json::from_str(first).map_err(|error| problem(path, 1, error.to_string()))?;
    if first.get("groundtruth").is_some() {
        Ok(Format::CrossCodeEval)
    } else if first.pointer("/metadata/fpath_tuple").is_some() {
        Ok(Format::RepoEval)
    } else {
        let reason = "neither `groundtruth` (crosscodeeval) nor `metadata.fpath_tuple` (repoeval) is there";
        Err(problem(path, 1, reason.into()))
    }
}

fn text(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).map_err(|source| Error::Io { path: path.to_owned(), action: "reading", source })?;
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let line = bytes[..error.valid_up_to()].split(|byte| *byte == b'\n').count();
            Err(problem(path, line, "the line is not UTF-8".into()))
        }
    }
}
