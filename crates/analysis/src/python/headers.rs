//! How the names in scope are declared.

use std::collections::BTreeMap;

use ruff_python_ast::AnyNodeRef;
use ruff_text_size::{Ranged, TextSize};
use ty_python_core::definition::{Definition as Binding, DefinitionKind};
use ty_python_core::scope::{FileScopeId, ScopeKind};
use ty_python_core::{SemanticIndex, semantic_index};
use ty_python_semantic::types::{Type, TypeDefinition as Defined};
use ty_python_semantic::{MemberDefinition, SemanticModel};

use super::definitions::word;
use super::inference::declaration::Source;
use super::inference::{spell, spelling};
use super::view::{PLACEHOLDER, View};
use crate::intelligence::{Header, Origin};

/// Returns the headers of the values in scope at the caret.
///
/// Of the scope at the caret these are the names bound before it; other scopes have run to their end by the time the
/// code at the caret runs, or may have.
pub(super) fn headers(view: &View<'_>) -> Vec<Header> {
    let (start, end) = word(view).map_or((view.byte, view.byte), |word| (word.start, word.end));
    let Some(covering) = view.covering(start, end) else { return Vec::new() };
    let model = view.model();
    let node = covering.ancestors().find_map(|node| within(node, start)).unwrap_or(view.syntax().into());
    let Some(innermost) = model.scope(node) else { return Vec::new() };
    let scopes = Scopes::new(view, innermost);
    // One order for what comes out of a hash map.
    let members: BTreeMap<String, MemberDefinition<'_>> =
        model.members_in_scope_at(node).into_iter().map(|(name, member)| (name.to_string(), member)).collect();
    let source = Source::new(view.db, view.file);
    let mut found: Vec<(usize, Header)> = Vec::new();
    for (name, member) in members {
        let Some(depth) = scopes.depth(member.first_reachable_definition) else { continue };
        if name == PLACEHOLDER || scopes.is_later(depth, bound_at(&source, member.first_reachable_definition), start) {
            continue;
        }
        let declaration = declaration(&source, &model, &name, &member);
        found.push((depth, Header { name, origin: scopes.origins[depth], declaration }));
    }
    found.sort_by_key(|(depth, _)| *depth);
    found.into_iter().map(|(_, header)| header).collect()
}

/// Returns a node of the scope that holds `start`, if `node` tells it: an expression, or a parameter of the function
/// whose body has none there.
fn within(node: AnyNodeRef<'_>, start: usize) -> Option<AnyNodeRef<'_>> {
    let AnyNodeRef::StmtFunctionDef(function) = node else { return node.as_expr_ref().map(|_| node) };
    let parameter = function.parameters.iter_non_variadic_params().next()?;
    (function.parameters.end().to_usize() < start).then_some(AnyNodeRef::ParameterWithDefault(parameter))
}

/// The scopes whose names are visible at the caret, the innermost first.
struct Scopes<'db> {
    view: &'db View<'db>,
    visible: Vec<FileScopeId>,
    origins: Vec<Origin>,
    is_comprehension: bool,
}

impl<'db> Scopes<'db> {
    fn new(view: &'db View<'db>, innermost: FileScopeId) -> Self {
        let index: &SemanticIndex<'_> = semantic_index(view.db, view.file);
        let mut origin = Origin::Local;
        let (mut visible, mut origins) = (Vec::new(), Vec::new());
        for (scope, at) in index.visible_ancestor_scopes(innermost) {
            visible.push(scope);
            origins.push(if scope.is_global() { Origin::Global } else { origin });
            // Comprehensions and lambdas belong to the function that has them.
            if matches!(at.kind(), ScopeKind::Function | ScopeKind::Class) {
                origin = Origin::Enclosing;
            }
        }
        let is_comprehension = index.scope(innermost).kind() == ScopeKind::Comprehension;
        Self { view, visible, origins, is_comprehension }
    }

    fn depth(&self, binding: Binding<'_>) -> Option<usize> {
        let scope = binding.file_scope(self.view.db);
        self.visible.iter().position(|visible| *visible == scope)
    }

    /// Returns whether a name bound at `bound` has no value yet at `start`. A comprehension binds behind its result.
    fn is_later(&self, depth: usize, bound: TextSize, start: usize) -> bool {
        let runs_now = self.origins[depth] == Origin::Local || depth == 0;
        runs_now && !(depth == 0 && self.is_comprehension) && bound.to_usize() > start
    }
}

