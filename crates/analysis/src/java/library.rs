//! The types of the JDK, read off the member table when they are first asked for.
//!
//! # References
//!
//! `members.txt` says at its head how it is written and by what.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::OnceLock;

use super::class::{Access, Class, ClassKind, Home, Member, MemberKind, Members, Parameter, TypeParameter};
use super::written::Written;

static TABLE: &str = include_str!("members.txt");

/// Where the types of the table stand.
pub(super) struct Library {
    /// Per package the lines of its types, by binary name.
    packages: BTreeMap<&'static str, BTreeMap<&'static str, &'static str>>,
    /// The package of each binary name that only one package has.
    owners: HashMap<&'static str, &'static str>,
}

impl Library {
    /// Returns the one library.
    pub(super) fn get() -> &'static Self {
        static LIBRARY: OnceLock<Library> = OnceLock::new();
        LIBRARY.get_or_init(Self::read)
    }

    fn read() -> Self {
        let mut library = Self { packages: BTreeMap::new(), owners: HashMap::new() };
        let (mut package, mut start, mut at) = ("", None, 0);
        for line in TABLE.split_inclusive('\n').chain(["p"]) {
            let opens = line.starts_with(['p', 'c', 'i', 'e', 'r', '@']);
            if let Some(start) = start.filter(|_| opens) {
                library.add(package, &TABLE[start..at]);
            }
            if opens {
                start = (!line.starts_with('p')).then_some(at);
            }
            if let Some(name) = line.strip_prefix('p') {
                package = name.trim_end();
            }
            at += line.len();
        }
        library
    }

    fn add(&mut self, package: &'static str, lines: &'static str) {
        let name = &lines[1..lines.find(['<', ':', '\n']).unwrap_or(lines.len())];
        self.packages.entry(package).or_default().insert(name, lines);
        self.owners.entry(name).and_modify(|owner| *owner = "").or_insert(package);
    }

    /// Returns the names of the packages, in order.
    pub(super) fn packages(&self) -> impl Iterator<Item = &'static str> {
        self.packages.keys().copied()
    }

    /// Returns the binary names of a package's types, in order, nested ones included.
    pub(super) fn types(&self, package: &str) -> impl Iterator<Item = &'static str> {
        self.packages.get(package).into_iter().flat_map(|types| types.keys().copied())
    }

    /// Returns the simple names of the types declared in a type.
    pub(super) fn nested(&self, package: &str, binary: &str) -> impl Iterator<Item = &'static str> {
        let prefix = format!("{binary}$");
        let types = self.packages.get(package).map(|types| types.keys());
        // Few types have others in them, and the table is asked for them seldom.
        types.into_iter().flatten().filter_map(move |name| name.strip_prefix(prefix.as_str()))
    }

    /// Returns the package and binary name of a type as the table writes it.
    pub(super) fn place(&self, written: &str) -> Option<(&'static str, &'static str)> {
        let (package, name) = written.rsplit_once('.').unwrap_or(("", written));
        let package = if package.is_empty() { self.owners.get(name).copied()? } else { package };
        let (package, types) = self.packages.get_key_value(package)?;
        types.get_key_value(name).map(|(name, _)| (*package, *name))
    }

    /// Returns the table's own strings for a package and a binary name.
    pub(super) fn place_in(&self, package: &str, binary: &str) -> Option<(&'static str, &'static str)> {
        let (package, types) = self.packages.get_key_value(package)?;
        types.get_key_value(binary).map(|(name, _)| (*package, *name))
    }

    /// Reads a type off the table.
    pub(super) fn class(&self, package: &str, binary: &str) -> Option<Class> {
        let (package, types) = self.packages.get_key_value(package)?;
        let mut lines = types.get(binary)?.lines();
        let header = lines.next()?;
        let kind = match &header[..1] {
            "i" => ClassKind::Interface,
            "e" => ClassKind::Enum,
            "r" => ClassKind::Record,
            "@" => ClassKind::Annotation,
            _ => ClassKind::Class,
        };
        let rest = &header[1 + binary.len()..];
        let (parameters, rest) = leading_parameters(rest);
        let supers = split(rest.strip_prefix(':').unwrap_or_default()).into_iter().map(Written::parse);
        let name = binary.rsplit('$').next().unwrap_or(binary);
        Some(Class {
            name: name.into(),
            package: (*package).into(),
            binary: binary.into(),
            kind,
            is_static: true,
            outer: None,
            parameters,
            supers: supers.collect(),
            members: Members::new(lines.filter_map(|line| member(line, kind)).collect()),
            nested: Vec::new(),
            home: Home::Library,
            name_span: 0..0,
            span: 0..0,
        })
    }
}

