//! Reading, exporting and checking, on a repository of one file.

use std::path::PathBuf;

use expect_test::expect;
use serde_json::json;

use super::check::check;
use super::export::write_tasks;
use super::*;

const SHOP: &str = "import os\n\n\ndef total(prices):\n    amount = sum(prices)\n    return amount\n";

/// A folder with the repository `shop` and a benchmark's file of these lines.
fn place(lines: &[serde_json::Value]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("shop/src")).unwrap();
    std::fs::write(folder.path().join("shop/src/cart.py"), SHOP).unwrap();
    let path = folder.path().join("line_level.jsonl");
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    std::fs::write(&path, lines.join("\n")).unwrap();
    (folder, path)
}

fn crosscodeeval(target: &str) -> serde_json::Value {
    let (prompt, right) = SHOP.split_once("sum(prices)").unwrap();
    json!({
        "prompt": prompt, "groundtruth": target, "right_context": right,
        "metadata": {
            "task_id": format!("project_cc_python/{}", target.len()), "repository": "shop", "file": "src/cart.py",
            "context_start_lineno": 0, "groundtruth_start_lineno": 4, "right_context_start_lineno": 5,
        },
        "crossfile_context": {
            "text": "# the below code is from src/prices.py\n",
            "list": [{"retrieved_chunk": "def sum(a):", "filename": "src/prices.py", "score": 3.5}],
        },
    })
}

fn repoeval(target: &str) -> serde_json::Value {
    let prompt: Vec<&str> = SHOP.lines().skip(3).take(1).collect();
    json!({
        "prompt": prompt.join("\n"),
        "metadata": {
            "task_id": "shop/0", "ground_truth": target, "fpath_tuple": ["shop", "src", "cart.py"],
            "context_start_lineno": 3, "line_no": 4,
        },
    })
}

fn kinds(path: &Path, format: Format, folder: &Path) -> Vec<String> {
    let findings = check(&read(path, format).unwrap(), Some(folder), &[]);
    findings.by_kind().keys().map(|kind| (*kind).to_owned()).collect()
}

#[test]
fn crosscodeeval_is_the_file() {
    let (folder, path) = place(&[crosscodeeval("sum(prices)")]);
    assert_eq!(Format::of(&path).unwrap(), Format::CrossCodeEval);
    let tasks = read(&path, Format::CrossCodeEval).unwrap();
    let given = tasks[0].given.as_ref().unwrap();
    assert_eq!((given.chunks[0].path.as_str(), given.chunks[0].score), ("src/prices.py", 3.5));
    assert_eq!(kinds(&path, Format::CrossCodeEval, folder.path()), Vec::<String>::new());
    std::fs::write(folder.path().join("shop/src/cart.py"), SHOP.replace('\n', "\r\n")).unwrap();
    assert_eq!(kinds(&path, Format::CrossCodeEval, folder.path()), Vec::<String>::new());
}

#[test]
fn repoeval_is_the_lines_before_and_in_the_hole() {
    let (folder, path) = place(&[repoeval("    amount = sum(prices)")]);
    assert_eq!(Format::of(&path).unwrap(), Format::RepoEval);
    let tasks = read(&path, Format::RepoEval).unwrap();
    assert_eq!((tasks[0].kind.as_str(), tasks[0].left_context.as_str()), ("line", "def total(prices):\n"));
    assert_eq!(kinds(&path, Format::RepoEval, folder.path()), Vec::<String>::new());
    assert_eq!(repoeval::kind("random_span_api_level_completion_2k_context_codex.test.jsonl"), "api_call");
    assert_eq!(repoeval::kind("function_level_completion_2k.jsonl"), "function");
}

