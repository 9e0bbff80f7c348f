//! The names of what a type has.
//!
//! ty lists members together with their types, and of a union only what all its parts share. Names alone come from the
//! scopes of the classes, and a union has what any of its parts has.

use std::collections::BTreeSet;

use ruff_db::parsed::parsed_module;
use ruff_python_ast::AnyNodeRef;
use ruff_python_ast::find_node::covering_node;
use ty_python_core::definition::{Definition, DefinitionKind};
use ty_python_core::scope::{FileScopeId, NodeWithScopeRef, ScopeId};
use ty_python_core::{ProgramFile, attribute_scopes, semantic_index};
use ty_python_semantic::types::ProgramEnvironment;
use ty_python_semantic::types::ide_support::{TypeHierarchyClass, definitions_for_name, type_hierarchy_supertypes};
use ty_python_semantic::{Db, HasType, ImportAliasResolution, ResolvedDefinition, SemanticModel};

use super::names::{module_names, scope_names};
use super::view::PLACEHOLDER;

/// Names of members.
pub(super) type Names = BTreeSet<String>;

/// What one class has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Members {
    /// Of the class itself: methods and what its body binds.
    class: Vec<String>,
    /// Of its objects: what its methods assign to their first parameter.
    instance: Vec<String>,
}

/// Whether a member is asked of a class or of an object of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Receiver {
    Class,
    Object,
}

/// Adds what a class and its ancestors have.
pub(super) fn add_class<'db>(db: &'db dyn Db, class: Definition<'db>, receiver: Receiver, names: &mut Names) {
    for class in lineage(db, class) {
        let members = members(db, *class);
        names.extend(members.class.iter().cloned());
        if receiver == Receiver::Object {
            names.extend(members.instance.iter().cloned());
        }
    }
}

/// Adds what a module has: its names and its submodules.
pub(super) fn add_module<'db>(
    db: &'db dyn Db,
    file: ProgramFile<'db>,
    module: ty_module_resolver::Module<'db>,
    names: &mut Names,
) {
    if let Some(of_module) = module.file(db) {
        names.extend(module_names(db, file.program(db).program_file(db, of_module)).map(str::to_owned));
    }
    names.extend(module.all_submodules(db).iter().map(|module| module.name(db).last_component().to_owned()));
}

#[salsa::tracked(returns(ref))]
fn members<'db>(db: &'db dyn Db, class: Definition<'db>) -> Members {
    let Some(scope) = body(db, class) else { return Members::default() };
    let index = semantic_index(db, scope.program_file(db));
    let own = scope_names(db, scope).iter().map(|name| name.name.clone());
    let mut instance = Names::new();
    for function in attribute_scopes(db, scope) {
        let attributes = index.place_table(function).members().filter_map(|member| member.as_instance_attribute());
        instance.extend(attributes.filter(|name| *name != PLACEHOLDER).map(str::to_owned));
    }
    Members { class: own.collect(), instance: instance.into_iter().collect() }
}

/// Returns a class and its ancestors, each once.
#[salsa::tracked(returns(deref))]
fn lineage<'db>(db: &'db dyn Db, class: Definition<'db>) -> Vec<Definition<'db>> {
    let mut classes = vec![class];
    let mut next = 0;
    while let Some(&class) = classes.get(next) {
        next += 1;
        for base in bases(db, class) {
            if !classes.contains(base) {
                classes.push(*base);
            }
        }
    }
    classes
}

#[salsa::tracked(returns(deref))]
pub(super) fn bases<'db>(db: &'db dyn Db, class: Definition<'db>) -> Vec<Definition<'db>> {
    let DefinitionKind::Class(node) = class.kind(db) else { return Vec::new() };
    let file = class.program_file(db);
    let module = parsed_module(db, file.python_file(db)).load(db);
    let Some(ty) = node.node(&module).inferred_type(&SemanticModel::new(db, file)) else { return Vec::new() };
    let supertypes = type_hierarchy_supertypes(db, &ProgramEnvironment::from_file(file), ty);
    supertypes.iter().filter_map(|class| definition_of(db, class, file)).collect()
}

