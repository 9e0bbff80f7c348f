//! A client of language servers: what the Language Server Protocol can answer of our questions.
//!
//! One document is open at a time, the one that was asked about last, so that no answer depends on earlier ones; all
//! other files are as the repository has them.
//!
//! # References
//!
//! Language Server Protocol 3.17.

mod completion;

mod diagnostic;

mod handshake;

mod hover;

mod place;

mod uri;

use std::ops::Range;
use std::time::Instant;

use repo::{Language, Repository};
use serde_json::{Value, json};

use super::connection::Fault;
use super::json_rpc::Framing;
use super::sandbox::{Program, Protection};
use super::tool::Tool;
use super::{Limits, Placeholder, Usage};
use crate::caret::Caret;
use crate::diagnostics::Diagnostic;
use crate::error::{Error, Result};
use crate::intelligence::{CodeIntelligence, Definition, Header, Suggestion, TypeDefinition};
use crate::position::{LineIndex, Position, Unit};

use handshake::{Ears, Server};
use place::Places;

/// How a language server is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageServerOptions {
    /// The server, told to speak on its standard streams: `basedpyright-langserver --stdio`, `zuban server`,
    /// `jedi-language-server`, `jdtls`.
    ///
    /// `jdtls` gets folders for its data and, where the environment has `JAVA_HOME`, that Java.
    pub program: Program,
    /// The language of the documents.
    pub language: Language,
    /// What stands at a caret behind which no identifier stands.
    pub placeholder: Placeholder,
    /// What the server may take.
    pub limits: Limits,
}

/// A language server that reads one repository. It is started by the first question.
#[derive(Debug)]
pub struct LanguageServer {
    tool: Tool,
    language: Language,
    placeholder: Placeholder,
    repository: Repository,
    ears: Ears,
    server: Server,
    document: Option<Document>,
}

/// The document that the server has open.
#[derive(Debug)]
struct Document {
    path: String,
    text: String,
    version: i64,
}

impl LanguageServer {
    /// Copies the repository for a server.
    ///
    /// # Errors
    ///
    /// Returns an error if the copy cannot be written.
    pub fn new(repository: &Repository, options: &LanguageServerOptions) -> Result<Self> {
        let LanguageServerOptions { program, language, placeholder, limits } = options.clone();
        let stem = program.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = match placeholder {
            Placeholder::None => stem,
            Placeholder::AtCaret => format!("{stem} with placeholder"),
        };
        let program = handshake::complete(program, &limits);
        let tool = Tool::new(name, program, Framing::Headers, repository, limits)?;
        let ears = Ears::new(handshake::settings(repository));
        let (repository, server) = (repository.clone(), Server::default());
        Ok(Self { tool, language, placeholder, repository, ears, server, document: None })
    }

    /// Returns what the server is kept from.
    #[must_use]
    pub fn protection(&self) -> Protection {
        self.tool.sandbox.protection()
    }

