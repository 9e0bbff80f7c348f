//! The names a place can see, scope by scope.
//!
//! Python's scopes are known without inferring a single type, so these lists cost little; ty's database keeps them per
//! scope until the file changes.

use std::collections::BTreeMap;

use ruff_db::parsed::parsed_module;
use ruff_python_ast as ast;
use ruff_text_size::Ranged;
use ty_module_resolver::{ImportingFile, KnownModule, resolve_module};
use ty_python_core::scope::{FileScopeId, ScopeId, ScopeKind};
use ty_python_core::{Program, ProgramFile, global_scope, semantic_index};
use ty_python_semantic::Db;

use super::view::PLACEHOLDER;
use crate::intelligence::{Origin, Suggestion};

/// Names of the language's own module that exist for type checkers only.
const STUBS_ONLY: [&str; 4] = ["ellipsis", "function", "reveal_locals", "reveal_type"];

/// Names that every module has without defining them.
const MODULE_NAMES: [&str; 3] = ["__doc__", "__file__", "__name__"];

/// A name of a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScopeName {
    pub(super) name: String,
    /// Where it is first bound or declared, in bytes.
    pub(super) first: usize,
    /// Whether other modules see it when this is a module's scope.
    pub(super) is_exported: bool,
}

/// Returns the names bound or declared in a scope, sorted.
#[salsa::tracked(returns(deref))]
pub(super) fn scope_names<'db>(db: &'db dyn Db, scope: ScopeId<'db>) -> Vec<ScopeName> {
    let file = scope.program_file(db);
    let is_stub = file.file(db).is_stub(db);
    let module = parsed_module(db, file.python_file(db)).load(db);
    let index = semantic_index(db, file);
    let id = scope.file_scope_id(db);
    let table = index.place_table(id);
    let mut names: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for (_, definition, _) in index.use_def_map(id).definitions_with_usage() {
        let Some(symbol) = definition.place(db).as_symbol().map(|symbol| table.symbol(symbol)) else { continue };
        if symbol.is_global() || symbol.is_nonlocal() {
            continue;
        }
        let kind = definition.kind(db);
        // An assigned name is not there yet in what it is assigned.
        let bound = kind.value(&module).map_or_else(|| kind.target_range(&module).start(), Ranged::end);
        let start = if kind.is_user_visible() { bound.to_usize() } else { usize::MAX };
        let exported = !is_stub || definition.is_reexported(db) && !symbol.name().starts_with('_');
        let (first, is_exported) = names.entry(symbol.name()).or_insert((usize::MAX, false));
        *first = start.min(*first);
        *is_exported |= exported;
    }
    names.remove(PLACEHOLDER);
    if is_stub && id.is_global() {
        for listed in listed_names(module.suite()) {
            names.entry(listed).and_modify(|(_, is_exported)| *is_exported = true);
        }
    }
    let name = |(name, (first, is_exported)): (&str, _)| ScopeName { name: name.to_owned(), first, is_exported };
    names.into_iter().map(name).collect()
}

/// Returns the names that a module lists in `__all__`, as far as they are written out.
fn listed_names(body: &[ast::Stmt]) -> Vec<&str> {
    let is_all = |target: &ast::Expr| target.as_name_expr().is_some_and(|name| name.id.as_str() == "__all__");
    let mut open = vec![body];
    let mut names = Vec::new();
    while let Some(statements) = open.pop() {
        for statement in statements {
            let value = match statement {
                ast::Stmt::Assign(assign) if assign.targets.iter().any(is_all) => &*assign.value,
                ast::Stmt::AugAssign(assign) if is_all(&assign.target) => &*assign.value,
                ast::Stmt::If(branch) => {
                    open.push(&branch.body);
                    open.extend(branch.elif_else_clauses.iter().map(|clause| &*clause.body));
                    continue;
                }
                _ => continue,
            };
            let elements = match value {
                ast::Expr::List(list) => &*list.elts,
                ast::Expr::Tuple(tuple) => &*tuple.elts,
                _ => &[],
            };
            names.extend(elements.iter().filter_map(|element| Some(element.as_string_literal_expr()?.value.to_str())));
        }
    }
    names
}

/// Returns the names that other modules see in a file, sorted.
pub(super) fn module_names<'db>(db: &'db dyn Db, file: ProgramFile<'db>) -> impl Iterator<Item = &'db str> {
    let names = scope_names(db, global_scope(db, file));
    names.iter().filter(|name| name.is_exported).map(|name| name.name.as_str())
}

/// Returns the names that need no definition, sorted.
#[salsa::tracked(returns(deref))]
fn builtins<'db>(db: &'db dyn Db, program: Program<'db>, anywhere: ProgramFile<'db>) -> Vec<String> {
    let importing = ImportingFile::File(anywhere.file(db), program.resolver_environment(db));
    let module = resolve_module(db, importing, &KnownModule::Builtins.name());
    let file = module.and_then(|module| module.file(db)).map(|file| program.program_file(db, file));
    let of_module = file.into_iter().flat_map(|file| module_names(db, file));
    let mut names: Vec<String> = of_module.chain(MODULE_NAMES).map(str::to_owned).collect();
    names.retain(|name| !STUBS_ONLY.contains(&name.as_str()));
    names.sort_unstable();
    names
}

