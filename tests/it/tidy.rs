//! The layering and the invariants of the code map, held as tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use crate::root;

/// The edges that the code map allows, beside those to crates of the registry.
const EDGES: [(&str, &[&str]); 7] = [
    ("repo", &[]),
    ("analysis", &["repo"]),
    ("models", &[]),
    ("corpus", &["repo", "analysis"]),
    ("inference", &["repo", "analysis", "models"]),
    ("eval", &["repo", "analysis", "corpus", "inference"]),
    ("train", &["repo", "analysis", "models", "corpus", "inference", "eval"]),
];

/// Crates that only the named members may depend on.
const OWNERS: [(&str, &[&str]); 10] = [
    ("burn", &["models", "inference", "train"]),
    ("tree-sitter", &["repo", "analysis"]),
    ("parquet", &["corpus"]),
    ("arrow-array", &["corpus"]),
    ("hf-hub", &["corpus"]),
    ("tar", &["corpus"]),
    ("zip", &["corpus"]),
    ("tokenizers", &["models"]),
    ("safetensors", &["models"]),
    ("clap", &["train"]),
];

const TOP_LEVEL: [&str; 10] = [
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "checkpoints",
    "crates",
    "datasets",
    "experiments",
    "tests",
];

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(root()).output().expect("the program starts");
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// Returns the normal and build dependencies of every member.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = output(env!("CARGO"), &["metadata", "--no-deps", "--format-version=1", "--offline"]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).expect("cargo writes JSON");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let dependencies = package["dependencies"].as_array().expect("dependencies");
            let normal = dependencies.iter().filter(|dependency| dependency["kind"] != "dev");
            (text(&package["name"]), normal.map(|dependency| text(&dependency["name"])).collect())
        })
        .collect()
}

/// Returns the tracked files whose names end in one of the endings, with their text.
fn tracked(endings: &[&str]) -> Vec<(String, String)> {
    let files = output("git", &["ls-files", "--cached", "--others", "--exclude-standard"]);
    let wanted = files.lines().filter(|path| endings.iter().any(|ending| path.ends_with(ending)));
    let read = |path: &str| Some((path.to_owned(), std::fs::read_to_string(root().join(path)).ok()?));
    let found: Vec<_> = wanted.filter_map(read).collect();
    assert!(!found.is_empty(), "no file ends in {endings:?}");
    found
}

#[test]
fn crates_depend_downward_only() {
    let dependencies = dependencies();
    for (name, allowed) in EDGES {
        let members = dependencies[name].iter().filter(|other| EDGES.iter().any(|(member, _)| member == other));
        for other in members {
            assert!(allowed.contains(&other.as_str()), "`{name}` may not depend on `{other}`");
        }
    }
    let members: BTreeSet<&str> = dependencies.keys().map(String::as_str).collect();
    let expected: BTreeSet<&str> = EDGES.iter().map(|(name, _)| *name).chain(["tests"]).collect();
    assert_eq!(members, expected, "the code map lists every member");
}

#[test]
fn what_touches_the_world_has_one_owner() {
    for (name, dependencies) in dependencies() {
        for (crate_name, owners) in OWNERS {
            assert!(
                name == "tests" || owners.contains(&name.as_str()) || !dependencies.contains(crate_name),
                "`{name}` may not depend on `{crate_name}`, which belongs to {owners:?}"
            );
        }
    }
}

/// The files that start a program: completion tools, `pip download`, `git`, and `git` again when the command is built.
const STARTERS: [&str; 4] = [
    "crates/analysis/src/server/process.rs",
    "crates/corpus/src/package.rs",
    "crates/corpus/src/source/git.rs",
    "crates/train/build.rs",
];

#[test]
fn only_the_named_files_start_processes() {
    let starts = |text: &str| ["process::Command", "process::{", "Command::new"].iter().any(|word| text.contains(word));
    let is_test = |path: &str| path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs");
    let code = |text: &str| text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
    let found: Vec<String> = tracked(&[".rs"])
        .into_iter()
        .filter(|(path, text)| !is_test(path) && starts(&code(text)))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(found, STARTERS);
}

