//! What kind of name may stand at the caret.

use tree_sitter::Node;

use super::scope::Scope;

/// What kind of name the caret asks for.
pub(super) enum Wanted<'t> {
    /// Anything in scope.
    Name,
    /// A type in scope.
    Type,
    /// A member of what stands before the dot.
    Member { left: Node<'t>, types_only: bool },
    /// What an import or package clause goes on with.
    Path { before: String },
    /// A constant of the type of a `switch`, or any name.
    Constant { of: Node<'t> },
    /// An element of an annotation, or any name where elements need no name.
    Element { of: Node<'t>, elements_only: bool },
    /// The label of a statement around the caret.
    Label,
    /// A new name, or one that is no identifier of the program.
    Nothing,
}

/// Finds out what the caret asks for from the node it stands on.
pub(super) fn wanted<'t>(scope: &Scope<'t>) -> Wanted<'t> {
    let Some((&node, above)) = scope.path.split_last() else { return Wanted::Nothing };
    let Some(&parent) = above.last() else { return Wanted::Type };
    let is_field = |field: &str| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "field_access" if is_field("field") => member_of(parent.child_by_field_name("object"), false),
        "method_invocation" if is_field("name") && parent.child_by_field_name("object").is_some() => {
            member_of(parent.child_by_field_name("object"), false)
        }
        "method_reference" if parent.named_child(0) != Some(node) => member_of(parent.named_child(0), false),
        "scoped_type_identifier" if parent.named_child(0) != Some(node) => {
            let whole = above.iter().rev().find(|outer| outer.kind() != "scoped_type_identifier");
            let is_broken = whole.is_some_and(Node::is_error) || begins_statement(above, node);
            member_of(parent.named_child(0), !is_broken)
        }
        "scoped_identifier" | "import_declaration" | "package_declaration" => path_before(scope, node),
        "variable_declarator"
        | "formal_parameter"
        | "catch_formal_parameter"
        | "resource"
        | "enhanced_for_statement"
        | "instanceof_expression"
        | "method_declaration"
        | "constructor_declaration"
        | "class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "annotation_type_declaration"
        | "enum_constant"
        | "annotation_type_element_declaration"
        | "compact_constructor_declaration"
            if is_field("name") =>
        {
            Wanted::Nothing
        }
        "type_pattern" | "record_pattern_component" if parent.named_child(1) == Some(node) => Wanted::Nothing,
        "break_statement" | "continue_statement" => Wanted::Label,
        "inferred_parameters" | "labeled_statement" => Wanted::Nothing,
        "lambda_expression" if is_field("parameters") => Wanted::Nothing,
        "element_value_pair" if is_field("key") => element(scope, true),
        "annotation_argument_list" => element(scope, false),
        "switch_label" => switch_condition(scope).map_or(Wanted::Name, |of| Wanted::Constant { of }),
        "object_creation_expression" if is_field("type") => Wanted::Type,
        _ if node.kind() == "type_identifier" => {
            if begins_statement(above, node) {
                Wanted::Name
            } else {
                Wanted::Type
            }
        }
        "marker_annotation" | "annotation" => Wanted::Type,
        "ERROR" | "program" | "class_body" => after_dot(scope, node, parent),
        _ if matches!(node.kind(), "identifier" | "ERROR") => Wanted::Name,
        _ => Wanted::Nothing,
    }
}

fn element<'t>(scope: &Scope<'t>, elements_only: bool) -> Wanted<'t> {
    let annotation = scope.path.iter().rev().find(|node| node.kind() == "annotation");
    let of = annotation.and_then(|annotation| annotation.child_by_field_name("name"));
    of.map_or(Wanted::Name, |of| Wanted::Element { of, elements_only })
}

fn member_of(left: Option<Node<'_>>, types_only: bool) -> Wanted<'_> {
    left.map_or(Wanted::Nothing, |left| Wanted::Member { left, types_only })
}

/// Within broken syntax: what stands before the caret decides.
fn after_dot<'t>(scope: &Scope<'t>, node: Node<'t>, parent: Node<'t>) -> Wanted<'t> {
    let before = scope.text.get(..node.start_byte()).unwrap_or_default().trim_end();
    if before.ends_with("import")
        || before.ends_with("package")
        || before.ends_with("static") && scope.focus.wrapper == 0
    {
        return Wanted::Path { before: String::new() };
    }
    if before.ends_with('.') || before.ends_with("::") {
        let mut cursor = parent.walk();
        let left = parent.named_children(&mut cursor).filter(|child| child.end_byte() <= before.len()).last();
        return member_of(left, false);
    }
    if scope.focus.wrapper == 0 || before.ends_with("new") { Wanted::Type } else { Wanted::Name }
}

/// Returns whether a type begins a statement, where any other name may stand too.
fn begins_statement(above: &[Node<'_>], node: Node<'_>) -> bool {
    let scoped = above.iter().rev().take_while(|parent| parent.kind() == "scoped_type_identifier").last();
    let start = scoped.unwrap_or(&node).start_byte();
    let statement = above.iter().rev().find(|parent| parent.start_byte() < start);
    let first = above.iter().rev().take_while(|parent| parent.start_byte() >= start);
    let is_block = statement.is_some_and(|parent| {
        matches!(parent.kind(), "block" | "constructor_body" | "switch_block_statement_group" | "lambda_expression")
    });
    is_block && first.into_iter().any(|parent| parent.kind() == "local_variable_declaration")
}

fn path_before<'t>(scope: &Scope<'t>, node: Node<'t>) -> Wanted<'t> {
    let whole =
        scope.path.iter().rev().find(|parent| matches!(parent.kind(), "import_declaration" | "package_declaration"));
    let outermost = scope.path.iter().find(|parent| parent.kind() == "scoped_identifier").copied().unwrap_or(node);
    let before = scope.text.get(outermost.start_byte()..node.start_byte()).unwrap_or_default();
    let before: String = before.split_whitespace().collect();
    match whole {
        // A qualified name elsewhere, in an annotation.
        None if before.is_empty() => Wanted::Type,
        _ => Wanted::Path { before: before.trim_end_matches('.').to_owned() },
    }
}

fn switch_condition<'t>(scope: &Scope<'t>) -> Option<Node<'t>> {
    scope.path.iter().rev().find(|node| node.kind() == "switch_expression")?.child_by_field_name("condition")
}
