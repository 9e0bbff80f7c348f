//! Calls into the repository's own API.

mod java;
mod python;

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{Target, TargetKind, line_spans, target_in};
use crate::language::Language;
use crate::source::Repository;

/// Returns the calls of one file into the files it depends on, as targets in order.
///
/// A call counts if the repository defines what it calls and the file imports it:
///
/// - **Python**: an imported function or class (`f()`), or one reached through an imported name (`module.f()`,
///   `Class.f()`), that a dependency defines;
/// - **Java**: a constructor of a dependency's type, and a method that a dependency declares, called on such a type, on
///   a variable of such a type, or imported statically.
///
/// The span covers all lines on which the call stands, in full; calls on the same lines are one target. `dependencies`
/// are the files that the file at `file_index` depends on; they are parsed anew on every call.
///
/// # Panics
///
/// Panics if the repository has no file `file_index`, or lacks one of `dependencies`.
///
/// # References
///
/// RepoCoder (arXiv 2303.12570), the API-invocation task of RepoEval; Java is our adaptation.
#[must_use]
pub fn api_call_targets(repository: &Repository, dependencies: &[usize], file_index: usize) -> Vec<Target> {
    let file = &repository.files()[file_index];
    if dependencies.is_empty() {
        return Vec::new();
    }
    let Some(tree) = file.language.parse(&file.text) else { return Vec::new() };
    let calls = match file.language {
        Language::Python => python::calls(repository, dependencies, file_index, &tree),
        Language::Java => java::calls(repository, dependencies, file_index, &tree),
    };
    let lines = line_spans(&file.text);
    let spans: BTreeSet<(usize, usize)> = calls.into_iter().filter_map(|call| full_lines(call, &lines)).collect();
    spans.into_iter().map(|(start, end)| target_in(file, start..end, TargetKind::ApiCall)).collect()
}

fn full_lines(node: Node<'_>, lines: &[std::ops::Range<usize>]) -> Option<(usize, usize)> {
    let first = lines.get(node.start_position().row)?;
    let last = lines.get(node.end_position().row)?;
    Some((first.start, last.end))
}
