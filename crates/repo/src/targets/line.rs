//! Single lines of code.

use std::collections::BTreeSet;

use tree_sitter::{Node, Tree};

use super::{Target, TargetKind, line_spans, target_in};
use crate::language::Language;
use crate::source::SourceFile;
use crate::syntax::Preorder;

/// Returns every line of `file` that makes a line target, in order.
///
/// Such a line holds code (not only a comment or a docstring), is not the first of the file and does not follow a blank
/// line; of lines with equal text, leading and trailing space aside, the first is taken. The span is the whole line
/// without its ending. A file that cannot be parsed gives none.
///
/// # References
///
/// RepoCoder (arXiv 2303.12570), the line-level task of RepoEval. For Java, lines without a letter or digit are left
/// out too, because closing braces are not worth asking for.
#[must_use]
pub fn line_targets(file: &SourceFile) -> Vec<Target> {
    let Some(tree) = file.language.parse(&file.text) else { return Vec::new() };
    let lines = line_spans(&file.text);
    let is_code = code_lines(&tree, lines.len(), file.language);
    let trimmed: Vec<&str> = lines.iter().map(|span| file.text[span.clone()].trim()).collect();
    let mut seen = BTreeSet::new();
    let is_target = |&row: &usize| {
        let text = trimmed[row];
        let is_asked = file.language == Language::Python || text.contains(char::is_alphanumeric);
        is_code[row] && !text.is_empty() && !trimmed[row - 1].is_empty() && is_asked && seen.insert(text)
    };
    let rows = (1..lines.len()).filter(is_target);
    rows.map(|row| target_in(file, lines[row].clone(), TargetKind::Line)).collect()
}

/// Marks the rows on which a token lies that is not part of a comment or a docstring.
fn code_lines(tree: &Tree, n_lines: usize, language: Language) -> Vec<bool> {
    let mut is_code = vec![false; n_lines];
    let mut walk = Preorder::new(tree);
    while let Some(node) = walk.next() {
        if is_prose(node, language) {
            walk.skip_children();
        } else if node.child_count() == 0 && !node.byte_range().is_empty() {
            let last = node.end_position();
            let end = last.row + usize::from(last.column > 0);
            is_code[node.start_position().row.min(n_lines)..end.min(n_lines)].fill(true);
        }
    }
    is_code
}

fn is_prose(node: Node<'_>, language: Language) -> bool {
    match (language, node.kind()) {
        (Language::Python, "comment") | (Language::Java, "line_comment" | "block_comment") => true,
        (Language::Python, "expression_statement") => {
            let only = node.named_child(0).filter(|_| node.child_count() == 1);
            only.is_some_and(|only| matches!(only.kind(), "string" | "concatenated_string"))
        }
        _ => false,
    }
}
