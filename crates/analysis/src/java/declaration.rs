//! Declarations without bodies: of types that are reachable from a type, and of the values in scope.

use std::collections::BTreeMap;

use super::class::{Access, Class, ClassId, Home, Member, MemberKind, Parameter, TypeParameter};
use super::inheritance::Place;
use super::resolved::Type;
use super::scope::{Entry, Scope};
use super::written::Written;
use crate::intelligence::{Header, Origin, TypeDefinition};

/// The most types that one answer describes.
const TYPES_MAX: usize = 64;

impl Scope<'_> {
    /// Returns the type that is expected of the expression at the caret.
    pub(super) fn expected(&self) -> Option<Type> {
        let mut level = self.path.len().checked_sub(1)?;
        // The identifier may be the name or the beginning of a longer expression.
        while level > 0 {
            let (node, parent) = (self.path[level], self.path[level - 1]);
            let is = |field: &str| parent.child_by_field_name(field) == Some(node);
            let is_part = match parent.kind() {
                "method_invocation" => is("name") || is("object"),
                "array_access" => is("array"),
                "object_creation_expression" => is("type"),
                "field_access" | "generic_type" | "scoped_type_identifier" => true,
                _ => false,
            };
            if !is_part {
                break;
            }
            level -= 1;
        }
        self.expected_at(level)
    }

    /// Returns the definitions of a type and of those that its members and parameters have, nearest first.
    pub(super) fn reachable(&self, from: &Type, path: &str) -> Vec<TypeDefinition> {
        let mut found: Vec<ClassId> = Vec::new();
        let mut pending = classes_in(from);
        while let Some(id) = pending.first().copied() {
            pending.remove(0);
            let class = self.store.class(id);
            if found.contains(&id) || found.len() >= TYPES_MAX {
                continue;
            }
            // The library is a world of its own: only what was asked for is taken from it.
            let is_library = class.home == Home::Library;
            if is_library && !classes_in(from).contains(&id) {
                continue;
            }
            found.push(id);
            if !is_library {
                pending.extend(self.types_named_by(id, &class));
            }
        }
        found.into_iter().filter_map(|id| self.type_definition(id, path)).collect()
    }

    fn types_named_by(&self, id: ClassId, class: &Class) -> Vec<ClassId> {
        let mut named = Vec::new();
        for parent in self.store.supertypes(id).list.iter().skip(1) {
            named.extend(classes_in(parent));
        }
        for member in class.members.iter().filter(|member| member.access != Access::Private) {
            let place = Place::of_member(id, class, member);
            let parameters = member.parameters.iter().map(|parameter| &parameter.written);
            for written in [&member.written].into_iter().chain(parameters) {
                named.extend(classes_in(&self.store.resolve(written, place)));
            }
        }
        named
    }

    fn type_definition(&self, id: ClassId, path: &str) -> Option<TypeDefinition> {
        let class = self.store.class(id);
        let place = self.place_of(id, &class.name_span, path)?;
        Some(TypeDefinition { name: class.name.to_string(), place, declaration: declaration_of(&class) })
    }

    fn member_headers(&self, id: ClassId, in_static: bool) -> impl Iterator<Item = Header> {
        let mut members: BTreeMap<(String, String), Header> = BTreeMap::new();
        for parent in &self.store.supertypes(id).list {
            let Type::Class(owner, _) = *parent else { continue };
            let class = self.store.class(owner);
            let substitution = self.store.substitution(parent);
            // Inherited members speak of the parameters of the type that declares them.
            let write = |written: &Written, member: &Member| {
                let place = Place::of_member(owner, &class, member);
                let found = self.store.resolve(written, place).substitute(&substitution);
                let is_inherited = owner != id && !class.parameters.is_empty();
                found.display(self.store).filter(|_| is_inherited).unwrap_or_else(|| written.display())
            };
            if class.home == Home::Library {
                continue;
            }
            for member in class.members.iter() {
                let is_value = member.is_value() || member.is_method();
                let is_private = member.access == Access::Private && owner != id && class.home != self.focus.home;
                if is_value && !is_private && (member.is_static || !in_static) {
                    let (name, declaration) = (member.name.to_string(), header_of(&class, member, write));
                    let header =
                        Header { name: name.clone(), origin: Origin::Member, declaration: declaration.clone() };
                    members.entry((name, declaration)).or_insert(header);
                }
            }
        }
        members.into_values()
    }
}

