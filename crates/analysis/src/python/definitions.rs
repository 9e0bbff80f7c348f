//! Where names are defined, imports followed.

mod places;

use std::ops::Range;

use ruff_python_ast::find_node::{CoveringNode, covering_node};
use ruff_python_ast::{AnyNodeRef, Identifier};
use ruff_text_size::{Ranged, TextRange, TextSize};
use ty_python_core::ProgramFile;
use ty_python_semantic::types::ide_support::definitions_for_keyword_argument;
use ty_python_semantic::{
    ImportAliasResolution, ResolvedDefinition, SemanticModel, definitions_for_attribute,
    definitions_for_imported_symbol, definitions_for_name,
};

use super::members;
use super::roots::{Root, Search};
use super::view::View;
use crate::caret::Caret;
use crate::intelligence::{Definition, Place};
pub(super) use places::place;
use places::{Target, absolute, last, locate};

const FOLLOW: ImportAliasResolution = ImportAliasResolution::ResolveAliases;

/// Returns where the identifier at the caret is defined.
pub(super) fn definitions(view: &View<'_>) -> Vec<Definition> {
    let Some(word) = word(view) else { return Vec::new() };
    let Some(covering) = view.covering(word.start, word.end) else { return Vec::new() };
    let model = view.model();
    let targets = match covering.node() {
        AnyNodeRef::StringLiteral(_) | AnyNodeRef::ExprStringLiteral(_) => in_annotation(&model, &covering, &word),
        _ => targets(&model, &covering, &view.text[word.clone()], word.end),
    };
    let targets = if targets.is_empty() { read(view, &covering) } else { targets };
    let found = targets.into_iter().filter_map(|target| locate(view.db, &model, target, &view.text[word.clone()]));
    let mut found: Vec<Definition> = found.collect();
    found.sort_by_cached_key(order);
    found.dedup();
    found
}

/// Returns the identifier that the caret touches.
pub(super) fn word(view: &View<'_>) -> Option<Range<usize>> {
    Caret::new("", view.text.into(), view.byte).word()
}

fn targets<'db>(model: &SemanticModel<'db>, covering: &CoveringNode<'_>, word: &str, end: usize) -> Vec<Target<'db>> {
    let known = match covering.node() {
        AnyNodeRef::ExprName(name) => definitions_for_name(model, name.id.as_str(), name.into(), FOLLOW),
        AnyNodeRef::Identifier(identifier) => return identifier_targets(model, covering, identifier, word, end),
        _ => Vec::new(),
    };
    known.into_iter().map(Target::Known).collect()
}

fn identifier_targets<'db>(
    model: &SemanticModel<'db>,
    covering: &CoveringNode<'_>,
    identifier: &Identifier,
    word: &str,
    end: usize,
) -> Vec<Target<'db>> {
    let around: Vec<AnyNodeRef<'_>> = covering.ancestors().skip(1).take(3).collect();
    let known = match around.as_slice() {
        [AnyNodeRef::ExprAttribute(attribute), ..] => definitions_for_attribute(model, attribute),
        [AnyNodeRef::Keyword(keyword), _, AnyNodeRef::ExprCall(call)] => {
            definitions_for_keyword_argument(model, keyword, call)
        }
        [AnyNodeRef::Alias(alias), AnyNodeRef::StmtImportFrom(import), ..] => {
            let known = definitions_for_imported_symbol(model, import, alias.name.as_str(), FOLLOW);
            if known.is_empty() {
                let module = absolute(model, import.module.as_ref().map(Identifier::as_str), import.level);
                return vec![Target::Missing { name: alias.name.to_string(), module }];
            }
            known
        }
        [AnyNodeRef::Alias(alias), ..] => {
            let dotted =
                if alias.name.range == identifier.range { up_to(identifier, end) } else { alias.name.as_str() };
            return module_target(model, dotted, 0);
        }
        [AnyNodeRef::StmtImportFrom(import), ..] => return module_target(model, up_to(identifier, end), import.level),
        [AnyNodeRef::StmtGlobal(_) | AnyNodeRef::StmtNonlocal(_), ..] => {
            definitions_for_name(model, word, identifier.into(), FOLLOW)
        }
        _ => model.first_local_definition(covering).map(ResolvedDefinition::Definition).into_iter().collect(),
    };
    known.into_iter().map(Target::Known).collect()
}

