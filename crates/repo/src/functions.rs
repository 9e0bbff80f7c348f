//! The functions of a file: where each begins and ends, and where its signature, docstring and body lie.
//!
//! Two shapes share one description. In **Python** the docstring is the first statement of the body, and a function
//! begins with `def` (or `async`): its decorators stay outside, with the file around it. In **Java** the docstring is the
//! Javadoc comment before the declaration and stays outside, and annotations belong to the function because they mix with
//! its modifiers. Nested functions, methods of nested and anonymous classes, and the functions around them are all
//! listed, each by its own span; methods without a body are not.

mod java;
mod python;

use std::ops::Range;

use tree_sitter::Tree;

use crate::language::Language;
use crate::source::SourceFile;

/// A function of a file; all spans are bytes of the file's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The name; that of the class for a Java constructor.
    pub name: String,
    /// The class that it is a member of, if that class has a name.
    pub class: Option<String>,
    /// Whether it is a Python coroutine (`async def`).
    pub is_async: bool,
    /// The whole function: the signature, then the body.
    pub span: Range<usize>,
    /// From the start of the function to the colon (Python, included) or to what is before the brace (Java).
    pub signature: Range<usize>,
    /// The docstring with its quotes or comment signs: within the body in Python, before the function in Java.
    pub docstring: Option<Range<usize>>,
    /// From the end of the signature to the end of the function.
    pub body: Range<usize>,
}

/// Returns the functions of `file` in the order in which they begin.
///
/// A function with a syntax error in it is left out, and a file beyond the limits of [`Language::parse`] has none.
///
/// # References
///
/// `ToolGen` (arXiv 2401.06391), its released code, takes every `def` of a file, nested ones included; Java is our
/// adaptation.
#[must_use]
pub fn functions(file: &SourceFile) -> Vec<Function> {
    let tree = file.language.parse(&file.text);
    tree.map_or_else(Vec::new, |tree| functions_in(&tree, &file.text, file.language))
}

/// Returns the functions of `text`, whose tree is `tree`, as [`functions`] does.
#[must_use]
pub fn functions_in(tree: &Tree, text: &str, language: Language) -> Vec<Function> {
    match language {
        Language::Python => python::functions(tree, text),
        Language::Java => java::functions(tree, text),
    }
}

/// The classes and functions around the node that a walk has reached, outermost first.
#[derive(Default)]
struct Scopes<'text> {
    /// The depth of each, and the name if it is a class that has one.
    open: Vec<(usize, Option<&'text str>)>,
}

impl<'text> Scopes<'text> {
    /// Forgets the scopes that do not hold a node at `depth`.
    fn leave(&mut self, depth: usize) {
        while self.open.last().is_some_and(|(opened, _)| *opened >= depth) {
            self.open.pop();
        }
    }

    fn enter(&mut self, depth: usize, class: Option<&'text str>) {
        self.open.push((depth, class));
    }

    /// Returns the class whose member stands here.
    fn class(&self) -> Option<String> {
        self.open.last()?.1.map(str::to_owned)
    }
}

#[cfg(test)]
mod tests;
