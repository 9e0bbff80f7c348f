//! The types of expressions.
//!
//! A chain (`a.b().c[0] + d`) is walked from its left end in a loop, however long it is. Typing goes into other
//! expressions (arguments, the value of a `var`, the target of a lambda) only to a bounded depth, and types a bounded
//! number of them for one question; what lies beyond is unknown.

use tree_sitter::Node;

use super::class::ClassId;
use super::inheritance::Place;
use super::resolved::Type;
use super::scope::{Entry, Local, Scope, Source};
use super::written::Written;

/// How deep expressions are typed within each other.
const DEPTH_MAX: usize = 24;

/// The most expressions that are typed for one question.
const TYPED_MAX: usize = 4_000;

/// What a name or an expression stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    Value(Type),
    /// A type itself, for its static members.
    Static(ClassId),
    Package(String),
    Nothing,
}

/// Types given to names for the body of a lambda.
pub(super) type Bindings<'t> = Vec<(&'t str, Type)>;

impl<'t> Scope<'t> {
    /// Returns the type of an expression.
    pub(super) fn type_of(&self, node: Node<'t>, bindings: &Bindings<'t>) -> Type {
        match self.meaning(node, bindings) {
            Meaning::Value(found) => found,
            _ => Type::Unknown,
        }
    }

    /// Returns what an expression stands for.
    pub(super) fn meaning(&self, node: Node<'t>, bindings: &Bindings<'t>) -> Meaning {
        if self.depth.get() >= DEPTH_MAX || self.n_typed.get() >= TYPED_MAX {
            return Meaning::Nothing;
        }
        self.depth.set(self.depth.get() + 1);
        self.n_typed.set(self.n_typed.get() + 1);
        let (mut spine, mut at) = (Vec::new(), node);
        while let Some(left) = left_of(at) {
            spine.push(at);
            at = left;
        }
        let mut meaning = self.leaf(at, bindings);
        for node in spine.into_iter().rev() {
            meaning = self.step(meaning, node, bindings);
        }
        self.depth.set(self.depth.get() - 1);
        meaning
    }

    /// Returns what an expression with nothing to its left stands for.
    fn leaf(&self, node: Node<'t>, bindings: &Bindings<'t>) -> Meaning {
        let java_lang = |name| Meaning::Value(self.store.library_type("java.lang", name));
        let primitive = |name| Meaning::Value(Type::Primitive(name));
        match node.kind() {
            // Broken code is often read as a type; what is one is found all the same.
            "identifier" | "type_identifier" => self.name(self.text_of(node), bindings),
            "generic_type" | "array_type" => match self.written(node) {
                Type::Class(id, _) => Meaning::Static(id),
                _ => Meaning::Nothing,
            },
            "string_literal" | "template_expression" => java_lang("String"),
            "character_literal" => primitive("char"),
            "true" | "false" | "instanceof_expression" => primitive("boolean"),
            "null_literal" => Meaning::Value(Type::Null),
            "class_literal" => java_lang("Class"),
            "this" => self.class().map_or(Meaning::Nothing, |id| Meaning::Value(self.store.own_type(id))),
            "super" => Meaning::Value(self.parent()),
            kind if kind.ends_with("integer_literal") => {
                primitive(if self.text_of(node).ends_with(['l', 'L']) { "long" } else { "int" })
            }
            kind if kind.ends_with("floating_point_literal") => {
                primitive(if self.text_of(node).ends_with(['f', 'F']) { "float" } else { "double" })
            }
            "method_invocation" => Meaning::Value(self.call_type(node, None, bindings)),
            "object_creation_expression" => Meaning::Value(self.created(node, bindings)),
            "array_creation_expression" => {
                let mut cursor = node.walk();
                let dimensions = node.children_by_field_name("dimensions", &mut cursor);
                let n_given = dimensions.filter(|child| child.kind() == "dimensions_expr").count();
                let n_open = {
                    let mut cursor = node.walk();
                    let open = node.children(&mut cursor).filter(|child| child.kind() == "dimensions");
                    open.map(|open| self.text_of(open).matches('[').count()).sum::<usize>()
                };
                let element = node.child_by_field_name("type").map_or(Type::Unknown, |written| self.written(written));
                Meaning::Value(element.array(n_given + n_open))
            }
            "cast_expression" => {
                Meaning::Value(node.child_by_field_name("type").map_or(Type::Unknown, |written| self.written(written)))
            }
            "switch_expression" => Meaning::Value(self.switch_type(node, bindings)),
            _ => Meaning::Nothing,
        }
    }

