//! Java: names and types from tree-sitter trees.
//!
//! ```text
//! repository -> glance at every file (package, types)     members.txt -> library
//!                       \-> outline of a file when it is named -> store <-/
//! caret -> focus (the member around it, parsed alone) -> scope -> meaning of expressions -> answers
//! ```
//!
//! Everything is a lookup of names: nothing is compiled. Generic types keep their arguments, overloads are told apart
//! by number and by what is known of the arguments. Types that neither the repository nor the table of the JDK has are
//! unknown, and so is what follows from them.

mod class;

mod written;

mod scan;

mod outline;

mod library;

mod types;

mod store;

mod inheritance;

mod focus;

mod scope;

mod expression;

mod call;

mod expected;

mod completion;

use std::rc::Rc;

use repo::Repository;

use crate::caret::Caret;
use crate::diagnostics::Diagnostic;
use crate::error::Result;
use crate::intelligence::{CodeIntelligence, Definition, Header, Suggestion, TypeDefinition};

use focus::{Focus, Parsed};
use scope::Scope;
use store::Store;

/// The engine for one repository.
pub struct JavaEngine<'repository> {
    store: Store<'repository>,
    /// The member that the last question was about.
    last: Option<Rc<Parsed>>,
}

impl<'repository> JavaEngine<'repository> {
    /// Looks at every Java file of `repository`, without parsing any.
    #[must_use]
    pub fn new(repository: &'repository Repository) -> Self {
        Self { store: Store::new(repository), last: None }
    }

    /// Answers a question from the scope at the caret; there is none in comments and literals.
    fn ask<T: Default>(&mut self, caret: &Caret<'_>, answer: impl FnOnce(&Scope<'_>) -> T) -> T {
        let focus = Focus::new(&self.store, caret, &mut self.last);
        let answer = focus.map(|focus| answer(&Scope::new(&self.store, &focus))).unwrap_or_default();
        self.store.forget();
        answer
    }
}

impl CodeIntelligence for JavaEngine<'_> {
    fn name(&self) -> &'static str {
        "java"
    }

    fn completions(&mut self, caret: &Caret<'_>) -> Result<Vec<Suggestion>> {
        Ok(self.ask(caret, |scope| completion::suggestions(scope, caret.prefix())))
    }

    fn definitions(&mut self, _caret: &Caret<'_>) -> Result<Vec<Definition>> {
        Ok(Vec::new())
    }

    fn inferred_type(&mut self, _caret: &Caret<'_>) -> Result<Option<String>> {
        Ok(None)
    }

    fn expected_type(&mut self, _caret: &Caret<'_>) -> Result<Option<String>> {
        Ok(None)
    }

    fn reachable_types(&mut self, _caret: &Caret<'_>) -> Result<Vec<TypeDefinition>> {
        Ok(Vec::new())
    }

    fn headers(&mut self, _caret: &Caret<'_>) -> Result<Vec<Header>> {
        Ok(Vec::new())
    }

    fn diagnostics(&mut self, _path: &str, _text: &str) -> Result<Vec<Diagnostic>> {
        Ok(Vec::new())
    }
}
