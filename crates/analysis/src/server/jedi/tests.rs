//! Tests of what is asked and of how answers are read, without a process; `--features oracles` asks the real Jedi.

use super::*;
use repo::SourceFile;
use std::borrow::Cow;

fn worker() -> JediWorker {
    let file = |path: &str, text: &str| SourceFile { path: path.into(), language: Language::Python, text: text.into() };
    let repository = Repository::new("r", vec![file("a.py", "é = 1\n"), file("b.py", "def f(): pass\n")]);
    let options = JediOptions { python: "no-python".into(), placeholder: Placeholder::None, limits: Limits::default() };
    JediWorker::new(&repository, &options).unwrap()
}

fn caret(text: &str) -> Caret<'_> {
    Caret::new("a.py", Cow::Borrowed(text), 0)
}

#[test]
fn places_are_found_in_the_text_that_was_asked_about() {
    let worker = worker();
    let found = |path: &str, line: u64, column: u64, name: &str| {
        let found = json!({"name": name, "path": path, "module": "m", "line": line, "column": column});
        worker.definition(&found, &caret("\né = 2; ü = 1\n")).map(|definition| definition.place)
    };
    let place = |path: &str, span| Some(Place::Repository { path: path.into(), span });
    assert_eq!(found("a.py", 2, 7, "ü"), place("a.py", 9..11));
    assert_eq!(found("b.py", 1, 4, "f"), place("b.py", 4..5));
    assert_eq!(found("b.py", 1, 4, "other"), place("b.py", 4..4));
    assert_eq!(found("gone.py", 1, 4, "f"), None);
    let module = json!({"name": "b", "path": "b.py", "module": "b", "line": null, "column": 0});
    let module = worker.definition(&module, &caret(""));
    assert_eq!(module.map(|definition| definition.place), place("b.py", 0..0));
    let outside = json!({"name": "len", "path": null, "module": "builtins", "line": 9, "column": 4});
    let outside = worker.definition(&outside, &caret("")).unwrap();
    assert_eq!(outside.place, Place::Outside { module: "builtins".into() });
    assert_eq!(worker.definition(&json!([]), &caret("")), None);
}

#[test]
fn a_missing_interpreter_is_named_and_counted() {
    let mut worker = worker();
    let error = worker.completions(&caret("x")).unwrap_err();
    assert!(error.to_string().starts_with("cannot start `no-python -s -B "), "{error}");
    assert_eq!(worker.expected_type(&caret("")).unwrap_err().to_string(), "jedi cannot tell expected types");
    let expected = "1 questions, 0 restarts, 0 incomplete, 2 failures (start 1, unsupported 1)";
    assert_eq!(worker.usage().to_string(), expected);
}