fn definition_of<'db>(
    db: &'db dyn Db,
    class: &TypeHierarchyClass<'db>,
    from: ProgramFile<'db>,
) -> Option<Definition<'db>> {
    let file = from.program(db).program_file(db, class.file.file(db));
    let module = parsed_module(db, file.python_file(db)).load(db);
    let found = covering_node(AnyNodeRef::from(module.syntax()), class.selection_range);
    let node = found.ancestors().find_map(|node| match node {
        AnyNodeRef::StmtClassDef(class) => Some(class),
        _ => None,
    })?;
    semantic_index(db, file).try_definition(node)
}

/// Returns the scope of a class's body.
fn body<'db>(db: &'db dyn Db, class: Definition<'db>) -> Option<ScopeId<'db>> {
    let DefinitionKind::Class(node) = class.kind(db) else { return None };
    let file = class.program_file(db);
    let module = parsed_module(db, file.python_file(db)).load(db);
    let scope = semantic_index(db, file).try_node_scope(NodeWithScopeRef::Class(node.node(&module)))?;
    Some(scope.to_scope_id(db, file))
}

/// Returns the class whose method is around a scope: the class of `self` there.
pub(super) fn class_around<'db>(
    db: &'db dyn Db,
    file: ProgramFile<'db>,
    scope: FileScopeId,
) -> Option<Definition<'db>> {
    let index = semantic_index(db, file);
    index.ancestor_scopes(scope).find_map(|(id, _)| index.class_definition_of_method(id))
}

/// Returns how a class or the nearest of its ancestors that has a member `name` defines it.
pub(super) fn definitions<'db>(db: &'db dyn Db, class: Definition<'db>, name: &str) -> Vec<Definition<'db>> {
    lineage(db, class)
        .iter()
        .map(|class| own_definitions(db, *class, name))
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

fn own_definitions<'db>(db: &'db dyn Db, class: Definition<'db>, name: &str) -> Vec<Definition<'db>> {
    let Some(scope) = body(db, class) else { return Vec::new() };
    let index = semantic_index(db, scope.program_file(db));
    let own = symbol_definitions(db, scope, name);
    if !own.is_empty() {
        return own;
    }
    let assigned = attribute_scopes(db, scope).flat_map(|function| {
        let member = index.place_table(function).member_id_by_instance_attribute_name(name);
        let bindings = member.map(|member| index.use_def_map(function).reachable_member_bindings(member));
        bindings.into_iter().flatten().filter_map(|binding| binding.binding.definition())
    });
    assigned.collect()
}

/// Returns how a module defines a name.
pub(super) fn module_definitions<'db>(
    db: &'db dyn Db,
    file: ProgramFile<'db>,
    name: &str,
) -> Vec<ResolvedDefinition<'db>> {
    let module = parsed_module(db, file.python_file(db)).load(db);
    let model = SemanticModel::new(db, file);
    let root = AnyNodeRef::from(module.syntax());
    definitions_for_name(&model, name, root, ImportAliasResolution::ResolveAliases)
}

fn symbol_definitions<'db>(db: &'db dyn Db, scope: ScopeId<'db>, name: &str) -> Vec<Definition<'db>> {
    let index = semantic_index(db, scope.program_file(db));
    let id = scope.file_scope_id(db);
    let Some(symbol) = index.place_table(id).symbol_id(name) else { return Vec::new() };
    let map = index.use_def_map(id);
    let bindings = map.reachable_symbol_bindings(symbol).filter_map(|binding| binding.binding.definition());
    let declarations = map.reachable_symbol_declarations(symbol).filter_map(|found| found.declaration.definition());
    let mut definitions: Vec<Definition<'db>> = Vec::new();
    for definition in bindings.chain(declarations) {
        if !definitions.contains(&definition) {
            definitions.push(definition);
        }
    }
    definitions
}
