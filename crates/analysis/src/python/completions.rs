//! The identifiers that may stand at a caret.

use ruff_python_ast as ast;
use ty_module_resolver::{ImportingFile, ModuleName, list_modules, resolve_module};
use ty_python_core::scope::FileScopeId;
use ty_python_core::{ProgramFile, global_scope};
use ty_python_semantic::types::Type;
use ty_python_semantic::{Db, HasType};

use super::arguments;
use super::members::{self, Names};
use super::names::{scope_names, visible_names};
use super::roots::{Root, Search};
use super::spot::{Argument, Spot, spot};
use super::view::{PLACEHOLDER, View};
use crate::intelligence::{Origin, Suggestion};

/// Returns what may stand at the view's caret, whatever is typed of it; nearest origin first, then by name.
pub(super) fn completions(view: &View<'_>) -> Vec<Suggestion> {
    let Some(word) = view.word() else { return Vec::new() };
    let Some(covering) = view.covering(word.start, word.end) else { return Vec::new() };
    match spot(view, &covering) {
        Spot::Attribute(attribute) => suggestions(attribute_names(view, attribute), Origin::Member),
        Spot::Name(scope, argument) => names(view, scope, word.start, argument),
        Spot::Module { name, level } => suggestions(module_names(view, name, word.start, level), Origin::Package),
        Spot::Imported(import) => suggestions(imported_names(view, import), Origin::Member),
        Spot::Global => {
            let globals = scope_names(view.db, global_scope(view.db, view.file));
            suggestions(globals.iter().map(|name| name.name.clone()), Origin::Global)
        }
        Spot::Nothing => Vec::new(),
    }
}

fn suggestions(names: impl IntoIterator<Item = String>, origin: Origin) -> Vec<Suggestion> {
    let names = names.into_iter().filter(|name| name != PLACEHOLDER);
    names.map(|name| Suggestion { name, origin }).collect()
}

fn names(view: &View<'_>, scope: FileScopeId, byte: usize, argument: Option<Argument<'_>>) -> Vec<Suggestion> {
    let visible = visible_names(view.db, view.file, scope, &view.text[..byte]);
    let Some(argument) = argument else { return visible };
    let keywords = arguments::keywords(view, &argument);
    let mut all = suggestions(keywords.iter().cloned(), Origin::KeywordArgument);
    all.extend(visible.into_iter().filter(|name| !keywords.contains(&name.name)));
    all
}

fn attribute_names(view: &View<'_>, attribute: &ast::ExprAttribute) -> Names {
    let (db, file) = (view.db, view.file);
    let mut names = Names::new();
    for root in Search::new(db).roots(file, &attribute.value) {
        match root {
            Root::Class(class, receiver) => members::add_class(db, class, receiver, &mut names),
            Root::Module(module) => members::add_module(db, file, module, &mut names),
            Root::Function(..) => {}
        }
    }
    let model = view.model();
    if names.is_empty() && attribute.value.inferred_type(&model).is_some_and(is_precise) {
        names.extend(model.attribute_completions(attribute).into_iter().map(|member| member.name.to_string()));
    }
    names
}

/// Returns whether ty knows more of a value than that it is an object.
fn is_precise(ty: Type<'_>) -> bool {
    !matches!(ty, Type::Dynamic(_) | Type::Divergent(_) | Type::Never | Type::Union(_) | Type::Intersection(_))
}

fn importing<'db>(db: &'db dyn Db, file: ProgramFile<'db>) -> ImportingFile<'db> {
    ImportingFile::File(file.file(db), file.resolver_environment(db))
}

/// Returns the modules that may follow what stands of a dotted module name before the caret.
fn module_names(view: &View<'_>, name: &ast::Identifier, byte: usize, level: u32) -> Names {
    let (db, file) = (view.db, view.file);
    let start = ruff_text_size::Ranged::start(name).to_usize();
    let parent =
        view.text.get(start..byte).unwrap_or_default().trim_end_matches(|c: char| c == '.' || c.is_whitespace());
    if parent.is_empty() && level == 0 {
        let modules = list_modules(db, file.resolver_environment(db)).iter();
        return modules.map(|module| module.name(db).last_component().to_owned()).collect();
    }
    let parent = Some(parent).filter(|parent| !parent.is_empty());
    let parent = ModuleName::from_identifier_parts(db, importing(db, file), parent, level).ok();
    let module = parent.and_then(|name| resolve_module(db, importing(db, file), &name));
    let submodules = module.iter().flat_map(|module| module.all_submodules(db));
    submodules.map(|module| module.name(db).last_component().to_owned()).collect()
}

/// Returns what the module of a `from` import offers.
fn imported_names(view: &View<'_>, import: &ast::StmtImportFrom) -> Names {
    let (db, file) = (view.db, view.file);
    let mut names = Names::new();
    let name = ModuleName::from_import_statement(db, importing(db, file), import).ok();
    if let Some(module) = name.and_then(|name| resolve_module(db, importing(db, file), &name)) {
        members::add_module(db, file, module, &mut names);
    }
    names
}
