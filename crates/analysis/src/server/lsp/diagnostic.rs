//! Kinds of mistakes by the codes of servers.

use std::time::Duration;

use serde_json::Value;

use super::span;
use crate::diagnostics::{Diagnostic, DiagnosticKind};
use crate::position::{LineIndex, Unit};

/// How long a server that tells no versions must be quiet until its diagnostics are taken for the last ones.
pub(super) const QUIET: Duration = Duration::from_millis(700);

/// The severity of an error.
const ERROR: u64 = 1;
/// The bit of jdtls's codes of syntax errors.
const JAVA_SYNTAX: u64 = 1 << 30;
/// jdtls's code of a method that does not exist.
const JAVA_UNDEFINED_METHOD: u64 = 67_108_964;
/// jdtls's codes of a field, and of a type of a qualified name, that does not exist.
const JAVA_NO_MEMBER: [u64; 1] = [33_554_502];
/// jdtls's codes of a type, of a variable and of a name that does not exist.
const JAVA_UNDEFINED: [u64; 3] = [16_777_218, 570_425_394, 33_554_515];

/// Diagnostics that a server published about a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Published {
    pub(super) version: i64,
    /// The server says which version they are about.
    pub(super) is_versioned: bool,
    pub(super) items: Value,
}

impl Published {
    pub(super) fn new(parameters: &Value) -> Self {
        let version = parameters.get("version").and_then(Value::as_i64);
        let items = parameters.get("diagnostics").cloned().unwrap_or_default();
        Self { version: version.unwrap_or_default(), is_versioned: version.is_some(), items }
    }
}

/// Returns the mistakes of the known kinds, by position.
pub(super) fn diagnostics(items: &Value, text: &str, unit: Unit) -> Vec<Diagnostic> {
    let lines = LineIndex::new(text);
    let mut found: Vec<Diagnostic> = items
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|item| {
            let span = span(item.get("range")?, text, &lines, unit)?;
            let kind = kind(item, text[..span.start].trim_end().ends_with('.'))?;
            Some(Diagnostic { span, kind })
        })
        .collect();
    found.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end, diagnostic.kind as u8));
    found.dedup();
    found
}

/// Returns the kind of a mistake, in code that stands behind a dot or not.
fn kind(item: &Value, is_behind_dot: bool) -> Option<DiagnosticKind> {
    use DiagnosticKind::{NoMember, SyntaxError, UndefinedName};
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let member = if is_behind_dot { NoMember } else { UndefinedName };
    // The rules of basedpyright and pyright, then those of zuban.
    match text("code") {
        Some("reportUndefinedVariable" | "name-defined") => return Some(UndefinedName),
        Some("reportAttributeAccessIssue" | "reportFunctionMemberAccess" | "attr-defined") => return Some(NoMember),
        Some("syntax") => return Some(SyntaxError),
        _ => {}
    }
    let number = item.get("code").and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
    match (text("source"), number) {
        (Some("Java"), Some(code)) if code & JAVA_SYNTAX != 0 => Some(SyntaxError),
        (Some("Java"), Some(JAVA_UNDEFINED_METHOD)) => Some(member),
        (Some("Java"), Some(code)) if JAVA_NO_MEMBER.contains(&code) => Some(NoMember),
        (Some("Java"), Some(code)) if JAVA_UNDEFINED.contains(&code) => Some(member),
        // jedi-language-server compiles the text and finds nothing else; pyright gives no code to syntax errors alone.
        (Some("compile"), _) => Some(SyntaxError),
        (Some("basedpyright" | "Pyright" | "pyright"), None) if item.get("code").is_none() => {
            (item.get("severity").and_then(Value::as_u64) == Some(ERROR)).then_some(SyntaxError)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn kinds_are_told_by_the_codes_of_servers() {
        use DiagnosticKind::{NoMember, SyntaxError, UndefinedName};
        let check = |item: Value, is_behind_dot, expected| assert_eq!(kind(&item, is_behind_dot), expected, "{item}");
        check(json!({"source": "basedpyright", "code": "reportUndefinedVariable"}), false, Some(UndefinedName));
        check(json!({"source": "basedpyright", "severity": 1}), false, Some(SyntaxError));
        check(json!({"source": "basedpyright", "severity": 4}), false, None);
        check(json!({"source": "zuban", "code": "attr-defined"}), true, Some(NoMember));
        check(json!({"source": "Java", "code": "67108964"}), true, Some(NoMember));
        check(json!({"source": "Java", "code": "67108964"}), false, Some(UndefinedName));
        check(json!({"source": "Java", "code": "1610612968"}), false, Some(SyntaxError));
        check(json!({"source": "Java", "code": "570425421"}), false, None);
        check(json!({"source": "compile", "message": "SyntaxError: x"}), false, Some(SyntaxError));
        check(json!(7), false, None);
    }

    #[test]
    fn mistakes_are_ordered_and_unknown_ones_left_out() {
        let range = |column: u64| json!({"start": {"line": 0, "character": column}, "end": {"line": 0, "character": column + 1}});
        let items = json!([
            {"range": range(4), "code": "attr-defined"},
            {"range": range(0), "code": "name-defined"},
            {"range": range(0), "code": "name-defined"},
            {"range": range(2), "code": "return-value"},
            {"code": "name-defined"},
        ]);
        let found = diagnostics(&items, "é.x.y\n", Unit::Utf16);
        let expected = [(0..2, DiagnosticKind::UndefinedName), (5..6, DiagnosticKind::NoMember)];
        assert_eq!(found, expected.map(|(span, kind)| Diagnostic { span, kind }));
        assert_eq!(diagnostics(&Value::Null, "", Unit::Utf16), []);
    }
}
