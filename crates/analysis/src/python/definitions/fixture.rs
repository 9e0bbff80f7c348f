//! Small repositories with a caret.

use std::borrow::Cow;

use repo::{Language, Repository, SourceFile};

use crate::caret::Caret;
use crate::python::PythonEngine;

/// Marks the caret.
const CARET: &str = "$0";

/// Asks about the place of `$0` in the file that has it, in a repository of `(path, text)`.
pub(in crate::python) fn ask<R>(
    files: &[(&str, &str)],
    question: impl FnOnce(&mut PythonEngine, &Caret<'_>) -> R,
) -> R {
    let source = |(path, text): &(&str, &str)| SourceFile {
        path: (*path).into(),
        language: Language::Python,
        text: text.replace(CARET, ""),
    };
    let mut engine = PythonEngine::new(&Repository::new("fixture", files.iter().map(source).collect()));
    let (path, marked) = files.iter().find(|(_, text)| text.contains(CARET)).unwrap();
    let byte = marked.find(CARET).unwrap();
    question(&mut engine, &Caret::new(path, Cow::Owned(marked.replace(CARET, "")), byte))
}
