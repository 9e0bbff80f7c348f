//! Java methods and constructors.

use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::{Function, Scopes};
use crate::imports::is_java_type;
use crate::syntax::{Preorder, node_text};

pub(super) fn functions(tree: &Tree, text: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    let mut scopes = Scopes::default();
    let mut javadoc: Option<Range<usize>> = None;
    let mut walk = Preorder::new(tree);
    while let Some(node) = walk.next() {
        scopes.leave(walk.depth());
        // A comment has no children, so the node that follows in the walk is what it stands before.
        if matches!(node.kind(), "block_comment" | "line_comment") {
            javadoc = is_javadoc(node_text(node, text)).then(|| node.byte_range()).or(javadoc);
            continue;
        }
        let documented = javadoc.take();
        match node.kind() {
            "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => {
                functions.extend(function(node, scopes.class(), documented, text));
                scopes.enter(walk.depth(), None);
            }
            kind if is_java_type(kind) => {
                let name = node.child_by_field_name("name").map(|name| node_text(name, text));
                scopes.enter(walk.depth(), name);
            }
            // Their bodies are classes without a name.
            "object_creation_expression" | "enum_constant" => scopes.enter(walk.depth(), None),
            _ => {}
        }
    }
    functions
}

/// Returns whether a comment is a Javadoc comment; `/**/` is an empty ordinary one.
fn is_javadoc(comment: &str) -> bool {
    comment.starts_with("/**") && comment != "/**/"
}

fn function(node: Node<'_>, class: Option<String>, javadoc: Option<Range<usize>>, text: &str) -> Option<Function> {
    let block = node.child_by_field_name("body").filter(|_| !node.has_error())?;
    let start = node.start_byte();
    let signature = text.get(start..block.start_byte())?.trim_end();
    let signature = start..start + signature.len();
    Some(Function {
        name: node.child_by_field_name("name").map_or("", |name| node_text(name, text)).to_owned(),
        class,
        is_async: false,
        span: node.byte_range(),
        docstring: javadoc,
        body: signature.end..node.end_byte(),
        signature,
    })
}
