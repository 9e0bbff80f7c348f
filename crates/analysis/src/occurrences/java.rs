//! Identifiers of Java files.

use tree_sitter::{Node, Tree};

use super::scopes::{Binding, ScopeKind, Scopes};
use super::{Occurrence, OccurrenceKind, is_field, visit};

pub(super) fn occurrences(tree: &Tree, text: &str) -> Vec<Occurrence> {
    let scopes = scopes(tree, text);
    let mut found = Vec::new();
    visit(tree, |node, ancestors| {
        if matches!(node.kind(), "identifier" | "type_identifier") && !node.byte_range().is_empty() {
            found.push(Occurrence { span: node.byte_range(), kind: kind(node, ancestors, &scopes, text) });
        }
    });
    found
}

fn scopes<'text>(tree: &Tree, text: &'text str) -> Scopes<'text> {
    let mut scopes = Scopes::new(text.len());
    visit(tree, |node, ancestors| {
        let opens = match node.kind() {
            "class_body" | "interface_body" | "enum_body" | "annotation_type_body" | "record_declaration" => {
                Some(ScopeKind::Class)
            }
            "method_declaration"
            | "constructor_declaration"
            | "compact_constructor_declaration"
            | "lambda_expression"
            | "block"
            | "for_statement"
            | "enhanced_for_statement"
            | "catch_clause"
            | "try_with_resources_statement" => Some(ScopeKind::Function),
            _ => None,
        };
        if let Some(kind) = opens {
            scopes.open(kind, node.byte_range());
        } else if node.kind() == "identifier" {
            bind(&mut scopes, node, ancestors, text);
        }
    });
    scopes
}

fn bind<'text>(scopes: &mut Scopes<'text>, node: Node<'_>, ancestors: &[Node<'_>], text: &'text str) {
    let (name, near) = (&text[node.byte_range()], scopes.at(node.start_byte()));
    let Some(parent) = ancestors.last() else { return };
    let is_name = is_field(*parent, "name", node);
    match parent.kind() {
        "variable_declarator" if is_name => {
            let is_field = ancestors.iter().rev().nth(1).is_some_and(|above| above.kind() == "field_declaration");
            declare(scopes, near, name, node.start_byte(), is_field);
        }
        "enhanced_for_statement"
        | "resource"
        | "instanceof_expression"
        | "type_pattern"
        | "record_pattern_component"
            if is_name || parent.kind() == "type_pattern" =>
        {
            declare(scopes, near, name, node.start_byte(), false);
        }
        "method_declaration"
        | "enum_constant"
        | "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "annotation_type_declaration"
        | "constant_declaration"
            if is_name =>
        {
            // The declaration itself may have opened a scope that its name does not belong to.
            let outside = if scopes.get(near).span == parent.byte_range() { scopes.get(near).parent } else { None };
            declare(scopes, outside.unwrap_or(near), name, node.start_byte(), true);
        }
        "formal_parameter" | "spread_parameter" | "catch_formal_parameter" if is_name => {
            parameter(scopes, near, name);
        }
        "inferred_parameters" => parameter(scopes, near, name),
        "lambda_expression" if is_field(*parent, "parameters", node) => parameter(scopes, near, name),
        "scoped_identifier" | "import_declaration" => {
            let is_last = parent.kind() == "import_declaration" || is_name;
            let in_import = ancestors.iter().rev().nth(1).is_some_and(|above| above.kind() == "import_declaration");
            if is_last && (in_import || parent.kind() == "import_declaration") {
                scopes.get_mut(0).bind(name, Binding::Import);
            }
        }
        _ => {}
    }
}

/// A parameter; the components of a record are its members.
fn parameter<'text>(scopes: &mut Scopes<'text>, near: usize, name: &'text str) {
    let scope = scopes.get_mut(near);
    if scope.kind == ScopeKind::Class {
        scope.members.insert(name);
    } else {
        scope.bind(name, Binding::Parameter);
    }
}

fn declare<'text>(scopes: &mut Scopes<'text>, near: usize, name: &'text str, byte: usize, is_member: bool) {
    let scope = scopes.get_mut(near);
    if is_member && scope.kind == ScopeKind::Class {
        scope.members.insert(name);
    } else {
        scope.bind(name, Binding::Variable(byte));
    }
}

fn kind(node: Node<'_>, ancestors: &[Node<'_>], scopes: &Scopes<'_>, text: &str) -> OccurrenceKind {
    let name = &text[node.byte_range()];
    let Some(parent) = ancestors.last() else { return OccurrenceKind::Outside };
    if ancestors.iter().any(|node| matches!(node.kind(), "import_declaration" | "package_declaration")) {
        return OccurrenceKind::ImportedName;
    }
    let member = match parent.kind() {
        "field_access" => is_field(*parent, "field", node),
        "method_invocation" => is_field(*parent, "name", node) && parent.child_by_field_name("object").is_some(),
        "method_reference" | "scoped_type_identifier" => parent.child(0) != Some(node),
        _ => false,
    };
    if !member {
        return name_kind(node.start_byte(), name, scopes);
    }
    let object = parent.child_by_field_name("object").or_else(|| parent.child(0));
    match object.map(|object| (object.kind(), &text[object.byte_range()], object.start_byte())) {
        Some(("this" | "super", ..)) => member_kind(scopes.around(node.start_byte()), name, scopes),
        Some(("identifier" | "type_identifier", object, byte)) => match name_kind(byte, object, scopes) {
            OccurrenceKind::Parameter => OccurrenceKind::ParameterAttribute,
            OccurrenceKind::Local | OccurrenceKind::FirstBinding | OccurrenceKind::Enclosing => {
                OccurrenceKind::LocalAttribute
            }
            OccurrenceKind::SelfAttribute | OccurrenceKind::InheritedAttribute => OccurrenceKind::Chain,
            _ => OccurrenceKind::ImportAttribute,
        },
        _ => OccurrenceKind::Chain,
    }
}

fn member_kind(here: usize, name: &str, scopes: &Scopes<'_>) -> OccurrenceKind {
    let is_own = scopes.class(here).is_some_and(|class| class.members.contains(name));
    if is_own { OccurrenceKind::SelfAttribute } else { OccurrenceKind::InheritedAttribute }
}

fn name_kind(byte: usize, name: &str, scopes: &Scopes<'_>) -> OccurrenceKind {
    for scope in scopes.outward(scopes.around(byte)) {
        if scope.kind == ScopeKind::Class && scope.members.contains(name) {
            return OccurrenceKind::SelfAttribute;
        }
        match scope.names.get(name) {
            Some(Binding::Parameter) => return OccurrenceKind::Parameter,
            Some(Binding::Import) => return OccurrenceKind::Import,
            Some(Binding::Variable(first)) if *first == byte => return OccurrenceKind::FirstBinding,
            Some(Binding::Variable(_)) if scope.kind == ScopeKind::File => return OccurrenceKind::Global,
            Some(Binding::Variable(first)) if *first < byte => return OccurrenceKind::Local,
            _ => {}
        }
    }
    // Types begin with a capital by a convention that Java code keeps.
    let is_type = name.starts_with(char::is_uppercase);
    if is_type { OccurrenceKind::Outside } else { OccurrenceKind::InheritedAttribute }
}
