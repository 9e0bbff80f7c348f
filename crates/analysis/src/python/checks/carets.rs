//! Every question survives every caret.

use proptest::prelude::*;
use repo::Repository;

use crate::caret::Caret;
use crate::intelligence::CodeIntelligence;
use crate::python::database::Database;
use crate::python::view::{self, View};
use crate::python::{PythonEngine, Texts, checks, completions, definitions, headers, inference};

const CODE: &str = concat!(
    "(x|y|self|int|é|def f|class C|\\(|\\)|\\[|\\]|\\{|\\}|:|,|=|==|\\.|@|->|\\*|\\*\\*|\n|\n    |\n        |\t|import |from |",
    " as |lambda |for |in |if | else |while |try|except |with |match |case |type |return |yield |raise |await |async |",
    "global |nonlocal |del |1|'|\"|f'|'''|#|;|:=|\\.\\.\\.|\\\\|!|super\\(\\)| ){0,24}"
);

/// Asks everything about one place without the engine's guard, so that a panic fails the test.
fn ask_all(before: &str, after: &str) {
    let text = [before, after].concat();
    let (mut database, mut edit) = (Database::new(&Texts::new()), None);
    let caret = Caret::new("a.py", text.as_str().into(), before.len());
    for text in [caret.text.clone(), view::filled(&caret)] {
        edit = database.edit(edit.take(), "a.py", &text);
        let view = View::new(&database, "a.py", &text, caret.byte).unwrap();
        completions::completions(&view);
        definitions::definitions(&view);
        inference::inferred_type(&view);
        inference::expected_type(&view);
        inference::reachable_types(&view);
        headers::headers(&view);
        for found in checks::diagnostics(&view) {
            assert!(text.get(found.span.clone()).is_some(), "{found:?} in {text:?}");
        }
    }
}

#[test]
fn carets_at_the_ends_are_survived() {
    for text in ["", "\u{feff}", "\0", "é", "x", "\u{feff}x.y", "'", "\"\"\"x", "x\r", "def f(x: 'y"] {
        ask_all(text, "");
        ask_all("", text);
    }
}

#[test]
fn answers_do_not_depend_on_earlier_carets() {
    let source = |path: &str, text: &str| repo::SourceFile {
        path: path.into(),
        language: repo::Language::Python,
        text: text.into(),
    };
    let files = vec![source("a.py", "def f(x: int) -> str: ...\n"), source("b.py", "from a import f\ny = f(1)\n")];
    let repository = Repository::new("fixture", files);
    let answer = |engine: &mut PythonEngine, path: &str, text: &str, byte: usize| {
        let caret = Caret::new(path, text.into(), byte);
        let found = (engine.definitions(&caret).unwrap(), engine.inferred_type(&caret).unwrap());
        let wanted = (engine.expected_type(&caret).unwrap(), engine.reachable_types(&caret).unwrap());
        (found, wanted, engine.headers(&caret).unwrap(), engine.diagnostics(path, text).unwrap())
    };
    let questions = [
        ("b.py", "from a import f\ny = f(1)\n", 16),
        ("a.py", "class C: ...\ndef f(x: C) -> C: ...\n", 17),
        ("b.py", "from a import f\ny = f(\n", 22),
        ("new.py", "from b import y\ny", 17),
        ("b.py", "from a import f\ny = f(1)\n", 16),
    ];
    let mut engine = PythonEngine::new(&repository);
    for (path, text, byte) in questions {
        let fresh = answer(&mut PythonEngine::new(&repository), path, text, byte);
        assert_eq!(answer(&mut engine, path, text, byte), fresh, "{path} {byte}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_caret_of_any_text_is_survived(before in CODE, after in CODE) {
        ask_all(&before, &after);
    }
}