    /// Returns what the server was asked and how often it failed.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.tool.usage
    }

    /// Returns where the type of the identifier that the caret touches is defined.
    ///
    /// # Errors
    ///
    /// Returns an error if the server gives no answer.
    pub fn type_definitions(&mut self, caret: &Caret<'_>) -> Result<Vec<Definition>> {
        let answer = self.ask_at("textDocument/typeDefinition", caret)?;
        Ok(self.places(caret.path, &caret.text).definitions(&answer, caret))
    }

    /// Returns what `text` defines as the file at `path`, in the server's order.
    ///
    /// # Errors
    ///
    /// Returns an error if the server gives no answer.
    pub fn symbols(&mut self, path: &str, text: &str) -> Result<Vec<Definition>> {
        self.tool.usage.n_questions += 1;
        self.open(path, text)?;
        let answer = self.request("textDocument/documentSymbol", json!({"textDocument": {"uri": self.uri(path)}}))?;
        Ok(self.places(path, text).symbols(&answer, path))
    }

    /// Asks about the caret's own text.
    fn ask_at(&mut self, method: &str, caret: &Caret<'_>) -> Result<Value> {
        self.tool.usage.n_questions += 1;
        self.open(caret.path, &caret.text)?;
        self.request(method, self.at(caret))
    }

    fn at(&self, caret: &Caret<'_>) -> Value {
        let position = LineIndex::new(&caret.text).position(&caret.text, caret.byte, self.server.unit);
        json!({
            "textDocument": {"uri": self.uri(caret.path)},
            "position": {"line": position.line, "character": position.column},
        })
    }

    fn uri(&self, path: &str) -> String {
        uri::of(&self.tool.sandbox.root().join(path))
    }

    fn places<'a>(&'a self, path: &'a str, text: &'a str) -> Places<'a> {
        let root = self.tool.sandbox.root();
        Places { repository: &self.repository, root, open: (path, text), unit: self.server.unit }
    }

    fn request(&mut self, method: &str, parameters: Value) -> Result<Value> {
        let ears = &mut self.ears;
        self.tool.ask(|connection, deadline| connection.request(method, parameters, deadline, ears))
    }

    /// Shows a text to the server as the file at `path`, starting the server if it is not running.
    fn open(&mut self, path: &str, text: &str) -> Result<()> {
        if !self.tool.is_running() {
            self.start()?;
        }
        let uri = self.uri(path);
        let mut messages = Vec::new();
        match &mut self.document {
            Some(document) if document.path == path && document.text == text => return Ok(()),
            Some(document) if document.path == path => {
                document.version += 1;
                text.clone_into(&mut document.text);
                let version = document.version;
                let document = json!({"uri": uri, "version": version});
                let changes = json!({"textDocument": document, "contentChanges": [{"text": text}]});
                messages.push(("textDocument/didChange", changes));
            }
            other => {
                if let Some(old) = other.take() {
                    let uri = uri::of(&self.tool.sandbox.root().join(old.path));
                    messages.push(("textDocument/didClose", json!({"textDocument": {"uri": uri}})));
                }
                *other = Some(Document { path: path.to_owned(), text: text.to_owned(), version: 1 });
                let language = self.language.name();
                let document = json!({"uri": uri, "languageId": language, "version": 1, "text": text});
                messages.push(("textDocument/didOpen", json!({"textDocument": document})));
            }
        }
        self.ears.forget_diagnostics(&uri);
        self.tool.talk(self.tool.limits.deadline, |connection, _| {
            messages.into_iter().try_for_each(|(method, parameters)| connection.notify(method, parameters))
        })
    }

    fn start(&mut self) -> Result<()> {
        self.document = None;
        self.ears.begin();
        self.tool.start()?;
        let root = uri::of(self.tool.sandbox.root());
        let ears = &mut self.ears;
        let shake = |connection: &mut _, deadline| handshake::shake(connection, deadline, ears, &root);
        let shaken = self.tool.talk(self.tool.limits.start_deadline, shake);
        if shaken.is_err() {
            // One that refuses still runs, but knows nothing.
            self.tool.stop();
        }
        self.server = shaken?;
        Ok(())
    }

    fn unsupported<T>(&mut self, question: &'static str) -> Result<T> {
        let tool = self.tool.name.clone();
        Err(self.tool.counted(Error::Unsupported { tool, question }))
    }

    /// Returns the diagnostics of the open document: asked for, or else awaited.
    fn raw_diagnostics(&mut self, uri: &str) -> Result<Value> {
        if self.server.gives_diagnostics {
            let answer = self.request("textDocument/diagnostic", json!({"textDocument": {"uri": uri}}))?;
            return Ok(answer.get("items").cloned().unwrap_or_default());
        }
        let version = self.document.as_ref().map_or(0, |document| document.version);
        let ears = &mut self.ears;
        self.tool.ask(|connection, deadline| {
            connection.listen(deadline, ears, |ears| ears.diagnostics(uri, version).is_some())?;
            // Without a version they may be those of the text before; the last ones count.
            while ears.diagnostics(uri, version).is_some_and(|published| !published.is_versioned) {
                let n_heard = ears.n_published;
                let quiet = deadline.min(Instant::now() + diagnostic::QUIET);
                match connection.listen(quiet, ears, |ears| ears.n_published > n_heard) {
                    Err(Fault::Deadline) => break,
                    heard => heard?,
                }
            }
            Ok(ears.diagnostics(uri, version).map(|published| published.items.clone()).unwrap_or_default())
        })
    }
}

impl CodeIntelligence for LanguageServer {
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
        self.tool.usage.n_questions += 1;
        self.open(caret.path, &self.placeholder.text(caret))?;
        let mut parameters = self.at(caret);
        parameters["context"] = json!({"triggerKind": 1});
        let answer = self.request("textDocument/completion", parameters)?;
        self.tool.usage.n_incomplete += u64::from(answer.get("isIncomplete") == Some(&Value::Bool(true)));
        Ok(completion::suggestions(&answer, caret, self.language, self.server.unit))
    }

    fn definitions(&mut self, caret: &Caret<'_>) -> Result<Vec<Definition>> {
        let answer = self.ask_at("textDocument/definition", caret)?;
        Ok(self.places(caret.path, &caret.text).definitions(&answer, caret))
    }

    /// Returns the type that the server shows, or else the name that it says the type is defined by.
    fn inferred_type(&mut self, caret: &Caret<'_>) -> Result<Option<String>> {
        let answer = self.ask_at("textDocument/hover", caret)?;
        if let Some(shown) = hover::shown_type(&answer, self.language) {
            return Ok(Some(shown));
        }
        let answer = self.request("textDocument/typeDefinition", self.at(caret))?;
        let definitions = self.places(caret.path, &caret.text).definitions(&answer, caret);
        Ok(definitions.into_iter().next().map(|definition| definition.name))
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

    fn diagnostics(&mut self, path: &str, text: &str) -> Result<Vec<Diagnostic>> {
        self.tool.usage.n_questions += 1;
        self.open(path, text)?;
        let items = self.raw_diagnostics(&self.uri(path))?;
        Ok(diagnostic::diagnostics(&items, text, self.server.unit))
    }
}

/// Reads a range of the protocol as a span of `text`.
fn span(range: &Value, text: &str, lines: &LineIndex, unit: Unit) -> Option<Range<usize>> {
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let byte = |place: &Value| {
        let position = Position { line: number(place.get("line")?)?, column: number(place.get("character")?)? };
        Some(lines.byte(text, position, unit))
    };
    let (start, end) = (byte(range.get("start")?)?, byte(range.get("end")?)?);
    Some(start..end.max(start))
}

#[cfg(test)]
mod tests;