/// Returns where a name has its value: behind what is assigned to it, but within a function that calls itself.
fn bound_at(source: &Source<'_>, binding: Binding<'_>) -> TextSize {
    let kind = binding.kind(source.db);
    match kind {
        DefinitionKind::Assignment(_) | DefinitionKind::AnnotatedAssignment(_) | DefinitionKind::NamedExpression(_) => {
            kind.full_range(&source.module).end()
        }
        _ => kind.target_range(&source.module).start(),
    }
}

fn declaration<'db>(
    source: &Source<'db>,
    model: &SemanticModel<'db>,
    name: &str,
    member: &MemberDefinition<'db>,
) -> String {
    let binding = member.first_reachable_definition;
    match binding.kind(source.db) {
        DefinitionKind::Function(function) => source.function(function.node(&source.module), name),
        DefinitionKind::Class(class) => source.class(class.node(&source.module), name),
        DefinitionKind::AnnotatedAssignment(_) => source.value(binding, name),
        // Types under a name of their own are known by what they stand for.
        DefinitionKind::Assignment(assignment) if matches!(member.ty, Type::KnownInstance(_)) => {
            format!("{name} = {}", source.line(assignment.value(&source.module).range()))
        }
        DefinitionKind::Parameter(_) => parameter(source, model, binding, name, member.ty),
        DefinitionKind::Import(_) => {
            format!("import {}", source.line(binding.kind(source.db).target_range(&source.module)))
        }
        DefinitionKind::ImportFrom(import) => imported(source, model, name, member.ty).unwrap_or_else(|| {
            let (from, alias) = (import.import(&source.module), import.alias(&source.module));
            let module = from.module.as_ref().map_or("", |module| module.as_str());
            let (dots, alias) = (".".repeat(from.level as usize), source.line(alias.range()));
            format!("from {dots}{module} import {alias}")
        }),
        DefinitionKind::StarImport(_) => {
            imported(source, model, name, member.ty).unwrap_or_else(|| typed(model, name, member.ty))
        }
        _ => typed(model, name, member.ty),
    }
}

fn typed<'db>(model: &SemanticModel<'db>, name: &str, ty: Type<'db>) -> String {
    match spell(model, ty) {
        Some(spelled) => format!("{name}: {}", spelling::widen(&spelled)),
        None => name.to_owned(),
    }
}

/// A parameter is declared by its annotation.
fn parameter<'db>(
    source: &Source<'db>,
    model: &SemanticModel<'db>,
    binding: Binding<'db>,
    name: &str,
    ty: Type<'db>,
) -> String {
    let range = binding.full_range(source.db, &source.module).range();
    let whole = AnyNodeRef::from(source.module.syntax());
    let covering = whole.range().contains_range(range).then(|| ruff_python_ast::find_node::covering_node(whole, range));
    // Parameters with stars have no default; they hold more than one value of the annotated type.
    let annotation = covering.and_then(|covering| {
        let parameter = covering.ancestors().find_map(AnyNodeRef::parameter_with_default)?;
        parameter.annotation().map(Ranged::range)
    });
    match annotation {
        Some(annotation) => format!("{name}: {}", source.line(annotation)),
        None => typed(model, name, ty),
    }
}

/// What is imported is declared where it is defined, here under the name that it is imported as; `None` if its type
/// says nothing of what it is.
fn imported<'db>(source: &Source<'db>, model: &SemanticModel<'db>, name: &str, ty: Type<'db>) -> Option<String> {
    let value = || match ty {
        Type::SpecialForm(_) | Type::KnownInstance(_) => None,
        _ => spell(model, ty).map(|spelled| format!("{name}: {}", spelling::widen(&spelled))),
    };
    let Some(defined) = ty.definition(source.db, &model.program_environment()) else { return value() };
    let there = |binding: Binding<'db>| Source::new(source.db, binding.program_file(source.db));
    match (ty, defined) {
        (Type::FunctionLiteral(_), Defined::Function(binding)) => {
            let there = there(binding);
            let DefinitionKind::Function(function) = binding.kind(source.db) else { return None };
            Some(there.function(function.node(&there.module), name))
        }
        (Type::ClassLiteral(_), Defined::StaticClass(binding)) => {
            let there = there(binding);
            let DefinitionKind::Class(class) = binding.kind(source.db) else { return None };
            Some(there.class(class.node(&there.module), name))
        }
        (Type::ModuleLiteral(_), Defined::Module(module)) => {
            Some(format!("import {} as {name}", module.name(source.db)))
        }
        _ => value(),
    }
}

#[cfg(test)]
mod tests;
