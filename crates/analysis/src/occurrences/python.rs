//! Identifiers of Python files.

use tree_sitter::{Node, Tree};

use super::scopes::{Binding, ScopeKind, Scopes};
use super::{Occurrence, OccurrenceKind, is_field, visit};

pub(super) fn occurrences(tree: &Tree, text: &str) -> Vec<Occurrence> {
    let scopes = scopes(tree, text);
    let mut found = Vec::new();
    visit(tree, |node, ancestors| {
        let name = &text[node.byte_range()];
        let is_special = name.starts_with("__") && name.ends_with("__");
        if node.kind() == "identifier" && !name.is_empty() && !is_special {
            found.push(Occurrence { span: node.byte_range(), kind: kind(node, ancestors, name, &scopes, text) });
        }
    });
    found
}

/// Collects the scopes and what they bind.
fn scopes<'text>(tree: &Tree, text: &'text str) -> Scopes<'text> {
    let mut scopes = Scopes::new(text.len());
    visit(tree, |node, ancestors| match node.kind() {
        "class_definition" => scopes.open(ScopeKind::Class, body(node)),
        "function_definition" | "lambda" => scopes.open(ScopeKind::Function, inside(node)),
        "identifier" => bind(&mut scopes, node, ancestors, text),
        _ => {}
    });
    scopes
}

/// The part of a class that sees its names.
fn body(class: Node<'_>) -> std::ops::Range<usize> {
    class
        .child_by_field_name("body")
        .map_or(class.end_byte()..class.end_byte(), |body| body.start_byte()..class.end_byte())
}

/// The part of a function that sees its parameters.
fn inside(function: Node<'_>) -> std::ops::Range<usize> {
    let start = function.child_by_field_name("parameters").or_else(|| function.child_by_field_name("body"));
    start.map_or(function.end_byte(), |part| part.start_byte())..function.end_byte()
}

fn bind<'text>(scopes: &mut Scopes<'text>, node: Node<'_>, ancestors: &[Node<'_>], text: &'text str) {
    let (name, near) = (&text[node.byte_range()], scopes.at(node.start_byte()));
    match role(node, ancestors) {
        Role::Parameter => {
            let is_method = scopes.get(near).parent.is_some_and(|parent| scopes.get(parent).kind == ScopeKind::Class);
            let scope = scopes.get_mut(near);
            if is_method && scope.names.is_empty() {
                scope.receiver = Some(name);
            }
            scope.bind(name, Binding::Parameter);
        }
        Role::Import => scopes.get_mut(near).bind(name, Binding::Import),
        Role::Binding => {
            let scope = scopes.get_mut(near);
            scope.bind(name, Binding::Variable(node.start_byte()));
            if scope.kind == ScopeKind::Class {
                scope.members.insert(name);
            }
        }
        Role::SelfBinding => {
            let is_self = |object: &str| scopes.get(near).receiver == Some(object);
            let object = ancestors.last().and_then(|parent| parent.child_by_field_name("object"));
            let class = scopes.get(near).parent;
            if let Some(class) = class.filter(|_| object.is_some_and(|object| is_self(&text[object.byte_range()]))) {
                scopes.get_mut(class).members.insert(name);
            }
        }
        Role::Use => {}
    }
}

/// What an identifier does where it stands.
enum Role {
    Parameter,
    Import,
    Binding,
    /// The member in `object.member = ...`.
    SelfBinding,
    Use,
}

fn role(node: Node<'_>, ancestors: &[Node<'_>]) -> Role {
    let patterns = ["pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern", "dictionary_splat_pattern"];
    let (mut child, mut above) = (node, ancestors);
    let is_member =
        above.last().is_some_and(|parent| parent.kind() == "attribute" && is_field(*parent, "attribute", node));
    if is_member {
        (child, above) = pop(above);
    }
    while above.last().is_some_and(|parent| patterns.contains(&parent.kind())) {
        (child, above) = pop(above);
    }
    let Some(&parent) = above.last() else { return Role::Use };
    let binds = match parent.kind() {
        "assignment" | "augmented_assignment" | "for_statement" | "for_in_clause" => is_field(parent, "left", child),
        "named_expression" | "class_definition" | "function_definition" => is_field(parent, "name", child),
        "as_pattern_target" => true,
        _ => false,
    };
    match parent.kind() {
        _ if is_member => {
            if binds {
                Role::SelfBinding
            } else {
                Role::Use
            }
        }
        _ if binds => Role::Binding,
        "parameters" | "lambda_parameters" => Role::Parameter,
        "typed_parameter" if parent.child(0) == Some(child) => Role::Parameter,
        "default_parameter" | "typed_default_parameter" if is_field(parent, "name", child) => Role::Parameter,
        "aliased_import" if is_field(parent, "alias", child) => Role::Import,
        "dotted_name" if parent.child(0) == Some(child) && binds_name(parent, &above[..above.len() - 1]) => {
            Role::Import
        }
        _ => Role::Use,
    }
}

