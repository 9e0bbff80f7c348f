//! The identifiers that may stand at the caret.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::class::{Access, ClassId, ClassKind, Home, Member, MemberKind};
use super::expression::{Bindings, Meaning};
use super::scope::{Entry, Scope};
use super::types::Type;
use crate::intelligence::{Origin, Suggestion};

/// Names found so far, each with the nearest origin.
#[derive(Default)]
pub(super) struct Names {
    prefix: String,
    found: BTreeMap<String, Origin>,
}

impl Names {
    fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), found: BTreeMap::new() }
    }

    fn add(&mut self, name: &str, origin: Origin) {
        if name.is_empty() || !name.starts_with(&self.prefix) {
            return;
        }
        match self.found.get_mut(name) {
            Some(nearest) => *nearest = origin.min(*nearest),
            None => drop(self.found.insert(name.to_owned(), origin)),
        }
    }

    fn into_suggestions(self) -> Vec<Suggestion> {
        self.found.into_iter().map(|(name, origin)| Suggestion { name, origin }).collect()
    }
}

/// What kind of name the caret asks for.
enum Wanted<'t> {
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
    /// The label of a statement around the caret.
    Label,
    /// A new name, or one that is no identifier of the program.
    Nothing,
}

/// Returns the suggestions at the caret, by name.
pub(super) fn suggestions(scope: &Scope<'_>, prefix: &str) -> Vec<Suggestion> {
    let mut names = Names::new(prefix);
    match wanted(scope) {
        Wanted::Name => {
            scope.names(&mut names);
            scope.types(&mut names);
        }
        Wanted::Type => scope.types(&mut names),
        Wanted::Member { left, types_only } => {
            let meaning = scope.meaning(left, &Bindings::new());
            scope.members(&meaning, types_only, &mut names);
        }
        Wanted::Path { before } => scope.path_parts(&before, &mut names),
        Wanted::Constant { of } => {
            let of = scope.type_of(of, &Bindings::new());
            scope.enum_constants(&of, &mut names);
            scope.names(&mut names);
            scope.types(&mut names);
        }
        Wanted::Label => {
            let labeled = scope.path.iter().filter(|node| node.kind() == "labeled_statement");
            let labels = labeled.filter_map(|node| node.named_child(0));
            labels.for_each(|label| names.add(scope.text_of(label), Origin::Local));
        }
        Wanted::Nothing => {}
    }
    names.into_suggestions()
}

/// Finds out what the caret asks for from the node it stands on.
fn wanted<'t>(scope: &Scope<'t>) -> Wanted<'t> {
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
        "element_value_pair" if is_field("key") => Wanted::Nothing,
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