    /// Returns what `node` stands for, given what its left part does.
    fn step(&self, left: Meaning, node: Node<'t>, bindings: &Bindings<'t>) -> Meaning {
        match node.kind() {
            "field_access" => {
                node.child_by_field_name("field").map_or(Meaning::Nothing, |field| self.field(&left, field))
            }
            "scoped_identifier" => {
                node.child_by_field_name("name").map_or(Meaning::Nothing, |field| self.field(&left, field))
            }
            "scoped_type_identifier" => {
                let field = node.named_child(node.named_child_count().saturating_sub(1) as u32);
                field.map_or(Meaning::Nothing, |field| self.field(&left, field))
            }
            "method_invocation" => Meaning::Value(self.call_type(node, Some(&left), bindings)),
            "array_access" => match left {
                Meaning::Value(Type::Array(element)) => Meaning::Value((*element).clone()),
                _ => Meaning::Nothing,
            },
            "binary_expression" => {
                let Meaning::Value(left) = left else { return Meaning::Nothing };
                Meaning::Value(self.binary(&left, node, bindings))
            }
            "unary_expression" if self.text_of(node).starts_with('!') => Meaning::Value(Type::Primitive("boolean")),
            "ternary_expression" => {
                let is_known = matches!(&left, Meaning::Value(found) if found.is_known());
                let other = node.child_by_field_name("alternative").filter(|_| !is_known);
                other.map_or(left, |other| self.meaning(other, bindings))
            }
            // Parentheses, assignments and updates have the type of what they hold.
            _ => left,
        }
    }

    fn binary(&self, left: &Type, node: Node<'t>, bindings: &Bindings<'t>) -> Type {
        let operator = node.child_by_field_name("operator").map_or("", |operator| self.text_of(operator));
        if matches!(operator, "==" | "!=" | "<" | ">" | "<=" | ">=" | "&&" | "||") {
            return Type::Primitive("boolean");
        }
        let is_string = |found: &Type| matches!(found, Type::Class(id, _) if { let class = self.store.class(*id); &*class.name == "String" && &*class.package == "java.lang" });
        if operator == "+" && is_string(left) {
            return left.clone();
        }
        let right = node.child_by_field_name("right").map_or(Type::Unknown, |right| self.type_of(right, bindings));
        if operator == "+" && is_string(&right) {
            return right;
        }
        match (left.unboxed(self.store), right.unboxed(self.store)) {
            (Some(left), Some(_)) if operator.contains("<<") || operator.contains(">>") => Type::promoted(left, "int"),
            (Some(left), Some(right)) => Type::promoted(left, right),
            _ => Type::Unknown,
        }
    }

    /// Returns what a simple name stands for in an expression: a variable, else a type, else a package.
    pub(super) fn name(&self, name: &str, bindings: &Bindings<'t>) -> Meaning {
        if let Some((_, found)) = bindings.iter().rev().find(|(bound, _)| *bound == name) {
            return Meaning::Value(found.clone());
        }
        for entry in self.entries.iter().rev() {
            match entry {
                Entry::Local(local) if local.name == name => return Meaning::Value(self.local_type(local)),
                Entry::Class { id, .. } => {
                    if let Some(found) = self.field_type(&self.store.own_type(*id), name) {
                        return Meaning::Value(found);
                    }
                }
                Entry::Local(_) => {}
            }
        }
        if let Some(found) = self.static_import(name).and_then(|owner| self.field_type(&Type::raw(owner), name)) {
            return Meaning::Value(found);
        }
        match self.store.resolve_simple(name, self.place()) {
            Type::Class(id, _) => Meaning::Static(id),
            _ if self.store.has_package(name) => Meaning::Package(name.to_owned()),
            _ => Meaning::Nothing,
        }
    }

    /// Returns the type from which a static import takes a field or method of this name.
    pub(super) fn static_import(&self, name: &str) -> Option<ClassId> {
        self.static_imports().find_map(|(owner, member)| {
            if member.is_some_and(|member| member != name) {
                return None;
            }
            self.store.ancestry(&Type::raw(owner)).into_iter().find_map(|parent| {
                let Type::Class(id, _) = parent else { return None };
                let has = self.store.class(id).members.named(name).any(|member| member.is_static);
                has.then_some(id)
            })
        })
    }

    /// Returns the types of static imports, with the member where they name one.
    pub(super) fn static_imports(&self) -> impl Iterator<Item = (ClassId, Option<&str>)> {
        self.focus.file.imports.iter().filter(|import| import.is_static).filter_map(|import| {
            let (path, member) = match import.path.rsplit_once('.') {
                Some((path, member)) if !import.is_on_demand => (path, Some(member)),
                _ => (&*import.path, None),
            };
            Some((self.store.qualified(path)?, member))
        })
    }

    /// Returns the type of a local variable.
    pub(super) fn local_type(&self, local: &Local<'t>) -> Type {
        match &local.source {
            Source::Written(written) => self.store.resolve(written, self.place()),
            Source::Value(value) => self.type_of(*value, &Vec::new()),
            Source::Element(value) => self.element(&self.type_of(*value, &Vec::new())),
            Source::Lambda { level, index } => {
                if self.depth.get() >= DEPTH_MAX {
                    return Type::Unknown;
                }
                self.depth.set(self.depth.get() + 1);
                let target = self.expected_at(*level).unwrap_or(Type::Unknown);
                self.depth.set(self.depth.get() - 1);
                let function = self.function(&target);
                function.and_then(|(parameters, _)| parameters.get(*index).cloned()).unwrap_or(Type::Unknown)
            }
        }
    }

