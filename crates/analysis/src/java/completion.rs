//! The identifiers that may stand at the caret.

use std::collections::BTreeMap;

use super::class::{Access, ClassId, ClassKind, Home, Member, MemberKind};
use super::expression::{Bindings, Meaning};
use super::resolved::Type;
use super::scope::{Entry, Scope};
use super::wanted::{Wanted, wanted};
use crate::intelligence::{Origin, Suggestion};

/// Names found so far, each with the nearest origin.
#[derive(Default)]
pub(super) struct Names {
    prefix: String,
    found: BTreeMap<String, Origin>,
}

impl Names {
    fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned(), found: BTreeMap::new() }
    }

    fn add(&mut self, name: &str, origin: Origin) {
        if name.is_empty() || !name.starts_with(&self.prefix) {
            return;
        }
        match self.found.get_mut(name) {
            Some(nearest) => *nearest = origin.min(*nearest),
            None => drop(self.found.insert(name.to_owned(), origin)),
        }
    }

    fn into_suggestions(self) -> Vec<Suggestion> {
        self.found.into_iter().map(|(name, origin)| Suggestion { name, origin }).collect()
    }
}

/// Returns the suggestions at the caret, by name.
pub(super) fn suggestions(scope: &Scope<'_>, prefix: &str) -> Vec<Suggestion> {
    let mut names = Names::new(prefix);
    match wanted(scope) {
        Wanted::Name => {
            scope.names(&mut names);
            scope.types(&mut names);
        }
        Wanted::Type => scope.types(&mut names),
        Wanted::Member { left, types_only } => {
            let meaning = scope.meaning(left, &Bindings::new());
            scope.members(&meaning, types_only, &mut names);
        }
        Wanted::Path { before } => scope.path_parts(&before, &mut names),
        Wanted::Constant { of } => {
            let of = scope.type_of(of, &Bindings::new());
            scope.enum_constants(&of, &mut names);
            scope.names(&mut names);
            scope.types(&mut names);
        }
        Wanted::Element { of, elements_only } => {
            if let Meaning::Static(id) = scope.meaning(of, &Bindings::new()) {
                let class = scope.store.class(id);
                let elements = class.members.iter().filter(|member| member.is_method());
                elements.for_each(|member| names.add(&member.name, Origin::KeywordArgument));
            }
            if !elements_only {
                scope.names(&mut names);
                scope.types(&mut names);
            }
        }
        Wanted::Label => {
            let labeled = scope.path.iter().filter(|node| node.kind() == "labeled_statement");
            let labels = labeled.filter_map(|node| node.named_child(0));
            labels.for_each(|label| names.add(scope.text_of(label), Origin::Local));
        }
        Wanted::Nothing => {}
    }
    names.into_suggestions()
}