#[test]
fn what_differs_is_told_with_both_sides() {
    let (folder, path) = place(&[crosscodeeval("max(prices)"), crosscodeeval("sum( prices)")]);
    let findings = check(&read(&path, Format::CrossCodeEval).unwrap(), Some(folder.path()), &[]);
    let told: Vec<String> = findings.problems.iter().map(|p| format!("{}: {}\n", p.kind, p.detail)).collect();
    expect![[r#"
        the text differs from the file: after 4 lines the task has "max(prices)\n    return amount\n", the file "sum(prices)\n    return amount\n"
        the text differs from the file: after 4 lines the task has " prices)\n    return amount\n", the file "prices)\n    return amount\n"
    "#]]
    .assert_eq(&told.concat());
    let (folder, path) = place(&[repoeval("    amount = sum(pri")]);
    assert_eq!(kinds(&path, Format::RepoEval, folder.path()), ["the target ends within a line of the file"]);
    let (folder, path) = place(&[repoeval("\tamount = sum(prices)")]);
    assert_eq!(kinds(&path, Format::RepoEval, folder.path()), ["the text differs from the file in white space"]);
    std::fs::remove_file(folder.path().join("shop/src/cart.py")).unwrap();
    assert_eq!(kinds(&path, Format::RepoEval, folder.path()), ["the file is not there"]);
}

#[test]
fn a_target_that_a_metric_cannot_reward_is_found() {
    let (folder, path) = place(&[repoeval("    amount = sum(prices)\n    return amount")]);
    let found = kinds(&path, Format::RepoEval, folder.path());
    assert!(found.contains(&"the target itself misses full marks on exact_match_cceval".to_owned()), "{found:?}");
    let tasks = read(&path, Format::RepoEval).unwrap();
    let only = ["exact_match_repoeval".to_owned(), "edit_similarity_repoeval".to_owned()];
    assert_eq!(check(&tasks, Some(folder.path()), &only).problems, []);
    assert_eq!(check(&tasks, None, &only).n_compared, 0);
}

#[test]
fn every_error_names_its_line_and_field() {
    let without = |pointer: &str, key: &str| {
        let mut line = crosscodeeval("sum(prices)");
        line.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(key).unwrap();
        line
    };
    let with = |key: &str, value: serde_json::Value| {
        let mut line = crosscodeeval("sum(prices)");
        line["metadata"][key] = value;
        line
    };
    let good = crosscodeeval("sum(prices)");
    let cases = [
        (vec![good.clone(), without("", "groundtruth")], ":2: missing field `groundtruth`"),
        (vec![without("/metadata", "file")], ":1: missing field `file`"),
        (vec![with("file", json!("../x.py"))], ":1: `metadata.file` must be a path within a folder, not \"../x.py\""),
        (vec![with("file", json!("/etc/x.py"))], "must be a path within a folder"),
        (vec![with("repository", json!(""))], "`metadata.repository` must be a path within a folder"),
        (vec![with("file", json!("notes.txt"))], "must be a Python or Java file"),
        (vec![with("file", json!(3))], "invalid type: integer"),
        (vec![with("context_start_lineno", json!(-1))], "invalid value"),
        (vec![good.clone(), good.clone()], ":2: the task `project_cc_python/11` is there already"),
        (vec![json!([])], "invalid"),
        (vec![], ":1: the file has no task"),
    ];
    for (lines, expected) in cases {
        let (_folder, path) = place(&lines);
        let message = read(&path, Format::CrossCodeEval).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let (_folder, path) = place(&[good]);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, [b"\xef\xbb\xbf".as_slice(), &bytes, b"\r\n\n"].concat()).unwrap();
    assert_eq!(read(&path, Format::CrossCodeEval).unwrap().len(), 1);
    std::fs::write(&path, [bytes.as_slice(), b"\n{\"prompt\": \"\xff\"}\n"].concat()).unwrap();
    assert!(read(&path, Format::CrossCodeEval).unwrap_err().to_string().ends_with(":2: the line is not UTF-8"));
}

#[test]
fn hostile_repoeval_lines_are_refused() {
    let with = |key: &str, value: serde_json::Value| {
        let mut line = repoeval("    amount = sum(prices)");
        line["metadata"][key] = value;
        line
    };
    for (line, expected) in [
        (with("fpath_tuple", json!([])), "must name a repository and a file"),
        (with("fpath_tuple", json!(["shop"])), "must name a repository and a file"),
        (with("fpath_tuple", json!(["..", "a.py"])), "must be a path within a folder"),
        (with("fpath_tuple", json!(["shop", "..", "a.py"])), "must be a path within a folder"),
        (with("ground_truth", json!(" \n")), "`metadata.ground_truth` must not be blank"),
        (with("line_no", json!(2)), "must not be behind"),
    ] {
        let (_folder, path) = place(&[line]);
        let message = read(&path, Format::RepoEval).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn what_is_exported_reads_back() {
    let task = |left: &str, target: &str, right: &str| BenchmarkTask {
        id: format!("line:shop/src/cart.py:{}", left.len()),
        repository: "shop".into(),
        path: "src/cart.py".into(),
        language: Language::Python,
        kind: "line".into(),
        left_context: left.into(),
        target: target.into(),
        right_context: Some(right.into()),
        first_line: 0,
        given: None,
    };
    let tasks = [
        task("", "import os", "\nx\n"),
        task("import os\n\n", "def f():", "\n    pass\n"),
        task("def f():\n    ", "return 'ä'", ""),
        task("def f():\n    ret", "urn 1", "\n"),
        task("x = ", "f(1", ")\n"),
    ];
    let (_folder, path) = place(&[]);
    assert_eq!(write_tasks(&path, Format::CrossCodeEval, &tasks).unwrap(), 0);
    assert_eq!(read(&path, Format::CrossCodeEval).unwrap(), tasks);
    assert_eq!(write_tasks(&path, Format::RepoEval, &tasks).unwrap(), 2);
    let again = read(&path, Format::RepoEval).unwrap();
    for (again, task) in again.iter().zip(&tasks) {
        assert_eq!(
            [&again.left_context, &again.target].map(String::as_str).concat(),
            task.left_context.clone() + &task.target
        );
    }
    assert!(write_tasks(&path, Format::Samples, &tasks).is_err());
}
