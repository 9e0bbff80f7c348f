//! Type parameters of methods, found from the arguments of a call: those of lambdas and method references too.

use tree_sitter::Node;

use super::call::{Callee, is_function, lambda_parameters};
use super::class::Member;
use super::expression::{Bindings, Meaning};
use super::resolved::{Arguments, Substitution, Type};
use super::scope::Scope;

impl<'t> Scope<'t> {
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
