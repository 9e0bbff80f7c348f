//! Where names are defined, imports followed.

use std::ops::Range;

use repo::identifiers::is_word;
use ruff_db::files::File;
use ruff_db::parsed::parsed_module;
use ruff_db::source::source_text;
use ruff_python_ast::find_node::{CoveringNode, covering_node};
use ruff_python_ast::{AnyNodeRef, ExprStringLiteral, Identifier};
use ruff_text_size::{Ranged, TextRange, TextSize};
use ty_module_resolver::file_to_module;
use ty_python_core::ProgramFile;
use ty_python_core::definition::{Definition as Binding, DefinitionKind};
use ty_python_semantic::types::ide_support::definitions_for_keyword_argument;
use ty_python_semantic::{
    ImportAliasResolution, ResolvedDefinition, SemanticModel, definitions_for_attribute,
    definitions_for_imported_symbol, definitions_for_name,
};

use super::database::Database;
use super::view::View;
use crate::caret::Caret;
use crate::intelligence::{Definition, Place};

/// The longest way from an import that leads nowhere to the import outside the repository that it stands for.
const IMPORT_STEPS_MAX: usize = 16;

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

/// Returns where a definition that ty knows lies.
pub(super) fn place(db: &Database, binding: Binding<'_>) -> (String, Place) {
    let module = parsed_module(db, binding.python_file(db)).load(db);
    at(db, binding.program_file(db), binding.focus_range(db, &module).range())
}

/// What an identifier leads to.
enum Target<'db> {
    Known(ResolvedDefinition<'db>),
    /// A name of a module that the repository does not hold, or the module itself.
    Missing { name: String, module: String },
}

fn targets<'db>(
    model: &SemanticModel<'db>,
    covering: &CoveringNode<'_>,
    word: &str,
    end: usize,
) -> Vec<Target<'db>> {
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
            let dotted = if alias.name.range == identifier.range { up_to(identifier, end) } else { alias.name.as_str() };
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

/// Looks into the annotation in quotes around the caret.
fn in_annotation<'db>(
    model: &SemanticModel<'db>,
    covering: &CoveringNode<'_>,
    word: &Range<usize>,
) -> Vec<Target<'db>> {
    let literal = covering.ancestors().find_map(AnyNodeRef::expr_string_literal);
    let Some((parsed, inner)) = literal.and_then(|literal| enter(model, literal)) else { return Vec::new() };
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

/// Returns the syntax of an annotation in quotes and ty's interface to it.
pub(super) fn enter<'db>(
    model: &SemanticModel<'db>,
    literal: &ExprStringLiteral,
) -> Option<(ruff_python_parser::Parsed<ruff_python_ast::ModExpression>, SemanticModel<'db>)> {
    model.enter_string_annotation(literal)
}

