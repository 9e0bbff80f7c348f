//! Which method a call means, and what it returns.
//!
//! Overloads are told apart by the number of arguments first and by their types as far as those are known. Type
//! parameters of a method are found from its arguments, those of lambdas and method references included.

use std::rc::Rc;

use tree_sitter::Node;

use super::class::{Class, ClassId, Member, MemberKind};
use super::expression::{Bindings, Meaning};
use super::inheritance::Place;
use super::scope::Scope;
use super::types::{Arguments, Substitution, Type};

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

    fn is_own_parameter(&self, name: &str) -> bool {
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
    fn without_parameters(&self, callee: &Callee, result: &Type) -> Type {
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

    fn choose(&self, candidates: Vec<Callee>, arguments: &[Node<'t>], bindings: &Bindings<'t>) -> Option<Callee> {
        let n = arguments.len();
        let accepts = candidates.iter().filter(|callee| callee.member.accepts(n)).count();
        if accepts <= 1 {
            let index = candidates.iter().position(|callee| callee.member.accepts(n)).unwrap_or(0);
            return candidates.into_iter().nth(index);
        }
        let types: Vec<Type> = arguments.iter().map(|argument| self.argument_type(*argument, bindings)).collect();
        let mut best: Option<(i32, Callee)> = None;
        for callee in candidates.into_iter().filter(|callee| callee.member.accepts(n)) {
            let score = self.fit(&callee, arguments, &types);
            if best.as_ref().is_none_or(|(highest, _)| score > *highest) {
                best = Some((score, callee));
            }
        }
        best.map(|(_, callee)| callee)
    }

    /// Returns the type of an argument; a function has none of its own.
    fn argument_type(&self, argument: Node<'t>, bindings: &Bindings<'t>) -> Type {
        if is_function(argument) { Type::Unknown } else { self.type_of(argument, bindings) }
    }

    /// Returns how well arguments fit parameters, more for better.
    fn fit(&self, callee: &Callee, arguments: &[Node<'t>], types: &[Type]) -> i32 {
        let mut score =
            i32::from(!callee.member.is_variadic) + i32::from(callee.member.parameters.len() == types.len());
        for (index, (argument, found)) in arguments.iter().zip(types).enumerate() {
            let Some(parameter) = callee.member.parameter(index) else { continue };
            let mut wanted = callee.resolve(self, &parameter.written);
            let is_spread = callee.member.is_variadic && index + 1 >= callee.member.parameters.len();
            if let (true, Type::Array(element), false) = (is_spread, &wanted, matches!(found, Type::Array(_))) {
                wanted = (**element).clone();
            }
            score += if is_function(*argument) {
                self.fit_function(*argument, &wanted)
            } else {
                self.fit_value(found, &wanted)
            };
        }
        score
    }

    fn fit_function(&self, argument: Node<'t>, wanted: &Type) -> i32 {
        let Some((parameters, _)) = self.function(wanted) else { return -10 };
        if argument.kind() != "lambda_expression" {
            return 1;
        }
        if lambda_parameters(argument).len() == parameters.len() { 2 } else { -10 }
    }

    fn fit_value(&self, found: &Type, wanted: &Type) -> i32 {
        match (found, wanted) {
            (Type::Null, Type::Primitive(_)) => -10,
            (Type::Unknown | Type::Void | Type::Null | Type::Variable(..), _) | (_, Type::Unknown) => 0,
            (Type::Primitive(found), Type::Primitive(wanted)) if found == wanted => 4,
            (Type::Primitive(found), Type::Primitive(wanted)) => {
                let is_wider = Type::promoted(found, wanted) == Type::promoted("int", wanted) && *wanted != "boolean";
                score_of(is_wider)
            }
            (Type::Class(found, _), Type::Class(wanted, _)) if found == wanted => 4,
            (Type::Class(found, _), Type::Class(wanted, _)) if self.store.is_subtype(*found, *wanted) => 2,
            (Type::Array(found), Type::Array(wanted)) => self.fit_elements(found, wanted),
            (Type::Array(_), Type::Class(..)) | (_, Type::Variable(..)) => 1,
            (Type::Primitive(primitive), Type::Class(..)) => match wanted.unboxed(self.store) {
                Some(held) => {
                    if held == *primitive {
                        1
                    } else {
                        -10
                    }
                }
                None => 0,
            },
            (Type::Class(..), Type::Primitive(primitive)) if found.unboxed(self.store) == Some(primitive) => 1,
            _ => -10,
        }
    }

    fn fit_elements(&self, found: &Type, wanted: &Type) -> i32 {
        match (found, wanted) {
            (found, wanted) if found == wanted => 4,
            (Type::Class(found, _), Type::Class(wanted, _)) if self.store.is_subtype(*found, *wanted) => 2,
            (Type::Unknown, _) | (Type::Class(..), Type::Variable(..)) => 1,
            _ => -10,
        }
    }

    /// Returns what a method's type parameters are for these arguments.
    pub(super) fn inferred(&self, callee: &Callee, arguments: &[Node<'t>], bindings: &Bindings<'t>) -> Substitution {
        let mut found = Substitution::new();
        if callee.member.type_parameters.is_empty() {
            return found;
        }
        for functions in [false, true] {
            for (index, argument) in arguments.iter().enumerate().filter(|(_, node)| is_function(**node) == functions) {
                let Some(parameter) = callee.member.parameter(index) else { continue };
                let wanted = callee.resolve(self, &parameter.written);
                if functions {
                    self.unify_function(callee, &wanted, *argument, &mut found, bindings);
                    continue;
                }
                let given = self.type_of(*argument, bindings);
                let is_spread = callee.member.is_variadic && index + 1 >= callee.member.parameters.len();
                match &wanted {
                    Type::Array(element) if is_spread && !matches!(given, Type::Array(_)) => {
                        self.unify(callee, element, &given, &mut found);
                    }
                    wanted => self.unify(callee, wanted, &given, &mut found),
                }
            }
        }
        found
    }

    /// Depth is bounded by that of types, so this may recurse.
    fn unify(&self, callee: &Callee, wanted: &Type, given: &Type, found: &mut Substitution) {
        match (wanted, given) {
            (Type::Variable(name, _), given) if callee.is_own_parameter(name) => {
                let is_new = given.is_known() && found.iter().all(|(bound, _)| bound != name);
                found.extend(is_new.then(|| (name.clone(), given.boxed(self.store))));
            }
            (Type::Array(wanted), Type::Array(given)) => self.unify(callee, wanted, given, found),
            (Type::Class(id, wanted), given) if !wanted.as_slice().is_empty() => {
                let parent = self.store.ancestry(given).into_iter().find_map(|parent| match parent {
                    Type::Class(parent, arguments) if parent == *id => Some(arguments),
                    _ => None,
                });
                for (wanted, given) in wanted.as_slice().iter().zip(parent.iter().flat_map(Arguments::as_slice)) {
                    self.unify(callee, wanted, given, found);
                }
            }
            _ => {}
        }
    }

    fn unify_function(
        &self,
        callee: &Callee,
        wanted: &Type,
        argument: Node<'t>,
        found: &mut Substitution,
        bindings: &Bindings<'t>,
    ) {
        let Some((parameters, result)) = self.function(&wanted.substitute(found)) else { return };
        let given = if argument.kind() == "lambda_expression" {
            let Some(body) = argument.child_by_field_name("body").filter(|body| body.kind() != "block") else { return };
            let mut inner = bindings.clone();
            inner.extend(lambda_parameters(argument).into_iter().map(|name| self.text_of(name)).zip(parameters));
            self.type_of(body, &inner)
        } else {
            self.reference_result(argument, &parameters, bindings)
        };
        self.unify(callee, &result, &given, found);
    }

    /// Returns what a method reference gives.
    fn reference_result(&self, reference: Node<'t>, parameters: &[Type], bindings: &Bindings<'t>) -> Type {
        let Some(left) = reference.named_child(0) else { return Type::Unknown };
        let last = reference.child(reference.child_count().saturating_sub(1));
        let Some(name) = last.map(|name| self.text_of(name)) else { return Type::Unknown };
        let meaning = self.meaning(left, bindings);
        let of = match &meaning {
            Meaning::Value(of) => of.clone(),
            Meaning::Static(id) if name == "new" => return Type::raw(*id),
            Meaning::Static(id) => match parameters.first() {
                Some(first @ Type::Class(given, _)) if self.store.is_subtype(*given, *id) => first.clone(),
                _ => Type::raw(*id),
            },
            _ => return Type::Unknown,
        };
        let fit = |callee: &Callee| {
            let parameters = parameters.iter().rev().zip(callee.member.parameters.iter().rev());
            parameters.map(|(given, wanted)| self.fit_value(given, &callee.resolve(self, &wanted.written))).sum::<i32>()
        };
        let methods = self.methods(&of, name);
        let taken = methods.iter().filter(|callee| {
            let n = callee.member.parameters.len();
            n == parameters.len() || n + 1 == parameters.len() && !callee.member.is_static
        });
        // The first of the best.
        let Some(callee) = taken.rev().max_by_key(|callee| fit(callee)) else { return Type::Unknown };
        let mut found = Substitution::new();
        for (wanted, given) in callee.member.parameters.iter().rev().zip(parameters.iter().rev()) {
            self.unify(callee, &callee.resolve(self, &wanted.written), given, &mut found);
        }
        self.without_parameters(callee, &callee.resolve(self, &callee.member.written).substitute(&found))
    }

    /// Returns the parameters and the result of the one abstract method of an interface.
    pub(super) fn function(&self, of: &Type) -> Option<(Vec<Type>, Type)> {
        let Type::Class(..) = of else { return None };
        for owner in self.store.ancestry(of) {
            let Type::Class(id, _) = owner else { continue };
            let class = self.store.class(id);
            if !class.kind.is_interface() {
                continue;
            }
            let is_function = |member: &&Member| {
                let is_of_object = matches!(&*member.name, "equals" | "hashCode" | "toString");
                member.is_method() && member.is_abstract && !is_of_object
            };
            let Some(member) = class.members.iter().find(is_function).cloned() else { continue };
            let callee = Callee { owner, id, class: class.clone(), member };
            let parameters = callee.member.parameters.iter();
            let parameters = parameters.map(|parameter| callee.resolve(self, &parameter.written)).collect();
            return Some((parameters, callee.resolve(self, &callee.member.written)));
        }
        None
    }
}

fn score_of(fits: bool) -> i32 {
    if fits { 1 } else { -10 }
}

/// Returns whether an argument is a function, whose type depends on what is wanted.
fn is_function(node: Node<'_>) -> bool {
    matches!(node.kind(), "lambda_expression" | "method_reference")
}

/// Returns the arguments of a call or of a creation.
pub(super) fn arguments_of(node: Node<'_>) -> Vec<Node<'_>> {
    let Some(list) = node.child_by_field_name("arguments") else { return Vec::new() };
    let mut cursor = list.walk();
    list.named_children(&mut cursor).filter(|child| !child.kind().ends_with("comment")).collect()
}

/// Returns the names of a lambda's parameters.
fn lambda_parameters(lambda: Node<'_>) -> Vec<Node<'_>> {
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