impl Scope<'_> {
    /// Adds variables, fields and methods in scope.
    fn names(&self, names: &mut Names) {
        let mut origin = Origin::Local;
        let mut in_static = false;
        for entry in self.entries.iter().rev() {
            match entry {
                Entry::Local(local) => names.add(local.name, origin),
                Entry::Class { id, is_static } => {
                    in_static |= is_static;
                    self.each_visible(*id, |member| {
                        if member.is_static || !in_static {
                            names.add(&member.name, Origin::Member);
                        }
                    });
                    origin = Origin::Enclosing;
                }
            }
        }
        for (owner, only) in self.static_imports() {
            self.static_members(owner, only, Origin::Global, names);
        }
        for package in self.store.packages() {
            names.add(package.split('.').next().unwrap_or_default(), Origin::Package);
        }
    }

    /// Adds the types in scope.
    fn types(&self, names: &mut Names) {
        for parameter in &self.parameters {
            names.add(&parameter.name, Origin::Local);
        }
        for (name, _) in self.store.locals() {
            names.add(&name, Origin::Local);
        }
        for (id, _) in self.classes() {
            let class = self.store.class(id);
            names.add(&class.name, Origin::Global);
            for parameter in &class.parameters {
                names.add(&parameter.name, Origin::Enclosing);
            }
            self.nested_types(id, names);
        }
        let file = &self.focus.file;
        for (name, _) in &file.top {
            names.add(name, Origin::Global);
        }
        for import in &file.imports {
            match import.binding() {
                Some(name) if !import.is_static || self.store.qualified(&import.path).is_some() => {
                    names.add(name, Origin::Global);
                }
                Some(_) => {}
                None => self.on_demand(import.is_static, &import.path, names),
            }
        }
        for name in self.store.names_in(&file.package) {
            names.add(name, Origin::Package);
        }
        for name in self.store.names_in("java.lang") {
            names.add(name, Origin::Builtin);
        }
    }

    fn on_demand(&self, is_static: bool, path: &str, names: &mut Names) {
        if !is_static {
            for name in self.store.names_in(path) {
                names.add(name, Origin::Global);
            }
        }
        if let Some(id) = self.store.qualified(path) {
            self.nested_types(id, names);
        }
    }

    fn nested_types(&self, id: ClassId, names: &mut Names) {
        for parent in self.store.supertypes(id).ids() {
            for name in self.store.own_nested_names(parent) {
                names.add(&name, Origin::Member);
            }
        }
    }

    /// Adds the members of what stands before a dot.
    fn members(&self, left: &Meaning, types_only: bool, names: &mut Names) {
        match left {
            Meaning::Static(id) => {
                if !types_only {
                    self.static_members(*id, None, Origin::Member, names);
                }
                self.nested_types(*id, names);
            }
            Meaning::Value(of @ Type::Array(_)) => {
                names.add("length", Origin::Member);
                self.value_members(of, names);
            }
            Meaning::Value(of) => self.value_members(of, names),
            Meaning::Package(package) => self.path_parts(package, names),
            Meaning::Nothing => {}
        }
    }

    fn value_members(&self, of: &Type, names: &mut Names) {
        let receiver = match self.store.erased(of) {
            Type::Class(id, _) => Some(id),
            Type::Array(_) => self.store.library_class("java.lang", "Object"),
            _ => None,
        };
        if let Some(id) = receiver {
            self.each_visible(id, |member| names.add(&member.name, Origin::Member));
        }
    }

    fn enum_constants(&self, of: &Type, names: &mut Names) {
        if let Type::Class(id, _) = of {
            let class = self.store.class(*id);
            if class.kind == ClassKind::Enum {
                let constants = class.members.iter().filter(|member| member.kind == MemberKind::EnumConstant);
                constants.for_each(|member| names.add(&member.name, Origin::Member));
            }
        }
    }

    /// Goes over the members of a type and its supertypes that code at the caret may use.
    fn each_visible(&self, id: ClassId, mut take: impl FnMut(&Member)) {
        for owner in self.store.supertypes(id).ids() {
            let class = self.store.class(owner);
            let is_own = class.home == self.focus.home;
            let in_package = class.package == self.focus.file.package && class.home != Home::Library;
            let inherits = || self.classes().any(|(around, _)| self.store.is_subtype(around, owner));
            let mut protected = None;
            for member in class.members.iter() {
                let is_visible = match member.access {
                    Access::Public => true,
                    Access::Protected => in_package || *protected.get_or_insert_with(inherits),
                    Access::Package => in_package,
                    Access::Private => is_own,
                };
                // Static methods of interfaces are not inherited.
                let is_inherited = !class.kind.is_interface() || !member.is_static || owner == id || member.is_value();
                if is_visible && is_inherited {
                    take(member);
                }
            }
        }
    }

    /// Adds the static members of a type, or one of them.
    fn static_members(&self, id: ClassId, only: Option<&str>, origin: Origin, names: &mut Names) {
        self.each_visible(id, |member| {
            if member.is_static && only.is_none_or(|only| only == &*member.name) {
                names.add(&member.name, origin);
            }
        });
    }

    /// Adds what may follow a package or type in a qualified name.
    fn path_parts(&self, before: &str, names: &mut Names) {
        for package in self.store.packages() {
            let rest = if before.is_empty() {
                Some(package)
            } else {
                package.strip_prefix(before).and_then(|rest| rest.strip_prefix('.'))
            };
            if let Some(part) = rest.and_then(|rest| rest.split('.').next()) {
                names.add(part, Origin::Package);
            }
        }
        for name in self.store.names_in(before) {
            names.add(name, Origin::Package);
        }
        if let Some(id) = self.store.qualified(before).filter(|_| !before.is_empty()) {
            self.nested_types(id, names);
            self.static_members(id, None, Origin::Member, names);
        }
    }
}
