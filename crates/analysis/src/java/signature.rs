//! The parts of a declaration that others see: modifiers, type parameters and parameters.

use tree_sitter::Node;

use super::class::{Access, Parameter, TypeParameter};
use super::written::{Written, n_dimensions};

/// The modifiers of a declaration that matter to others.
pub(super) struct Modifiers {
    pub(super) access: Access,
    pub(super) is_static: bool,
}

/// Returns the modifiers of a declaration.
pub(super) fn modifiers_of(node: Node<'_>) -> Modifiers {
    let mut found = Modifiers { access: Access::Package, is_static: false };
    let mut cursor = node.walk();
    let Some(modifiers) = node.children(&mut cursor).find(|child| child.kind() == "modifiers") else {
        return found;
    };
    let mut cursor = modifiers.walk();
    for modifier in modifiers.children(&mut cursor) {
        match modifier.kind() {
            "public" => found.access = Access::Public,
            "protected" => found.access = Access::Protected,
            "private" => found.access = Access::Private,
            "static" => found.is_static = true,
            _ => {}
        }
    }
    found
}

/// Returns the type parameters of a declaration.
pub(super) fn type_parameters(node: Node<'_>, text: &str) -> Vec<TypeParameter> {
    let Some(list) = node.child_by_field_name("type_parameters") else { return Vec::new() };
    let mut cursor = list.walk();
    let parameters = list.named_children(&mut cursor).filter(|child| child.kind() == "type_parameter");
    let read = |parameter: Node<'_>| {
        let mut cursor = parameter.walk();
        let name = parameter.named_children(&mut cursor).find(|child| child.kind() == "type_identifier")?;
        let mut cursor = parameter.walk();
        let bound = parameter.named_children(&mut cursor).find(|child| child.kind() == "type_bound");
        let bound = bound.and_then(|bound| bound.named_child(0)).map(|bound| Written::of(bound, text));
        Some(TypeParameter { name: text.get(name.byte_range())?.into(), bound })
    };
    parameters.filter_map(read).collect()
}

/// Returns the name of a formal, variadic or caught parameter.
pub(super) fn name_of_parameter(parameter: Node<'_>) -> Option<Node<'_>> {
    parameter.child_by_field_name("name").or_else(|| {
        let mut cursor = parameter.walk();
        let declarator = parameter.named_children(&mut cursor).find(|child| child.kind() == "variable_declarator");
        declarator.and_then(|declarator| declarator.child_by_field_name("name"))
    })
}

/// Returns the type of a formal, variadic or caught parameter.
pub(super) fn type_of_parameter(parameter: Node<'_>, text: &str) -> Written {
    let mut cursor = parameter.walk();
    let is_type = |child: &Node<'_>| !matches!(child.kind(), "modifiers" | "variable_declarator" | "identifier");
    let written = parameter
        .child_by_field_name("type")
        .or_else(|| parameter.named_children(&mut cursor).find(is_type))
        .map(|written| Written::of(written, text));
    let n_more = n_dimensions(parameter, text) + usize::from(parameter.kind() == "spread_parameter");
    written.unwrap_or_default().with_dimensions(n_more)
}

/// Returns the formal parameters, and whether the last takes any number of arguments.
pub(super) fn formal_parameters(list: Node<'_>, text: &str) -> (Vec<Parameter>, bool) {
    let mut cursor = list.walk();
    let (mut parameters, mut is_variadic) = (Vec::new(), false);
    for child in list.named_children(&mut cursor) {
        if !matches!(child.kind(), "formal_parameter" | "spread_parameter") {
            continue;
        }
        is_variadic = child.kind() == "spread_parameter";
        let name = name_of_parameter(child).and_then(|name| text.get(name.byte_range())).unwrap_or_default();
        parameters.push(Parameter { name: name.into(), written: type_of_parameter(child, text) });
    }
    (parameters, is_variadic)
}