fn member(line: &str, owner: ClassKind) -> Option<Member> {
    let (sign, rest) = line.split_at_checked(1)?;
    let (type_parameters, rest) = leading_parameters(rest);
    let mut member = Member::new("", MemberKind::Field, Written::default());
    if let Some((name, rest)) = rest.split_once('(') {
        let (parameters, result) = rest.split_once(')')?;
        member.kind = if name.is_empty() { MemberKind::Constructor } else { MemberKind::Method };
        member.name = name.into();
        member.is_variadic = parameters.ends_with("...");
        let parameter = |written| Parameter { name: Rc::from(""), written: Written::parse(written) };
        member.parameters = split(parameters).into_iter().map(parameter).collect();
        member.written = Written::parse(result.trim_start());
    } else {
        let (name, written) = rest.split_once(' ')?;
        member.name = name.into();
        member.written = Written::parse(written);
        if owner == ClassKind::Enum && sign == ":" {
            member.kind = MemberKind::EnumConstant;
        }
    }
    member.type_parameters = type_parameters;
    member.is_static = matches!(sign, ":" | ";");
    member.is_abstract = sign == "!";
    if matches!(sign, "," | ";") {
        member.access = Access::Protected;
    }
    Some(member)
}

/// Splits `<T:Bound,U>rest` into its type parameters and the rest.
fn leading_parameters(text: &str) -> (Vec<TypeParameter>, &str) {
    if !text.starts_with('<') {
        return (Vec::new(), text);
    }
    let mut depth = 0;
    let end = text.find(|c| {
        depth += i32::from(c == '<') - i32::from(c == '>');
        depth == 0
    });
    let end = end.unwrap_or(text.len() - 1);
    let parameter = |part: &str| {
        let (name, bound) = part.split_once(':').map_or((part, None), |(name, bound)| (name, Some(bound)));
        TypeParameter { name: name.into(), bound: bound.map(Written::parse) }
    };
    (split(&text[1..end]).into_iter().map(parameter).collect(), &text[end + 1..])
}

/// Splits at the commas outside of type arguments.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in text.char_indices() {
        depth += i32::from(c == '<') - i32::from(c == '>');
        if c == ',' && depth == 0 {
            parts.push(&text[start..at]);
            start = at + 1;
        }
    }
    if start < text.len() {
        parts.push(&text[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        let library = Library::get();
        let (mut n_types, mut n_members) = (0, 0);
        for package in library.packages() {
            for name in library.types(package) {
                n_types += 1;
                n_members += library.class(package, name).unwrap().members.iter().count();
            }
        }
        let n_lines = TABLE.lines().filter(|line| !line.starts_with(['#', 'p'])).count();
        assert_eq!(n_types + n_members, n_lines);
        assert!(n_types > 1_000 && n_members > 10_000, "{n_types} {n_members}");
    }

    #[test]
    fn types_are_found_by_their_simple_name() {
        let library = Library::get();
        assert_eq!(library.place("Map$Entry"), Some(("java.util", "Map$Entry")));
        assert_eq!(library.place("Date"), None, "two packages have one");
        assert_eq!(library.place("java.util.Date"), Some(("java.util", "Date")));
        assert!(library.nested("java.util", "Map").any(|name| name == "Entry"));
    }

    #[test]
    fn generic_signatures_are_read() {
        let map = Library::get().class("java.util", "Map").unwrap();
        let member = map.members.named("entrySet").next().unwrap().clone();
        let entry =
            Written { arguments: vec![Written::named("K"), Written::named("V")], ..Written::named("Map$Entry") };
        assert_eq!(member.written, Written { arguments: vec![entry], ..Written::named("Set") });
        let list = Library::get().class("java.util", "Arrays").unwrap();
        let list = list.members.named("asList").next().unwrap().clone();
        assert!(list.is_variadic && list.is_static && list.accepts(0) && list.accepts(7));
        assert_eq!(list.parameters[0].written, Written::named("T").with_dimensions(1));
    }
}
