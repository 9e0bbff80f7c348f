//! `metrics.jsonl`: one line for each step and each validation, kept in line with the checkpoint that a run resumes.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::checkpoint::Position;

/// A line of the log of a run that measures `S` after each step and `V` at each validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Line<S, V> {
    /// After an optimizer step.
    Step(S),
    /// At a validation; the first comes before the first step.
    Validation(V),
}

/// What a step measured.
pub trait StepMetrics {
    /// Returns the number of steps done, this one included.
    fn step(&self) -> usize;
}

impl<S: StepMetrics + Serialize + DeserializeOwned, V: Serialize + DeserializeOwned> LogLine for Line<S, V> {
    fn step(&self) -> Option<usize> {
        match self {
            Self::Step(line) => Some(line.step()),
            Self::Validation(_) => None,
        }
    }
}

/// A line of the log of one kind of run.
pub trait LogLine: Serialize + DeserializeOwned {
    /// Returns the number of steps done after a step, and nothing for a validation.
    fn step(&self) -> Option<usize>;
}

/// `metrics.jsonl`, one line for each step and each validation.
#[derive(Debug)]
pub struct MetricsLog<L> {
    path: PathBuf,
    file: File,
    lines: PhantomData<L>,
}

impl<L: LogLine> MetricsLog<L> {
    /// Opens the log and drops what a resumed run will do again: every line after `step`.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or written.
    pub fn resume(path: &Path, position: &Position) -> anyhow::Result<Self> {
        let n_validations = position.validations.len();
        let mut validations = 0;
        let mut kept = Vec::new();
        for line in read::<L>(path)? {
            let keep = line.step().map_or_else(
                || {
                    validations += 1;
                    validations <= n_validations
                },
                |step| step <= position.step,
            );
            if keep {
                kept.extend(serde_json::to_vec(&line)?);
                kept.push(b'\n');
            }
        }
        crate::run::write_atomically(path, &kept)?;
        let file = OpenOptions::new().append(true).open(path);
        let file = file.with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Self { path: path.to_path_buf(), file, lines: PhantomData })
    }

    /// Adds a line.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be written.
    pub fn write(&mut self, line: &L) -> anyhow::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.file.write_all(&bytes).with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// Returns whether a log holds every step and validation up to a position.
///
/// # Errors
///
/// Returns an error if the file exists and cannot be read.
pub fn covers<L: LogLine>(path: &Path, position: &Position) -> anyhow::Result<bool> {
    let lines = read::<L>(path)?;
    let steps = lines.iter().filter(|line| line.step().is_some_and(|step| step <= position.step)).count();
    let validations = lines.iter().filter(|line| line.step().is_none()).count();
    Ok(steps == position.step && validations >= position.validations.len())
}

/// Reads a log up to its first damaged line, which a crash can leave at its end; none if there is no file.
///
/// # Errors
///
/// Returns an error if the file exists and cannot be read.
pub fn read<L: LogLine>(path: &Path) -> anyhow::Result<Vec<L>> {
    let bytes = match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        bytes => bytes.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().map_while(|line| serde_json::from_str(line).ok()).collect())
}
