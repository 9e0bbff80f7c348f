//! Imports, used types and declared types of a Java file, read off its tree.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{Import, ImportKind};
use crate::language::Language;
use crate::source::SourceFile;
use crate::syntax::{Preorder, node_text};

/// What other files need to know about a Java file.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// The package, empty for the unnamed one.
    pub(super) package: String,
    /// Imports, then the first use of every type name.
    pub(super) imports: Vec<Import>,
    /// Types at the top of the file.
    pub(super) types: Vec<String>,
    /// All types that the file declares, nested ones and type parameters included.
    pub(super) declared: BTreeSet<String>,
}

impl Facts {
    /// Reads the facts of `file`; a file that cannot be parsed has none.
    pub(super) fn of(file: &SourceFile) -> Self {
        let mut facts = Self::default();
        let Some(tree) = Language::Java.parse(&file.text) else { return facts };
        let mut used = BTreeSet::new();
        let mut walk = Preorder::new(&tree);
        let mut scope: Option<usize> = None;
        while let Some(node) = walk.next() {
            scope = scope.filter(|&depth| walk.depth() > depth);
            match node.kind() {
                "package_declaration" => facts.package = name_in(node, &file.text).join("."),
                "import_declaration" => {
                    facts.imports.extend(import_of(node, &file.text));
                    walk.skip_children();
                }
                kind if is_type_declaration(kind) => {
                    facts.declare(node.child_by_field_name("name"), scope.is_none(), &file.text);
                    scope = scope.or(Some(walk.depth()));
                }
                "type_parameter" => facts.declare(node.named_child(0), false, &file.text),
                _ => {}
            }
            if let Some(name) = type_use(node) {
                let path = path_of(name, &file.text);
                if !path.is_empty() && used.insert(path.clone()) {
                    let span = name.byte_range();
                    facts.imports.push(Import { kind: ImportKind::Use, path, binding: None, span });
                }
                if name.kind() == "scoped_type_identifier" {
                    walk.skip_children();
                }
            }
        }
        facts
    }

    fn declare(&mut self, name: Option<Node<'_>>, is_top_level: bool, text: &str) {
        let name = name.map_or("", |name| node_text(name, text)).to_owned();
        if is_top_level {
            self.types.push(name.clone());
        }
        self.declared.insert(name);
    }
}

/// Returns whether a node of `kind` declares a type.
pub(crate) fn is_type_declaration(kind: &str) -> bool {
    matches!(
        kind,
        "class_declaration"
            | "interface_declaration"
            | "enum_declaration"
            | "record_declaration"
            | "annotation_type_declaration"
    )
}

fn import_of(declaration: Node<'_>, text: &str) -> Option<Import> {
    let mut cursor = declaration.walk();
    let (mut is_static, mut is_on_demand) = (false, false);
    for child in declaration.children(&mut cursor) {
        is_static |= child.kind() == "static";
        is_on_demand |= child.kind() == "asterisk";
    }
    let path = name_in(declaration, text);
    let kind = match (is_static, is_on_demand) {
        (false, false) => ImportKind::Type,
        (false, true) => ImportKind::OnDemand,
        (true, false) => ImportKind::Static,
        (true, true) => ImportKind::StaticOnDemand,
    };
    let binding = if is_on_demand { None } else { path.last().cloned() };
    (!path.is_empty()).then(|| Import { kind, path, binding, span: declaration.byte_range() })
}

/// Returns the node that names a type if `node` is a type, or an expression or annotation that may name one.
///
/// `Loans.open()` and `Loans.LIMIT` look the same whether `Loans` is a type or a variable; a variable matches no type
/// of the repository.
fn type_use(node: Node<'_>) -> Option<Node<'_>> {
    let name = match node.kind() {
        "type_identifier" | "scoped_type_identifier" => Some(node),
        "method_invocation" | "field_access" => node.child_by_field_name("object"),
        "marker_annotation" | "annotation" => node.child_by_field_name("name"),
        "method_reference" => node.named_child(0),
        _ => None,
    };
    let names = ["type_identifier", "scoped_type_identifier", "identifier", "scoped_identifier"];
    name.filter(|name| names.contains(&name.kind()))
}

fn name_in(declaration: Node<'_>, text: &str) -> Vec<String> {
    let mut cursor = declaration.walk();
    let name = declaration
        .named_children(&mut cursor)
        .find(|child| matches!(child.kind(), "identifier" | "scoped_identifier"));
    name.map(|name| path_of(name, text)).unwrap_or_default()
}

/// Splits a dotted name; one with type arguments, annotations or holes in it gives an empty path.
fn path_of(name: Node<'_>, text: &str) -> Vec<String> {
    let parts: Vec<&str> = node_text(name, text).split('.').map(str::trim).collect();
    let is_plain = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
    if parts.iter().all(is_plain) { parts.into_iter().map(str::to_owned).collect() } else { Vec::new() }
}
