//! Tests of the verb from its command line.

use std::path::Path;

use clap::Parser;
use expect_test::expect;

use super::*;
use crate::cli::{Cli, run};

fn output(arguments: &[&str]) -> anyhow::Result<String> {
    let cli = Cli::try_parse_from(["train", "analyze", "triggers"].iter().chain(arguments))?;
    let mut out = Vec::new();
    run(cli, &mut out)?;
    Ok(String::from_utf8(out)?)
}

fn write(directory: &Path, path: &str, text: &str) -> String {
    let path = directory.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path.parent().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn functions_of_both_languages_are_marked_and_stored_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let python = "def scale(values, factor):\n    \"\"\"Scales all the values.\"\"\"\n    return [value * factor for value in values]\n";
    let java = "class A {\n    int total;\n    /** Adds to the total. */\n    void add(int more) {\n        total = total + more;\n    }\n}\n";
    let one = write(directory.path(), "one/a.py", python);
    let two = write(directory.path(), "two/A.java", java);
    let table = directory.path().join("functions.parquet");
    let table_argument = table.to_str().unwrap();
    let text =
        output(&["--repo", &one, "--repo", &two, "--output", table_argument, "--threads", "2", "--json"]).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&summary["n_functions"], &summary["n_kept"]), (&2.into(), &2.into()), "{text}");
    let rows = corpus::table::read_functions(&table).unwrap();
    let places: Vec<_> =
        rows.iter().map(|row| (row.repository.as_str(), row.name.as_str(), row.class.as_str())).collect();
    assert_eq!(places, [("one", "scale", ""), ("two", "add", "A")]);
    assert!(rows[0].marked_body.contains("<COMP>factor"), "{}", rows[0].marked_body);
    assert!(rows[1].marked_body.contains("<COMP>total + <COMP>more"), "{}", rows[1].marked_body);
}

#[test]
fn switches_of_the_paper_do_not_go_with_the_released_rule() {
    let error = output(&["--repo", ".", "--output", "x", "--eligibility", "released", "--mark-self"]).unwrap_err();
    expect!["--mark-self and --skip-builtins change the eligibility of the paper: the released code never marks `self` and built-in names"].assert_eq(&error.to_string());
    assert!(output(&["--output", "x"]).is_err());
    assert!(output(&["--repo", ".", "--manifest", "m.toml", "--output", "x"]).is_err());
}

#[test]
fn directories_of_one_name_are_told_apart_by_their_paths() {
    let names = |paths: &[&str]| -> Vec<_> {
        let manifest = manifest_of(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        manifest.sources.into_iter().map(|source| source.name).collect()
    };
    assert_eq!(names(&["a/src", "b", "c/src"]), [Some("a/src".into()), None, Some("c/src".into())]);
}
