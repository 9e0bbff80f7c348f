//! What callers pass for a parameter that says nothing of its type.

use ruff_db::parsed::parsed_module;
use ruff_db::source::source_text;
use ruff_python_ast::find_node::covering_node;
use ruff_python_ast::{self as ast, AnyNodeRef, Expr};
use ruff_text_size::{TextRange, TextSize};
use ty_python_core::ProgramFile;
use ty_python_core::definition::{Definition, DefinitionKind};
use ty_python_semantic::types::ProgramEnvironment;
use ty_python_semantic::{Db, HasType, SemanticModel};

use super::members;
use super::roots::Search;

/// How many calls of one function are looked at.
const CALLS_MAX: usize = 24;

/// How many arguments are followed.
const ARGUMENTS_MAX: usize = 8;

/// A place in a file where a name is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CalledName {
    name: String,
    start: usize,
}

/// What is called to give a parameter its value.
struct Target<'db> {
    function: Definition<'db>,
    name: String,
    parameter: String,
    /// The argument that fills the parameter where the function is called by its bare name.
    position: Option<usize>,
    is_method: bool,
}

/// Returns expressions that are passed for a parameter, with their files, by file and position.
pub(super) fn arguments<'db>(search: &Search<'db>, parameter: Definition<'db>) -> Vec<(ProgramFile<'db>, Expr)> {
    let db = search.db;
    let Some(target) = target(db, parameter) else { return Vec::new() };
    let own = parameter.program_file(db);
    let others = db.python_files().filter(|file| *file != own.file(db)).map(|file| db.program_file(file));
    let (mut found, mut n_calls) = (Vec::new(), 0);
    for file in std::iter::once(own).chain(others) {
        let calls = called_names(db, file);
        let from = calls.partition_point(|call| call.name < target.name);
        for call in calls[from..].iter().take_while(|call| call.name == target.name) {
            n_calls += 1;
            found.extend(argument(db, file, call, &target).map(|argument| (file, argument)));
            if n_calls >= CALLS_MAX || found.len() >= ARGUMENTS_MAX {
                return found;
            }
        }
    }
    found
}

fn target<'db>(db: &'db dyn Db, parameter: Definition<'db>) -> Option<Target<'db>> {
    let DefinitionKind::Parameter(_) = parameter.kind(db) else { return None };
    let symbol = parameter.place(db).as_symbol()?;
    let name = ty_python_core::place_table(db, parameter.scope(db)).symbol(symbol).name().to_string();
    let module = parsed_module(db, parameter.python_file(db)).load(db);
    let function = parameter.scope(db).node(db).as_function()?;
    let node = function.node(&module);
    let definition = ty_python_core::semantic_index(db, parameter.program_file(db)).try_definition(node)?;
    let is_method = definition.scope(db).node(db).as_class().is_some() && !is_static(node);
    let positional = node.parameters.posonlyargs.iter().chain(&node.parameters.args);
    let own = node.parameters.iter_non_variadic_params().find(|own| own.name().as_str() == name)?;
    if own.annotation().is_some() {
        return None;
    }
    let position = positional.enumerate().find(|(_, own)| own.name().as_str() == name).map(|(at, _)| at);
    let called = if is_method && node.name.as_str() == "__init__" {
        definition.scope(db).node(db).as_class()?.node(&module).name.to_string()
    } else {
        node.name.to_string()
    };
    (!is_method || position != Some(0)).then_some(Target {
        function: definition,
        name: called,
        parameter: name,
        position,
        is_method,
    })
}

fn is_static(function: &ast::StmtFunctionDef) -> bool {
    function
        .decorator_list
        .iter()
        .any(|decorator| decorator.expression.as_name_expr().is_some_and(|name| name.id.as_str() == "staticmethod"))
}

/// Returns what one call passes for the parameter, if it is a call of the function.
fn argument(db: &dyn Db, file: ProgramFile<'_>, called: &CalledName, target: &Target<'_>) -> Option<Expr> {
    let module = parsed_module(db, file.python_file(db)).load(db);
    let size = |byte: usize| TextSize::try_from(byte).ok();
    let range = TextRange::new(size(called.start)?, size(called.start + called.name.len())?);
    let root = AnyNodeRef::from(module.syntax());
    if !ruff_text_size::Ranged::range(&root).contains_range(range) {
        return None;
    }
    let covering = covering_node(root, range);
    let call = covering.ancestors().take(3).find_map(|node| match node {
        AnyNodeRef::ExprCall(call) => Some(call),
        _ => None,
    })?;
    let is_member = match &*call.func {
        Expr::Name(name) if name.range == range => false,
        Expr::Attribute(attribute) if attribute.attr.range == range => true,
        _ => return None,
    };
    if !may_call(db, file, call, target) {
        return None;
    }
    let named = call
        .arguments
        .keywords
        .iter()
        .find(|keyword| keyword.arg.as_ref().is_some_and(|arg| arg.as_str() == target.parameter));
    if let Some(named) = named {
        return Some(named.value.clone());
    }
    let is_constructor = target.is_method && target.name != target.function.name(db)?;
    let skipped = usize::from(target.is_method && (is_member || is_constructor));
    let before = &call.arguments.args;
    let at = target.position?.checked_sub(skipped)?;
    (!before.iter().take(at + 1).any(Expr::is_starred_expr)).then(|| before.get(at).cloned()).flatten()
}

/// Returns whether the called expression is the function, or not known to be something else.
fn may_call(db: &dyn Db, file: ProgramFile<'_>, call: &ast::ExprCall, target: &Target<'_>) -> bool {
    let Some(ty) = call.func.inferred_type(&SemanticModel::new(db, file)) else { return true };
    let definition = ty.definition(db, &ProgramEnvironment::from_file(file));
    let Some(definition) = definition.and_then(|definition| definition.definition().copied()) else { return true };
    match definition.kind(db) {
        DefinitionKind::Function(_) => definition.name(db) == target.function.name(db),
        DefinitionKind::Class(_) => members::definitions(db, definition, "__init__").contains(&target.function),
        _ => true,
    }
}

/// Returns the names of a file before an opening parenthesis, sorted.
#[salsa::tracked(returns(deref))]
fn called_names<'db>(db: &'db dyn Db, file: ProgramFile<'db>) -> Vec<CalledName> {
    let text = source_text(db, file.file(db));
    let text = text.as_str();
    let mut names = Vec::new();
    for (at, _) in text.match_indices('(') {
        let before = text[..at].trim_end_matches([' ', '\t']);
        let start = before.char_indices().rev().take_while(|(_, c)| repo::identifiers::is_word(*c)).last();
        if let Some((start, _)) = start {
            names.push(CalledName { name: before[start..].to_owned(), start });
        }
    }
    names.sort_unstable();
    names
}
