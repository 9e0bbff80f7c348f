//! Python functions.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::{Function, Scopes};
use crate::syntax::{Preorder, node_text};

pub(super) fn functions(tree: &Tree, text: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut scopes = Scopes::default();
    let mut walk = Preorder::new(tree);
    while let Some(node) = walk.next() {
        scopes.leave(walk.depth());
        match node.kind() {
            "class_definition" => {
                let name = node.child_by_field_name("name").map(|name| node_text(name, text));
                scopes.enter(walk.depth(), name);
            }
            "function_definition" => {
                functions.extend(function(node, scopes.class(), text));
                scopes.enter(walk.depth(), None);
            }
            _ => {}
        }
    }
    functions
}

fn function(node: Node<'_>, class: Option<String>, text: &str) -> Option<Function> {
    if node.has_error() {
        return None;
    }
    let block = node.child_by_field_name("body")?;
    let mut children = node.walk();
    let colon = node.children(&mut children).find(|child| child.kind() == ":")?;
    let start = node.start_byte();
    let end = start + text.get(node.byte_range())?.trim_end().len();
    (end > colon.end_byte()).then(|| Function {
        name: node.child_by_field_name("name").map_or("", |name| node_text(name, text)).to_owned(),
        class,
        is_async: node.child(0).is_some_and(|child| child.kind() == "async"),
        span: start..end,
        signature: start..colon.end_byte(),
        docstring: docstring(block, text),
        body: colon.end_byte()..end,
    })
}

/// Returns the span of the string that is the first statement of `block`.
fn docstring(block: Node<'_>, text: &str) -> Option<Range<usize>> {
    let mut children = block.walk();
    let first = block.named_children(&mut children).find(|child| child.kind() != "comment")?;
    let string = (first.kind() == "expression_statement" && first.named_child_count() == 1)
        .then(|| first.named_child(0))
        .flatten()
        .filter(|child| child.kind() == "string")?;
    let prefix = node_text(string, text).split(['"', '\'']).next().unwrap_or_default();
    let is_text = prefix.chars().all(|c| matches!(c, 'r' | 'R' | 'u' | 'U'));
    is_text.then(|| string.byte_range())
}
