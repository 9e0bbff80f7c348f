//! One file as ty sees it, and the place asked about.

use std::borrow::Cow;
use std::ops::Range;

use ruff_db::parsed::{ParsedModuleRef, parsed_module};
use ruff_python_ast::find_node::{CoveringNode, covering_node};
use ruff_python_ast::{AnyNodeRef, ModModule};
use ruff_text_size::{TextRange, TextSize};
use ty_python_core::ProgramFile;
use ty_python_semantic::{Db, SemanticModel};

use super::database::{Database, ROOT};
use super::scan;
use crate::caret::Caret;

/// The name that stands where a text has none yet. It is never suggested.
pub(super) const PLACEHOLDER: &str = "retort_placeholder__";

/// A file with its text, and a byte of it.
pub(super) struct View<'db> {
    /// Everything ty knows.
    pub(super) db: &'db Database,
    /// The file asked about.
    pub(super) file: ProgramFile<'db>,
    /// Its syntax.
    pub(super) module: ParsedModuleRef,
    /// Its text, perhaps with a placeholder at the caret.
    pub(super) text: &'db str,
    /// The caret.
    pub(super) byte: usize,
}

impl<'db> View<'db> {
    /// Looks at the file at `path`, whose text is `text` by now.
    pub(super) fn new(db: &'db Database, path: &str, text: &'db str, byte: usize) -> Option<Self> {
        let file = db.program_file(db.file(path)?);
        let module = parsed_module(db, file.python_file(db)).load(db);
        Some(Self { db, file, module, text, byte })
    }

    /// Returns the bytes of the identifier at the caret, which may be the placeholder.
    pub(super) fn word(&self) -> Option<Range<usize>> {
        Caret::new("", Cow::Borrowed(self.text), self.byte).word()
    }

    /// Returns ty's interface to the file.
    pub(super) fn model(&self) -> SemanticModel<'db> {
        SemanticModel::new(self.db, self.file)
    }

    /// Returns the syntax of the file.
    pub(super) fn syntax(&self) -> &ModModule {
        self.module.syntax()
    }

    /// Returns the smallest node around the bytes `start..end`, with the nodes around it.
    pub(super) fn covering(&self, start: usize, end: usize) -> Option<CoveringNode<'_>> {
        let size = |byte: usize| TextSize::try_from(byte).ok();
        let range = TextRange::new(size(start)?, size(end)?);
        let root = AnyNodeRef::from(self.syntax());
        let whole = ruff_text_size::Ranged::range(&root);
        whole.contains_range(range).then(|| covering_node(root, range))
    }

    /// Returns the path relative to the repository's root of a file that lies in it.
    pub(super) fn repository_path(db: &'db Database, file: ruff_db::files::File) -> Option<&'db str> {
        let path = file.path(db).as_system_path()?.as_str();
        path.strip_prefix(ROOT)?.strip_prefix('/')
    }
}

/// Returns the caret's text with a placeholder at the caret, unless it touches an identifier.
pub(super) fn filled<'text>(caret: &'text Caret<'_>) -> Cow<'text, str> {
    if caret.word().is_some_and(|word| is_identifier(&caret.text[word])) {
        return Cow::Borrowed(&caret.text);
    }
    let (before, after) = caret.text.split_at(caret.byte);
    // A keyword behind the caret stays one.
    let space = if after.starts_with(repo::identifiers::is_word) { " " } else { "" };
    let closers = scan::closers(&caret.text, caret.byte);
    Cow::Owned([before, PLACEHOLDER, space, &closers, after].concat())
}

fn is_identifier(word: &str) -> bool {
    !word.starts_with(|c: char| c.is_numeric()) && repo::Language::Python.keywords().binary_search(&word).is_err()
}
