//! Which calls of a Java file are calls into its dependencies.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::{Node, Tree};

use crate::imports::{self, ImportKind};
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
    let mut api = Api::default();
    for &index in dependencies {
        api.add(&repository.files()[index]);
    }
    let file = &repository.files()[file_index];
    let scope = Scope { text: &file.text, api, variables: variables(tree, &file.text), statics: statics(file) };
    Preorder::new(tree).filter(|&node| scope.is_api_call(node)).collect()
}

/// The names that a file's dependencies declare.
#[derive(Default)]
struct Api {
    types: BTreeSet<String>,
    methods: BTreeSet<String>,
}

impl Api {
    fn add(&mut self, file: &SourceFile) {
        let Some(tree) = Language::Java.parse(&file.text) else { return };
        for node in Preorder::new(&tree) {
            let names = match node.kind() {
                "method_declaration" => &mut self.methods,
                kind if imports::is_java_type(kind) => &mut self.types,
                _ => continue,
            };
            names.extend(node.child_by_field_name("name").map(|name| node_text(name, &file.text).to_owned()));
        }
    }
}

/// What the names of a file's calls mean.
struct Scope<'a> {
    text: &'a str,
    api: Api,
    /// Simple type names by variable.
    variables: BTreeMap<&'a str, &'a str>,
    statics: BTreeSet<String>,
}

impl Scope<'_> {
    fn is_api_call(&self, node: Node<'_>) -> bool {
        match node.kind() {
            "object_creation_expression" => {
                let created = node.child_by_field_name("type").map_or("", |created| simple_name(created, self.text));
                self.api.types.contains(created)
            }
            "method_invocation" => {
                let name = node.child_by_field_name("name").map_or("", |name| node_text(name, self.text));
                self.api.methods.contains(name) && self.is_on_api(node, name)
            }
            _ => false,
        }
    }

    fn is_on_api(&self, invocation: Node<'_>, method: &str) -> bool {
        let Some(object) = invocation.child_by_field_name("object") else { return self.statics.contains(method) };
        let name = match object.kind() {
            "identifier" => node_text(object, self.text),
            "field_access" if object.child_by_field_name("object").is_some_and(|of| of.kind() == "this") => {
                object.child_by_field_name("field").map_or("", |field| node_text(field, self.text))
            }
            _ => return false,
        };
        let declared = self.variables.get(name).copied().unwrap_or(name);
        self.api.types.contains(declared)
    }
}

/// Returns the members that `file` imports statically, one by one.
fn statics(file: &SourceFile) -> BTreeSet<String> {
    let imports = imports::collect(file).into_iter().filter(|import| import.kind == ImportKind::Static);
    imports.filter_map(|import| import.binding).collect()
}

/// Returns the declared type of every variable whose name has one type throughout the file.
fn variables<'text>(tree: &Tree, text: &'text str) -> BTreeMap<&'text str, &'text str> {
    let mut types: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for node in Preorder::new(tree) {
        let declared = match node.kind() {
            "formal_parameter" | "enhanced_for_statement" => node,
            "field_declaration" | "local_variable_declaration" => {
                node.child_by_field_name("declarator").unwrap_or(node)
            }
            _ => continue,
        };
        if let (Some(declared_type), Some(name)) =
            (node.child_by_field_name("type"), declared.child_by_field_name("name"))
        {
            types.entry(node_text(name, text)).or_default().insert(simple_name(declared_type, text));
        }
    }
    let single = types.into_iter().filter(|(_, types)| types.len() == 1);
    single.filter_map(|(name, types)| Some((name, types.into_iter().next()?))).collect()
}

/// Returns the last part of a type's name, without type arguments.
fn simple_name<'text>(named: Node<'_>, text: &'text str) -> &'text str {
    let name = node_text(named, text).split('<').next().unwrap_or_default().trim();
    name.rsplit('.').next().unwrap_or(name).trim()
}
