//! The names in scope at the caret, read off the path from the member down to the caret.

use std::cell::Cell;
use std::ops::Range;

use tree_sitter::Node;

use super::class::{ClassId, TypeParameter};
use super::focus::Focus;
use super::inheritance::Place;
use super::outline::{Outline, declared_kind};
use super::signature::type_parameters;
use super::store::Store;
use super::written::{Written, n_dimensions};

/// What a scope has, outermost first.
pub(super) enum Entry<'t> {
    /// A local variable or a parameter.
    Local(Local<'t>),
    /// A type around the caret.
    Class {
        id: ClassId,
        /// Whether the caret is in what belongs to the type and not to an object of it.
        is_static: bool,
    },
}

/// A local variable or a parameter.
pub(super) struct Local<'t> {
    pub(super) name: &'t str,
    /// The bytes of the name in the parsed text.
    pub(super) span: Range<usize>,
    pub(super) source: Source<'t>,
}

/// Where the type of a local variable comes from.
pub(super) enum Source<'t> {
    Written(Written),
    /// `var`: the type of the value.
    Value(Node<'t>),
    /// `var` in a loop: the type of the elements.
    Element(Node<'t>),
    /// The parameter at `index` of the lambda at `level` of the path.
    Lambda {
        level: usize,
        index: usize,
    },
}

/// Everything around the caret.
pub(super) struct Scope<'t> {
    pub(super) store: &'t Store<'t>,
    pub(super) focus: &'t Focus,
    pub(super) text: &'t str,
    /// The nodes from the root to the token at the caret.
    pub(super) path: Vec<Node<'t>>,
    pub(super) entries: Vec<Entry<'t>>,
    /// The type parameters of the methods around the caret, outermost first.
    pub(super) parameters: Vec<TypeParameter>,
    /// Local types that have been declared so far, by their node.
    pub(super) declared: Vec<(usize, ClassId)>,
    /// How deep expressions are being typed, and how many have been.
    pub(super) depth: Cell<usize>,
    pub(super) n_typed: Cell<usize>,
}

impl<'t> Scope<'t> {
    /// Reads the scope at the caret.
    pub(super) fn new(store: &'t Store<'t>, focus: &'t Focus) -> Self {
        let mut scope = Self {
            store,
            focus,
            text: &focus.parsed.text,
            path: focus.path(),
            entries: Vec::new(),
            parameters: Vec::new(),
            declared: Vec::new(),
            depth: Cell::new(0),
            n_typed: Cell::new(0),
        };
        store.scratch.around.borrow_mut().clone_from(&focus.around);
        for (index, id) in focus.around.iter().enumerate() {
            let inner = focus.around.get(index + 1).map(|inner| store.class(*inner).is_static);
            scope.entries.push(Entry::Class { id: *id, is_static: inner.unwrap_or(focus.is_static) });
        }
        // Without a member nothing but types is around the caret; with one, it stands in a class of its own.
        if focus.wrapper > 0 {
            for level in 3..scope.path.len().saturating_sub(1) {
                scope.enter(level);
            }
        }
        scope
    }

    /// Returns the innermost type around the caret.
    pub(super) fn class(&self) -> Option<ClassId> {
        self.classes().next().map(|(id, _)| id)
    }

    /// Returns the types around the caret, innermost first, and whether the caret is without an object of them.
    pub(super) fn classes(&self) -> impl Iterator<Item = (ClassId, bool)> {
        let mut in_static = false;
        self.entries.iter().rev().filter_map(move |entry| {
            let Entry::Class { id, is_static } = entry else { return None };
            in_static |= is_static;
            Some((*id, in_static))
        })
    }

