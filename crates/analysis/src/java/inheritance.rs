//! Names of types resolved to types, and what types inherit from each other.

use std::rc::Rc;

use super::class::{Class, ClassId, Home, Member, TypeParameter};
use super::library::Library;
use super::resolved::{Substitution, Type};
use super::store::Store;
use super::written::Written;

/// The longest list of supertypes.
const SUPERTYPES_MAX: usize = 400;

/// The most searches for supertypes that wait for each other.
const SEARCHES_MAX: usize = 24;

/// A type and all its supertypes.
#[derive(Debug, Clone, Default)]
pub(super) struct Supertypes {
    /// Itself first, then superclasses and interfaces, `Object` last; arguments in terms of its own parameters.
    pub(super) list: Vec<Type>,
    /// Whether every supertype is known.
    pub(super) is_complete: bool,
}

/// Where a name of a type stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// Type parameters in scope, innermost last.
    pub(super) parameters: &'a [TypeParameter],
    /// The innermost type around.
    pub(super) class: Option<ClassId>,
    pub(super) home: Home,
}

impl<'a> Place<'a> {
    /// Returns the place of what a member of a type says.
    pub(super) fn of_member(id: ClassId, class: &Class, member: &'a Member) -> Self {
        Self { parameters: &member.type_parameters, class: Some(id), home: class.home }
    }
}

