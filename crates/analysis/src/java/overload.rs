//! Overloads told apart by the number of arguments and by what is known of their types.

use tree_sitter::Node;

use super::call::{Callee, is_function, lambda_parameters};
use super::expression::Bindings;
use super::resolved::Type;
use super::scope::Scope;

impl<'t> Scope<'t> {
    /// Returns the candidate that fits the arguments best, the first of equals.
    pub(super) fn choose(
        &self,
        candidates: Vec<Callee>,
        arguments: &[Node<'t>],
        bindings: &Bindings<'t>,
    ) -> Option<Callee> {
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

    /// Returns how well a value fits a type, more for better.
    pub(super) fn fit_value(&self, found: &Type, wanted: &Type) -> i32 {
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
}

fn score_of(fits: bool) -> i32 {
    if fits { 1 } else { -10 }
}
