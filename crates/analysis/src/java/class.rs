//! Types and their members, wherever they are declared.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::written::Written;

/// A type in the [`Store`](super::store::Store).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ClassId(pub(super) u32);

/// The forms of type declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClassKind {
    Class,
    Interface,
    Enum,
    Record,
    Annotation,
}

impl ClassKind {
    pub(super) fn keyword(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Interface => "interface",
            Self::Enum => "enum",
            Self::Record => "record",
            Self::Annotation => "@interface",
        }
    }

    pub(super) fn is_interface(self) -> bool {
        matches!(self, Self::Interface | Self::Annotation)
    }
}

/// Where a type is declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    /// In the repository's file of this index.
    File(usize),
    /// In the text around the caret, which differs from the repository's.
    Edited,
    /// In the member table of the JDK.
    Library,
}

/// A type parameter and its first bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypeParameter {
    pub(super) name: Rc<str>,
    pub(super) bound: Option<Written>,
}

/// A type declaration: what it is and what it declares itself.
#[derive(Debug)]
pub(super) struct Class {
    /// The simple name; empty for an anonymous class.
    pub(super) name: Rc<str>,
    pub(super) package: Rc<str>,
    /// The name within the package, nesting written `$`.
    pub(super) binary: Rc<str>,
    pub(super) kind: ClassKind,
    pub(super) is_static: bool,
    pub(super) outer: Option<ClassId>,
    pub(super) parameters: Vec<TypeParameter>,
    /// The superclass of a class first; what every type of its kind inherits is not left out.
    pub(super) supers: Vec<Written>,
    pub(super) members: Members,
    /// The types declared in it, by name. Those of the library are found by their binary name.
    pub(super) nested: Vec<(Rc<str>, ClassId)>,
    pub(super) home: Home,
    /// The bytes of the name in the file.
    pub(super) name_span: Range<usize>,
    /// The bytes of the whole declaration in the file.
    pub(super) span: Range<usize>,
}

/// The forms of member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemberKind {
    Field,
    EnumConstant,
    Method,
    Constructor,
    /// An initializer: it has no name.
    Initializer,
}

/// Who may use a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Public,
    Protected,
    Package,
    Private,
}

/// A formal parameter; the library has no names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: Rc<str>,
    pub(super) written: Written,
}

/// A field, a method, a constructor or an initializer.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) name: Rc<str>,
    pub(super) kind: MemberKind,
    pub(super) access: Access,
    pub(super) is_static: bool,
    /// Whether it is a method that an implementation has to give.
    pub(super) is_abstract: bool,
    pub(super) is_variadic: bool,
    pub(super) type_parameters: Vec<TypeParameter>,
    pub(super) parameters: Vec<Parameter>,
    /// The type of a field, or what a method returns.
    pub(super) written: Written,
    /// The bytes of the name in the file.
    pub(super) name_span: Range<usize>,
    /// The bytes of the whole declaration in the file.
    pub(super) span: Range<usize>,
}

impl Member {
    /// Returns a public member without anything else.
    pub(super) fn new(name: &str, kind: MemberKind, written: Written) -> Self {
        Self {
            name: name.into(),
            kind,
            access: Access::Public,
            is_static: false,
            is_abstract: false,
            is_variadic: false,
            type_parameters: Vec::new(),
            parameters: Vec::new(),
            written,
            name_span: 0..0,
            span: 0..0,
        }
    }

    pub(super) fn is_value(&self) -> bool {
        matches!(self.kind, MemberKind::Field | MemberKind::EnumConstant)
    }

    pub(super) fn is_method(&self) -> bool {
        self.kind == MemberKind::Method
    }

    /// Returns whether a call with this many arguments fits.
    pub(super) fn accepts(&self, n_arguments: usize) -> bool {
        let n = self.parameters.len();
        n == n_arguments || self.is_variadic && n_arguments + 1 >= n
    }

    /// Returns the parameter that takes the argument at `index`, and whether it takes further ones too.
    pub(super) fn parameter(&self, index: usize) -> Option<&Parameter> {
        let last = self.parameters.len().checked_sub(1)?;
        if index > last && !self.is_variadic { None } else { self.parameters.get(index.min(last)) }
    }
}

/// The members of one type, in the order of declaration.
#[derive(Debug, Default)]
pub(super) struct Members {
    list: Vec<Member>,
    by_name: HashMap<Rc<str>, Vec<u32>>,
}

impl Members {
    pub(super) fn new(list: Vec<Member>) -> Self {
        let mut by_name: HashMap<Rc<str>, Vec<u32>> = HashMap::new();
        for (index, member) in list.iter().enumerate() {
            by_name.entry(member.name.clone()).or_default().push(index as u32);
        }
        Self { list, by_name }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Member> {
        self.list.iter()
    }

    /// Returns the members of a name, overloads and a field of the same name included.
    pub(super) fn named(&self, name: &str) -> impl Iterator<Item = &Member> {
        self.by_name.get(name).into_iter().flatten().map(|index| &self.list[*index as usize])
    }

    /// Returns the member whose declaration has `byte` inside or at its end.
    pub(super) fn at(&self, byte: usize) -> Option<&Member> {
        // Declarations do not overlap, but the declarators of one field share theirs.
        let after = self.list.partition_point(|member| member.span.start <= byte);
        self.list[..after].last().filter(|member| byte <= member.span.end && !member.span.is_empty())
    }
}
