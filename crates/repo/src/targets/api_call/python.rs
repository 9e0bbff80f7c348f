//! Which calls of a Python file are calls into its dependencies.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::{Node, Tree};

use crate::imports::{self, Import, ImportKind, Layout};
use crate::language::Language;
use crate::source::{Repository, SourceFile};
use crate::syntax::{Preorder, node_text};

/// Returns the call nodes of `tree` that count.
pub(super) fn calls<'tree>(
    repository: &Repository,
    dependencies: &[usize],
    file_index: usize,
    tree: &'tree Tree,
) -> Vec<Node<'tree>> {
    let defined = dependencies.iter().flat_map(|&index| definitions(&repository.files()[index])).collect();
    let imported = imported_names(repository, file_index);
    let text = &repository.files()[file_index].text;
    let calls = Preorder::new(tree).filter(|node| node.kind() == "call");
    calls.filter(|&call| is_api_call(call, text, &imported, &defined)).collect()
}

/// Returns the functions and classes that `file` defines, at any depth.
fn definitions(file: &SourceFile) -> BTreeSet<String> {
    let Some(tree) = Language::Python.parse(&file.text) else { return BTreeSet::new() };
    let definitions =
        Preorder::new(&tree).filter(|node| matches!(node.kind(), "function_definition" | "class_definition"));
    let names = definitions.filter_map(|node| node.child_by_field_name("name"));
    names.map(|name| node_text(name, &file.text).to_owned()).collect()
}

/// Returns the names that the file binds to something of the repository, with their names where they are defined.
fn imported_names(repository: &Repository, file_index: usize) -> BTreeMap<String, String> {
    let layout = Layout::new(repository);
    let imports = imports::collect(&repository.files()[file_index]).into_iter();
    let own = imports.filter(|import| is_in_repository(import, &layout, file_index));
    let names = own.filter_map(|import| {
        let binding = import.binding?;
        match import.kind {
            ImportKind::Member { name, .. } => Some((binding, name)),
            _ => Some((binding.clone(), binding)),
        }
    });
    names.collect()
}

fn is_in_repository(import: &Import, layout: &Layout<'_>, file: usize) -> bool {
    match &import.kind {
        ImportKind::Module => layout.module(file, 0, &import.path).is_some(),
        ImportKind::Member { level, name } => {
            let module = layout.module(file, *level, &import.path);
            module.or_else(|| layout.submodule(file, *level, &import.path, name)).is_some()
        }
        _ => false,
    }
}

fn is_api_call(call: Node<'_>, text: &str, imported: &BTreeMap<String, String>, defined: &BTreeSet<String>) -> bool {
    let Some(function) = call.child_by_field_name("function") else { return false };
    let original = |node: Node<'_>| imported.get(node_text(node, text));
    match function.kind() {
        "identifier" => original(function).is_some_and(|name| defined.contains(name)),
        "attribute" => {
            let name = function.child_by_field_name("attribute").map_or("", |name| node_text(name, text));
            defined.contains(name) && root_of(function).is_some_and(|root| original(root).is_some())
        }
        _ => false,
    }
}

/// Returns the leftmost name of a chain of attributes, unless something else than a name stands there.
fn root_of(attribute: Node<'_>) -> Option<Node<'_>> {
    let mut node = attribute;
    while node.kind() == "attribute" {
        node = node.child_by_field_name("object")?;
    }
    (node.kind() == "identifier").then_some(node)
}
