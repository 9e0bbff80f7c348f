//! The names in scope at the caret, read off the path from the member down to the caret.

use std::cell::Cell;
use std::ops::Range;

use tree_sitter::Node;

use super::class::{ClassId, TypeParameter};
use super::focus::Focus;
use super::inheritance::Place;
use super::outline::{Outline, declared_kind, name_of_parameter, type_of_parameter, type_parameters};
use super::store::Store;
use super::written::{Written, n_dimensions};

/// Nodes that are looked at for the variables of one pattern.
const PATTERN_NODES_MAX: usize = 400;

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
    declared: Vec<(usize, ClassId)>,
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

    fn formal_parameters(&mut self, list: Node<'t>) {
        let mut cursor = list.walk();
        for parameter in list.named_children(&mut cursor) {
            if matches!(parameter.kind(), "formal_parameter" | "spread_parameter") {
                self.parameter(parameter);
            }
        }
    }

    fn parameter(&mut self, parameter: Node<'t>) {
        if let Some(name) = name_of_parameter(parameter) {
            self.add(name, Source::Written(type_of_parameter(parameter, self.text)));
        }
    }

    fn add(&mut self, name: Node<'t>, source: Source<'t>) {
        let local = Local { name: self.text_of(name), span: name.byte_range(), source };
        self.entries.push(Entry::Local(local));
    }

    /// Adds what the children of `node` before `child` declare, and the types that `child` declares.
    fn before(&mut self, node: Node<'t>, child: Node<'t>) {
        let mut cursor = node.walk();
        for sibling in node.named_children(&mut cursor) {
            if sibling.start_byte() > child.start_byte() {
                break;
            }
            if declared_kind(sibling.kind()).is_some() {
                self.declare(sibling);
            }
            if sibling.end_byte() > child.start_byte() {
                break;
            }
            self.statement(sibling, node);
        }
    }

    fn statement(&mut self, sibling: Node<'t>, parent: Node<'t>) {
        match sibling.kind() {
            "local_variable_declaration" => {
                let mut cursor = sibling.walk();
                for declarator in sibling.children_by_field_name("declarator", &mut cursor) {
                    self.declarator(declarator, sibling);
                }
            }
            "variable_declarator" if parent.kind() == "local_variable_declaration" => self.declarator(sibling, parent),
            "catch_formal_parameter" => self.parameter(sibling),
            "resource" if sibling.child_by_field_name("name").is_some() => self.declarator(sibling, sibling),
            "resource_specification" | "switch_block_statement_group" => {
                let mut cursor = sibling.walk();
                for inner in sibling.named_children(&mut cursor) {
                    if matches!(inner.kind(), "resource" | "local_variable_declaration") {
                        self.nested_statement(inner);
                    }
                }
            }
            "switch_label" => self.patterns(sibling),
            "formal_parameters" => self.formal_parameters(sibling),
            // `if (!(value instanceof Type name)) return;` binds the name behind it.
            "if_statement" if sibling.child_by_field_name("alternative").is_none() => {
                let condition = sibling.child_by_field_name("condition");
                if let Some(condition) = condition.filter(|condition| self.text_of(*condition).contains('!')) {
                    self.patterns(condition);
                }
            }
            _ => {}
        }
    }

    fn nested_statement(&mut self, inner: Node<'t>) {
        if inner.kind() == "resource" {
            if inner.child_by_field_name("name").is_some() {
                self.declarator(inner, inner);
            }
            return;
        }
        let mut cursor = inner.walk();
        for declarator in inner.children_by_field_name("declarator", &mut cursor) {
            self.declarator(declarator, inner);
        }
    }

    fn declarator(&mut self, declarator: Node<'t>, declaration: Node<'t>) {
        let Some(name) = declarator.child_by_field_name("name") else { return };
        let written = declaration.child_by_field_name("type").map(|written| Written::of(written, self.text));
        let written = written.unwrap_or_default().with_dimensions(n_dimensions(declarator, self.text));
        let value = declarator.child_by_field_name("value").filter(|_| &*written.name == "var");
        self.add(name, value.map_or(Source::Written(written), Source::Value));
    }

    fn declare(&mut self, declaration: Node<'t>) {
        let Some(outer) = self.class() else { return };
        let Some(body) = declaration.child_by_field_name("body") else { return };
        let outline = Outline::of_body(Some(declaration), body, None, self.text);
        if let Some(id) = self.store.add_local(outline, outer) {
            self.declared.push((declaration.id(), id));
        }
    }

    fn patterns_before(&mut self, node: Node<'t>, child: Node<'t>) {
        let mut cursor = node.walk();
        for sibling in node.named_children(&mut cursor) {
            if sibling.end_byte() > child.start_byte() {
                break;
            }
            self.patterns(sibling);
        }
    }

    /// Adds the variables that the patterns of a condition bind.
    fn patterns(&mut self, condition: Node<'t>) {
        let (mut cursor, mut depth) = (condition.walk(), 0);
        for _ in 0..PATTERN_NODES_MAX {
            let node = cursor.node();
            self.pattern(node);
            let is_opaque = matches!(node.kind(), "lambda_expression" | "class_body" | "block");
            if !is_opaque && cursor.goto_first_child() {
                depth += 1;
                continue;
            }
            while depth > 0 && !cursor.goto_next_sibling() {
                cursor.goto_parent();
                depth -= 1;
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn pattern(&mut self, node: Node<'t>) {
        let (written, name) = match node.kind() {
            "instanceof_expression" => (node.child_by_field_name("right"), node.child_by_field_name("name")),
            "type_pattern" | "record_pattern_component" => (node.named_child(0), node.named_child(1)),
            _ => return,
        };
        if let (Some(written), Some(name)) = (written, name) {
            self.add(name, Source::Written(Written::of(written, self.text)));
        }
    }
}