    /// Returns what a loop over a value gives.
    pub(super) fn element(&self, of: &Type) -> Type {
        if let Type::Array(element) = of {
            return (**element).clone();
        }
        let iterable = self.store.library_class("java.lang", "Iterable");
        let found = self.store.ancestry(of).into_iter().find_map(|parent| match parent {
            Type::Class(id, arguments) if Some(id) == iterable => Some(arguments),
            _ => None,
        });
        let object = || self.store.library_type("java.lang", "Object");
        found.map_or(Type::Unknown, |arguments| arguments.as_slice().first().cloned().unwrap_or_else(object))
    }

    /// Returns the type that a node writes.
    pub(super) fn written(&self, node: Node<'_>) -> Type {
        self.store.resolve(&Written::of(node, self.text), self.place())
    }

    fn parent(&self) -> Type {
        self.class().and_then(|id| self.store.supertypes(id).list.get(1).cloned()).unwrap_or(Type::Unknown)
    }

    fn created(&self, node: Node<'t>, bindings: &Bindings<'t>) -> Type {
        let Some(written) = node.child_by_field_name("type") else { return Type::Unknown };
        // `outer.new Inner()` names a type of the object before it.
        let outer = node.child(0).filter(|first| first.kind() != "new");
        if let Some(Type::Class(id, _)) = outer.map(|outer| self.type_of(outer, bindings)) {
            return self.store.nested(id, self.text_of(written)).map_or(Type::Unknown, Type::raw);
        }
        self.written(written)
    }

    fn switch_type(&self, node: Node<'t>, bindings: &Bindings<'t>) -> Type {
        let Some(body) = node.child_by_field_name("body") else { return Type::Unknown };
        let mut cursor = body.walk();
        let rules = body.named_children(&mut cursor).filter(|child| child.kind() == "switch_rule");
        let values = rules.filter_map(|rule| {
            let mut cursor = rule.walk();
            let statement = rule.named_children(&mut cursor).find(|child| child.kind() == "expression_statement");
            statement.and_then(|statement| statement.named_child(0))
        });
        values.take(4).map(|value| self.type_of(value, bindings)).find(Type::is_known).unwrap_or(Type::Unknown)
    }

    /// Returns what `left.field` stands for.
    pub(super) fn field(&self, left: &Meaning, field: Node<'t>) -> Meaning {
        let name = self.text_of(field);
        match left {
            Meaning::Static(id) if field.kind() == "this" => Meaning::Value(self.store.own_type(*id)),
            Meaning::Static(id) => match self.field_type(&Type::raw(*id), name) {
                Some(found) => Meaning::Value(found),
                None => self.store.nested(*id, name).map_or(Meaning::Nothing, Meaning::Static),
            },
            Meaning::Value(Type::Array(_)) if name == "length" => Meaning::Value(Type::Primitive("int")),
            Meaning::Value(of) => self.field_type(of, name).map_or(Meaning::Nothing, Meaning::Value),
            Meaning::Package(package) => {
                let path = format!("{package}.{name}");
                match self.store.type_in(package, name) {
                    Some(id) => Meaning::Static(id),
                    None if self.store.has_package(&path) => Meaning::Package(path),
                    None => Meaning::Nothing,
                }
            }
            Meaning::Nothing => Meaning::Nothing,
        }
    }

    /// Returns the type of a field that a type has or inherits.
    pub(super) fn field_type(&self, of: &Type, name: &str) -> Option<Type> {
        let Type::Class(start, _) = self.store.erased(of) else { return None };
        // Most names are no field of a class: look before types are put together.
        let has = |id: ClassId| self.store.class(id).members.named(name).any(super::class::Member::is_value);
        if !self.store.supertypes(start).ids().any(has) {
            return None;
        }
        self.store.ancestry(of).into_iter().find_map(|parent| {
            let Type::Class(id, _) = parent else { return None };
            let class = self.store.class(id);
            let member = class.members.named(name).find(|member| member.is_value())?;
            let found = self.store.resolve(&member.written, Place::of_member(id, &class, member));
            Some(found.substitute(&self.store.substitution(&parent)))
        })
    }
}

/// Returns the part of an expression that its type is built on, if it has one to its left.
fn left_of(node: Node<'_>) -> Option<Node<'_>> {
    match node.kind() {
        "field_access" | "method_invocation" => node.child_by_field_name("object"),
        "scoped_identifier" => node.child_by_field_name("scope"),
        "array_access" => node.child_by_field_name("array"),
        "binary_expression" | "assignment_expression" => node.child_by_field_name("left"),
        "ternary_expression" => node.child_by_field_name("consequence"),
        "unary_expression" => node.child_by_field_name("operand"),
        "scoped_type_identifier" | "parenthesized_expression" | "update_expression" => node.named_child(0),
        _ => None,
    }
}
