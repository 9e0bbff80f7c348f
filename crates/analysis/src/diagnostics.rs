//! Where the syntax of a text is broken.

use std::ops::Range;

use repo::Language;
use repo::syntax::Preorder;

/// One place where the syntax is broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The span in bytes; empty for a missing token.
    pub span: Range<usize>,
    /// What is wrong there.
    pub kind: DiagnosticKind,
}

/// What is wrong at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiagnosticKind {
    /// Text that fits no rule of the grammar.
    SyntaxError,
    /// A token that the grammar requires and the text lacks.
    MissingToken,
    /// A name that nothing defines.
    UndefinedName,
    /// A member that the object does not have.
    NoMember,
}

impl DiagnosticKind {
    /// Returns the stable name: `syntax_error`, `missing_token`, `undefined_name` or `no_member`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SyntaxError => "syntax_error",
            Self::MissingToken => "missing_token",
            Self::UndefinedName => "undefined_name",
            Self::NoMember => "no_member",
        }
    }
}

/// Returns the places where the syntax of `text` is broken, in order.
///
/// A syntax error is reported as a whole: nothing inside it is reported again. A text beyond the limits of
/// [`Language::parse`] is one syntax error.
#[must_use]
pub fn syntax(text: &str, language: Language) -> Vec<Diagnostic> {
    let Some(tree) = language.parse(text) else {
        return vec![Diagnostic { span: 0..text.len(), kind: DiagnosticKind::SyntaxError }];
    };
    let mut diagnostics = Vec::new();
    let mut walk = Preorder::new(&tree);
    while let Some(node) = walk.next() {
        if node.is_error() || !node.has_error() {
            walk.skip_children();
        }
        let kind = if node.is_error() {
            DiagnosticKind::SyntaxError
        } else if node.is_missing() {
            DiagnosticKind::MissingToken
        } else {
            continue;
        };
        diagnostics.push(Diagnostic { span: node.byte_range(), kind });
    }
    diagnostics
}

/// Returns whether `text` parses without a syntax error and without a missing token.
///
/// This asks the root alone and builds no list. Code that asks for error nodes only, as the released evaluation of
/// CrossCodeEval does, also accepts a text whose [`syntax`] is all missing tokens.
#[must_use]
pub fn parses(text: &str, language: Language) -> bool {
    language.parse(text).is_some_and(|tree| !tree.root_node().has_error())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, language: Language, expected: &Expect) {
        let diagnostics = syntax(text, language);
        assert_eq!(parses(text, language), diagnostics.is_empty());
        let lines = diagnostics.into_iter().map(|Diagnostic { span, kind }| {
            let found = &text[span.clone()];
            format!("{kind:?} {span:?} {found:?}")
        });
        expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn sound_text_has_no_diagnostics() {
        check("", Language::Python, &expect![""]);
        check("def f(x):\r\n\treturn x\r\n", Language::Python, &expect![""]);
        check("class A { int a = 1; }", Language::Java, &expect![""]);
    }

    #[test]
    fn syntax_errors_are_reported_once_each() {
        check(
            "x = = 1\ny = 2\nz = )\n",
            Language::Python,
            &expect![[r#"
            SyntaxError 4..5 "="
            SyntaxError 14..19 "z = )""#]],
        );
        check(
            "class A { int = 1; } }",
            Language::Java,
            &expect![[r#"
            MissingToken 13..13 ""
            SyntaxError 21..22 "}""#]],
        );
    }

    #[test]
    fn missing_tokens_are_reported_where_they_belong() {
        check("class A { int a }", Language::Java, &expect![[r#"MissingToken 15..15 """#]]);
    }

    #[test]
    fn odd_texts_are_survived() {
        for text in ["\0", "x = 'open", "\"\"\"open", "\\", "é = \u{feff}", "\t \r", "if x:\n\ty\n        z"] {
            for language in Language::ALL {
                assert_eq!(syntax(text, language).is_empty(), parses(text, language), "{text:?}");
            }
        }
    }

    #[test]
    fn a_text_beyond_the_parser_limits_is_one_syntax_error() {
        let line = "1+".repeat(3 << 19);
        let expected = Diagnostic { span: 0..line.len(), kind: DiagnosticKind::SyntaxError };
        assert_eq!(syntax(&line, Language::Python), [expected]);
        assert!(!parses(&line, Language::Python));
    }

    #[test]
    fn an_error_below_a_million_levels_is_found() {
        let line = "1+".repeat(500) + "\n";
        let text = format!("x = (\n1 1+{}1)\n", line.repeat(3_000));
        let diagnostics = syntax(&text, Language::Python);
        assert!(!diagnostics.is_empty());
        assert!(diagnostics.iter().all(|diagnostic| diagnostic.span.start < 16), "{diagnostics:?}");
    }
}
