//! The engines in process as one tool: each file goes to the engine of its language.

use repo::{Language, Repository};

use crate::caret::Caret;
use crate::diagnostics::Diagnostic;
use crate::error::Result;
use crate::intelligence::{CodeIntelligence, Definition, Header, Suggestion, TypeDefinition};
use crate::java::JavaEngine;
use crate::python::PythonEngine;

/// What an IDE knows about one repository, whatever its files are written in.
///
/// ```
/// use analysis::{Caret, CodeIntelligence, Native};
/// use repo::{Language, Repository, SourceFile};
///
/// let text = "class Stack:\n    def push(self, item): ...\n\nstack = Stack()\nstack.";
/// let file = SourceFile { path: "stack.py".into(), language: Language::Python, text: text.into() };
/// let repository = Repository::new("example", vec![file]);
/// let mut tool = Native::new(&repository);
/// let suggestions = tool.completions(&Caret::intact(&repository.files()[0], text.len()))?;
/// assert!(suggestions.iter().any(|suggestion| suggestion.name == "push"));
/// # Ok::<(), analysis::Error>(())
/// ```
pub struct Native<'repository> {
    python: PythonEngine,
    java: JavaEngine<'repository>,
}

impl<'repository> Native<'repository> {
    /// Takes the files of `repository`; nothing is inferred until the first question.
    #[must_use]
    pub fn new(repository: &'repository Repository) -> Self {
        Self { python: PythonEngine::new(repository), java: JavaEngine::new(repository) }
    }

    /// Returns the engine of a file's language; of Python if its name does not tell.
    fn engine(&mut self, path: &str) -> &mut (dyn CodeIntelligence + 'repository) {
        match Language::from_path(path) {
            Some(Language::Java) => &mut self.java,
            Some(Language::Python) | None => &mut self.python,
        }
    }
}

impl CodeIntelligence for Native<'_> {
    fn name(&self) -> &'static str {
        "native"
    }

    fn remarks(&self) -> Vec<String> {
        [self.python.remarks(), self.java.remarks()].concat()
    }

    fn completions(&mut self, caret: &Caret<'_>) -> Result<Vec<Suggestion>> {
        self.engine(caret.path).completions(caret)
    }

    fn definitions(&mut self, caret: &Caret<'_>) -> Result<Vec<Definition>> {
        self.engine(caret.path).definitions(caret)
    }

    fn inferred_type(&mut self, caret: &Caret<'_>) -> Result<Option<String>> {
        self.engine(caret.path).inferred_type(caret)
    }

    fn expected_type(&mut self, caret: &Caret<'_>) -> Result<Option<String>> {
        self.engine(caret.path).expected_type(caret)
    }

    fn reachable_types(&mut self, caret: &Caret<'_>) -> Result<Vec<TypeDefinition>> {
        self.engine(caret.path).reachable_types(caret)
    }

    fn headers(&mut self, caret: &Caret<'_>) -> Result<Vec<Header>> {
        self.engine(caret.path).headers(caret)
    }

    fn diagnostics(&mut self, path: &str, text: &str) -> Result<Vec<Diagnostic>> {
        self.engine(path).diagnostics(path, text)
    }
}
