//! What a place asks of the expression that stands there.
//!
//! An argument must fit its parameter, a returned value the function's annotation, the right side of an assignment
//! what is declared on its left. A comparison asks nothing, but what is compared is nearly always of one type.
//!
//! # References
//!
//! The expected type of a typed hole in Blinn, Li, Kim and Omar, "Statically Contextualizing Large Language Models
//! with Typed Holes" (2024), section 3; there the language is Hazel or TypeScript.

use ruff_python_ast::{AnyNodeRef, CmpOp, Expr, ExprCall, ExprCompare};
use ruff_text_size::{Ranged, TextRange};
use ty_python_core::definition::DefinitionKind;
use ty_python_core::scope::NodeWithScopeRef;
use ty_python_core::semantic_index;
use ty_python_semantic::types::Type;
use ty_python_semantic::types::ide_support::{call_signature_details, find_active_signature_from_details};
use ty_python_semantic::{
    HasType, ImportAliasResolution, ResolvedDefinition, SemanticModel, definitions_for_attribute, definitions_for_name,
};

use super::{annotated, spell, spelling};
use crate::python::definitions::word;
use crate::python::view::View;

/// What a place asks for.
pub(super) enum Expectation<'db> {
    /// A value of this type.
    Known(Type<'db>),
    /// A value that is compared with one of this type.
    Comparable(Type<'db>),
    /// An element of a value of this type, at these arguments of it from the outside.
    Element(Type<'db>, Vec<usize>),
    /// A type that no value of the program has given yet.
    Spelled(String),
}

impl<'db> Expectation<'db> {
    /// Returns the type as Python writes it; `None` if anything may stand there.
    pub(super) fn spelled(self, model: &SemanticModel<'db>) -> Option<String> {
        let spelled = match self {
            Self::Known(ty) => spell(model, ty),
            Self::Comparable(ty) => spell(model, ty).map(|spelled| spelling::widen(&spelled)),
            Self::Element(ty, slots) => spell(model, ty)
                .and_then(|whole| slots.iter().try_fold(whole, |whole, slot| spelling::argument(&whole, *slot))),
            Self::Spelled(spelled) => Some(spelled),
        };
        spelled.filter(|spelled| !["object", "Never", "Any"].contains(&spelled.as_str()))
    }
}

/// Returns what is asked of an expression at the caret.
pub(super) fn expectation<'db>(view: &View<'db>) -> Option<Expectation<'db>> {
    let word = word(view)?;
    let covering = view.covering(word.start, word.end)?;
    let nodes: Vec<AnyNodeRef<'_>> = covering.ancestors().collect();
    let (mut hole, mut around) = hole(&nodes)?;
    let mut slots = Vec::new();
    while let Some((display, outer)) = around.split_first()
        && let Some(slot) = slot(*display, hole.range())
    {
        slots.push(slot);
        (hole, around) = (*display, outer);
    }
    slots.reverse();
    match asked(&view.model(), hole, around)? {
        whole if slots.is_empty() => Some(whole),
        Expectation::Known(ty) => Some(Expectation::Element(ty, slots)),
        _ => None,
    }
}

/// Returns which argument of the type of a list, set, tuple or dictionary is the type of its element at `range`.
fn slot(display: AnyNodeRef<'_>, range: TextRange) -> Option<usize> {
    match display {
        AnyNodeRef::ExprList(_) | AnyNodeRef::ExprSet(_) => Some(0),
        AnyNodeRef::ExprTuple(tuple) => tuple.elts.iter().position(|element| element.range() == range),
        AnyNodeRef::ExprDict(dict) => {
            Some(usize::from(!dict.items.iter().any(|item| item.key.as_ref().is_some_and(|key| key.range() == range))))
        }
        _ => None,
    }
}