#[test]
fn inference_holds_no_optimizer_and_no_autodiff() {
    for (path, text) in tracked(&[".rs"]).iter().filter(|(path, _)| path.starts_with("crates/inference/")) {
        for word in ["burn::optim", "backward()", "autodiff()", "GradientsParams"] {
            assert!(!text.contains(word), "{path} mentions {word}");
        }
    }
}

#[test]
fn only_types_at_a_boundary_are_serializable() {
    for crate_name in ["repo", "analysis", "inference"] {
        assert!(!dependencies()[crate_name].contains("serde"), "`{crate_name}` owns no stored format");
    }
}

#[test]
fn the_top_level_holds_what_the_readme_says() {
    let files = output("git", &["ls-files", "--cached", "--others", "--exclude-standard"]);
    let top: BTreeSet<&str> = files.lines().map(|path| path.split('/').next().unwrap_or(path)).collect();
    for name in top {
        assert!(name.starts_with('.') || TOP_LEVEL.contains(&name), "`{name}` does not belong at the top level");
    }
}

#[test]
fn files_are_short_and_say_what_they_are() {
    for (path, text) in tracked(&[".rs"]).iter().filter(|(path, _)| !path.starts_with("tests/fixtures/")) {
        assert!(text.lines().count() <= 500, "{path} has {} lines: look for the second idea", text.lines().count());
        assert!(text.starts_with("//!"), "{path} does not begin with a `//!` sentence");
    }
}

#[test]
fn no_module_is_named_after_nothing() {
    for (path, _) in tracked(&[".rs"]) {
        let stem = Path::new(&path).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        assert!(!["common", "utils", "util", "core", "types", "helpers", "misc"].contains(&stem.as_str()), "{path}");
    }
}

#[test]
fn nothing_is_left_for_later() {
    // Spelled in pieces, so that this file passes its own test.
    let words = [["TO", "DO"], ["FIX", "ME"], ["XX", "X"], ["to", "do!("], ["unimple", "mented!("], ["#[ig", "nore"]];
    for (path, text) in tracked(&[".rs", ".toml", ".md", ".py", ".sh"]) {
        if path.starts_with("tests/fixtures/") {
            continue;
        }
        for word in words.iter().map(|parts| parts.concat()) {
            assert!(!text.contains(&word), "{path} contains {word}");
        }
    }
}

#[test]
fn tests_are_named_as_sentences() {
    for (path, text) in tracked(&[".rs"]) {
        let prefix = ["fn te", "st_"].concat();
        assert!(!text.contains(&prefix), "{path} has a test named test_*");
    }
}

#[test]
fn no_file_names_a_machine() {
    let places = [["/ho", "me/"], ["/ro", "ot/"], ["/wo", "rk/"], ["/tm", "p/"]].map(|parts| parts.concat());
    for (path, text) in tracked(&[".rs", ".toml", ".md", ".py", ".sh", ".yml"]) {
        for place in &places {
            assert!(!text.contains(place), "{path} names {place}");
        }
    }
}

#[test]
fn every_dependency_is_declared_once_for_the_workspace() {
    for (path, text) in tracked(&["Cargo.toml"]).iter().filter(|(path, _)| path != "Cargo.toml") {
        let manifest: toml::Table = text.parse().expect("a manifest is TOML");
        for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(table) = manifest.get(section).and_then(toml::Value::as_table) else { continue };
            for (name, value) in table {
                let inherited = value.get("workspace").and_then(toml::Value::as_bool) == Some(true);
                assert!(inherited, "{path}: `{name}` does not come from [workspace.dependencies]");
            }
        }
    }
}

/// The file that maps files into memory.
const UNSAFE: [&str; 1] = ["crates/models/src/weights/map.rs"];

#[test]
fn one_file_is_unsafe() {
    // Spelled in pieces, so that this file passes its own test.
    let word = ["un", "safe"].concat();
    let words = [format!("{word} {{"), format!("{word} fn"), format!("{word} impl"), format!("{word}_code, ")];
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    let found: Vec<String> = tracked(&[".rs"])
        .into_iter()
        .filter(|(path, text)| {
            path.starts_with("crates/")
                && text.lines().filter(is_code).any(|line| words.iter().any(|word| line.contains(word)))
        })
        .map(|(path, _)| path)
        .collect();
    assert_eq!(found, UNSAFE);
}
