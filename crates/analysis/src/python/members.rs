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
use ty_python_semantic::types::ide_support::{TypeHierarchyClass, type_hierarchy_supertypes};
use ty_python_semantic::types::{ProgramEnvironment, Type};
use ty_python_semantic::{Db, HasType, SemanticModel};

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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Receiver {
    Class,
    Object,
}

/// Adds the names of the members of `ty` to `names`; returns whether they are known.
pub(super) fn add_members<'db>(db: &'db dyn Db, file: ProgramFile<'db>, ty: Type<'db>, names: &mut Names) -> bool {
    let mut open = vec![ty];
    let mut is_known = false;
    while let Some(ty) = open.pop() {
        match ty {
            Type::Union(union) => open.extend(union.elements(db)),
            Type::Intersection(intersection) => open.extend(intersection.iter_positive(db)),
            Type::TypeAlias(alias) => open.push(alias.value_type(db)),
            _ => is_known |= add_own(db, file, ty, names),
        }
    }
    is_known
}

fn add_own<'db>(db: &'db dyn Db, file: ProgramFile<'db>, ty: Type<'db>, names: &mut Names) -> bool {
    let env = ProgramEnvironment::from_file(file);
    let receiver = match ty {
        Type::ClassLiteral(_) | Type::GenericAlias(_) | Type::SubclassOf(_) => Receiver::Class,
        Type::NominalInstance(_) | Type::LiteralValue(_) | Type::ProtocolInstance(_) | Type::TypedDict(_) => {
            Receiver::Object
        }
        Type::ModuleLiteral(module) => {
            add_module(db, file, module.module(db), names);
            return true;
        }
        _ => return false,
    };
    let definition = ty.definition(db, &env).and_then(|definition| definition.definition().copied());
    let Some(class) = definition.filter(|definition| definition.kind(db).as_class().is_some()) else { return false };
    add_class(db, class, receiver, names);
    true
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
