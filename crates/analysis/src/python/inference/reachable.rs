//! The classes that a type leads to: through its members, their parameters and results, and base classes.
//!
//! # References
//!
//! The relevant types of a typed hole in Blinn, Li, Kim and Omar, "Statically Contextualizing Large Language Models
//! with Typed Holes" (2024), section 3. There, aliases are unfolded depth first and dependencies printed first; classes
//! refer to each other in circles, so here the nearest come first.

use std::collections::{BTreeMap, HashSet, VecDeque};

use ruff_db::parsed::parsed_module;
use ruff_python_ast::{Expr, Stmt, StmtClassDef};
use ruff_text_size::Ranged;
use ty_module_resolver::file_to_module;
use ty_python_core::definition::{Definition as Binding, DefinitionKind};
use ty_python_core::scope::{NodeWithScopeKind, NodeWithScopeRef};
use ty_python_core::{attribute_scopes, semantic_index};
use ty_python_semantic::types::{Type, TypeDefinition as Defined, TypeDetail};
use ty_python_semantic::{HasType, SemanticModel};

use super::declaration::Source;
use crate::intelligence::{Place, TypeDefinition};
use crate::python::database::Database;
use crate::python::definitions::place;

/// Classes in one answer.
const CLASSES_MAX: usize = 64;

/// Members in the declaration of one class.
const MEMBERS_MAX: usize = 256;

/// Modules whose classes every reader of Python knows.
const KNOWN_MODULES: [&str; 5] = ["builtins", "types", "typing", "typing_extensions", "_typeshed"];

/// Decorators that change how a member is used.
const USE_DECORATORS: [&str; 6] =
    ["abstractmethod", "cached_property", "classmethod", "overload", "property", "staticmethod"];

/// Returns `classes` and those that they lead to, nearest first.
pub(super) fn definitions<'db>(db: &'db Database, classes: Vec<Binding<'db>>) -> Vec<TypeDefinition> {
    let mut queue = VecDeque::from(classes);
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    while let Some(binding) = queue.pop_front() {
        if found.len() == CLASSES_MAX {
            break;
        }
        if !seen.insert(binding) || is_known(db, binding) {
            continue;
        }
        let source = Source::new(db, binding.program_file(db));
        let DefinitionKind::Class(class) = binding.kind(db) else { continue };
        let class = class.node(&source.module);
        let (name, place) = place(db, binding);
        let mut declaration = source.class(class, &name);
        if matches!(place, Place::Repository { .. }) {
            let members = members(&source, class);
            members.lines.iter().for_each(|line| declaration.extend(["\n    ", line]));
            queue.extend(members.types.into_iter().flat_map(|ty| self::classes(db, &source.model(), ty)));
        }
        found.push(TypeDefinition { name, place, declaration });
    }
    found
}

/// Returns the classes that the display of a type names, from left to right.
pub(super) fn classes<'db>(db: &'db Database, model: &SemanticModel<'db>, ty: Type<'db>) -> Vec<Binding<'db>> {
    let env = model.program_environment();
    // The display of a long union leaves members out.
    let members = ty.as_union().map_or_else(|| vec![ty], |union| union.elements(db).to_vec());
    let mut found = Vec::new();
    for member in members {
        let details = member.display(db, &env).to_string_parts().details;
        let named = details.into_iter().filter_map(|detail| match detail {
            TypeDetail::Type(ty) => Some(ty),
            _ => None,
        });
        for ty in std::iter::once(member).chain(named) {
            match ty.definition(db, &env) {
                Some(Defined::StaticClass(class)) => found.push(class),
                Some(Defined::EnumMember(member)) => found.extend(owner(db, member)),
                _ => {}
            }
        }
    }
    found
}

/// Returns the class in whose body a name is bound.
fn owner<'db>(db: &'db Database, member: Binding<'db>) -> Option<Binding<'db>> {
    let NodeWithScopeKind::Class(class) = member.scope(db).node(db) else { return None };
    let module = parsed_module(db, member.python_file(db)).load(db);
    semantic_index(db, member.program_file(db)).try_definition(class.node(&module))
}

