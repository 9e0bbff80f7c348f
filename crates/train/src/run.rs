//! The run directory: what a run writes, where, and how it never leaves half a file behind.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::Serialize;

use crate::experiment::Setting;

/// The directory of one run, locked as long as the value lives.
#[derive(Debug)]
pub struct RunDirectory {
    root: PathBuf,
    _lock: Lock,
}

/// An advisory lock on an open file.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    /// Unlocks; closing alone would not, while a process being started still holds a copy of the descriptor.
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::warn!("a run directory stays locked until this process ends: {error}");
        }
    }
}

impl RunDirectory {
    /// Creates the directory if need be, and locks it. The lock ends with the process, however that ends.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be created, or if another process runs in it.
    pub fn create(root: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(root).with_context(|| format!("cannot create the run directory {}", root.display()))?;
        let path = root.join(".lock");
        let lock = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { root: root.to_path_buf(), _lock: Lock(lock) }),
            Err(TryLockError::WouldBlock) => {
                bail!("another process runs in {}: wait for it, or give --run-dir", root.display())
            }
            Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
        }
    }

    /// Returns the directory itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a path inside the directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Returns `metrics.jsonl`: one object for each step and each validation.
    #[must_use]
    pub fn metrics(&self) -> PathBuf {
        self.path("metrics.jsonl")
    }

    /// Returns the cache of the evaluator's scores.
    #[must_use]
    pub fn scores(&self) -> PathBuf {
        self.path("scores.cache")
    }

    /// Returns the directory of the resumable checkpoints.
    #[must_use]
    pub fn checkpoints(&self) -> PathBuf {
        self.path("checkpoints")
    }

    /// Returns the best generator: a folder of `peft`, or a Hugging Face directory if all weights were trained.
    #[must_use]
    pub fn generator(&self) -> PathBuf {
        self.path("generator")
    }

    /// Returns the best retriever, in the Hugging Face layout.
    #[must_use]
    pub fn retriever(&self) -> PathBuf {
        self.path("retriever")
    }
}

/// What `run.json` records before the first step.
#[derive(Debug, Serialize)]
struct RunRecord<'a> {
    version: u32,
    name: &'a str,
    git_commit: Option<String>,
    git_dirty: Option<bool>,
    features: Vec<&'static str>,
    device: &'a str,
    threads: usize,
    seed: u64,
    weights: &'a [(String, String)],
    dataset: &'a str,
}

/// Writes `config.toml` (the resolved experiment) and `run.json` (what it ran on).
///
/// # Errors
///
/// Returns an error if a file cannot be written.
pub fn record(
    run: &RunDirectory,
    setting: &Setting,
    resolved: &str,
    weights: &[(String, String)],
    dataset: &str,
) -> anyhow::Result<()> {
    write_atomically(&run.path("config.toml"), resolved.as_bytes())?;
    let record = RunRecord {
        version: 1,
        name: &setting.name,
        git_commit: option_env!("RETORT_GIT_COMMIT").map(str::to_owned),
        git_dirty: option_env!("RETORT_GIT_DIRTY").map(|dirty| dirty == "true"),
        features: features(),
        device: &setting.hardware.device,
        threads: setting.threads(),
        seed: setting.seed,
        weights,
        dataset,
    };
    write_atomically(&run.path("run.json"), &serde_json::to_vec_pretty(&record)?)
}

fn features() -> Vec<&'static str> {
    [("cpu", cfg!(feature = "cpu")), ("cuda", cfg!(feature = "cuda"))]
        .into_iter()
        .filter_map(|(name, enabled)| enabled.then_some(name))
        .collect()
}

/// Writes a file that is either the old one or the whole new one, whatever happens meanwhile.
///
/// # Errors
///
/// Returns an error that names the file.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let write = || -> std::io::Result<()> {
        let directory = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        sync_directory(directory)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Makes a rename inside a directory durable.
///
/// # Errors
///
/// Returns an error if the directory cannot be synced.
pub fn sync_directory(directory: &Path) -> std::io::Result<()> {
    File::open(if directory.as_os_str().is_empty() { Path::new(".") } else { directory })?.sync_all()
}

/// Replaces a directory by a copy of another, so that it is never half one and half the other.
///
/// # Errors
///
/// Returns an error that names the directory.
pub fn replace_directory(from: &Path, to: &Path) -> anyhow::Result<()> {
    let partial = to.with_extension("partial");
    let replace = || -> std::io::Result<()> {
        remove_directory(&partial)?;
        copy_directory(from, &partial)?;
        remove_directory(to)?;
        fs::rename(&partial, to)?;
        sync_directory(to.parent().unwrap_or(Path::new(".")))
    };
    replace().with_context(|| format!("cannot write {}", to.display()))
}

/// Removes a directory if it is there.
///
/// # Errors
///
/// Returns an error if it is there and cannot be removed.
pub fn remove_directory(directory: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn copy_directory(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_directory(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
            File::open(&target)?.sync_all()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_directory_has_one_owner() {
        let directory = tempfile::tempdir().unwrap();
        let first = RunDirectory::create(directory.path()).unwrap();
        let error = RunDirectory::create(directory.path()).unwrap_err().to_string();
        assert!(error.starts_with("another process runs in"), "{error}");
        drop(first);
        RunDirectory::create(directory.path()).unwrap();
    }

    #[test]
    fn a_replaced_directory_holds_nothing_of_the_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (directory.path().join("from"), directory.path().join("to"));
        for (path, text) in [(from.join("a/b"), "new"), (to.join("a/c"), "old")] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        replace_directory(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/b")).unwrap(), "new");
        assert!(!to.join("a/c").exists() && from.join("a/b").exists());
    }
}