    /// Returns where types written at the caret stand.
    pub(super) fn place(&self) -> Place<'_> {
        Place { parameters: &self.parameters, class: self.class(), home: self.focus.home }
    }

    /// Returns the text of a node.
    pub(super) fn text_of(&self, node: Node<'_>) -> &'t str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Adds what the node at `level` brings into the scope of its child on the path.
    fn enter(&mut self, level: usize) {
        let (node, child) = (self.path[level], self.path[level + 1]);
        match node.kind() {
            "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => {
                self.enter_method(node, child, level);
            }
            "field_declaration" | "static_initializer" | "block" if self.is_member(level) => {
                self.set_static(node);
                self.before(node, child);
            }
            "lambda_expression" => self.enter_lambda(node, child, level),
            "enhanced_for_statement" => self.enter_loop(node, child),
            "object_creation_expression" if child.kind() == "class_body" => {
                let parent = node.child_by_field_name("type").map(|parent| Written::of(parent, self.text));
                self.enter_class(Outline::of_body(None, child, parent, self.text));
            }
            "enum_constant" if child.kind() == "class_body" => {
                let parent = self.class().map(|id| Written::named(&self.store.class(id).name));
                self.enter_class(Outline::of_body(None, child, parent, self.text));
            }
            kind if declared_kind(kind).is_some() => {
                let found = self.declared.iter().find(|(node_id, _)| *node_id == node.id()).map(|(_, id)| *id);
                self.entries.extend(found.map(|id| Entry::Class { id, is_static: false }));
            }
            "if_statement" | "while_statement" | "do_statement" | "ternary_expression" | "binary_expression"
            | "switch_rule" | "switch_label" => self.patterns_before(node, child),
            "for_statement" => {
                self.before(node, child);
                self.patterns_before(node, child);
            }
            "catch_clause"
            | "try_with_resources_statement"
            | "resource_specification"
            | "block"
            | "constructor_body"
            | "switch_block_statement_group"
            | "switch_block"
            | "local_variable_declaration"
            | "ERROR" => {
                self.before(node, child);
            }
            _ => {}
        }
    }

    /// Returns whether the node at `level` is a member of a type declared in a body.
    fn is_member(&self, level: usize) -> bool {
        level > 3 && matches!(self.path[level - 1].kind(), "class_body" | "enum_body_declarations" | "interface_body")
    }

    fn set_static(&mut self, member: Node<'_>) {
        let mut cursor = member.walk();
        let modifiers = member.children(&mut cursor).find(|child| matches!(child.kind(), "modifiers" | "static"));
        let is_now = modifiers.is_some_and(|modifiers| self.text_of(modifiers).contains("static"));
        if let Some(Entry::Class { is_static, .. }) = self.entries.last_mut() {
            *is_static = is_now;
        }
    }

    fn enter_method(&mut self, node: Node<'t>, child: Node<'t>, level: usize) {
        if self.is_member(level) {
            self.set_static(node);
        }
        self.parameters.extend(type_parameters(node, self.text));
        if let Some(parameters) =
            node.child_by_field_name("parameters").filter(|list| list.end_byte() <= child.start_byte())
        {
            self.formal_parameters(parameters);
        }
    }

    fn enter_class(&mut self, outline: Outline) {
        let Some(outer) = self.class() else { return };
        let id = self.store.add_local(outline, outer);
        self.entries.extend(id.map(|id| Entry::Class { id, is_static: false }));
    }

    fn enter_lambda(&mut self, node: Node<'t>, child: Node<'t>, level: usize) {
        let parameters = node.child_by_field_name("parameters");
        let Some(parameters) = parameters.filter(|parameters| parameters.end_byte() <= child.start_byte()) else {
            return;
        };
        if parameters.kind() == "formal_parameters" {
            return self.formal_parameters(parameters);
        }
        let mut cursor = parameters.walk();
        let names: Vec<Node<'t>> = match parameters.kind() {
            "identifier" => vec![parameters],
            _ => parameters.named_children(&mut cursor).filter(|child| child.kind() == "identifier").collect(),
        };
        for (index, name) in names.into_iter().enumerate() {
            self.add(name, Source::Lambda { level, index });
        }
    }

    fn enter_loop(&mut self, node: Node<'t>, child: Node<'t>) {
        let (Some(name), Some(value)) = (node.child_by_field_name("name"), node.child_by_field_name("value")) else {
            return;
        };
        if value.end_byte() > child.start_byte() {
            return;
        }
        let written = node.child_by_field_name("type").map(|written| Written::of(written, self.text));
        let written = written.unwrap_or_default().with_dimensions(n_dimensions(node, self.text));
        self.add(name, if &*written.name == "var" { Source::Element(value) } else { Source::Written(written) });
    }
}