fn is_known(db: &Database, class: Binding<'_>) -> bool {
    let module = file_to_module(db, class.program_file(db).resolver_file(db));
    module.is_some_and(|module| KNOWN_MODULES.contains(&module.name(db).as_str()))
}

/// How the members of a class are declared, and the types they lead to.
#[derive(Default)]
struct Members<'db> {
    lines: Vec<String>,
    types: Vec<Type<'db>>,
}

fn members<'db>(source: &Source<'db>, class: &StmtClassDef) -> Members<'db> {
    let model = source.model();
    let mut members = Members::default();
    members.types.extend(class.bases().iter().filter_map(|base| base.inferred_type(&model)));
    for statement in &class.body {
        members.statement(source, &model, statement);
        if members.lines.len() >= MEMBERS_MAX {
            break;
        }
    }
    members.attributes(source, class);
    members
}

impl<'db> Members<'db> {
    fn statement(&mut self, source: &Source<'db>, model: &SemanticModel<'db>, statement: &Stmt) {
        match statement {
            Stmt::FunctionDef(function) => {
                for decorator in &function.decorator_list {
                    let line = source.line(decorator.range());
                    if USE_DECORATORS.contains(&line.rsplit(['@', '.']).next().unwrap_or_default()) {
                        self.lines.push(line);
                    }
                }
                self.lines.push(source.function(function, &function.name));
                self.types.extend(function.inferred_type(model));
            }
            Stmt::ClassDef(class) => self.lines.push(source.class(class, &class.name)),
            Stmt::AnnAssign(assign) => {
                let target = source.line(assign.target.range());
                self.lines.push(format!("{target}: {}", source.line(assign.annotation.range())));
                self.types.extend(assign.annotation.inferred_type(model));
            }
            Stmt::Assign(assign) => {
                for name in assign.targets.iter().filter_map(Expr::as_name_expr) {
                    let ty = name.inferred_type(model);
                    let spelled = ty.and_then(|ty| super::spell(model, ty));
                    let spelled = spelled.map(|spelled| super::spelling::widen(&spelled));
                    self.lines.push(spelled.map_or_else(|| name.id.to_string(), |ty| format!("{}: {ty}", name.id)));
                    self.types.extend(ty);
                }
            }
            _ => {}
        }
    }

    /// Adds what the methods assign to `self`, by name, unless the body declares it.
    fn attributes(&mut self, source: &Source<'db>, class: &StmtClassDef) {
        let index = semantic_index(source.db, source.file);
        let Some(scope) = index.try_node_scope(NodeWithScopeRef::Class(class)) else { return };
        let body = index.place_table(scope);
        let mut attributes: BTreeMap<&str, Vec<Binding<'db>>> = BTreeMap::new();
        for scope in attribute_scopes(source.db, scope.to_scope_id(source.db, source.file)) {
            let table = index.place_table(scope);
            let names = table.members().filter_map(|member| member.as_instance_attribute());
            for name in names.filter(|name| body.symbol_id(name).is_none()) {
                let Some(member) = table.member_id_by_instance_attribute_name(name) else { continue };
                let bindings = index.use_def_map(scope).reachable_member_bindings(member);
                attributes.entry(name).or_default().extend(bindings.filter_map(|it| it.binding.definition()));
            }
        }
        let left = MEMBERS_MAX.saturating_sub(self.lines.len());
        for (name, bindings) in attributes.into_iter().take(left) {
            self.attribute(source, name, &bindings);
        }
    }

    fn attribute(&mut self, source: &Source<'db>, name: &str, bindings: &[Binding<'db>]) {
        let is_annotated = |it: &&Binding<'db>| matches!(it.kind(source.db), DefinitionKind::AnnotatedAssignment(_));
        let annotated = bindings.iter().find(is_annotated);
        let bindings = annotated.map_or(bindings, std::slice::from_ref);
        let mut spelled: Vec<String> = Vec::new();
        for ty in bindings.iter().filter_map(|binding| source.type_of(*binding)) {
            if !spelled.contains(&ty) {
                spelled.push(ty);
            }
        }
        let ty = spelled.join(" | ");
        self.lines.push(if ty.is_empty() { name.to_owned() } else { format!("{name}: {ty}") });
        self.types.extend(bindings.iter().filter_map(|binding| source.inferred(*binding)));
    }
}
