//! Every experiment and dataset file parses, validates and explains itself.

use std::path::{Path, PathBuf};

use crate::root;

fn toml_files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            toml_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
}

#[test]
fn every_experiment_loads_and_has_its_manual() {
    let mut paths = Vec::new();
    toml_files(&root().join("experiments"), &mut paths);
    assert!(paths.len() >= 3, "found {paths:?}");
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let experiment = train::experiment::load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let header: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        assert!(header.iter().any(|line| line.contains(&format!("cargo run --release -p train -- {name}"))), "{name}");
        let manifest = experiment.setting().manifest;
        corpus::manifest::Manifest::load(&manifest).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn a_resolved_experiment_reads_back_as_itself() {
    let experiment = train::experiment::load(&root().join("experiments/smoke.toml"), &[]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.toml");
    std::fs::write(&path, toml::to_string(&experiment).unwrap()).unwrap();
    let again = train::experiment::load(&path, &[]).unwrap();
    assert_eq!(toml::to_string(&again).unwrap(), toml::to_string(&experiment).unwrap());
}
