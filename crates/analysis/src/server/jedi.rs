//! Jedi, the completion tool of the paper, in a Python process of its own.

use std::path::PathBuf;

use repo::{Language, Repository};
use serde_json::{Value, json};

use super::connection::Deaf;
use super::sandbox::Protection;
use super::tool::Tool;
use super::{Limits, Placeholder, Usage, byte, is_suggestible};
use crate::caret::Caret;
use crate::diagnostics::{Diagnostic, DiagnosticKind};
use crate::error::{Error, Result};
use crate::intelligence::{CodeIntelligence, Definition, Header, Origin, Place, Suggestion, TypeDefinition};
use crate::position::{LineIndex, Position, Unit};

/// The worker's source. It asks Jedi and adds nothing.
const WORKER: &str = include_str!("jedi_worker.py");

/// How Jedi is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JediOptions {
    /// The Python interpreter that has Jedi installed. Its standard library is what the repository may import.
    pub python: PathBuf,
    /// What stands at a caret behind which no identifier stands.
    pub placeholder: Placeholder,
    /// What the worker may take.
    pub limits: Limits,
}

/// A Jedi process that reads one repository. It is started by the first question.
#[derive(Debug)]
pub struct JediWorker {
    tool: Tool,
    placeholder: Placeholder,
    repository: Repository,
    /// The path and text that the running worker has.
    sent: Option<(String, String)>,
}

impl JediWorker {
    /// Copies the repository for a worker.
    ///
    /// # Errors
    ///
    /// Returns an error if the copy cannot be written.
    pub fn new(repository: &Repository, options: &JediOptions) -> Result<Self> {
        let JediOptions { python, placeholder, limits } = options;
        let name = match placeholder {
            Placeholder::None => "jedi",
            Placeholder::AtCaret => "jedi with placeholder",
        };
        let tool = Tool::python(name, python, WORKER, repository, *limits)?;
        Ok(Self { tool, placeholder: *placeholder, repository: repository.clone(), sent: None })
    }

    /// Returns what the worker is kept from.
    #[must_use]
    pub fn protection(&self) -> Protection {
        self.tool.sandbox.protection()
    }

    /// Returns what the worker was asked and how often it failed.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.tool.usage
    }

    fn ask(&mut self, method: &str, path: &str, text: String, mut parameters: Value) -> Result<Value> {
        self.tool.usage.n_questions += 1;
        if !self.tool.is_running() {
            self.sent = None;
            self.tool.start_worker()?;
        }
        parameters["path"] = path.into();
        if self.sent.as_ref().is_none_or(|(old_path, old_text)| old_path != path || *old_text != text) {
            parameters["text"] = text.as_str().into();
            self.sent = Some((path.to_owned(), text));
        }
        let answer = self.tool.ask(|connection, deadline| connection.request(method, parameters, deadline, &mut Deaf));
        if answer.is_err() {
            // The worker may have failed before it took the text.
            self.sent = None;
        }
        answer
    }

    /// Asks about the caret's own text.
    fn ask_at(&mut self, method: &str, caret: &Caret<'_>) -> Result<Value> {
        let parameters = position(&caret.text, caret.byte);
        self.ask(method, caret.path, caret.text.clone().into_owned(), parameters)
    }

    fn unsupported<T>(&mut self, question: &'static str) -> Result<T> {
        let tool = self.tool.name.clone();
        Err(self.tool.counted(Error::Unsupported { tool, question }))
    }

    /// Returns the list that an answer must be.
    fn list(&mut self, answer: Value) -> Result<Vec<Value>> {
        match answer {
            Value::Array(list) => Ok(list),
            other => Err(self.tool.no_answer(&other)),
        }
    }

    fn definition(&self, found: &Value, caret: &Caret<'_>) -> Option<Definition> {
        let text = |key: &str| found.get(key).and_then(Value::as_str);
        let number = |key: &str| found.get(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        let name = text("name")?.to_owned();
        let Some(path) = text("path") else {
            return Some(Definition { name, place: Place::Outside { module: text("module")?.to_owned() } });
        };
        let file = || Some(self.repository.file(path)?.text.as_str());
        let source = if path == caret.path { &*caret.text } else { file()? };
        let span = match number("line").and_then(|line| line.checked_sub(1)) {
            None => 0..0,
            Some(line) => {
                let position = Position { line, column: number("column")? };
                let start = LineIndex::new(source).byte(source, position, Unit::Character);
                start..start + if source[start..].starts_with(&name) { name.len() } else { 0 }
            }
        };
        Some(Definition { name, place: Place::Repository { path: path.to_owned(), span } })
    }
}