impl Scope<'_> {
    /// Adds variables, fields and methods in scope.
    fn names(&self, names: &mut Names) {
        let mut origin = Origin::Local;
        let mut in_static = false;
        for entry in self.entries.iter().rev() {
            match entry {
                Entry::Local(local) => names.add(local.name, origin),
                Entry::Class { id, is_static } => {
                    in_static |= is_static;
                    self.each_visible(*id, |member| {
                        if member.is_static || !in_static {
                            names.add(&member.name, Origin::Member);
                        }
                    });
                    origin = Origin::Enclosing;
                }
            }
        }
        for (owner, only) in self.static_imports() {
            self.static_members(owner, only, Origin::Global, names);
        }
        for package in self.store.packages() {
            names.add(package.split('.').next().unwrap_or_default(), Origin::Package);
        }
    }

    /// Adds the types in scope.
    fn types(&self, names: &mut Names) {
        for parameter in &self.parameters {
            names.add(&parameter.name, Origin::Local);
        }
        for (name, _) in self.store.locals() {
            names.add(&name, Origin::Local);
        }
        for (id, _) in self.classes() {
            let class = self.store.class(id);
            names.add(&class.name, Origin::Global);
            for parameter in &class.parameters {
                names.add(&parameter.name, Origin::Enclosing);
            }
            self.nested_types(id, names);
        }
        let file = &self.focus.file;
        for (name, _) in &file.top {
            names.add(name, Origin::Global);
        }
        for import in &file.imports {
            match import.binding() {
                Some(name) if !import.is_static || self.store.qualified(&import.path).is_some() => {
                    names.add(name, Origin::Global);
                }
                Some(_) => {}
                None => self.on_demand(import.is_static, &import.path, names),
            }
        }
        for name in self.store.names_in(&file.package) {
            names.add(name, Origin::Package);
        }
        for name in self.store.names_in("java.lang") {
            names.add(name, Origin::Builtin);
        }
    }

    fn on_demand(&self, is_static: bool, path: &str, names: &mut Names) {
        if !is_static {
            for name in self.store.names_in(path) {
                names.add(name, Origin::Global);
            }
        }
        if let Some(id) = self.store.qualified(path) {
            self.nested_types(id, names);
        }
    }

    fn nested_types(&self, id: ClassId, names: &mut Names) {
        for parent in self.store.supertypes(id).ids() {
            for name in self.store.own_nested_names(parent) {
                names.add(&name, Origin::Member);
            }
        }
    }

    /// Adds the members of what stands before a dot.
    fn members(&self, left: &Meaning, types_only: bool, names: &mut Names) {
        match left {
            Meaning::Static(id) => {
                if !types_only {
                    self.static_members(*id, None, Origin::Member, names);
                }
                self.nested_types(*id, names);
            }
            Meaning::Value(of @ Type::Array(_)) => {
                names.add("length", Origin::Member);
                self.value_members(of, names);
            }
            Meaning::Value(of) => self.value_members(of, names),
            Meaning::Package(package) => self.path_parts(package, names),
            Meaning::Nothing => {}
        }
    }

    fn value_members(&self, of: &Type, names: &mut Names) {
        let receiver = match self.store.erased(of) {
            Type::Class(id, _) => Some(id),
            Type::Array(_) => self.store.library_class("java.lang", "Object"),
            _ => None,
        };
        if let Some(id) = receiver {
            self.each_visible(id, |member| names.add(&member.name, Origin::Member));
        }
    }

    fn enum_constants(&self, of: &Type, names: &mut Names) {
        if let Type::Class(id, _) = of {
            let class = self.store.class(*id);
            if class.kind == ClassKind::Enum {
                let constants = class.members.iter().filter(|member| member.kind == MemberKind::EnumConstant);
                constants.for_each(|member| names.add(&member.name, Origin::Member));
            }
        }
    }

    /// Goes over the members of a type and its supertypes that code at the caret may use.
    fn each_visible(&self, id: ClassId, mut take: impl FnMut(&Member)) {
        for owner in self.store.supertypes(id).ids() {
            let class = self.store.class(owner);
            let is_own = class.home == self.focus.home;
            let in_package = class.package == self.focus.file.package && class.home != Home::Library;
            let inherits = || self.classes().any(|(around, _)| self.store.is_subtype(around, owner));
            let mut protected = None;
            for member in class.members.iter() {
                let is_visible = match member.access {
                    Access::Public => true,
                    Access::Protected => in_package || *protected.get_or_insert_with(inherits),
                    Access::Package => in_package,
                    Access::Private => is_own,
                };
                // Static methods of interfaces are not inherited.
                let is_inherited = !class.kind.is_interface() || !member.is_static || owner == id || member.is_value();
                if is_visible && is_inherited {
                    take(member);
                }
            }
        }
    }

    /// Adds the static members of a type, or one of them.
    fn static_members(&self, id: ClassId, only: Option<&str>, origin: Origin, names: &mut Names) {
        self.each_visible(id, |member| {
            if member.is_static && only.is_none_or(|only| only == &*member.name) {
                names.add(&member.name, origin);
            }
        });
    }

    /// Adds what may follow a package or type in a qualified name.
    fn path_parts(&self, before: &str, names: &mut Names) {
        for package in self.store.packages() {
            let rest = if before.is_empty() {
                Some(package)
            } else {
                package.strip_prefix(before).and_then(|rest| rest.strip_prefix('.'))
            };
            if let Some(part) = rest.and_then(|rest| rest.split('.').next()) {
                names.add(part, Origin::Package);
            }
        }
        for name in self.store.names_in(before) {
            names.add(name, Origin::Package);
        }
        if let Some(id) = self.store.qualified(before).filter(|_| !before.is_empty()) {
            self.nested_types(id, names);
            self.static_members(id, None, Origin::Member, names);
        }
    }
}
