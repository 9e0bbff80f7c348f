//! What the identifier at the caret is bound to, and where that is defined.

use std::ops::Range;

use tree_sitter::Node;

use super::class::{ClassId, Home, Member};
use super::expression::{Bindings, Meaning};
use super::inheritance::Place as TypePlace;
use super::outline::declared_kind;
use super::resolved::Type;
use super::scope::{Entry, Scope};
use super::signature::type_of_parameter;
use super::written::{Written, n_dimensions};
use crate::intelligence::{Definition, Place};

/// What an identifier is bound to.
pub(super) enum Symbol {
    /// A local variable or parameter: its name's bytes in the parsed text.
    Local(Range<usize>),
    /// A member of a type.
    Member(ClassId, Member),
    Class(ClassId),
}

impl<'t> Scope<'t> {
    /// Returns what the identifier at the caret is bound to.
    pub(super) fn symbol(&self) -> Option<Symbol> {
        let (&node, above) = self.path.split_last()?;
        let &parent = above.last()?;
        let name = self.text_of(node);
        let is_field = |field: &str| parent.child_by_field_name(field) == Some(node);
        match parent.kind() {
            "method_invocation" if is_field("name") => {
                self.callee(parent).map(|callee| Symbol::Member(callee.id, callee.member))
            }
            "field_access" if is_field("field") => self.member_symbol(&self.left_meaning(parent), name),
            "method_reference" if parent.named_child(0) != Some(node) => {
                self.member_symbol(&self.meaning(parent.named_child(0)?, &Bindings::new()), name)
            }
            "method_declaration" | "annotation_type_element_declaration" | "constructor_declaration"
                if is_field("name") =>
            {
                self.declared_member(node)
            }
            "variable_declarator" | "enum_constant" if is_field("name") => {
                self.declared_member(node).or(Some(Symbol::Local(node.byte_range())))
            }
            kind if declared_kind(kind).is_some() && is_field("name") => {
                self.classes().map(|(id, _)| id).find(|id| &*self.store.class(*id).name == name).map(Symbol::Class)
            }
            "scoped_identifier" | "import_declaration" => self.path_symbol(node, parent),
            _ if is_declared_name(parent, node) => Some(Symbol::Local(node.byte_range())),
            "switch_label" => self.constant(name).or_else(|| self.named(name)),
            _ if node.kind() == "type_identifier" => self.type_symbol(node, above),
            _ if node.kind() == "identifier" => self.named(name),
            _ => None,
        }
    }

    fn left_meaning(&self, access: Node<'t>) -> Meaning {
        let left = access.child_by_field_name("object");
        left.map_or(Meaning::Nothing, |left| self.meaning(left, &Bindings::new()))
    }

