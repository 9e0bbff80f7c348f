//! Stages that are skipped while neither their inputs nor their outputs have changed.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::run::write_atomically;

/// A hash of everything that a stage's result depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Hashes labeled inputs; the order counts.
    #[must_use]
    pub fn of(inputs: &[(&str, &[u8])]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for (label, bytes) in inputs {
            for part in [label.as_bytes(), bytes] {
                hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
            }
        }
        Self(hasher.finalize().to_hex().to_string())
    }

    /// Returns the hash as hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What a finished stage leaves behind: its inputs' hash and its outputs' hashes.
#[derive(Debug, Serialize, Deserialize)]
struct Stamp {
    inputs: Fingerprint,
    outputs: Vec<(String, String)>,
}

/// A stage's stamp file.
#[derive(Debug)]
pub struct Stage {
    path: PathBuf,
    inputs: Fingerprint,
}

impl Stage {
    /// Names a stage whose outputs lie in `directory`.
    #[must_use]
    pub fn new(directory: &Path, name: &str, inputs: Fingerprint) -> Self {
        Self { path: directory.join(format!("{name}.stamp.json")), inputs }
    }

    /// Returns whether the stage ran on the same inputs and its outputs still stand as it left them.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let read = || -> Option<Stamp> { serde_json::from_slice(&std::fs::read(&self.path).ok()?).ok() };
        let same = |(name, hash): &(String, String)| hash_file(&self.sibling(name)).is_ok_and(|now| now == *hash);
        read().is_some_and(|stamp| stamp.inputs == self.inputs && stamp.outputs.iter().all(same))
    }

    /// Records the stage as done with these outputs, named relative to the stamp.
    ///
    /// # Errors
    ///
    /// Returns an error if an output cannot be read or the stamp cannot be written.
    pub fn finish(&self, outputs: &[&str]) -> anyhow::Result<()> {
        let hashes = outputs.iter().map(|name| Ok(((*name).to_owned(), hash_file(&self.sibling(name))?)));
        let stamp = Stamp { inputs: self.inputs.clone(), outputs: hashes.collect::<anyhow::Result<_>>()? };
        write_atomically(&self.path, &serde_json::to_vec_pretty(&stamp)?)
    }

    fn sibling(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }
}

/// Hashes a file's bytes.
///
/// # Errors
///
/// Returns an error that names the file.
pub fn hash_file(path: &Path) -> anyhow::Result<String> {
    let mut hasher = blake3::Hasher::new();
    let file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    hasher.update_reader(file).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(hasher.finalize().to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_done_until_its_inputs_or_outputs_change() {
        let directory = tempfile::tempdir().unwrap();
        let output = directory.path().join("out");
        let stage = |input: &[u8]| Stage::new(directory.path(), "crawl", Fingerprint::of(&[("input", input)]));
        assert!(!stage(b"a").is_done());
        std::fs::write(&output, "1").unwrap();
        stage(b"a").finish(&["out"]).unwrap();
        assert!(stage(b"a").is_done());
        assert!(!stage(b"b").is_done());
        std::fs::write(&output, "2").unwrap();
        assert!(!stage(b"a").is_done());
    }

    #[test]
    fn a_fingerprint_separates_its_inputs() {
        assert_ne!(Fingerprint::of(&[("a", b"bc")]), Fingerprint::of(&[("ab", b"c")]));
    }
}
