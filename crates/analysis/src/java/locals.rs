//! Variables that statements, parameters and patterns declare.

use tree_sitter::Node;

use super::outline::{Outline, declared_kind};
use super::scope::{Entry, Local, Scope, Source};
use super::signature::{name_of_parameter, type_of_parameter};
use super::written::{Written, n_dimensions};

/// Nodes that are looked at for the variables of one pattern.
const PATTERN_NODES_MAX: usize = 400;

impl<'t> Scope<'t> {
    pub(super) fn formal_parameters(&mut self, list: Node<'t>) {
        let mut cursor = list.walk();
        for parameter in list.named_children(&mut cursor) {
            if matches!(parameter.kind(), "formal_parameter" | "spread_parameter") {
                self.parameter(parameter);
            }
        }
    }

    pub(super) fn parameter(&mut self, parameter: Node<'t>) {
        if let Some(name) = name_of_parameter(parameter) {
            self.add(name, Source::Written(type_of_parameter(parameter, self.text)));
        }
    }

    pub(super) fn add(&mut self, name: Node<'t>, source: Source<'t>) {
        let local = Local { name: self.text_of(name), span: name.byte_range(), source };
        self.entries.push(Entry::Local(local));
    }

    /// Adds what the children of `node` before `child` declare, and the types that `child` declares.
    pub(super) fn before(&mut self, node: Node<'t>, child: Node<'t>) {
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

    pub(super) fn patterns_before(&mut self, node: Node<'t>, child: Node<'t>) {
        let mut cursor = node.walk();
        for sibling in node.named_children(&mut cursor) {
            if sibling.end_byte() > child.start_byte() {
                break;
            }
            self.patterns(sibling);
        }
    }

    /// Adds the variables that the patterns of a condition bind.
    pub(super) fn patterns(&mut self, condition: Node<'t>) {
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