/// Returns the headers of the values in scope, innermost scope first and by name within a scope.
pub(super) fn headers(scope: &Scope<'_>) -> Vec<Header> {
    let mut headers = Vec::new();
    let (mut origin, mut in_static) = (Origin::Local, false);
    let mut locals: BTreeMap<String, Header> = BTreeMap::new();
    for entry in scope.entries.iter().rev() {
        match entry {
            Entry::Local(local) => {
                let found = scope.local_type(local).display(scope.store);
                let declaration = format!("{} {}", found.as_deref().unwrap_or("var"), local.name);
                let header = Header { name: local.name.to_owned(), origin, declaration };
                locals.entry(local.name.to_owned()).or_insert(header);
            }
            Entry::Class { id, is_static } => {
                headers.extend(std::mem::take(&mut locals).into_values());
                in_static |= is_static;
                headers.extend(scope.member_headers(*id, in_static));
                origin = Origin::Enclosing;
            }
        }
    }
    headers.extend(locals.into_values());
    headers
}

/// Returns the classes that a type is made of, itself first; depth is bounded by that of types.
fn classes_in(of: &Type) -> Vec<ClassId> {
    match of {
        Type::Class(id, arguments) => {
            let mut found = vec![*id];
            arguments.as_slice().iter().for_each(|argument| found.extend(classes_in(argument)));
            found
        }
        Type::Array(element) => classes_in(element),
        Type::Variable(_, Some(bound)) => vec![*bound],
        _ => Vec::new(),
    }
}

/// Returns the line that declares a member, without modifiers that say nothing about its use.
fn header_of(class: &Class, member: &Member, write: impl Fn(&Written, &Member) -> String) -> String {
    if member.kind == MemberKind::EnumConstant {
        return member.name.to_string();
    }
    let mut text = String::new();
    if member.is_static {
        text.push_str("static ");
    }
    let type_parameters = parameter_list(&member.type_parameters);
    if !type_parameters.is_empty() {
        text.push_str(&type_parameters);
        text.push(' ');
    }
    if member.kind == MemberKind::Constructor {
        text.push_str(&class.name);
    } else {
        text.push_str(&write(&member.written, member));
        text.push(' ');
        text.push_str(&member.name);
    }
    if !member.is_value() {
        let last = member.parameters.len().saturating_sub(1);
        let parameter = |(index, parameter): (usize, &Parameter)| {
            let mut written = write(&parameter.written, member);
            if member.is_variadic && index == last && written.ends_with("[]") {
                written.truncate(written.len() - 2);
                written.push_str("...");
            }
            if parameter.name.is_empty() { written } else { format!("{written} {}", parameter.name) }
        };
        let parameters: Vec<String> = member.parameters.iter().enumerate().map(parameter).collect();
        text.push_str(&["(", &parameters.join(", "), ")"].concat());
    }
    text
}

fn parameter_list(parameters: &[TypeParameter]) -> String {
    let parameter = |parameter: &TypeParameter| match &parameter.bound {
        Some(bound) => format!("{} extends {}", parameter.name, bound.display()),
        None => parameter.name.to_string(),
    };
    let parameters: Vec<String> = parameters.iter().map(parameter).collect();
    if parameters.is_empty() { String::new() } else { format!("<{}>", parameters.join(", ")) }
}

/// Returns the declaration of a type without bodies, private members left out.
pub(super) fn declaration_of(class: &Class) -> String {
    let mut text = format!("{} {}{}", class.kind.keyword(), class.name, parameter_list(&class.parameters));
    let has_superclass = !class.kind.is_interface();
    let (superclass, interfaces) = class.supers.split_at(usize::from(has_superclass).min(class.supers.len()));
    let is_implied = |written: &&Written| written.name.starts_with("java.lang.") || &*written.name == "Object";
    for written in superclass.iter().filter(|written| !is_implied(written)) {
        text.push_str(&[" extends ", &written.display()].concat());
    }
    let interfaces: Vec<String> =
        interfaces.iter().filter(|written| !is_implied(written)).map(Written::display).collect();
    if !interfaces.is_empty() {
        let keyword = if has_superclass { "implements" } else { "extends" };
        text.push_str(&[" ", keyword, " ", &interfaces.join(", ")].concat());
    }
    text.push_str(" {\n");
    let is_shown = |member: &&Member| member.access != Access::Private && member.kind != MemberKind::Initializer;
    for member in class.members.iter().filter(is_shown) {
        let header = header_of(class, member, |written, _| written.display());
        text.push_str(&["    ", &header, ";\n"].concat());
    }
    text.push('}');
    text
}
