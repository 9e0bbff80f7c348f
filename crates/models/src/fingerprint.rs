//! A hash of the files of a model, for caches and for the record of a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::{Error, Result};

/// A file as it was when it was hashed: path, length in bytes, time of the last change.
type Version = (PathBuf, u64, Option<SystemTime>);

/// Hashes of files that this process has read.
static HASHED: Mutex<BTreeMap<Version, blake3::Hash>> = Mutex::new(BTreeMap::new());

/// Returns the BLAKE3 hash, in hexadecimal, of a model: of the one file, or of the names and contents of the files
/// directly in a directory and one level below, hidden ones left out.
///
/// The hash depends on neither the place nor the time stamps of the files. A file that has not changed since it was
/// last hashed in this process is not read again.
///
/// # Errors
///
/// Returns an error if a file cannot be read.
pub fn fingerprint(path: &Path) -> Result<String> {
    if !path.is_dir() {
        return Ok(hash_file(path)?.to_hex().to_string());
    }
    let mut files = BTreeMap::new();
    for (name, entry) in entries(path)? {
        if entry.is_dir() {
            let inner = entries(&entry)?.into_iter().filter(|(_, file)| file.is_file());
            files.extend(inner.map(|(file_name, file)| (format!("{name}/{file_name}"), file)));
        } else {
            files.insert(name, entry);
        }
    }
    let mut hasher = blake3::Hasher::new();
    for (name, file) in &files {
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
        hasher.update(hash_file(file)?.as_bytes());
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// Returns the entries of a directory by name, hidden ones left out.
fn entries(directory: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut entries = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(Error::read(directory))? {
        let entry = entry.map_err(Error::read(directory))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            entries.insert(name, entry.path());
        }
    }
    Ok(entries)
}

fn hash_file(path: &Path) -> Result<blake3::Hash> {
    let metadata = fs::metadata(path).map_err(Error::read(path))?;
    let version = (path.to_owned(), metadata.len(), metadata.modified().ok());
    let table = || HASHED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(hash) = table().get(&version) {
        return Ok(*hash);
    }
    let file = fs::File::open(path).map_err(Error::read(path))?;
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file).map_err(Error::read(path))?;
    let hash = hasher.finalize();
    table().insert(version, hash);
    Ok(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        directory
    }

    #[test]
    fn the_hash_depends_on_names_and_contents_alone() {
        let files = [("config.json", "{}"), ("1_Pooling/config.json", "[]")];
        let original = fingerprint(directory(&files).path()).unwrap();
        let copy = directory(&[files[1], files[0], (".cache", "x")]);
        assert_eq!(fingerprint(copy.path()).unwrap(), original);
        let renamed = directory(&[("config2.json", "{}"), files[1]]);
        assert_ne!(fingerprint(renamed.path()).unwrap(), original);
        let edited = directory(&[files[0], ("1_Pooling/config.json", "[ ]")]);
        assert_ne!(fingerprint(edited.path()).unwrap(), original);
    }

    #[test]
    fn a_file_is_hashed_by_its_content() {
        let directory = directory(&[("a.gguf", "weights")]);
        let expected = blake3::hash(b"weights").to_hex().to_string();
        assert_eq!(fingerprint(&directory.path().join("a.gguf")).unwrap(), expected);
    }

    #[test]
    fn a_changed_file_is_read_again() {
        let directory = directory(&[("a.gguf", "old")]);
        let path = directory.path().join("a.gguf");
        let old = fingerprint(&path).unwrap();
        fs::write(&path, "newer").unwrap();
        assert_ne!(fingerprint(&path).unwrap(), old);
    }

    #[test]
    fn a_missing_path_is_an_error() {
        assert!(fingerprint(Path::new("no/such/model")).is_err());
    }
}
