//! Where a prediction ends, since generators rarely stop by themselves.

use analysis::diagnostics::{DiagnosticKind, syntax};
use repo::Language;

use super::python_text::strip_end;

/// Returns the part of the prediction that `CrossCodeEval` compares.
///
/// Python: the first prefix that ends before a newline and that, after the left context, parses without a syntax error,
/// without its trailing whitespace; everything if there is none. A missing token is not a syntax error. Java: up to and
/// including the first of `;`, `}` and `{`; everything if there is none, or if it is the very first character, a slip of the
/// original that is kept.
///
/// # References
///
/// `CrossCodeEval`, `postprocess_code_lines`. The original tries every prefix and gives up after five seconds or a nesting
/// of a thousand nodes; only those before a newline can be accepted, so only those are parsed here, within the budget of
/// [`Language::parse`].
#[must_use]
pub fn cceval<'a>(left_context: &str, prediction: &'a str, language: Language) -> &'a str {
    match language {
        Language::Python => python_statement(left_context, prediction),
        Language::Java => java_statement(prediction),
    }
}

fn python_statement<'a>(left_context: &str, prediction: &'a str) -> &'a str {
    // The empty prefix is never tried.
    let ends = prediction.match_indices('\n').map(|(end, _)| end).filter(|end| *end > 0);
    let mut code = left_context.to_owned();
    for end in ends {
        code.push_str(&prediction[code.len() - left_context.len()..end]);
        let broken =
            syntax(&code, Language::Python).iter().any(|diagnostic| diagnostic.kind == DiagnosticKind::SyntaxError);
        if !broken {
            return strip_end(&prediction[..end]);
        }
    }
    prediction
}

fn java_statement(prediction: &str) -> &str {
    match prediction.find([';', '}', '{']) {
        None | Some(0) => prediction,
        Some(end) => &prediction[..=end],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_python_statement_ends_where_the_file_parses() {
        let cut = |context, prediction| cceval(context, prediction, Language::Python);
        assert_eq!(cut("x = ", "call(1)  \ny = 2\n"), "call(1)");
        assert_eq!(cut("x = ", "call(\n  1,\n)\ny = 2\n"), "call(\n  1,\n)");
        assert_eq!(cut("x = ", "call(1)"), "call(1)");
        assert_eq!(cut("x = ((", "call(1)\n"), "call(1)\n");
    }

    #[test]
    fn a_java_statement_ends_with_a_bracket_or_semicolon() {
        let cut = |prediction| cceval("", prediction, Language::Java);
        assert_eq!(cut("a(b); c"), "a(b);");
        assert_eq!(cut("if (a) { b"), "if (a) {");
        assert_eq!(cut("; a(b); c"), "; a(b); c");
        assert_eq!(cut("a(b)"), "a(b)");
    }
}
