//! The types of expressions, and what they are made of.

mod expected;

mod reachable;

pub(super) mod declaration;

pub(super) mod spelling;

use ruff_python_ast::find_node::CoveringNode;
use ruff_python_ast::{AnyNodeRef, Expr, Identifier};
use ty_python_core::definition::DefinitionKind;
use ty_python_core::semantic_index;
use ty_python_semantic::types::Type;
use ty_python_semantic::types::ide_support::call_signature_details;
use ty_python_semantic::{HasType, SemanticModel};

use super::definitions::{up_to, word};
use super::members::Receiver;
use super::roots::{Root, Search};
use super::view::View;
use crate::intelligence::TypeDefinition;
use declaration::Source;
use expected::Expectation;

/// Returns the type of the expression that ends with the identifier at the caret.
pub(super) fn inferred_type(view: &View<'_>) -> Option<String> {
    let known = inferred(view).and_then(|ty| spell(&view.model(), ty));
    known.or_else(|| spell_roots(view, &roots(view)))
}

/// Returns the type that an expression at the caret must have.
pub(super) fn expected_type(view: &View<'_>) -> Option<String> {
    expected::expectation(view)?.spelled(&view.model())
}

/// Returns the definitions of the types reachable from what is expected at the caret.
pub(super) fn reachable_types(view: &View<'_>) -> Vec<TypeDefinition> {
    let model = view.model();
    let expected = expected::expectation(view).and_then(|expected| match expected {
        Expectation::Known(ty) | Expectation::Comparable(ty) | Expectation::Element(ty, _) => {
            spell(&model, ty).map(|_| ty)
        }
        Expectation::Spelled(_) => None,
    });
    let known = expected.or_else(|| inferred(view)).map(|ty| reachable::classes(view.db, &model, ty));
    let classes = known.filter(|classes| !classes.is_empty()).unwrap_or_else(|| {
        let read = roots(view).into_iter().filter(|_| expected.is_none());
        read.filter_map(|root| if let Root::Class(class, _) = root { Some(class) } else { None }).collect()
    });
    reachable::definitions(view.db, classes)
}

/// Returns what the expression at the caret can be by reading the code.
fn roots<'db>(view: &View<'db>) -> Vec<Root<'db>> {
    let covering = word(view).and_then(|word| view.covering(word.start, word.end));
    let nodes: Vec<AnyNodeRef<'_>> = covering.iter().flat_map(|covering| covering.ancestors().take(2)).collect();
    let expression = match nodes.as_slice() {
        [AnyNodeRef::ExprName(name), ..] => Expr::Name((*name).clone()),
        [AnyNodeRef::Identifier(_), AnyNodeRef::ExprAttribute(attribute)] => Expr::Attribute((*attribute).clone()),
        _ => return Vec::new(),
    };
    Search::new(view.db).roots(view.file, &expression)
}

fn spell_roots<'db>(view: &View<'db>, roots: &[Root<'db>]) -> Option<String> {
    let spelled = |root: &Root<'db>| match root {
        Root::Class(class, Receiver::Object) => class.name(view.db),
        Root::Class(class, Receiver::Class) => class.name(view.db).map(|name| format!("type[{name}]")),
        Root::Module(_) => Some("ModuleType".to_owned()),
        Root::Function(function, _) => {
            let source = Source::new(view.db, function.program_file(view.db));
            let DefinitionKind::Function(node) = function.kind(view.db) else { return None };
            let node = node.node(&source.module);
            Some(source.function(node, &node.name))
        }
    };
    let mut members: Vec<String> = Vec::new();
    for member in roots.iter().filter_map(spelled) {
        if !members.contains(&member) {
            members.push(member);
        }
    }
    match members.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(spelling::union(several)),
    }
}

/// Returns a type as Python writes it; `None` if it is not known.
pub(super) fn spell<'db>(model: &SemanticModel<'db>, ty: Type<'db>) -> Option<String> {
    let display = |ty: Type<'db>| ty.display(model.db(), &model.program_environment()).to_string();
    let whole = display(ty);
    match ty.as_union() {
        // The display of a long union leaves members out.
        Some(union) if whole.contains(spelling::OMITTED) => {
            let members: Vec<String> = union.elements(model.db()).iter().map(|member| display(*member)).collect();
            spelling::spell(&spelling::union(&members))
        }
        _ => spelling::spell(&whole),
    }
}

fn inferred<'db>(view: &View<'db>) -> Option<Type<'db>> {
    let word = word(view)?;
    let covering = view.covering(word.start, word.end)?;
    let model = view.model();
    match covering.node() {
        AnyNodeRef::ExprName(name) => name.inferred_type(&model),
        AnyNodeRef::Identifier(identifier) => named(&model, &covering, identifier, word.end),
        _ => None,
    }
}

/// Returns the type of what an identifier that is no expression names.
fn named<'db>(
    model: &SemanticModel<'db>,
    covering: &CoveringNode<'_>,
    identifier: &Identifier,
    end: usize,
) -> Option<Type<'db>> {
    let around: Vec<AnyNodeRef<'_>> = covering.ancestors().skip(1).take(3).collect();
    let binds =
        |node| semantic_index(model.db(), model.program_file()).try_definitions(node).is_some_and(|it| it.len() == 1);
    match around.as_slice() {
        [AnyNodeRef::ExprAttribute(attribute), ..] => attribute.inferred_type(model),
        [AnyNodeRef::Keyword(_), _, AnyNodeRef::ExprCall(call)] => {
            let signatures = call_signature_details(model, call);
            let mut parameters = signatures.iter().flat_map(|signature| &signature.parameters);
            parameters.find(|parameter| parameter.name == identifier.as_str()).map(|parameter| parameter.ty)
        }
        [AnyNodeRef::StmtImportFrom(import), ..] => {
            model.resolve_module_type(Some(up_to(identifier, end)), import.level)
        }
        [AnyNodeRef::Alias(alias), AnyNodeRef::StmtImport(_), ..] => {
            let dotted =
                if alias.name.range == identifier.range { up_to(identifier, end) } else { alias.name.as_str() };
            model.resolve_module_type(Some(dotted), 0)
        }
        [node @ AnyNodeRef::Alias(alias), ..] if binds(*node) => alias.inferred_type(model),
        [node @ AnyNodeRef::StmtFunctionDef(function), ..] if binds(*node) => function.inferred_type(model),
        [node @ AnyNodeRef::StmtClassDef(class), ..] if binds(*node) => class.inferred_type(model),
        [AnyNodeRef::Parameter(_), node @ AnyNodeRef::ParameterWithDefault(parameter), ..] if binds(*node) => {
            parameter.inferred_type(model)
        }
        [node @ AnyNodeRef::Parameter(parameter), ..] if binds(*node) => parameter.inferred_type(model),
        [node @ AnyNodeRef::ExceptHandlerExceptHandler(handler), ..] if binds(*node) => handler.inferred_type(model),
        _ => None,
    }
}

/// Returns the type that an annotation stands for.
fn annotated<'db>(model: &SemanticModel<'db>, annotation: &Expr) -> Option<Type<'db>> {
    annotation.inferred_type(model)
}

#[cfg(test)]
mod tests;
