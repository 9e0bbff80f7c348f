//! An output that is there whole or not at all.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::run::sync_directory;

/// Refuses an output that is there already, or has no directory to be in.
pub(super) fn check(output: &Path) -> anyhow::Result<()> {
    ensure!(output.symlink_metadata().is_err(), "{} exists already", output.display());
    let parent = parent(output);
    ensure!(parent.is_dir(), "there is no directory {} to write to", parent.display());
    partial(output).map(|_| ())
}

/// Lets `write` write a neighbor of `output`, which gets its name at the end and is removed on failure.
pub(super) fn write<T>(output: &Path, write: impl FnOnce(&Path) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let partial = partial(output)?;
    // What an export that was killed left behind.
    remove(&partial)?;
    let written = write(&partial).and_then(|found| {
        check(output)?;
        fs::rename(&partial, output).with_context(|| format!("cannot write {}", output.display()))?;
        Ok(found)
    });
    if written.is_err() {
        remove(&partial)?;
    } else {
        sync_directory(parent(output)).with_context(|| format!("cannot write {}", output.display()))?;
    }
    written
}

/// Returns the bytes of all files.
pub(super) fn n_bytes(path: &Path) -> anyhow::Result<u64> {
    let context = || format!("cannot read {}", path.display());
    if !path.is_dir() {
        return Ok(fs::metadata(path).with_context(context)?.len());
    }
    let mut sum = 0;
    for entry in fs::read_dir(path).with_context(context)? {
        sum += n_bytes(&entry.with_context(context)?.path())?;
    }
    Ok(sum)
}

fn parent(output: &Path) -> &Path {
    output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn partial(output: &Path) -> anyhow::Result<PathBuf> {
    let name = output.file_name().with_context(|| format!("{} names no file", output.display()))?;
    let mut name = name.to_owned();
    name.push(".partial");
    Ok(output.with_file_name(name))
}

fn remove(partial: &Path) -> anyhow::Result<()> {
    let removed = if partial.is_dir() { fs::remove_dir_all(partial) } else { fs::remove_file(partial) };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", partial.display()))
        }
        _ => Ok(()),
    }
}