/// Returns the members that code assigns or callers pass, where ty does not know of what object they are.
fn read<'db>(view: &View<'db>, covering: &CoveringNode<'_>) -> Vec<Target<'db>> {
    let (AnyNodeRef::Identifier(_), Some(AnyNodeRef::ExprAttribute(attribute))) = (covering.node(), covering.parent())
    else {
        return Vec::new();
    };
    let (db, name) = (view.db, attribute.attr.as_str());
    let mut found: Vec<ResolvedDefinition<'db>> = Vec::new();
    for root in Search::new(db).roots(view.file, &attribute.value) {
        match root {
            Root::Class(class, _) => {
                found.extend(members::definitions(db, class, name).into_iter().map(ResolvedDefinition::Definition));
            }
            Root::Module(module) => {
                let file = module.file(db).map(|file| ProgramFile::new(db, file, view.model().program()));
                found.extend(file.into_iter().flat_map(|file| members::module_definitions(db, file, name)));
            }
            Root::Function(..) => {}
        }
    }
    found.into_iter().map(Target::Known).collect()
}

/// Looks into the annotation in quotes around the caret.
fn in_annotation<'db>(
    model: &SemanticModel<'db>,
    covering: &CoveringNode<'_>,
    word: &Range<usize>,
) -> Vec<Target<'db>> {
    let literal = covering.ancestors().find_map(AnyNodeRef::expr_string_literal);
    let Some((parsed, inner)) = literal.and_then(|literal| model.enter_string_annotation(literal)) else {
        return Vec::new();
    };
    let root = AnyNodeRef::from(parsed.syntax());
    let Some(range) = range_of(word).filter(|range| root.range().contains_range(*range)) else { return Vec::new() };
    let covering = covering_node(root, range);
    let identifier = match covering.node() {
        AnyNodeRef::ExprName(name) => name.id.to_string(),
        AnyNodeRef::Identifier(identifier) => identifier.to_string(),
        _ => return Vec::new(),
    };
    targets(&inner, &covering, &identifier, word.end)
}

/// Returns the bytes as ty counts them.
fn range_of(bytes: &Range<usize>) -> Option<TextRange> {
    let size = |byte: usize| TextSize::try_from(byte).ok();
    Some(TextRange::new(size(bytes.start)?, size(bytes.end)?))
}

/// Returns a dotted name as far as `end`: the package that the component before `end` names.
pub(super) fn up_to(dotted: &Identifier, end: usize) -> &str {
    let length = end.saturating_sub(dotted.start().to_usize());
    dotted.as_str().get(..length).unwrap_or(dotted.as_str())
}

fn module_target<'db>(model: &SemanticModel<'db>, dotted: &str, level: u32) -> Vec<Target<'db>> {
    let resolved = model.resolve_module(Some(dotted), level);
    let file = resolved.and_then(|module| module.file(model.db()));
    let target = match file {
        Some(file) => {
            let file = ProgramFile::new(model.db(), file, model.program());
            Target::Known(ResolvedDefinition::Module(file))
        }
        None => Target::Missing { name: last(dotted).to_owned(), module: absolute(model, Some(dotted), level) },
    };
    vec![target]
}

/// The repository comes first, by path and position.
fn order(definition: &Definition) -> (bool, String, usize, usize, String) {
    match &definition.place {
        Place::Repository { path, span } => (false, path.clone(), span.start, span.end, definition.name.clone()),
        Place::Outside { module } => (true, module.clone(), 0, 0, definition.name.clone()),
    }
}

#[cfg(test)]
pub(super) mod fixture;
#[cfg(test)]
mod tests;
