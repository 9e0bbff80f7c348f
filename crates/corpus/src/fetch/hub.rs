//! The Hugging Face hub, through the crate `hf-hub`; its cache lies in `hub/` of ours.

use std::path::{Path, PathBuf};

use hf_hub::api::Progress;
use hf_hub::api::sync::{ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Repo, RepoType};

use super::{Access, FetchEvent};
use crate::source::check_name;
use crate::{Error, Result, atomic};

/// The endings of the files that are fetched: weights, configurations and tokenizers.
const ENDINGS: [&str; 4] = [".safetensors", ".json", "vocab.txt", "merges.txt"];

/// The directories whose files are fetched: the top, and those of a sentence-transformers model.
const DIRECTORY_ENDINGS: [&str; 3] = ["_Pooling", "_Normalize", "_Dense"];

/// Returns the snapshot of a repository, or the file in it.
///
/// A mark is written after a whole download, so that an interrupted one is never taken for a model, and a snapshot that
/// is pinned by commit needs no network again.
pub(super) fn fetch(
    spec: &str,
    repository: &str,
    revision: &str,
    file: Option<&str>,
    access: &Access,
) -> Result<PathBuf> {
    let hub = access.cache.join("hub");
    let mark = hub.join("complete").join(blake3::hash(spec.as_bytes()).to_hex().as_str());
    let is_commit = revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
    if (is_commit || access.offline)
        && let Ok(model) = std::fs::read_to_string(&mark)
        && Path::new(&model).exists()
    {
        return Ok(PathBuf::from(model));
    }
    if access.offline {
        return Err(Error::Offline { what: format!("the model {spec}"), cache: access.cache.to_path_buf() });
    }
    (access.progress)(FetchEvent::Started { what: format!("the model {spec}") });
    let model = download(&hub, repository, revision, file, access).map_err(|error| Error::Download {
        what: format!("the model {spec}"),
        message: format!("{error} (check the name, the revision and the network)"),
    })?;
    let Some(model) = model else {
        let message = "the repository holds no such files: check the name, and that it has safetensors weights";
        return Err(Error::Model { spec: spec.to_owned(), message: message.to_owned() });
    };
    let text = model.to_string_lossy();
    atomic::write_file(&mark, |writer| {
        std::io::Write::write_all(writer, text.as_bytes()).map_err(Error::io("write", &mark))
    })?;
    Ok(model)
}

/// Downloads the wanted files of one commit and returns the directory of the snapshot, or the one file asked for.
fn download(
    hub: &Path,
    repository: &str,
    revision: &str,
    file: Option<&str>,
    access: &Access,
) -> std::result::Result<Option<PathBuf>, ApiError> {
    let api = ApiBuilder::from_env().with_cache_dir(hub.to_path_buf()).with_progress(false).build()?;
    let at = |revision: &str| Repo::with_revision(repository.to_owned(), RepoType::Model, revision.to_owned());
    let info = api.repo(at(revision)).info()?;
    let commit = api.repo(at(&info.sha));
    let names = info.siblings.into_iter().map(|sibling| sibling.rfilename);
    let mut model = None;
    for name in names.filter(|name| is_wanted(name, file)) {
        let path = get(&commit, &name, hub, &at(&info.sha), access)?;
        let depth = name.matches('/').count() + 1;
        model = if file.is_some() { Some(path) } else { path.ancestors().nth(depth).map(Path::to_path_buf) };
    }
    Ok(model)
}

fn get(
    commit: &ApiRepo,
    name: &str,
    hub: &Path,
    repository: &Repo,
    access: &Access,
) -> std::result::Result<PathBuf, ApiError> {
    match hf_hub::Cache::new(hub.to_path_buf()).repo(repository.clone()).get(name) {
        Some(path) => Ok(path),
        None => commit.download_with_progress(name, Report { access, done: 0, total: 0 }),
    }
}

/// Returns whether a file is fetched. A name that could lead out of the cache never is.
fn is_wanted(name: &str, file: Option<&str>) -> bool {
    if check_name(name.as_bytes()).as_deref() != Ok(name) {
        return false;
    }
    let (directory, _) = name.rsplit_once('/').unwrap_or(("", name));
    let is_place = directory.is_empty() || DIRECTORY_ENDINGS.iter().any(|ending| directory.ends_with(ending));
    file.map_or(is_place && ENDINGS.iter().any(|ending| name.ends_with(ending)), |file| file == name)
}

/// Reports the bytes of one file.
struct Report<'a> {
    access: &'a Access<'a>,
    done: u64,
    total: u64,
}

impl Progress for Report<'_> {
    fn init(&mut self, size: usize, filename: &str) {
        self.total = size as u64;
        (self.access.progress)(FetchEvent::Started { what: filename.to_owned() });
    }

    fn update(&mut self, size: usize) {
        self.done += size as u64;
        (self.access.progress)(FetchEvent::Progress { bytes: self.done, total_bytes: self.total });
    }

    fn finish(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_configurations_and_tokenizers_are_wanted_and_nothing_else() {
        for name in [
            "model.safetensors",
            "model-00001-of-00002.safetensors",
            "config.json",
            "merges.txt",
            "1_Pooling/config.json",
        ] {
            assert!(is_wanted(name, None), "{name}");
        }
        for name in [
            "pytorch_model.bin",
            "onnx/model.safetensors",
            "../config.json",
            "/config.json",
            "a\\..\\config.json",
            "run.py",
        ] {
            assert!(!is_wanted(name, None), "{name}");
        }
        assert!(is_wanted("a.gguf", Some("a.gguf")) && !is_wanted("b.gguf", Some("a.gguf")));
    }

    #[test]
    fn offline_without_a_snapshot_is_a_clear_error() {
        let cache = tempfile::tempdir().unwrap();
        let access = Access { cache: cache.path(), offline: true, progress: &|_| () };
        let message = fetch("hf:org/name@main", "org/name", "main", None, &access).unwrap_err().to_string();
        assert!(message.starts_with("the model hf:org/name@main is not in the cache"), "{message}");
    }

    #[test]
    fn offline_a_finished_snapshot_is_found_by_its_mark() {
        let cache = tempfile::tempdir().unwrap();
        let snapshot = cache.path().join("hub").join("snapshot");
        let mark = cache.path().join("hub").join("complete").join(blake3::hash(b"hf:org/name@main").to_hex().as_str());
        for directory in [snapshot.as_path(), mark.parent().unwrap()] {
            std::fs::create_dir_all(directory).unwrap();
        }
        std::fs::write(&mark, snapshot.to_str().unwrap()).unwrap();
        let access = Access { cache: cache.path(), offline: true, progress: &|_| () };
        assert_eq!(fetch("hf:org/name@main", "org/name", "main", None, &access).unwrap(), snapshot);
    }
}
