//! Static Validity: whether a predicted function, in the place of the true one, is free of what a static check can prove.
//!
//! The same question goes to two checkers: the engine of this repository or another tool, and pylint, which the paper
//! asks. Of what they find counts a syntax error, an undefined name and a member that does not exist, each only in the
//! lines of the function. The rate of a test set is the share of functions that are [valid](StaticValidity::is_valid).

use std::ops::{Range, RangeInclusive};

use analysis::position::{LineIndex, Unit};
use analysis::server::Pylint;
use analysis::{CodeIntelligence, Diagnostic, DiagnosticKind};
use repo::SourceFile;

/// A file with another function in the place of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Substitution<'file> {
    path: &'file str,
    text: String,
    /// The zero-based lines in which findings count.
    lines: RangeInclusive<usize>,
}

/// What a check found in the lines of one function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StaticValidity {
    /// Broken syntax.
    pub n_syntax_errors: usize,
    /// Names that nothing defines.
    pub n_undefined_names: usize,
    /// Members that their object does not have.
    pub n_missing_members: usize,
    /// The checker complained of itself, so nothing is known and nothing counts.
    pub is_unchecked: bool,
}

impl StaticValidity {
    /// Returns whether nothing was found. What was not checked is valid, as in the released code.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.has_sound_syntax() && self.n_undefined_names == 0 && self.n_missing_members == 0
    }

    /// Returns whether the syntax is sound.
    #[must_use]
    pub fn has_sound_syntax(&self) -> bool {
        self.n_syntax_errors == 0
    }
}

impl<'file> Substitution<'file> {
    /// Puts `function`, the text of a whole function without triggers, in the place of the bytes `span` of a file.
    ///
    /// # Panics
    ///
    /// Panics if `span` is not a span of the file's text on character boundaries.
    ///
    /// # References
    ///
    /// `ToolGen` (arXiv 2401.06391), the released `lint`: findings count from the first line of the function to two
    /// lines behind its last, where a syntax error may be noticed.
    #[must_use]
    pub fn new(file: &'file SourceFile, span: &Range<usize>, function: &str) -> Self {
        let (before, after) = (&file.text[..span.start], &file.text[span.end..]);
        let text = [before, function, after].concat();
        let first = LineIndex::new(&text).position(&text, span.start, Unit::Character).line;
        let n_lines = function.split('\n').count();
        Self { path: &file.path, text, lines: first..=first + n_lines + 1 }
    }

    /// Checks the file with a tool that knows the repository.
    ///
    /// # Errors
    ///
    /// Returns an error if the tool gives no answer.
    pub fn by_tool(&self, tool: &mut dyn CodeIntelligence) -> analysis::Result<StaticValidity> {
        Ok(self.count(&tool.diagnostics(self.path, &self.text)?))
    }

    /// Checks the file with pylint.
    ///
    /// # Errors
    ///
    /// Returns an error if pylint gives no answer.
    ///
    /// # References
    ///
    /// `ToolGen` (arXiv 2401.06391), the released `lint`: when pylint writes to its standard error, nothing counts.
    pub fn by_pylint(&self, pylint: &mut Pylint) -> analysis::Result<StaticValidity> {
        let report = pylint.check(self.path, &self.text)?;
        let is_unchecked = !report.complaint.is_empty();
        let unchecked = StaticValidity { is_unchecked, ..StaticValidity::default() };
        Ok(if is_unchecked { unchecked } else { self.count(&report.diagnostics) })
    }

    fn count(&self, diagnostics: &[Diagnostic]) -> StaticValidity {
        let lines = LineIndex::new(&self.text);
        let line = |byte| lines.position(&self.text, byte, Unit::Character).line;
        let mut found = StaticValidity::default();
        for Diagnostic { span, kind } in diagnostics {
            let is_broken = matches!(kind, DiagnosticKind::SyntaxError | DiagnosticKind::MissingToken);
            // A stretch of broken syntax may begin before the function that breaks it.
            let last = if is_broken { span.end.max(span.start) } else { span.start };
            if line(span.start) > *self.lines.end() || line(last) < *self.lines.start() {
                continue;
            }
            match kind {
                DiagnosticKind::SyntaxError | DiagnosticKind::MissingToken => found.n_syntax_errors += 1,
                DiagnosticKind::UndefinedName => found.n_undefined_names += 1,
                DiagnosticKind::NoMember => found.n_missing_members += 1,
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::Native;
    use repo::{Language, Repository};

    const STACK: &str = "class Stack:\n    def push(self, item):\n        return item\n\n";

    /// Checks a function in the place of a shorter one that `behind` follows.
    fn check(function: &str, behind: &str) -> StaticValidity {
        let text = format!("{STACK}def use(): ...{behind}");
        let span = STACK.len()..STACK.len() + "def use(): ...".len();
        let file = SourceFile { path: "stack.py".into(), language: Language::Python, text };
        let repository = Repository::new("r", vec![file]);
        let file = &repository.files()[0];
        Substitution::new(file, &span, function).by_tool(&mut Native::new(&repository)).unwrap()
    }

    #[test]
    fn a_function_answers_for_its_own_lines_and_two_more() {
        let function = "def use(stack: Stack):\n    return stack.push(1)";
        assert_eq!(check(function, "\n\nunknown\n").n_undefined_names, 1);
        assert!(check(function, "\n\n\nunknown\n").is_valid());
    }

    #[test]
    fn each_kind_is_counted() {
        let found = check("def use(stack: Stack):\n    stack.pop(nothing)\n    return stack.push(1)", "\n");
        let expected = StaticValidity { n_undefined_names: 1, n_missing_members: 1, ..StaticValidity::default() };
        assert_eq!(found, expected);
        assert!(found.has_sound_syntax() && !found.is_valid());
        let broken = check("def use(stack: Stack):\n    return stack.push((1", "\n");
        assert!(broken.n_syntax_errors > 0 && !broken.has_sound_syntax());
    }
}