impl Store<'_> {
    /// Returns the type that is written at a place.
    ///
    /// Depth is bounded by that of [`Written`], so this may recurse.
    pub(super) fn resolve(&self, written: &Written, place: Place<'_>) -> Type {
        let element = match &*written.name {
            "" | "var" => Type::Unknown,
            "void" => Type::Void,
            name => Type::primitive(name).unwrap_or_else(|| {
                let found = self.resolve_name(name, place);
                let Type::Class(id, _) = found else { return found };
                let arguments = written.arguments.iter().map(|argument| self.resolve(argument, place));
                Type::class(id, arguments.collect())
            }),
        };
        element.array(written.n_dimensions)
    }

    /// Returns the type that a simple or dotted name stands for.
    pub(super) fn resolve_name(&self, name: &str, place: Place<'_>) -> Type {
        if place.home == Home::Library {
            return self.resolve_in_library(name, place);
        }
        let (first, rest) = name.split_once('.').unwrap_or((name, ""));
        let found = match self.resolve_simple(first, place) {
            Type::Class(id, _) => self.nested_path(id, rest),
            found @ Type::Variable(..) if rest.is_empty() => return found,
            _ => None,
        };
        found.or_else(|| self.qualified(name)).map_or(Type::Unknown, Type::raw)
    }

    fn resolve_in_library(&self, name: &str, place: Place<'_>) -> Type {
        let variable = place.parameters.iter().rev().find(|parameter| &*parameter.name == name);
        if let Some(parameter) = variable {
            return self.variable(parameter, place);
        }
        let class = place.class.map(|id| self.class(id));
        let parameters = class.iter().flat_map(|class| &class.parameters);
        if let Some(parameter) = parameters.into_iter().find(|parameter| &*parameter.name == name) {
            return self.variable(parameter, place);
        }
        let found = Library::get().place(name).and_then(|(package, binary)| self.library_class(package, binary));
        found.map_or(Type::Unknown, Type::raw)
    }

    fn variable(&self, parameter: &TypeParameter, place: Place<'_>) -> Type {
        // A bound may name the parameters beside it, which are not followed: they have no bound here.
        let bound = parameter.bound.as_ref().filter(|bound| bound.name != parameter.name);
        let place = Place { parameters: &[], ..place };
        let bound = bound.and_then(|bound| match self.resolve_bound(&bound.name, place) {
            Type::Class(id, _) => Some(id),
            _ => None,
        });
        Type::Variable(parameter.name.clone(), bound)
    }

    fn resolve_bound(&self, name: &str, place: Place<'_>) -> Type {
        let is_parameter =
            place.class.is_some_and(|id| self.class(id).parameters.iter().any(|parameter| &*parameter.name == name));
        if is_parameter { Type::Unknown } else { self.resolve_name(name, place) }
    }

    /// Returns the type, or type parameter, that a simple name stands for.
    pub(super) fn resolve_simple(&self, name: &str, place: Place<'_>) -> Type {
        if let Some(parameter) = place.parameters.iter().rev().find(|parameter| &*parameter.name == name) {
            return self.variable(parameter, place);
        }
        let sees_locals = |id: ClassId| Self::is_temporary(id) || self.scratch.around.borrow().contains(&id);
        let locals = if place.class.is_some_and(sees_locals) { self.locals() } else { Vec::new() };
        if let Some((_, id)) = locals.iter().rev().find(|(found, _)| &**found == name) {
            return Type::raw(*id);
        }
        let mut at = place.class;
        while let Some(id) = at {
            let class = self.class(id);
            if let Some(parameter) = class.parameters.iter().find(|parameter| &*parameter.name == name) {
                return self.variable(parameter, Place { class: Some(id), parameters: &[], ..place });
            }
            if &*class.name == name {
                return Type::raw(id);
            }
            if let Some(found) = self.nested(id, name) {
                return Type::raw(found);
            }
            at = class.outer;
        }
        self.in_file(name, place.home).map_or(Type::Unknown, Type::raw)
    }

    /// Returns the type that a simple name stands for at the top of a file.
    fn in_file(&self, name: &str, home: Home) -> Option<ClassId> {
        let file = self.file_of(home)?;
        if let Some((_, id)) = file.top.iter().find(|(found, _)| &**found == name) {
            return Some(*id);
        }
        let mut single = file.imports.iter().filter(|import| import.binding() == Some(name));
        if let Some(found) = single.find_map(|import| self.qualified(&import.path)) {
            return Some(found);
        }
        if let Some(found) = self.type_in(&file.package, name) {
            return Some(found);
        }
        let on_demand = file.imports.iter().filter(|import| import.is_on_demand);
        let found = on_demand.filter_map(|import| {
            let nested = || self.qualified(&import.path).and_then(|id| self.nested(id, name));
            if import.is_static { nested() } else { self.type_in(&import.path, name).or_else(nested) }
        });
        found.into_iter().next().or_else(|| self.type_in("java.lang", name))
    }

    /// Returns the type with a name that begins with its package.
    pub(super) fn qualified(&self, name: &str) -> Option<ClassId> {
        let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
        let mut start = None;
        for end in ends {
            let (package, simple) =
                start.map_or(("", &name[..end]), |start: usize| (&name[..start], &name[start + 1..end]));
            start = Some(end);
            if let Some(id) = self.type_in(package, simple) {
                return self.nested_path(id, name.get(end + 1..).unwrap_or_default());
            }
        }
        None
    }

    fn nested_path(&self, id: ClassId, path: &str) -> Option<ClassId> {
        path.split('.').filter(|name| !name.is_empty()).try_fold(id, |id, name| self.nested(id, name))
    }

    /// Returns the type that a type declares or inherits under a name.
    pub(super) fn nested(&self, id: ClassId, name: &str) -> Option<ClassId> {
        if let Some(found) = self.own_nested(id, name) {
            return Some(found);
        }
        self.supertypes(id).ids().skip(1).find_map(|parent| self.own_nested(parent, name))
    }

    /// Returns a type and all its supertypes; while they are being found, it has none.
    pub(super) fn supertypes(&self, id: ClassId) -> Rc<Supertypes> {
        if let Some(found) = self.supertypes.borrow().get(&id) {
            return found.clone();
        }
        // Those around it first, so that a search never goes deeper than types that extend each other's nested ones.
        let mut around = Vec::new();
        let mut at = Some(id);
        while let Some(id) = at {
            around.push(id);
            at = self.class(id).outer;
        }
        around.into_iter().rev().fold(Rc::default(), |_, id| self.supertypes_of(id))
    }

    fn supertypes_of(&self, id: ClassId) -> Rc<Supertypes> {
        if let Some(found) = self.supertypes.borrow().get(&id) {
            return found.clone();
        }
        let is_looping = self.scratch.pending.borrow().contains(&id);
        if is_looping || self.scratch.pending.borrow().len() > SEARCHES_MAX {
            self.scratch.n_loops.set(self.scratch.n_loops.get() + usize::from(is_looping));
            return Rc::default();
        }
        let n_loops = self.scratch.n_loops.get();
        self.scratch.pending.borrow_mut().push(id);
        let found = Rc::new(self.find_supertypes(id));
        self.scratch.pending.borrow_mut().pop();
        // What ran into a search under way may lack what that search is after.
        if self.scratch.pending.borrow().is_empty() || self.scratch.n_loops.get() == n_loops {
            self.supertypes.borrow_mut().insert(id, found.clone());
        }
        found
    }

    fn find_supertypes(&self, id: ClassId) -> Supertypes {
        let mut found = Supertypes { list: Vec::new(), is_complete: true };
        let object = self.library_class("java.lang", "Object");
        let mut pending = vec![self.own_type(id)];
        while let Some(next) = pending.pop() {
            let Type::Class(id, _) = next else { continue };
            let is_listed = found.ids().any(|listed| listed == id);
            if is_listed || Some(id) == object && !found.list.is_empty() || found.list.len() > SUPERTYPES_MAX {
                continue;
            }
            let class = self.class(id);
            let substitution = self.substitution(&next);
            let place = Place { parameters: &class.parameters, class: class.outer, home: class.home };
            for written in class.supers.iter().rev() {
                let parent = self.resolve(written, place);
                found.is_complete &= matches!(parent, Type::Class(..)) || class.home == Home::Library;
                pending.push(parent.substitute(&substitution));
            }
            found.list.push(next);
        }
        found.list.extend(object.filter(|object| !found.ids().any(|id| id == *object)).map(Type::raw));
        found
    }

    /// Returns a type as it is within its own body: its parameters are its arguments.
    pub(super) fn own_type(&self, id: ClassId) -> Type {
        let class = self.class(id);
        let place = Place { parameters: &[], class: Some(id), home: class.home };
        Type::class(id, class.parameters.iter().map(|parameter| self.variable(parameter, place)).collect())
    }

    /// Returns what the parameters of a class stand for in a type; in a raw one for their bounds.
    pub(super) fn substitution(&self, of: &Type) -> Substitution {
        let Type::Class(id, arguments) = of else { return Vec::new() };
        let class = self.class(*id);
        let arguments = arguments.as_slice();
        let place = Place { parameters: &[], class: Some(*id), home: class.home };
        let argument = |(index, parameter): (usize, &TypeParameter)| {
            let found = arguments.get(index).cloned().unwrap_or_else(|| self.erased(&self.variable(parameter, place)));
            (parameter.name.clone(), found)
        };
        class.parameters.iter().enumerate().map(argument).collect()
    }

    /// Returns the class whose members a value of a type has.
    pub(super) fn erased(&self, of: &Type) -> Type {
        match of {
            Type::Variable(_, bound) => bound.map_or_else(|| self.library_type("java.lang", "Object"), Type::raw),
            other => other.clone(),
        }
    }

    /// Returns a type and its supertypes with their arguments; an array has those of `Object`.
    pub(super) fn ancestry(&self, of: &Type) -> Vec<Type> {
        match self.erased(of) {
            Type::Class(id, arguments) => {
                let substitution = self.substitution(&Type::Class(id, arguments));
                self.supertypes(id).list.iter().map(|parent| parent.substitute(&substitution)).collect()
            }
            Type::Array(_) => vec![self.library_type("java.lang", "Object")],
            _ => Vec::new(),
        }
    }

    /// Returns whether a class is another or one of its subtypes.
    pub(super) fn is_subtype(&self, id: ClassId, of: ClassId) -> bool {
        id == of || self.supertypes(id).ids().any(|parent| parent == of)
    }
}

impl Supertypes {
    /// Returns the classes of the list.
    pub(super) fn ids(&self) -> impl Iterator<Item = ClassId> {
        self.list.iter().filter_map(|parent| if let Type::Class(id, _) = parent { Some(*id) } else { None })
    }
}
