//! Imports and module-level names of a Python file, read off its tree.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use super::{Import, ImportKind};
use crate::language::Language;
use crate::source::SourceFile;
use crate::syntax::{Preorder, node_text};

/// What other files need to know about a Python file.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// All imports, wherever they stand.
    pub(super) imports: Vec<Import>,
    /// Positions of the imports outside any function or class, by the name that they bind in the module.
    pub(super) bindings: BTreeMap<String, Vec<usize>>,
    /// Positions of the star imports outside any function or class.
    pub(super) stars: Vec<usize>,
    /// Names that the module itself defines: functions, classes and assigned variables.
    pub(super) definitions: BTreeSet<String>,
}

impl Facts {
    /// Reads the facts of `file`; a file that cannot be parsed has none.
    pub(super) fn of(file: &SourceFile) -> Self {
        let mut facts = Self::default();
        let Some(tree) = Language::Python.parse(&file.text) else { return facts };
        let mut walk = Preorder::new(&tree);
        let mut scope: Option<usize> = None;
        while let Some(node) = walk.next() {
            scope = scope.filter(|&depth| walk.depth() > depth);
            match node.kind() {
                "import_statement" | "import_from_statement" => {
                    facts.import(imports_of(node, &file.text), scope.is_none());
                    walk.skip_children();
                }
                "function_definition" | "class_definition" if scope.is_none() => {
                    facts.define(node.child_by_field_name("name"), &file.text);
                    scope = Some(walk.depth());
                }
                "assignment" if scope.is_none() => facts.define(node.child_by_field_name("left"), &file.text),
                _ => {}
            }
        }
        facts
    }

    fn import(&mut self, imports: Vec<Import>, is_module_level: bool) {
        for import in imports {
            let position = self.imports.len();
            match &import.binding {
                Some(name) if is_module_level => self.bindings.entry(name.clone()).or_default().push(position),
                None if is_module_level => self.stars.push(position),
                _ => {}
            }
            self.imports.push(import);
        }
    }

    fn define(&mut self, target: Option<Node<'_>>, text: &str) {
        let Some(target) = target else { return };
        if target.kind() == "identifier" {
            self.definitions.insert(node_text(target, text).to_owned());
        } else if matches!(target.kind(), "pattern_list" | "tuple_pattern") {
            let mut cursor = target.walk();
            let names = target.named_children(&mut cursor).filter(|child| child.kind() == "identifier");
            self.definitions.extend(names.map(|name| node_text(name, text).to_owned()));
        }
    }
}

fn imports_of(statement: Node<'_>, text: &str) -> Vec<Import> {
    let from = statement.child_by_field_name("module_name").map(|module| module_path(module, text));
    let (mut names, mut children) = (statement.walk(), statement.walk());
    let names = statement.children_by_field_name("name", &mut names);
    let star = statement.named_children(&mut children).find(|child| child.kind() == "wildcard_import");
    let imports = names.chain(star).filter_map(|child| {
        let (name, alias) = match child.kind() {
            "aliased_import" => (child.child_by_field_name("name")?, child.child_by_field_name("alias")),
            _ => (child, None),
        };
        let alias = alias.map(|alias| node_text(alias, text).to_owned());
        import_of(statement, from.as_ref(), name, alias, text)
    });
    imports.collect()
}

/// Builds the import of one name of a statement, unless error recovery left it without a name.
fn import_of(
    statement: Node<'_>,
    from: Option<&(usize, Vec<String>)>,
    name: Node<'_>,
    alias: Option<String>,
    text: &str,
) -> Option<Import> {
    let span = statement.byte_range();
    let Some((level, path)) = from.cloned() else {
        let path = dotted(name, text);
        let binding = Some(alias.unwrap_or_else(|| path.first().cloned().unwrap_or_default()));
        return is_named(&path).then_some(Import { kind: ImportKind::Module, path, binding, span });
    };
    if name.kind() == "wildcard_import" {
        return Some(Import { kind: ImportKind::Star { level }, path, binding: None, span });
    }
    let name = node_text(name, text).to_owned();
    let binding = Some(alias.unwrap_or_else(|| name.clone()));
    let is_named = !name.is_empty() && (level > 0 || is_named(&path));
    is_named.then_some(Import { kind: ImportKind::Member { level, name }, path, binding, span })
}

fn is_named(path: &[String]) -> bool {
    !path.is_empty() && path.iter().all(|part| !part.is_empty())
}

/// Splits the module of a `from` statement into its number of leading dots and its path.
fn module_path(module: Node<'_>, text: &str) -> (usize, Vec<String>) {
    if module.kind() != "relative_import" {
        return (0, dotted(module, text));
    }
    let mut cursor = module.walk();
    let (mut level, mut path) = (0, Vec::new());
    for child in module.named_children(&mut cursor) {
        match child.kind() {
            "import_prefix" => level = node_text(child, text).matches('.').count(),
            "dotted_name" => path = dotted(child, text),
            _ => {}
        }
    }
    (level, path)
}

fn dotted(name: Node<'_>, text: &str) -> Vec<String> {
    let mut cursor = name.walk();
    let parts = name.named_children(&mut cursor).filter(|part| part.kind() == "identifier");
    parts.map(|part| node_text(part, text).to_owned()).collect()
}