/// Whether the first name of a dotted name becomes a name of the scope: `import a.b`, `from m import a`.
fn binds_name(dotted: Node<'_>, ancestors: &[Node<'_>]) -> bool {
    ancestors.last().is_some_and(|parent| match parent.kind() {
        "import_statement" => true,
        "import_from_statement" => !is_field(*parent, "module_name", dotted),
        _ => false,
    })
}

fn pop<'a, 'tree>(ancestors: &'a [Node<'tree>]) -> (Node<'tree>, &'a [Node<'tree>]) {
    let (last, rest) = ancestors.split_last().expect("the caller saw the last");
    (*last, rest)
}

fn kind(node: Node<'_>, ancestors: &[Node<'_>], name: &str, scopes: &Scopes<'_>, text: &str) -> OccurrenceKind {
    let parent = ancestors.last();
    if ancestors.iter().rev().take(3).any(|node| node.kind().starts_with("import_")) {
        return OccurrenceKind::ImportedName;
    }
    if parent.is_some_and(|parent| parent.kind() == "keyword_argument" && is_field(*parent, "name", node)) {
        return OccurrenceKind::KeywordArgument;
    }
    if let Some(parent) = parent.filter(|parent| parent.kind() == "attribute" && is_field(**parent, "attribute", node))
    {
        let object = parent.child_by_field_name("object").filter(|object| object.kind() == "identifier");
        return object.map_or(OccurrenceKind::Chain, |object| {
            attribute_kind(name, name_kind(object.start_byte(), &text[object.byte_range()], scopes), object, scopes)
        });
    }
    name_kind(node.start_byte(), name, scopes)
}

fn attribute_kind(name: &str, object: OccurrenceKind, node: Node<'_>, scopes: &Scopes<'_>) -> OccurrenceKind {
    match object {
        OccurrenceKind::SelfName => {
            let class = scopes.class(scopes.around(node.start_byte()));
            if class.is_some_and(|class| class.members.contains(name)) {
                OccurrenceKind::SelfAttribute
            } else {
                OccurrenceKind::InheritedAttribute
            }
        }
        OccurrenceKind::Parameter => OccurrenceKind::ParameterAttribute,
        OccurrenceKind::Local | OccurrenceKind::Enclosing | OccurrenceKind::FirstBinding => {
            OccurrenceKind::LocalAttribute
        }
        _ => OccurrenceKind::ImportAttribute,
    }
}

fn name_kind(byte: usize, name: &str, scopes: &Scopes<'_>) -> OccurrenceKind {
    let here = scopes.around(byte);
    for (distance, scope) in scopes.outward(here).enumerate() {
        // The names of a class are not seen by the functions within it.
        if scope.kind == ScopeKind::Class && distance > 0 {
            continue;
        }
        let Some(binding) = scope.names.get(name) else { continue };
        return match (scope.kind, binding) {
            (_, Binding::Parameter) if scope.receiver == Some(name) => OccurrenceKind::SelfName,
            (_, Binding::Parameter) => OccurrenceKind::Parameter,
            (_, Binding::Variable(first)) if *first == byte => OccurrenceKind::FirstBinding,
            (ScopeKind::File, Binding::Import) => OccurrenceKind::Import,
            (ScopeKind::File, _) => OccurrenceKind::Global,
            _ if distance == 0 => OccurrenceKind::Local,
            _ => OccurrenceKind::Enclosing,
        };
    }
    OccurrenceKind::Outside
}
