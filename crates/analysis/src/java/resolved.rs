//! Types that names have been resolved to, and how they are written.

use std::rc::Rc;

use super::class::ClassId;
use super::store::Store;

/// Type arguments nested deeper than this are not followed, so that no chain of calls builds an endless type.
const DEPTH_MAX: u8 = 6;

/// What an expression may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Type {
    /// Nothing is known.
    Unknown,
    Void,
    /// The type of `null`.
    Null,
    /// `boolean`, or a number.
    Primitive(&'static str),
    /// A class or interface with its arguments: none for a raw one.
    Class(ClassId, Arguments),
    /// A type parameter, and the type that it extends.
    Variable(Rc<str>, Option<ClassId>),
    Array(Rc<Type>),
}

/// Type arguments, nested to a bounded depth.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Arguments {
    list: Option<Rc<[Type]>>,
    depth: u8,
}

impl Arguments {
    pub(super) fn as_slice(&self) -> &[Type] {
        self.list.as_deref().unwrap_or_default()
    }
}

/// Types for the names of type parameters.
pub(super) type Substitution = Vec<(Rc<str>, Type)>;

/// The numbers from narrow to wide.
const NUMBERS: [&str; 7] = ["byte", "short", "char", "int", "long", "float", "double"];

/// The classes of `java.lang` that hold one primitive each.
const BOXES: [(&str, &str); 8] = [
    ("boolean", "Boolean"),
    ("byte", "Byte"),
    ("char", "Character"),
    ("double", "Double"),
    ("float", "Float"),
    ("int", "Integer"),
    ("long", "Long"),
    ("short", "Short"),
];

impl Type {
    /// Returns a class without arguments.
    pub(super) fn raw(id: ClassId) -> Self {
        Self::Class(id, Arguments::default())
    }

    /// Returns a class with arguments; those nested too deep are not known.
    pub(super) fn class(id: ClassId, arguments: Vec<Self>) -> Self {
        if arguments.is_empty() {
            return Self::raw(id);
        }
        let depth = 1 + arguments.iter().map(Self::depth).max().unwrap_or_default();
        if depth > DEPTH_MAX {
            return Self::raw(id);
        }
        Self::Class(id, Arguments { list: Some(arguments.into()), depth })
    }

    /// Returns an array of elements of this type.
    pub(super) fn array(self, n_dimensions: usize) -> Self {
        (0..n_dimensions.min(8)).fold(self, |element, _| match element.depth() {
            DEPTH_MAX.. => Self::Unknown,
            _ => Self::Array(element.into()),
        })
    }

    fn depth(&self) -> u8 {
        let (mut depth, mut at) = (0_u8, self);
        while let Self::Array(element) = at {
            (depth, at) = (depth.saturating_add(1), element);
        }
        if let Self::Class(_, arguments) = at { depth.saturating_add(arguments.depth) } else { depth }
    }

    /// Returns the primitive type of this name.
    pub(super) fn primitive(name: &str) -> Option<Self> {
        BOXES.iter().find(|(primitive, _)| *primitive == name).map(|(primitive, _)| Self::Primitive(primitive))
    }

    /// Returns the primitive that a class holds, or itself if it is one.
    pub(super) fn unboxed(&self, store: &Store<'_>) -> Option<&'static str> {
        match self {
            Self::Primitive(name) => Some(name),
            Self::Class(id, _) => {
                let class = store.class(*id);
                let held = BOXES.iter().find(|(_, held)| *held == &*class.name);
                held.filter(|_| &*class.package == "java.lang").map(|(primitive, _)| *primitive)
            }
            _ => None,
        }
    }

    /// Returns the class that holds a primitive; any other type is returned as it is.
    pub(super) fn boxed(&self, store: &Store<'_>) -> Self {
        let Self::Primitive(name) = self else { return self.clone() };
        let held = BOXES.iter().find(|(primitive, _)| primitive == name);
        held.map_or(Self::Unknown, |(_, held)| store.library_type("java.lang", held))
    }

    /// Returns the number that arithmetic on two numbers gives.
    pub(super) fn promoted(left: &'static str, right: &'static str) -> Self {
        let rank = |name| NUMBERS.iter().position(|number| *number == name);
        match (rank(left), rank(right)) {
            (Some(left), Some(right)) => Self::Primitive(NUMBERS[left.max(right).max(3)]),
            _ => Self::Primitive("boolean"),
        }
    }

    pub(super) fn is_known(&self) -> bool {
        !matches!(self, Self::Unknown | Self::Null | Self::Void)
    }

    /// Puts types in the place of type parameters, all at once.
    ///
    /// Depth is bounded by [`DEPTH_MAX`], so this may recurse.
    pub(super) fn substitute(&self, substitution: &Substitution) -> Self {
        if substitution.is_empty() {
            return self.clone();
        }
        match self {
            Self::Variable(name, _) => {
                let found = substitution.iter().find(|(parameter, _)| parameter == name);
                found.map_or_else(|| self.clone(), |(_, found)| found.clone())
            }
            Self::Class(id, arguments) => {
                let arguments = arguments.as_slice().iter().map(|argument| argument.substitute(substitution));
                Self::class(*id, arguments.collect())
            }
            Self::Array(element) => element.substitute(substitution).array(1),
            _ => self.clone(),
        }
    }

    /// Writes the type with simple names, as code near it would; `None` if it is not known.
    pub(super) fn display(&self, store: &Store<'_>) -> Option<String> {
        let mut text = String::new();
        self.write(store, &mut text);
        (!matches!(self, Self::Unknown) && !text.is_empty()).then_some(text)
    }

    // Bounded by `DEPTH_MAX`.
    fn write(&self, store: &Store<'_>, text: &mut String) {
        match self {
            Self::Unknown => text.push('?'),
            Self::Void => text.push_str("void"),
            Self::Null => text.push_str("null"),
            Self::Primitive(name) => text.push_str(name),
            Self::Variable(name, _) => text.push_str(name),
            Self::Array(element) => {
                element.write(store, text);
                text.push_str("[]");
            }
            Self::Class(id, arguments) => {
                let class = store.class(*id);
                if class.name.is_empty() {
                    let parent = store.supertypes(*id).list.get(1).cloned();
                    return parent.unwrap_or(Self::Unknown).write(store, text);
                }
                text.push_str(&class.binary.replace('$', "."));
                for (index, argument) in arguments.as_slice().iter().enumerate() {
                    text.push_str(if index == 0 { "<" } else { ", " });
                    argument.write(store, text);
                }
                if !arguments.as_slice().is_empty() {
                    text.push('>');
                }
            }
        }
    }
}
