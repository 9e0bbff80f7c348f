//! What was written, as it comes, so that an interrupted evaluation loses nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

/// What one arm wrote for one sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Written {
    /// The id of the sample.
    pub sample: String,
    /// The arm.
    pub arm: String,
    /// The text, triggers included.
    pub text: String,
    /// Whether the text ended before the limit on tokens.
    pub is_whole: bool,
    /// Tokens by how they came: `sampled`, `trigger`, `chosen`, `forced`.
    pub tokens: BTreeMap<String, usize>,
    /// Triggers of the text by what became of them: `inserted`, `nothing`, ...
    pub outcomes: BTreeMap<String, usize>,
    /// Wall time, in seconds.
    pub seconds: f64,
    /// The completion tool's share of it.
    pub tool_seconds: f64,
}

/// A file that grows by one line for each text.
#[derive(Debug)]
pub struct WritingStore {
    path: PathBuf,
    file: File,
    written: Vec<Written>,
}

impl WritingStore {
    /// Opens the file, or makes it; a last line that a crash cut short is dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or written.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            bytes => bytes.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let text = String::from_utf8_lossy(&bytes);
        let written: Vec<Written> = text.lines().map_while(|line| serde_json::from_str(line).ok()).collect();
        let mut kept = Vec::new();
        for text in &written {
            serde_json::to_writer(&mut kept, text)?;
            kept.push(b'\n');
        }
        crate::run::write_atomically(path, &kept)?;
        let file = OpenOptions::new().append(true).open(path);
        let file = file.with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Self { path: path.to_path_buf(), file, written })
    }

    /// Returns the samples that an arm has a text for.
    #[must_use]
    pub fn samples(&self, arm: &str) -> BTreeSet<String> {
        self.written.iter().filter(|written| written.arm == arm).map(|written| written.sample.clone()).collect()
    }

    /// Adds a text.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be written.
    pub fn add(&mut self, written: Written) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(&written)?;
        line.push(b'\n');
        self.file.write_all(&line).with_context(|| format!("cannot write {}", self.path.display()))?;
        self.written.push(written);
        Ok(())
    }

    /// Returns the texts of `arms` for `samples`, by the order of the arms and then of the samples.
    #[must_use]
    pub fn finish(self, arms: &[String], samples: &[String]) -> Vec<Written> {
        let place = |written: &Written| {
            let arm = arms.iter().position(|arm| *arm == written.arm)?;
            let sample = samples.iter().position(|sample| *sample == written.sample)?;
            Some((arm, sample))
        };
        let mut placed: Vec<_> = self.written.into_iter().filter_map(|text| Some((place(&text)?, text))).collect();
        placed.sort_by_key(|(place, _)| *place);
        placed.into_iter().map(|(_, written)| written).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(sample: &str, arm: &str) -> Written {
        Written { sample: sample.into(), arm: arm.into(), text: "x = 1".into(), ..Written::default() }
    }

    #[test]
    fn what_was_added_is_there_again_but_for_a_line_that_was_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("written.jsonl");
        let mut store = WritingStore::open(&path).unwrap();
        for (sample, arm) in [("b", "x"), ("a", "y"), ("a", "x"), ("c", "x")] {
            store.add(written(sample, arm)).unwrap();
        }
        drop(store);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        let mut store = WritingStore::open(&path).unwrap();
        assert_eq!(store.samples("x"), ["a", "b"].map(str::to_owned).into());
        store.add(written("c", "y")).unwrap();
        let store = WritingStore::open(&path).unwrap();
        let texts = store.finish(&["y".into(), "x".into()], &["a".into(), "b".into(), "c".into()]);
        let order: Vec<_> = texts.iter().map(|text| (text.arm.as_str(), text.sample.as_str())).collect();
        assert_eq!(order, [("y", "a"), ("y", "c"), ("x", "a"), ("x", "b")]);
    }
}
