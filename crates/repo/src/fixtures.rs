//! The fixture repositories of the workspace, for tests.

use std::path::{Path, PathBuf};

use crate::graph::{Cluster, DependencyGraph};
use crate::language::Language;
use crate::source::{Repository, SourceFile};

pub(crate) fn load(name: &str) -> Repository {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
    let mut files = Vec::new();
    let mut pending: Vec<PathBuf> = vec![root.clone()];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(path.read_dir().unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let relative = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
        if let Some(language) = Language::from_path(&relative) {
            files.push(SourceFile { path: relative, language, text: std::fs::read_to_string(&path).unwrap() });
        }
    }
    Repository::new(name, files)
}

pub(crate) fn cluster_files<'a>(repository: &'a Repository, cluster: &Cluster) -> Vec<&'a SourceFile> {
    cluster.files.iter().map(|&index| &repository.files()[index]).collect()
}

pub(crate) fn clusters(repository: &Repository) -> Vec<Cluster> {
    DependencyGraph::build(repository).clusters()
}