/// Returns the whole expression that the caret's identifier belongs to, and the nodes around it from the inside.
fn hole<'nodes, 'tree>(nodes: &'nodes [AnyNodeRef<'tree>]) -> Option<(AnyNodeRef<'tree>, &'nodes [AnyNodeRef<'tree>])> {
    let mut at = match nodes {
        [AnyNodeRef::ExprName(_), ..] => 0,
        [AnyNodeRef::Identifier(_), AnyNodeRef::ExprAttribute(_), ..] => 1,
        _ => return None,
    };
    while let (Some(inner), Some(outer)) = (nodes.get(at), nodes.get(at + 1)) {
        let goes_on = match outer {
            AnyNodeRef::ExprAttribute(_) => true,
            AnyNodeRef::ExprCall(call) => call.func.range() == inner.range(),
            AnyNodeRef::ExprSubscript(subscript) => subscript.value.range() == inner.range(),
            // These hand on what is asked of them.
            AnyNodeRef::ExprIf(choice) => choice.test.range() != inner.range(),
            AnyNodeRef::ExprNamed(named) => named.value.range() == inner.range(),
            _ => false,
        };
        if !goes_on {
            break;
        }
        at += 1;
    }
    Some((nodes[at], &nodes[at + 1..]))
}

fn asked<'db>(model: &SemanticModel<'db>, hole: AnyNodeRef<'_>, around: &[AnyNodeRef<'_>]) -> Option<Expectation<'db>> {
    let range = hole.range();
    let is_hole = |expression: &Expr| expression.range() == range;
    let known = match around {
        [AnyNodeRef::Arguments(_), AnyNodeRef::ExprCall(call), ..]
        | [AnyNodeRef::Keyword(_), AnyNodeRef::Arguments(_), AnyNodeRef::ExprCall(call), ..] => {
            argument(model, call, range)
        }
        [AnyNodeRef::StmtReturn(_), around @ ..] => returned(model, around),
        [AnyNodeRef::StmtAnnAssign(assign), ..] if assign.value.as_deref().is_some_and(is_hole) => {
            annotated(model, &assign.annotation)
        }
        [AnyNodeRef::StmtAssign(assign), ..] if is_hole(&assign.value) => {
            assign.targets.iter().find_map(|target| declared(model, target))
        }
        [AnyNodeRef::StmtAugAssign(assign), ..] if is_hole(&assign.value) => declared(model, &assign.target),
        [AnyNodeRef::ParameterWithDefault(parameter), ..] if parameter.default.as_deref().is_some_and(is_hole) => {
            annotated(model, parameter.parameter.annotation.as_deref()?)
        }
        [AnyNodeRef::ExprCompare(compare), ..] => return compared(model, compare, range).map(Expectation::Comparable),
        [AnyNodeRef::ExprAwait(_), around @ ..] => return Some(awaited(model, around)),
        [AnyNodeRef::StmtRaise(raise), ..] if raise.exc.as_deref().is_some_and(is_hole) => {
            return Some(Expectation::Spelled("BaseException | type[BaseException]".into()));
        }
        [AnyNodeRef::ExceptHandlerExceptHandler(_), ..] => {
            return Some(Expectation::Spelled("type[BaseException] | tuple[type[BaseException], ...]".into()));
        }
        _ => None,
    };
    known.map(Expectation::Known)
}

/// Returns the type of what the operand at `range` is compared with.
fn compared<'db>(model: &SemanticModel<'db>, compare: &ExprCompare, range: TextRange) -> Option<Type<'db>> {
    let operands: Vec<&Expr> = std::iter::once(&*compare.left).chain(&compare.comparators).collect();
    let at = operands.iter().position(|operand| operand.range() == range)?;
    let operator = compare.ops.get(at.saturating_sub(1))?;
    let other = operands.get(if at == 0 { 1 } else { at - 1 })?;
    let is_alike = !matches!(operator, CmpOp::In | CmpOp::NotIn);
    other.inferred_type(model).filter(|_| is_alike)
}

/// What is awaited must give what is asked of the whole.
fn awaited<'db>(model: &SemanticModel<'db>, around: &[AnyNodeRef<'_>]) -> Expectation<'db> {
    let result = match around {
        [AnyNodeRef::StmtReturn(_), around @ ..] => returned(model, around),
        [AnyNodeRef::StmtAnnAssign(assign), ..] => annotated(model, &assign.annotation),
        _ => None,
    };
    let result = result.and_then(|result| spell(model, result)).unwrap_or_else(|| "Any".to_owned());
    Expectation::Spelled(format!("Awaitable[{result}]"))
}

/// Returns the type of the parameter that the argument at `range` is for.
fn argument<'db>(model: &SemanticModel<'db>, call: &ExprCall, range: TextRange) -> Option<Type<'db>> {
    let index = call.arguments.iter_source_order().position(|argument| argument.range().contains_range(range))?;
    let signatures = call_signature_details(model, call);
    let signature = signatures.get(find_active_signature_from_details(&signatures)?)?;
    let parameter = (*signature.argument_to_displayed_parameter_mapping.get(index)?)?;
    signature.parameters.get(parameter).map(|parameter| parameter.ty)
}

/// Returns the type that the innermost function around a `return` is annotated with.
fn returned<'db>(model: &SemanticModel<'db>, around: &[AnyNodeRef<'_>]) -> Option<Type<'db>> {
    let function = around.iter().find_map(|node| node.stmt_function_def())?;
    let index = semantic_index(model.db(), model.program_file());
    let scope = index.try_node_scope(NodeWithScopeRef::Function(function))?;
    // What a generator returns is one part of its annotation only.
    let is_generator = scope.is_generator_function(index);
    annotated(model, function.returns.as_deref().filter(|_| !is_generator)?)
}

/// Returns the type that the target of an assignment is declared with, here or elsewhere.
fn declared<'db>(model: &SemanticModel<'db>, target: &Expr) -> Option<Type<'db>> {
    let follow = ImportAliasResolution::ResolveAliases;
    let definitions = match target {
        Expr::Name(name) => definitions_for_name(model, name.id.as_str(), name.into(), follow),
        Expr::Attribute(attribute) => definitions_for_attribute(model, attribute),
        _ => return None,
    };
    definitions.iter().filter_map(ResolvedDefinition::definition).find_map(|binding| {
        let DefinitionKind::AnnotatedAssignment(assignment) = binding.kind(model.db()) else { return None };
        let module = ruff_db::parsed::parsed_module(model.db(), binding.python_file(model.db())).load(model.db());
        let there = SemanticModel::new(model.db(), binding.program_file(model.db()));
        annotated(&there, assignment.annotation(&module))
    })
}