impl CodeIntelligence for JediWorker {
    fn name(&self) -> &str {
        &self.tool.name
    }

    fn outside_cpu_seconds(&self) -> f64 {
        self.tool.cpu().as_secs_f64()
    }

    fn remarks(&self) -> Vec<String> {
        vec![self.protection().to_string(), self.usage().to_string()]
    }

    fn completions(&mut self, caret: &Caret<'_>) -> Result<Vec<Suggestion>> {
        let text = self.placeholder.text(caret);
        let answer = self.ask("complete", caret.path, text, position(&caret.text, caret.byte))?;
        let names = self.list(answer)?;
        let prefix = caret.prefix();
        let mut suggestions: Vec<Suggestion> = names
            .iter()
            .filter_map(Value::as_str)
            .map(|name| name.strip_suffix('=').map_or((name, Origin::Unknown), |name| (name, Origin::KeywordArgument)))
            .filter(|(name, _)| is_suggestible(name, prefix, Language::Python))
            .map(|(name, origin)| Suggestion { name: name.to_owned(), origin })
            .collect();
        suggestions.sort();
        suggestions.dedup_by(|later, earlier| later.name == earlier.name);
        Ok(suggestions)
    }

    fn definitions(&mut self, caret: &Caret<'_>) -> Result<Vec<Definition>> {
        let answer = self.ask_at("goto", caret)?;
        let found = self.list(answer)?;
        let mut definitions: Vec<Definition> = Vec::new();
        for definition in found.iter().filter_map(|found| self.definition(found, caret)) {
            if !definitions.contains(&definition) {
                definitions.push(definition);
            }
        }
        Ok(definitions)
    }

    fn inferred_type(&mut self, caret: &Caret<'_>) -> Result<Option<String>> {
        let answer = self.ask_at("infer", caret)?;
        let types = self.list(answer)?;
        let names: Vec<&str> = types.iter().filter_map(Value::as_str).collect();
        Ok((!names.is_empty()).then(|| names.join(" | ")))
    }

    fn expected_type(&mut self, _caret: &Caret<'_>) -> Result<Option<String>> {
        self.unsupported("expected types")
    }

    fn reachable_types(&mut self, _caret: &Caret<'_>) -> Result<Vec<TypeDefinition>> {
        self.unsupported("reachable types")
    }

    fn headers(&mut self, _caret: &Caret<'_>) -> Result<Vec<Header>> {
        self.unsupported("headers")
    }

    /// Returns the syntax errors; Jedi looks for nothing else.
    fn diagnostics(&mut self, path: &str, text: &str) -> Result<Vec<Diagnostic>> {
        let answer = self.ask("errors", path, text.to_owned(), json!({}))?;
        let errors = self.list(answer)?;
        let lines = LineIndex::new(text);
        let byte = |line: &Value, column: &Value| byte(&lines, text, line, column);
        let span = |error: &Value| Some((byte(&error[0], &error[1])?, byte(&error[2], &error[3])?));
        let spans = errors.iter().filter_map(span);
        let kind = DiagnosticKind::SyntaxError;
        let mut diagnostics: Vec<_> =
            spans.map(|(start, end)| Diagnostic { span: start..end.max(start), kind }).collect();
        diagnostics.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end));
        Ok(diagnostics)
    }
}

fn position(text: &str, byte: usize) -> Value {
    let Position { line, column } = LineIndex::new(text).position(text, byte, Unit::Character);
    json!({"line": line + 1, "column": column})
}

#[cfg(test)]
mod tests;
