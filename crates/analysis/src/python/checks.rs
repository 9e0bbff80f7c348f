//! What is wrong in a file.

use repo::identifiers::last_word_start;
use ruff_db::diagnostic::{Diagnostic as Finding, DiagnosticId};
use ty_python_semantic::check_file_unwrap;

use super::view::View;
use crate::diagnostics::{Diagnostic, DiagnosticKind};

/// How ty begins the message for a name that a module it has found does not have.
///
/// A module that it has not found is no fault of the file: what it holds is not known.
const NO_SUCH_MEMBER: &str = "Module `";

/// Returns what is wrong in the file, by position.
pub(super) fn diagnostics(view: &View<'_>) -> Vec<Diagnostic> {
    let findings = check_file_unwrap(view.db, view.file);
    let mut found: Vec<Diagnostic> = findings.iter().filter_map(|finding| diagnostic(view, finding)).collect();
    found.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end, diagnostic.kind as u8));
    found.dedup();
    found
}

fn diagnostic(view: &View<'_>, finding: &Finding) -> Option<Diagnostic> {
    let kind = match finding.id() {
        DiagnosticId::InvalidSyntax => DiagnosticKind::SyntaxError,
        DiagnosticId::Lint(rule) => match rule.as_str() {
            "unresolved-reference" => DiagnosticKind::UndefinedName,
            "unresolved-attribute" if !may_exist(finding) => DiagnosticKind::NoMember,
            "unresolved-import" if finding.headline_message().starts_with(NO_SUCH_MEMBER) => DiagnosticKind::NoMember,
            _ => return None,
        },
        _ => return None,
    };
    let span = finding.range()?.to_std_range();
    let found = view.text.get(span.clone())?;
    // ty marks the whole of `a.b`; what is missing is `b`.
    let start = match kind {
        DiagnosticKind::NoMember => span.start + last_word_start(found),
        _ => span.start,
    };
    Some(Diagnostic { span: start..span.end, kind })
}

/// Returns whether the member may be there, or come to be there, for all that ty says.
///
/// It reports members that only some objects of a union have, that are assigned for the first time outside their class,
/// and what functions have where any callable may stand.
fn may_exist(finding: &Finding) -> bool {
    let message = finding.headline_message();
    let on_some = message.starts_with("Attribute `") && message.contains("` is not defined on `");
    let of_functions = finding.first_help_text().is_some_and(|help| help.starts_with("Function objects have"));
    on_some || message.starts_with("Unresolved attribute `") || of_functions
}

#[cfg(test)]
mod carets;
#[cfg(test)]
mod tests;
