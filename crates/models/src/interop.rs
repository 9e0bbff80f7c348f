//! Where tests leave what `tests/interop/run_models.sh` loads in Python.

use std::path::{Path, PathBuf};

/// A folder of its own under the directory that `RETORT_INTEROP_OUT` names; without it, a temporary one.
pub(crate) struct Output {
    path: PathBuf,
    _temporary: tempfile::TempDir,
}

impl Output {
    pub(crate) fn new(name: &str) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let root = std::env::var_os("RETORT_INTEROP_OUT").map_or(temporary.path().to_owned(), PathBuf::from);
        let path = root.join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self { path, _temporary: temporary }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what Python must compute with the content of the folder.
    pub(crate) fn expect(&self, json: &serde_json::Value) {
        std::fs::write(self.path.join("expected.json"), json.to_string()).unwrap();
    }
}
