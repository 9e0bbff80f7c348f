//! Which method a call means, and what it returns.

use std::rc::Rc;

use tree_sitter::Node;

use super::class::{Class, ClassId, Member, MemberKind};
use super::expression::{Bindings, Meaning};
use super::inheritance::Place;
use super::resolved::Type;
use super::scope::Scope;

/// A method or constructor that a call means.
pub(super) struct Callee {
    /// The type that declares it, as the receiver has it.
    pub(super) owner: Type,
    pub(super) id: ClassId,
    pub(super) class: Rc<Class>,
    pub(super) member: Member,
}

impl Callee {
    /// Returns the type of a parameter or result as declared, the owner's parameters put in.
    pub(super) fn resolve(&self, scope: &Scope<'_>, written: &super::written::Written) -> Type {
        let place = Place::of_member(self.id, &self.class, &self.member);
        let mut substitution = scope.store.substitution(&self.owner);
        substitution.retain(|(name, _)| !self.is_own_parameter(name));
        scope.store.resolve(written, place).substitute(&substitution)
    }

    pub(super) fn is_own_parameter(&self, name: &str) -> bool {
        self.member.type_parameters.iter().any(|parameter| &*parameter.name == name)
    }
}

impl<'t> Scope<'t> {
    /// Returns the type of a call, given what stands before its dot.
    pub(super) fn call_type(&self, node: Node<'t>, left: Option<&Meaning>, bindings: &Bindings<'t>) -> Type {
        let Some(name) = node.child_by_field_name("name").map(|name| self.text_of(name)) else { return Type::Unknown };
        if let (Some(Meaning::Value(of @ Type::Array(_))), "clone") = (left, name) {
            return of.clone();
        }
        if let (Some(Meaning::Value(of)), "getClass") = (left, name) {
            let class = self.store.library_class("java.lang", "Class");
            return class.map_or(Type::Unknown, |class| Type::class(class, vec![of.clone()]));
        }
        let Some(callee) = self.method(node, left, bindings) else { return Type::Unknown };
        let found = self.inferred(&callee, &arguments_of(node), bindings);
        let result = callee.resolve(self, &callee.member.written).substitute(&found);
        self.without_parameters(&callee, &result)
    }

    /// Takes away a method's type parameters that no argument tells; a bound is better than nothing.
    pub(super) fn without_parameters(&self, callee: &Callee, result: &Type) -> Type {
        if matches!(result, Type::Variable(name, Some(_)) if callee.is_own_parameter(name)) {
            return self.store.erased(result);
        }
        let names = callee.member.type_parameters.iter().map(|parameter| (parameter.name.clone(), Type::Unknown));
        result.substitute(&names.collect())
    }

    /// Returns the method that a call means, given what stands before its dot.
    pub(super) fn method(&self, node: Node<'t>, left: Option<&Meaning>, bindings: &Bindings<'t>) -> Option<Callee> {
        let name = self.text_of(node.child_by_field_name("name")?);
        let candidates = match left {
            Some(Meaning::Value(of)) => self.methods(of, name),
            Some(Meaning::Static(id)) => self.methods(&Type::raw(*id), name),
            Some(_) => return None,
            None => self.methods_in_scope(name),
        };
        self.choose(candidates, &arguments_of(node), bindings)
    }

    /// Returns the constructor that `new T(...)` means.
    pub(super) fn constructor(&self, of: &Type, arguments: &[Node<'t>], bindings: &Bindings<'t>) -> Option<Callee> {
        let Type::Class(id, _) = of else { return None };
        let class = self.store.class(*id);
        let own = class.members.iter().filter(|member| member.kind == MemberKind::Constructor);
        let callee =
            |member: &Member| Callee { owner: of.clone(), id: *id, class: class.clone(), member: member.clone() };
        self.choose(own.map(callee).collect(), arguments, bindings)
    }

    /// Returns the methods of a name that a type has or inherits, the nearest first.
    pub(super) fn methods(&self, of: &Type, name: &str) -> Vec<Callee> {
        let Type::Class(start, _) = self.store.erased(of) else {
            return self.methods_of_ancestry(of, name);
        };
        let has = |id: ClassId| self.store.class(id).members.named(name).any(Member::is_method);
        if self.store.supertypes(start).ids().any(has) { self.methods_of_ancestry(of, name) } else { Vec::new() }
    }

    fn methods_of_ancestry(&self, of: &Type, name: &str) -> Vec<Callee> {
        let mut found = Vec::new();
        for owner in self.store.ancestry(of) {
            let Type::Class(id, _) = owner else { continue };
            let class = self.store.class(id);
            for member in class.members.named(name).filter(|member| member.is_method()) {
                found.push(Callee { owner: owner.clone(), id, class: class.clone(), member: member.clone() });
            }
        }
        found
    }

    /// Returns the methods that a simple name may call: those of the innermost type that has any, else imported ones.
    pub(super) fn methods_in_scope(&self, name: &str) -> Vec<Callee> {
        for (id, _) in self.classes() {
            let found = self.methods(&self.store.own_type(id), name);
            if !found.is_empty() {
                return found;
            }
        }
        let mut found = Vec::new();
        for (owner, member) in self.static_imports() {
            if member.is_none_or(|member| member == name) {
                found
                    .extend(self.methods(&Type::raw(owner), name).into_iter().filter(|callee| callee.member.is_static));
            }
        }
        found
    }
}

/// Returns whether an argument is a function, whose type depends on what is wanted.
pub(super) fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "lambda_expression" | "method_reference")
}

/// Returns the arguments of a call or of a creation.
pub(super) fn arguments_of(node: Node<'_>) -> Vec<Node<'_>> {
    let Some(list) = node.child_by_field_name("arguments") else { return Vec::new() };
    let mut cursor = list.walk();
    list.named_children(&mut cursor).filter(|child| !child.kind().ends_with("comment")).collect()
}

/// Returns the names of a lambda's parameters.
pub(super) fn lambda_parameters(lambda: Node<'_>) -> Vec<Node<'_>> {
    let Some(parameters) = lambda.child_by_field_name("parameters") else { return Vec::new() };
    if parameters.kind() == "identifier" {
        return vec![parameters];
    }
    let mut cursor = parameters.walk();
    let names = parameters.named_children(&mut cursor);
    names
        .filter_map(|child| if child.kind() == "identifier" { Some(child) } else { child.child_by_field_name("name") })
        .collect()
}
