//! Answers of arms to samples, kept as they come, so that an interrupted evaluation loses nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What one arm made of one sample.
pub trait Answer: Serialize + DeserializeOwned {
    /// Returns the id of the sample.
    fn sample(&self) -> &str;

    /// Returns the name of the arm.
    fn arm(&self) -> &str;
}

/// A file that grows by one line for each answer.
#[derive(Debug)]
pub struct AnswerStore<T> {
    path: PathBuf,
    file: File,
    answers: Vec<T>,
}

impl<T: Answer> AnswerStore<T> {
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
        let answers: Vec<T> = text.lines().map_while(|line| serde_json::from_str(line).ok()).collect();
        let mut kept = Vec::new();
        for answer in &answers {
            serde_json::to_writer(&mut kept, answer)?;
            kept.push(b'\n');
        }
        crate::run::write_atomically(path, &kept)?;
        let file = OpenOptions::new().append(true).open(path);
        let file = file.with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Self { path: path.to_path_buf(), file, answers })
    }

    /// Returns the samples that an arm has an answer to.
    #[must_use]
    pub fn samples(&self, arm: &str) -> BTreeSet<String> {
        self.answers.iter().filter(|answer| answer.arm() == arm).map(|answer| answer.sample().to_owned()).collect()
    }

    /// Adds an answer.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be written.
    pub fn add(&mut self, answer: T) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(&answer)?;
        line.push(b'\n');
        self.file.write_all(&line).with_context(|| format!("cannot write {}", self.path.display()))?;
        self.answers.push(answer);
        Ok(())
    }

    /// Returns the answers of `arms` to `samples`, by the order of the arms and then of the samples.
    #[must_use]
    pub fn finish(self, arms: &[String], samples: &[String]) -> Vec<T> {
        let places = |names: &[String]| -> BTreeMap<String, usize> {
            names.iter().enumerate().map(|(place, name)| (name.clone(), place)).collect()
        };
        let (arms, samples) = (places(arms), places(samples));
        let place = |answer: &T| Some((*arms.get(answer.arm())?, *samples.get(answer.sample())?));
        let mut sorted: Vec<_> =
            self.answers.into_iter().filter_map(|answer| Some((place(&answer)?, answer))).collect();
        sorted.sort_by_key(|(place, _)| *place);
        sorted.into_iter().map(|(_, answer)| answer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writing::Written;

    fn written(sample: &str, arm: &str) -> Written {
        Written { sample: sample.into(), arm: arm.into(), text: "x = 1".into(), ..Written::default() }
    }

    #[test]
    fn what_was_added_is_there_again_but_for_a_line_that_was_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("written.jsonl");
        let mut store = AnswerStore::open(&path).unwrap();
        for (sample, arm) in [("b", "x"), ("a", "y"), ("a", "x"), ("c", "x")] {
            store.add(written(sample, arm)).unwrap();
        }
        drop(store);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        let mut store = AnswerStore::open(&path).unwrap();
        assert_eq!(store.samples("x"), ["a", "b"].map(str::to_owned).into());
        store.add(written("c", "y")).unwrap();
        let store = AnswerStore::<Written>::open(&path).unwrap();
        let texts = store.finish(&["y".into(), "x".into()], &["a".into(), "b".into(), "c".into()]);
        let order: Vec<_> = texts.iter().map(|text| (text.arm.as_str(), text.sample.as_str())).collect();
        assert_eq!(order, [("y", "a"), ("y", "c"), ("x", "a"), ("x", "b")]);
    }
}
