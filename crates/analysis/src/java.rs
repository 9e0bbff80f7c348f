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

mod brackets;

mod glance;

mod signature;

mod outline;

mod library;

mod resolved;

mod store;

mod inheritance;

mod focus;

mod scope;

mod locals;

mod expression;

mod call;

mod overload;

mod inference;

mod expected;

mod wanted;

mod completion;

mod symbol;

mod declaration;

mod checks;

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

    fn definitions(&mut self, caret: &Caret<'_>) -> Result<Vec<Definition>> {
        let defined = |scope: &Scope<'_>| scope.symbol().and_then(|symbol| scope.definition(&symbol, caret.path));
        Ok(self.ask(caret, defined).into_iter().collect())
    }

    fn inferred_type(&mut self, caret: &Caret<'_>) -> Result<Option<String>> {
        Ok(self.ask(caret, |scope| scope.type_at().and_then(|found| found.display(scope.store))))
    }

    fn expected_type(&mut self, caret: &Caret<'_>) -> Result<Option<String>> {
        Ok(self.ask(caret, |scope| scope.expected().and_then(|found| found.display(scope.store))))
    }

    fn reachable_types(&mut self, caret: &Caret<'_>) -> Result<Vec<TypeDefinition>> {
        Ok(self.ask(caret, |scope| {
            let from = scope.expected().or_else(|| scope.type_at());
            from.map(|from| scope.reachable(&from, caret.path)).unwrap_or_default()
        }))
    }

    fn headers(&mut self, caret: &Caret<'_>) -> Result<Vec<Header>> {
        Ok(self.ask(caret, declaration::headers))
    }

    fn diagnostics(&mut self, path: &str, text: &str) -> Result<Vec<Diagnostic>> {
        let found = checks::diagnostics(&self.store, path, text, &mut self.last);
        self.store.forget();
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