    fn type_symbol(&self, node: Node<'t>, above: &[Node<'t>]) -> Option<Symbol> {
        // `A.B` names `A` at its first part and `A.B` at its second.
        let whole = above.last().filter(|parent| parent.kind() == "scoped_type_identifier");
        let whole = whole.filter(|parent| parent.named_child(0) != Some(node)).copied().unwrap_or(node);
        match self.written(whole) {
            Type::Class(id, _) => Some(Symbol::Class(id)),
            _ => None,
        }
    }

    fn path_symbol(&self, node: Node<'t>, parent: Node<'t>) -> Option<Symbol> {
        let start = self.path.iter().find(|outer| outer.kind() == "scoped_identifier").unwrap_or(&parent).start_byte();
        let start = if parent.kind() == "import_declaration" { node.start_byte() } else { start };
        let path: String = self.text.get(start..node.end_byte())?.split_whitespace().collect();
        if let Some(id) = self.store.qualified(&path) {
            return Some(Symbol::Class(id));
        }
        let (owner, member) = path.rsplit_once('.')?;
        self.member_symbol(&Meaning::Static(self.store.qualified(owner)?), member)
    }

    /// Returns the member whose declaration has this name node.
    fn declared_member(&self, name: Node<'t>) -> Option<Symbol> {
        let in_file = self.focus.in_file(&name.byte_range());
        for (id, _) in self.classes() {
            let span = if self.store.is_local(id) { Some(name.byte_range()) } else { in_file.clone() };
            let class = self.store.class(id);
            let found = class.members.iter().find(|member| Some(&member.name_span) == span.as_ref());
            if let Some(member) = found {
                return Some(Symbol::Member(id, member.clone()));
            }
        }
        None
    }

    fn constant(&self, name: &str) -> Option<Symbol> {
        let switch = self.path.iter().rev().find(|node| node.kind() == "switch_expression")?;
        let of = self.type_of(switch.child_by_field_name("condition")?, &Bindings::new());
        self.member_symbol(&Meaning::Value(of), name)
    }

    /// Returns the field, method or type that a type has under a name.
    pub(super) fn member_symbol(&self, left: &Meaning, name: &str) -> Option<Symbol> {
        let of = match left {
            Meaning::Value(of) => of.clone(),
            Meaning::Static(id) => Type::raw(*id),
            Meaning::Package(package) => return self.store.type_in(package, name).map(Symbol::Class),
            Meaning::Nothing => return None,
        };
        let member = self.store.ancestry(&of).into_iter().find_map(|owner| {
            let Type::Class(id, _) = owner else { return None };
            let class = self.store.class(id);
            let mut named = class.members.named(name);
            named.next().map(|member| Symbol::Member(id, member.clone()))
        });
        member.or_else(|| match left {
            Meaning::Static(id) => self.store.nested(*id, name).map(Symbol::Class),
            _ => None,
        })
    }

    /// Returns what a simple name in an expression is bound to.
    pub(super) fn named(&self, name: &str) -> Option<Symbol> {
        for entry in self.entries.iter().rev() {
            match entry {
                Entry::Local(local) if local.name == name => return Some(Symbol::Local(local.span.clone())),
                Entry::Class { id, .. } => {
                    if let Some(found) = self.field_symbol(*id, name) {
                        return Some(found);
                    }
                }
                Entry::Local(_) => {}
            }
        }
        if let Some(found) = self.static_import(name).and_then(|owner| self.field_symbol(owner, name)) {
            return Some(found);
        }
        match self.store.resolve_simple(name, self.place()) {
            Type::Class(id, _) => Some(Symbol::Class(id)),
            _ => None,
        }
    }

    fn field_symbol(&self, id: ClassId, name: &str) -> Option<Symbol> {
        self.store.supertypes(id).ids().find_map(|owner| {
            let class = self.store.class(owner);
            let member = class.members.named(name).find(|member| member.is_value())?;
            Some(Symbol::Member(owner, member.clone()))
        })
    }

    /// Returns the definition of a symbol.
    pub(super) fn definition(&self, symbol: &Symbol, path: &str) -> Option<Definition> {
        match symbol {
            Symbol::Local(span) => {
                let name = self.text.get(span.clone())?.to_owned();
                let span = self.focus.in_file(span)?;
                Some(Definition { name, place: Place::Repository { path: path.to_owned(), span } })
            }
            Symbol::Member(id, member) => {
                let name =
                    if member.name.is_empty() { self.store.class(*id).name.clone() } else { member.name.clone() };
                let place = self.place_of(*id, &member.name_span, path)?;
                Some(Definition { name: name.to_string(), place })
            }
            Symbol::Class(id) => {
                let class = self.store.class(*id);
                Some(Definition { name: class.name.to_string(), place: self.place_of(*id, &class.name_span, path)? })
            }
        }
    }

    /// Returns where in a type's file some bytes are.
    pub(super) fn place_of(&self, id: ClassId, span: &Range<usize>, path: &str) -> Option<Place> {
        let class = self.store.class(id);
        if self.store.is_local(id) {
            return Some(Place::Repository { path: path.to_owned(), span: self.focus.in_file(span)? });
        }
        Some(match class.home {
            Home::Library => Place::Outside { module: class.package.to_string() },
            Home::File(index) => {
                let file = &self.store.repository.files()[index];
                let is_here = self.focus.home == class.home;
                let span = if is_here { self.focus.moved(span) } else { span.clone() };
                Place::Repository { path: file.path.clone(), span }
            }
            Home::Edited => Place::Repository { path: path.to_owned(), span: self.focus.moved(span) },
        })
    }

    /// Returns the type of the expression that ends with the identifier at the caret.
    pub(super) fn type_at(&self) -> Option<Type> {
        let (&node, above) = self.path.split_last()?;
        let &parent = above.last()?;
        let is_field = |field: &str| parent.child_by_field_name(field) == Some(node);
        let bindings = Bindings::new();
        let expression = match parent.kind() {
            "method_invocation" if is_field("name") => parent,
            "field_access" if is_field("field") => parent,
            _ => node,
        };
        if is_declared_name(parent, node) || parent.kind() == "variable_declarator" && is_field("name") {
            return self.declared_type_of(parent, above);
        }
        if matches!(parent.kind(), "method_declaration" | "annotation_type_element_declaration") && is_field("name") {
            return parent.child_by_field_name("type").map(|written| self.written(written));
        }
        let found = match self.meaning(expression, &bindings) {
            Meaning::Value(found) => found,
            Meaning::Static(id) => Type::raw(id),
            _ => match self.symbol()? {
                Symbol::Class(id) => Type::raw(id),
                Symbol::Member(id, member) => {
                    let class = self.store.class(id);
                    self.store.resolve(&member.written, TypePlace::of_member(id, &class, &member))
                }
                Symbol::Local(_) => Type::Unknown,
            },
        };
        (found != Type::Unknown).then_some(found)
    }

    fn declared_type_of(&self, parent: Node<'t>, above: &[Node<'t>]) -> Option<Type> {
        let declaration = match parent.kind() {
            "variable_declarator" => *above.iter().rev().nth(1)?,
            _ => parent,
        };
        let written = match declaration.kind() {
            "formal_parameter" | "spread_parameter" | "catch_formal_parameter" => {
                type_of_parameter(declaration, self.text)
            }
            _ => {
                let written =
                    declaration.child_by_field_name("type").or_else(|| declaration.child_by_field_name("right"));
                Written::of(written?, self.text).with_dimensions(n_dimensions(parent, self.text))
            }
        };
        let value = || parent.child_by_field_name("value").map(|value| self.type_of(value, &Bindings::new()));
        let found = match (&*written.name, parent.kind()) {
            ("var", "enhanced_for_statement") => self.element(&value()?),
            ("var", _) => value()?,
            _ => self.store.resolve(&written, self.place()),
        };
        (found != Type::Unknown).then_some(found)
    }
}

/// Returns whether a node is the name that a parameter, loop, pattern or resource declares.
pub(super) fn is_declared_name(parent: Node<'_>, node: Node<'_>) -> bool {
    let is_field = |field: &str| parent.child_by_field_name(field) == Some(node);
    match parent.kind() {
        "formal_parameter"
        | "catch_formal_parameter"
        | "resource"
        | "enhanced_for_statement"
        | "instanceof_expression"
        | "variable_declarator" => is_field("name"),
        "lambda_expression" => is_field("parameters"),
        "inferred_parameters" => true,
        "type_pattern" | "record_pattern_component" => parent.named_child(1) == Some(node),
        _ => false,
    }
}
