//! Where a definition lies, and under which name.

use repo::identifiers::last_word_start;
use ruff_db::files::File;
use ruff_db::parsed::parsed_module;
use ruff_db::source::source_text;
use ruff_python_ast::Identifier;
use ruff_text_size::{Ranged, TextRange};
use ty_module_resolver::file_to_module;
use ty_python_core::ProgramFile;
use ty_python_core::definition::{Definition as Binding, DefinitionKind};
use ty_python_semantic::{ResolvedDefinition, SemanticModel};

use crate::intelligence::{Definition, Place};
use crate::python::database::Database;
use crate::python::view::View;

/// The longest way from an import that leads nowhere to the import outside the repository that it stands for.
const IMPORT_STEPS_MAX: usize = 16;

/// What an identifier leads to.
pub(super) enum Target<'db> {
    Known(ResolvedDefinition<'db>),
    /// A name of a module that the repository does not hold, or the module itself.
    Missing {
        name: String,
        module: String,
    },
}

/// Returns the last part of a dotted name.
pub(super) fn last(dotted: &str) -> &str {
    dotted.rsplit('.').next().unwrap_or(dotted)
}

/// Returns the name and place of what an identifier leads to.
pub(super) fn locate(db: &Database, model: &SemanticModel<'_>, target: Target<'_>, word: &str) -> Option<Definition> {
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
    let start = last_word_start(text);
    let name = text[start..].to_owned();
    let range = target.to_std_range();
    let place = match View::repository_path(db, file.file(db)) {
        Some(path) => Place::Repository { path: path.to_owned(), span: range.start + start..range.end },
        None => Place::Outside { module: module_name(db, file) },
    };
    (name, place)
}

/// Returns where a definition that ty knows lies.
pub(in crate::python) fn place(db: &Database, binding: Binding<'_>) -> (String, Place) {
    let module = parsed_module(db, binding.python_file(db)).load(db);
    at(db, binding.program_file(db), binding.focus_range(db, &module).range())
}

/// Returns the dotted name of a module that may not exist, leading dots resolved where they can be.
pub(super) fn absolute(model: &SemanticModel<'_>, module: Option<&str>, level: u32) -> String {
    let package = (level > 0).then(|| model.resolve_module(None, level)).flatten();
    let package = package.map(|package| package.name(model.db()).to_string());
    [package.as_deref(), module].into_iter().flatten().collect::<Vec<_>>().join(".")
}
