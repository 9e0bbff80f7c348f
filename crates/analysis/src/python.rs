//! Python in process: type inference by ty's crates, with names, placeholders and call sites of our own.

mod arguments;
mod callers;
mod checks;
mod completions;
mod database;
mod definitions;
mod guard;
mod headers;
mod inference;
mod lexical;
mod members;
mod names;
mod roots;
mod scan;
mod spot;
mod view;
mod worker;

use std::collections::BTreeMap;
use std::sync::Arc;

use repo::{Language, Repository};

use crate::caret::Caret;
use crate::error::Result;
use crate::intelligence::{CodeIntelligence, Definition, Header, Suggestion, TypeDefinition};
use crate::{Diagnostic, diagnostics};
use view::View;
use worker::Worker;

pub use guard::Limit;

/// Texts by path.
type Texts = BTreeMap<String, Arc<str>>;

/// What an IDE knows about the Python files of one repository.
///
/// No text makes it fail: one beyond the [limits](Limit) is answered by its words, and
/// [`limits_met`](Self::limits_met) says so.
pub struct PythonEngine {
    worker: Worker,
    texts: Arc<Texts>,
    limits: BTreeMap<String, Limit>,
}

impl PythonEngine {
    /// Takes the Python files of `repository`; nothing is inferred until the first question.
    #[must_use]
    pub fn new(repository: &Repository) -> Self {
        let python = || repository.files().iter().filter(|file| file.language == Language::Python);
        let limits: BTreeMap<String, Limit> =
            python().filter_map(|file| Some((file.path.clone(), Limit::of(&file.text)?))).collect();
        let text_of = |path: &str, text: &str| if limits.contains_key(path) { "".into() } else { text.into() };
        let texts = python().map(|file| (file.path.clone(), text_of(&file.path, &file.text)));
        let texts = Arc::new(texts.collect());
        Self { worker: Worker::start(&texts), texts, limits }
    }

    /// Returns the files that were left to the lexical layer so far, and why.
    #[must_use]
    pub fn limits_met(&self) -> &BTreeMap<String, Limit> {
        &self.limits
    }

    /// Lets `question` look at the file of the caret with the caret's text; `None` if ty cannot take the text.
    ///
    /// With `fill`, a placeholder stands at a caret that touches no identifier.
    fn ask<R: Send + 'static>(
        &mut self,
        caret: &Caret<'_>,
        fill: bool,
        question: impl FnOnce(&View<'_>) -> R + Send + 'static,
    ) -> Option<R> {
        let text = if fill { view::filled(caret) } else { caret.text.as_ref().into() };
        let known = self.texts.get(caret.path).filter(|known| ***known == *text);
        let limit = if known.is_some() { None } else { Limit::of(&text) };
        let answer = if limit.is_none() {
            let shared = known.map_or_else(|| Arc::from(&*text), Arc::clone);
            self.worker.ask(caret.path, &shared, known.is_none(), caret.byte, question)
        } else {
            None
        };
        if answer.is_none() {
            self.limits.insert(caret.path.to_owned(), limit.unwrap_or(Limit::Failure));
        }
        answer
    }
}

impl CodeIntelligence for PythonEngine {
    fn name(&self) -> &'static str {
        "native"
    }

    fn remarks(&self) -> Vec<String> {
        let remark = |(path, limit): (&String, &Limit)| format!("{path} was read by its words alone: {}", limit.name());
        self.limits.iter().map(remark).collect()
    }

    fn completions(&mut self, caret: &Caret<'_>) -> Result<Vec<Suggestion>> {
        let prefix = caret.prefix();
        if prefix.starts_with(char::is_numeric) {
            return Ok(Vec::new());
        }
        let answer = self.ask(caret, true, completions::completions);
        let mut suggestions = answer.unwrap_or_else(|| lexical::completions(caret));
        suggestions.retain(|suggestion| suggestion.name.starts_with(prefix));
        Ok(suggestions)
    }

    fn definitions(&mut self, caret: &Caret<'_>) -> Result<Vec<Definition>> {
        Ok(self.ask(caret, false, definitions::definitions).unwrap_or_default())
    }

    fn inferred_type(&mut self, caret: &Caret<'_>) -> Result<Option<String>> {
        Ok(self.ask(caret, false, inference::inferred_type).flatten())
    }

    fn expected_type(&mut self, caret: &Caret<'_>) -> Result<Option<String>> {
        Ok(self.ask(caret, true, inference::expected_type).flatten())
    }

    fn reachable_types(&mut self, caret: &Caret<'_>) -> Result<Vec<TypeDefinition>> {
        Ok(self.ask(caret, true, inference::reachable_types).unwrap_or_default())
    }

    fn headers(&mut self, caret: &Caret<'_>) -> Result<Vec<Header>> {
        Ok(self.ask(caret, true, headers::headers).unwrap_or_default())
    }

    fn diagnostics(&mut self, path: &str, text: &str) -> Result<Vec<Diagnostic>> {
        let caret = Caret::new(path, text.into(), 0);
        let found = self.ask(&caret, false, checks::diagnostics);
        Ok(found.unwrap_or_else(|| diagnostics::syntax(text, Language::Python)))
    }
}

#[cfg(test)]
mod tests;
