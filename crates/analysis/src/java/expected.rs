//! The type that an expression must have where it stands.

use tree_sitter::Node;

use super::call::{Callee, arguments_of};
use super::expression::{Bindings, Meaning};
use super::resolved::Type;
use super::scope::Scope;
use super::written::{Written, n_dimensions};

impl<'t> Scope<'t> {
    /// Returns the type that the expression at `level` of the path must have.
    pub(super) fn expected_at(&self, level: usize) -> Option<Type> {
        let mut level = level;
        // What holds an expression without changing its type hands on what is expected of itself.
        while level > 0 {
            let (node, parent) = (self.path[level], self.path[level - 1]);
            let is_passed_on = match parent.kind() {
                "parenthesized_expression" => level < 2 || !takes_condition(self.path[level - 2]),
                "ternary_expression" => parent.child_by_field_name("condition") != Some(node),
                _ => false,
            };
            if !is_passed_on {
                break;
            }
            level -= 1;
        }
        self.expected_by_parent(level)
    }

    fn expected_by_parent(&self, level: usize) -> Option<Type> {
        let (node, parent) = (*self.path.get(level)?, *self.path.get(level.checked_sub(1)?)?);
        let bindings = Bindings::new();
        let boolean = Some(Type::Primitive("boolean"));
        match parent.kind() {
            "argument_list" => self.expected_argument(level),
            "variable_declarator" | "resource" if parent.child_by_field_name("value") == Some(node) => {
                self.declared_type(level - 1)
            }
            "array_initializer" => match self.expected_by_parent(level - 1)? {
                Type::Array(element) => Some((*element).clone()),
                _ => None,
            },
            "assignment_expression" if parent.child_by_field_name("right") == Some(node) => {
                Some(self.type_of(parent.child_by_field_name("left")?, &bindings))
            }
            "return_statement" => self.expected_result(level - 1),
            "lambda_expression" => self.function(&self.expected_at(level - 1)?).map(|(_, result)| result),
            "parenthesized_expression" | "ternary_expression" | "for_statement" | "assert_statement" => boolean,
            "unary_expression" if self.text_of(parent).starts_with('!') => boolean,
            "binary_expression" => self.expected_operand(node, parent),
            "array_access" if parent.child_by_field_name("index") == Some(node) => Some(Type::Primitive("int")),
            "dimensions_expr" => Some(Type::Primitive("int")),
            "throw_statement" => Some(self.store.library_type("java.lang", "Throwable")),
            "cast_expression" => Some(self.written(parent.child_by_field_name("type")?)),
            _ => None,
        }
        .filter(|found| !matches!(found, Type::Unknown | Type::Void))
    }

    fn expected_operand(&self, node: Node<'t>, parent: Node<'t>) -> Option<Type> {
        let operator = self.text_of(parent.child_by_field_name("operator")?);
        if matches!(operator, "&&" | "||") {
            return Some(Type::Primitive("boolean"));
        }
        let other = parent.child_by_field_name("left").filter(|left| *left != node)?;
        let other = self.type_of(other, &Bindings::new());
        (matches!(operator, "==" | "!=") || matches!(other, Type::Primitive(_))).then_some(other)
    }

    /// Returns the declared type of the declarator at `level`.
    fn declared_type(&self, level: usize) -> Option<Type> {
        let declarator = self.path[level];
        let declaration =
            if declarator.kind() == "resource" { declarator } else { *self.path.get(level.checked_sub(1)?)? };
        let written = Written::of(declaration.child_by_field_name("type")?, self.text);
        Some(self.store.resolve(&written.with_dimensions(n_dimensions(declarator, self.text)), self.place()))
    }

    /// Returns what the method or lambda around `level` returns.
    fn expected_result(&self, level: usize) -> Option<Type> {
        for level in (0..level).rev() {
            let node = self.path[level];
            match node.kind() {
                "method_declaration" => return Some(self.written(node.child_by_field_name("type")?)),
                "lambda_expression" => return self.function(&self.expected_at(level)?).map(|(_, result)| result),
                "class_body" => return None,
                _ => {}
            }
        }
        None
    }

    fn expected_argument(&self, level: usize) -> Option<Type> {
        let (node, call) = (self.path[level], *self.path.get(level.checked_sub(2)?)?);
        let arguments = arguments_of(call);
        let index = arguments.iter().position(|argument| *argument == node)?;
        let callee = self.callee(call)?;
        let parameter = callee.member.parameter(index)?;
        // The argument itself says nothing about what is expected of it.
        let found = self.inferred(&callee, &without(&arguments, index), &Bindings::new());
        let mut wanted = callee.resolve(self, &parameter.written).substitute(&found);
        if let (true, Type::Array(element)) =
            (callee.member.is_variadic && index + 1 >= callee.member.parameters.len(), &wanted)
        {
            wanted = (**element).clone();
        }
        Some(wanted)
    }

    /// Returns the method or constructor that a call, a creation or an enum constant means.
    pub(super) fn callee(&self, call: Node<'t>) -> Option<Callee> {
        let none = Bindings::new();
        let arguments = arguments_of(call);
        let of = match call.kind() {
            "method_invocation" => {
                let left = call.child_by_field_name("object").map(|object| self.meaning(object, &none));
                return self.method(call, left.as_ref(), &none);
            }
            "object_creation_expression" => self.type_of(call, &none),
            "explicit_constructor_invocation" => match self.meaning(call.child_by_field_name("constructor")?, &none) {
                Meaning::Value(of) => of,
                _ => return None,
            },
            "enum_constant" => self.store.own_type(self.class()?),
            _ => return None,
        };
        self.constructor(&of, &arguments, &none)
    }
}

/// Returns the arguments up to one, which functions behind it may depend on.
fn without<'t>(arguments: &[Node<'t>], index: usize) -> Vec<Node<'t>> {
    arguments[..index].to_vec()
}

/// Returns whether the expression in parentheses behind a keyword is a condition.
fn takes_condition(statement: Node<'_>) -> bool {
    matches!(statement.kind(), "if_statement" | "while_statement" | "do_statement")
}