/// Returns the bytes as ty counts them.
pub(super) fn range_of(bytes: &Range<usize>) -> Option<TextRange> {
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

/// Returns the dotted name of a module that may not exist, leading dots resolved where they can be.
fn absolute(model: &SemanticModel<'_>, module: Option<&str>, level: u32) -> String {
    let package = (level > 0).then(|| model.resolve_module(None, level)).flatten();
    let package = package.map(|package| package.name(model.db()).to_string());
    [package.as_deref(), module].into_iter().flatten().collect::<Vec<_>>().join(".")
}

fn last(dotted: &str) -> &str {
    dotted.rsplit('.').next().unwrap_or(dotted)
}

fn locate(db: &Database, model: &SemanticModel<'_>, target: Target<'_>, word: &str) -> Option<Definition> {
    let (name, place) = match target {
        Target::Missing { name, module } => (name, Place::Outside { module }),
        Target::Known(ResolvedDefinition::Module(file)) => module_place(db, file),
        Target::Known(ResolvedDefinition::FileWithRange(range)) => {
            at(db, ProgramFile::new(db, range.file(), model.program()), range.range())
        }
        Target::Known(ResolvedDefinition::Definition(binding)) => {
            if binding.kind(db).is_import() || matches!(binding.kind(db), DefinitionKind::ImportFromSubmodule(_)) {
                follow(db, binding, word)?
            } else {
                place(db, binding)
            }
        }
    };
    Some(Definition { name, place })
}

/// Follows an import that leads to no definition as far as the repository goes.
fn follow(db: &Database, binding: Binding<'_>, word: &str) -> Option<(String, Place)> {
    let (mut binding, mut word) = (binding, word.to_owned());
    for _ in 0..IMPORT_STEPS_MAX {
        let model = SemanticModel::new(db, binding.program_file(db));
        let module = parsed_module(db, binding.python_file(db)).load(db);
        let import = match binding.kind(db) {
            DefinitionKind::Import(import) => {
                let dotted = import.alias(&module).name.to_string();
                return Some((last(&dotted).to_owned(), Place::Outside { module: dotted }));
            }
            DefinitionKind::ImportFrom(import) => {
                word = import.alias(&module).name.to_string();
                import.import(&module)
            }
            DefinitionKind::StarImport(import) => import.import(&module),
            DefinitionKind::ImportFromSubmodule(import) => {
                let import = import.import(&module);
                let submodule = import.module.as_ref().map(|name| name.as_str().split('.').next().unwrap_or_default());
                let file = model.resolve_module(submodule, import.level)?.file(db)?;
                return Some(module_place(db, ProgramFile::new(db, file, model.program())));
            }
            _ => return Some(place(db, binding)),
        };
        let from = model.resolve_module(import.module.as_ref().map(Identifier::as_str), import.level);
        let next = from.and_then(|from| from.file(db)).and_then(|file| binding_in(db, file, &model, &word));
        let Some(next) = next.filter(|next| *next != binding) else {
            let module = absolute(&model, import.module.as_ref().map(Identifier::as_str), import.level);
            return Some((word, Place::Outside { module }));
        };
        binding = next;
    }
    None
}

/// Returns what binds a name at the end of a module.
fn binding_in<'db>(db: &'db Database, file: File, model: &SemanticModel<'db>, name: &str) -> Option<Binding<'db>> {
    let scope = ty_python_core::global_scope(db, ProgramFile::new(db, file, model.program()));
    let symbol = ty_python_core::place_table(db, scope).symbol_id(name)?;
    let uses = ty_python_core::use_def_map(db, scope);
    uses.end_of_scope_symbol_bindings(symbol).find_map(|binding| binding.binding.definition())
}

/// A module is defined by its file: at the file's start, under the last part of its name.
fn module_place(db: &Database, file: ProgramFile<'_>) -> (String, Place) {
    let module = module_name(db, file);
    let name = last(&module).to_owned();
    match View::repository_path(db, file.file(db)) {
        Some(path) => (name, Place::Repository { path: path.to_owned(), span: 0..0 }),
        None => (name, Place::Outside { module }),
    }
}

fn module_name(db: &Database, file: ProgramFile<'_>) -> String {
    let module = file_to_module(db, file.resolver_file(db));
    module.map_or_else(|| file.file(db).path(db).to_string(), |module| module.name(db).to_string())
}

/// Returns the name that ends a target such as `self.name`, and where it lies.
fn at(db: &Database, file: ProgramFile<'_>, target: TextRange) -> (String, Place) {
    let source = source_text(db, file.file(db));
    let text = source.as_str().get(target.to_std_range()).unwrap_or_default();
    let start = text.char_indices().rev().take_while(|(_, c)| is_word(*c)).last().map_or(text.len(), |(at, _)| at);
    let name = text[start..].to_owned();
    let range = target.to_std_range();
    let place = match View::repository_path(db, file.file(db)) {
        Some(path) => Place::Repository { path: path.to_owned(), span: range.start + start..range.end },
        None => Place::Outside { module: module_name(db, file) },
    };
    (name, place)
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
