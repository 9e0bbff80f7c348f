//! Python in process: type inference by ty's crates, with names, placeholders and call sites of our own.

mod arguments;
mod callers;
mod checks;
mod completions;
mod database;
mod definitions;
mod headers;
mod members;
mod names;
mod roots;
mod scan;
mod spot;
mod types;
mod view;

use repo::{Repository, SourceFile};

use crate::caret::Caret;
use crate::error::Result;
use crate::intelligence::{CodeIntelligence, Definition, Header, Suggestion, TypeDefinition};
use crate::{Diagnostic, diagnostics};
use database::{Database, Edit};
use view::View;

/// The stack on which ty works: it follows syntax, imports and types by recursion.
const STACK_BYTES: usize = 32 << 20;

/// What an IDE knows about the Python files of one repository.
pub struct PythonEngine {
    database: Database,
    edit: Option<Edit>,
    files: std::collections::BTreeMap<String, String>,
}

impl PythonEngine {
    /// Takes the Python files of `repository`; nothing is inferred until the first question.
    #[must_use]
    pub fn new(repository: &Repository) -> Self {
        let text_of = |file: &SourceFile| (file.path.clone(), file.text.clone());
        let files = repository.files().iter().map(text_of).collect();
        Self { database: Database::new(repository, |file| &file.text), edit: None, files }
    }

    /// Lets `question` look at the file of the caret with the caret's text; `None` if ty cannot take the text.
    ///
    /// With `fill`, a placeholder stands at a caret that touches no identifier.
    fn ask<R: Send>(
        &mut self,
        caret: &Caret<'_>,
        fill: bool,
        question: impl FnOnce(&View<'_>) -> R + Send,
    ) -> Option<R> {
        let text = if fill { view::filled(caret) } else { caret.text.as_ref().into() };
        if self.files.get(caret.path).is_some_and(|known| *known == *text) {
            self.database.restore(self.edit.take());
        } else {
            self.edit = self.database.edit(self.edit.take(), caret.path, &text);
            self.edit.as_ref()?;
        }
        let (database, text) = (&mut self.database, &*text);
        let work = move || {
            let database: &Database = database;
            Some(question(&View::new(database, caret.path, text, caret.byte)?))
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
            thread.ok()?.join().ok().flatten()
        })
    }
}

impl CodeIntelligence for PythonEngine {
    fn name(&self) -> &'static str {
        "native"
    }

    fn completions(&mut self, caret: &Caret<'_>) -> Result<Vec<Suggestion>> {
        let mut suggestions = self.ask(caret, true, completions::completions).unwrap_or_default();
        suggestions.retain(|suggestion| suggestion.name.starts_with(caret.prefix()));
        Ok(suggestions)
    }

    fn definitions(&mut self, caret: &Caret<'_>) -> Result<Vec<Definition>> {
        Ok(self.ask(caret, false, definitions::definitions).unwrap_or_default())
    }

    fn inferred_type(&mut self, caret: &Caret<'_>) -> Result<Option<String>> {
        Ok(self.ask(caret, false, types::inferred_type).flatten())
    }

    fn expected_type(&mut self, caret: &Caret<'_>) -> Result<Option<String>> {
        Ok(self.ask(caret, true, types::expected_type).flatten())
    }

    fn reachable_types(&mut self, caret: &Caret<'_>) -> Result<Vec<TypeDefinition>> {
        Ok(self.ask(caret, true, types::reachable_types).unwrap_or_default())
    }

    fn headers(&mut self, caret: &Caret<'_>) -> Result<Vec<Header>> {
        Ok(self.ask(caret, true, headers::headers).unwrap_or_default())
    }

    fn diagnostics(&mut self, path: &str, text: &str) -> Result<Vec<Diagnostic>> {
        let caret = Caret::new(path, text.into(), 0);
        let found = self.ask(&caret, false, checks::diagnostics);
        Ok(found.unwrap_or_else(|| diagnostics::syntax(text, repo::Language::Python)))
    }
}
