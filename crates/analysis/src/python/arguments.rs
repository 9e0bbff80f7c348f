//! The keyword arguments that a call takes.

use ruff_db::parsed::parsed_module;
use ruff_python_ast as ast;
use ty_python_core::definition::{Definition, DefinitionKind};
use ty_python_semantic::HasType;
use ty_python_semantic::types::Type;
use ty_python_semantic::types::ide_support::call_signature_details;

use super::members::{self, Names, Receiver};
use super::roots::{Root, Search};
use super::spot::Argument;
use super::view::View;

/// Returns the names of the parameters that the argument may name and no other argument has.
pub(super) fn keywords(view: &View<'_>, argument: &Argument<'_>) -> Names {
    let names = of_function(view, argument).unwrap_or_else(|| of_signatures(view, argument));
    let names = if names.is_empty() { of_roots(view, argument) } else { names };
    let others = argument
        .call
        .arguments
        .keywords
        .iter()
        .filter(|other| argument.keyword.is_none_or(|own| own.range != other.range));
    let taken: Names = others.filter_map(|other| Some(other.arg.as_ref()?.to_string())).collect();
    names.into_iter().filter(|name| !taken.contains(name)).collect()
}

/// Reads the parameters from the definition where the call is of one plain function: most calls are.
fn of_function(view: &View<'_>, argument: &Argument<'_>) -> Option<Names> {
    let model = view.model();
    let ty = argument.call.func.inferred_type(&model)?;
    let is_bound = matches!(ty, Type::BoundMethod(_));
    if !is_bound && !matches!(ty, Type::FunctionLiteral(_)) {
        return None;
    }
    let definition = *ty.definition(view.db, &model.program_environment())?.definition()?;
    of_definition(view, definition, argument.n_positional + usize::from(is_bound), false)
}

/// Reads the parameters of a function, or of one of several signatures if `may_be_overload`.
fn of_definition(view: &View<'_>, definition: Definition<'_>, skipped: usize, may_be_overload: bool) -> Option<Names> {
    let DefinitionKind::Function(node) = definition.kind(view.db) else { return None };
    let module = parsed_module(view.db, definition.python_file(view.db)).load(view.db);
    let function = node.node(&module);
    if !may_be_overload && function.decorator_list.iter().any(is_overload) {
        return None;
    }
    let n_positional_only = function.parameters.posonlyargs.len();
    let positional = function.parameters.args.iter().skip(skipped.saturating_sub(n_positional_only));
    let named = positional.chain(&function.parameters.kwonlyargs);
    Some(named.map(|parameter| parameter.name().to_string()).collect())
}

/// Reads the parameters of what the code says is called, where ty says nothing.
fn of_roots(view: &View<'_>, argument: &Argument<'_>) -> Names {
    let mut names = Names::new();
    for root in Search::new(view.db).roots(view.file, &argument.call.func) {
        let (functions, is_bound) = match root {
            Root::Function(function, is_bound) => (vec![function], is_bound),
            Root::Class(class, Receiver::Class) => (members::definitions(view.db, class, "__init__"), true),
            _ => continue,
        };
        for function in functions {
            let skipped = argument.n_positional + usize::from(is_bound);
            names.extend(of_definition(view, function, skipped, true).unwrap_or_default());
        }
    }
    names
}

fn is_overload(decorator: &ast::Decorator) -> bool {
    match &decorator.expression {
        ast::Expr::Name(name) => name.id.as_str() == "overload",
        ast::Expr::Attribute(attribute) => attribute.attr.as_str() == "overload",
        _ => false,
    }
}

fn of_signatures(view: &View<'_>, argument: &Argument<'_>) -> Names {
    let mut names = Names::new();
    for signature in call_signature_details(&view.model(), argument.call) {
        let parameters = signature.parameters.into_iter().enumerate();
        let open = parameters.filter(|(at, parameter)| {
            let is_variadic = parameter.is_variadic || parameter.is_keyword_variadic;
            let is_filled = *at < argument.n_positional;
            !parameter.is_positional_only && !is_variadic && !is_filled
        });
        names.extend(open.map(|(_, parameter)| parameter.name));
    }
    names
}