/// Returns what a module-level name can be: the file's own names, then those of the language, each sorted.
#[salsa::tracked(returns(deref))]
fn outer_names<'db>(db: &'db dyn Db, file: ProgramFile<'db>) -> Vec<Suggestion> {
    let globals = scope_names(db, global_scope(db, file));
    let own = globals.iter().map(|name| Suggestion { name: name.name.clone(), origin: Origin::Global });
    let builtins = builtins(db, file.program(db), file).iter().filter(|name| !has(globals, name));
    own.chain(builtins.map(|name| Suggestion { name: name.clone(), origin: Origin::Builtin })).collect()
}

/// Returns the names that a scope uses and that nothing it sees defines, sorted: those about to be defined, as the
/// variable of a comprehension is where its element is written first.
#[salsa::tracked(returns(deref))]
fn undefined_names<'db>(db: &'db dyn Db, scope: ScopeId<'db>) -> Vec<String> {
    let file = scope.program_file(db);
    let index = semantic_index(db, file);
    let id = scope.file_scope_id(db);
    let visible = || index.visible_ancestor_scopes(id).map(|(id, _)| scope_names(db, id.to_scope_id(db, file)));
    let builtins = builtins(db, file.program(db), file);
    let used = index.place_table(id).symbols().filter(|symbol| symbol.is_used()).map(|symbol| symbol.name().as_str());
    let undefined = used.filter(|name| !visible().any(|names| has(names, name)));
    let undefined = undefined.filter(|name| builtins.binary_search_by(|builtin| builtin.as_str().cmp(name)).is_err());
    let mut names: Vec<String> = undefined.filter(|name| *name != PLACEHOLDER).map(str::to_owned).collect();
    names.sort_unstable();
    names
}

/// Returns whether `name` stands in `text` as a whole word.
fn mentions(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(start, _)| {
        let (before, after) = (&text[..start], &text[start + name.len()..]);
        !before.ends_with(repo::identifiers::is_word) && !after.starts_with(repo::identifiers::is_word)
    })
}

/// Returns the names that the byte `byte` of a scope sees, nearest scope first and sorted within each.
///
/// In the function, or else the class and the module, around the place, a name counts from its first binding on.
pub(super) fn visible_names<'db>(
    db: &'db dyn Db,
    file: ProgramFile<'db>,
    scope: FileScopeId,
    before: &str,
) -> Vec<Suggestion> {
    let byte = before.len();
    let index = semantic_index(db, file);
    let mut inner: Vec<&[ScopeName]> = Vec::new();
    let mut suggestions: Vec<Suggestion> = Vec::new();
    let (mut is_before, mut origin) = (true, Origin::Local);
    for (id, scope) in index.visible_ancestor_scopes(scope).take_while(|(id, _)| !id.is_global()) {
        let names = scope_names(db, id.to_scope_id(db, file));
        let is_lasting = matches!(scope.kind(), ScopeKind::Function | ScopeKind::Class);
        let visible = |name: &&ScopeName| {
            (!is_before || !is_lasting || name.first < byte) && !inner.iter().any(|inner| has(inner, &name.name))
        };
        suggestions.extend(names.iter().filter(visible).map(|name| Suggestion { name: name.name.clone(), origin }));
        if is_before {
            let undefined = undefined_names(db, id.to_scope_id(db, file)).iter();
            let mentioned = undefined.filter(|name| mentions(before, name));
            for name in mentioned {
                if !suggestions.iter().any(|known| known.name == *name) {
                    suggestions.push(Suggestion { name: name.clone(), origin });
                }
            }
        }
        inner.push(names);
        if matches!(scope.kind(), ScopeKind::Function | ScopeKind::Lambda) {
            is_before = false;
        }
        if is_lasting {
            origin = Origin::Enclosing;
        }
    }
    let n_inner = suggestions.len();
    let globals = scope_names(db, global_scope(db, file));
    let later = |name: &str| {
        globals.binary_search_by(|global| global.name.as_str().cmp(name)).is_ok_and(|at| globals[at].first >= byte)
    };
    let outer = outer_names(db, file).iter().filter(|name| {
        let is_later = is_before && name.origin == Origin::Global && later(&name.name);
        !is_later && !suggestions[..n_inner].iter().any(|inner| inner.name == name.name)
    });
    let outer: Vec<Suggestion> = outer.cloned().collect();
    suggestions.extend(outer);
    suggestions
}

fn has(names: &[ScopeName], name: &str) -> bool {
    names.binary_search_by(|other| other.name.as_str().cmp(name)).is_ok()
}
