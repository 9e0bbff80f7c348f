//! Benchmarks as a user checks, exports and evaluates them: the smoke dataset in the formats of others.

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use eval::report::read_predictions;
use train::cli::{Cli, run};

use crate::place::Place;

const SMOKE: &str = "experiments/smoke.toml";

fn train(arguments: &[&str]) -> (anyhow::Result<ExitCode>, String) {
    let mut out = Vec::new();
    let cli = Cli::try_parse_from(["train"].iter().chain(arguments)).unwrap();
    let result = run(cli, &mut out);
    (result, String::from_utf8(out).unwrap())
}

/// Exports the smoke samples as `tasks.jsonl` with their `repositories`.
fn export(place: &Place, format: &str) {
    let (data, tasks, repositories) = paths(place);
    let arguments = ["benchmark", "export", "--dataset", &data, "--format", format, "--output", &tasks];
    let (result, text) = train(&[arguments.as_slice(), &["--repositories", &repositories]].concat());
    assert!(result.is_ok() && text.contains(" tasks in "), "{result:?} {text}");
}

fn paths(place: &Place) -> (String, String, String) {
    let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
    (path("data"), path("tasks.jsonl"), path("repositories"))
}

#[test]
fn what_is_exported_passes_the_check_until_it_is_damaged() {
    let place = Place::new(SMOKE);
    place.finish(&["evaluation.arms=['none']"]);
    let (_, tasks, repositories) = paths(&place);
    for (format, metric) in [("crosscodeeval", "exact_match_rlcoder_github"), ("repoeval", "exact_match_repoeval")] {
        export(&place, format);
        let check = ["benchmark", "check", &tasks, "--repositories", &repositories, "--metric", metric];
        let (result, text) = train(&check);
        assert!(result.is_ok(), "{result:?} {text}");
        assert!(text.starts_with(format) && text.trim_end().ends_with("0 problems"), "{text}");
        let lines = std::fs::read_to_string(&tasks).unwrap();
        std::fs::write(&tasks, lines.replacen("def ", "class ", 1).replacen("class Library", "class Other", 1))
            .unwrap();
        let (result, text) = train(&[check.as_slice(), &["--json"]].concat());
        assert!(result.unwrap_err().to_string().contains("have a problem"));
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(report["problems"][0]["kind"], "the text differs from the file");
    }
}

#[test]
fn a_benchmark_stands_for_the_test_samples() {
    let place = Place::new(SMOKE);
    place.finish(&["evaluation.arms=['none']"]);
    export(&place, "crosscodeeval");
    give_context(Path::new(&paths(&place).1));
    let (_, tasks, repositories) = paths(&place);
    let file = format!("evaluation.benchmark.file={tasks}");
    let folder = format!("evaluation.benchmark.repositories={repositories}");
    place.finish(&[&file, &folder, "evaluation.arms=['none', 'given', 'bm25']"]);
    let predictions = read_predictions(&place.path("run/predictions.jsonl")).unwrap();
    let n = std::fs::read_to_string(&tasks).unwrap().lines().count();
    assert_eq!(predictions.len(), 3 * n);
    let shown =
        |arm: &str| predictions.iter().filter(|p| p.arm == arm).filter(|p| p.context.iter().any(|c| c.shown)).count();
    assert_eq!((shown("none"), shown("given")), (0, n));
    assert!(shown("bm25") > 0);
    let identity = place.report()["identity"]["benchmark"].as_str().unwrap().to_owned();
    assert!(
        identity.starts_with("tasks.jsonl (") && identity.ends_with(&format!("crosscodeeval, {n} tasks")),
        "{identity}"
    );
}

/// Adds the cross-file context that a published file brings.
fn give_context(path: &Path) {
    let lines = std::fs::read_to_string(path).unwrap();
    let with_context = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        let chunk =
            serde_json::json!({"retrieved_chunk": "def other():\n    pass", "filename": "other.py", "score": 1.0});
        line["crossfile_context"] = serde_json::json!({"text": "# other.py", "list": [chunk]});
        format!("{line}\n")
    };
    std::fs::write(path, lines.lines().map(with_context).collect::<String>()).unwrap();
}
