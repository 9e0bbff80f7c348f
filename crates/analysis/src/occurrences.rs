//! The identifiers of a file and what kind of knowledge finds each: the rows by which completion tools are compared.
//!
//! Kinds come from the syntax of the one file, so they are the same for every tool and need none of them to be right.

mod java;
mod python;
mod scopes;

use std::fmt;
use std::ops::Range;

use repo::Language;
use repo::syntax::Preorder;
use tree_sitter::Node;

/// One identifier of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence {
    /// The bytes of the identifier.
    pub span: Range<usize>,
    /// What a tool must know to suggest it.
    pub kind: OccurrenceKind,
}

/// What a tool must know to suggest an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OccurrenceKind {
    /// `self` or `cls`: the first parameter of a method.
    SelfName,
    /// A parameter of the function or of one around it.
    Parameter,
    /// A local variable that is bound before.
    Local,
    /// The first binding of a name: the author invents it here.
    FirstBinding,
    /// A local name of a function around this one.
    Enclosing,
    /// A name or type that the file imports.
    Import,
    /// A name or type that the file defines.
    Global,
    /// A bare name from elsewhere: builtins; in Java also types of the package and of `java.lang`.
    Outside,
    /// The name of a keyword argument.
    KeywordArgument,
    /// A member of the class around it, which that class declares: `self.member`, `this.member` or a bare Java name.
    SelfAttribute,
    /// A member of `self` or `this` that the class around it does not declare.
    InheritedAttribute,
    /// A member of something that the file imports or defines: a module, a class, a constant.
    ImportAttribute,
    /// A member of a local variable, whose type is inferred.
    LocalAttribute,
    /// A member of a parameter.
    ParameterAttribute,
    /// A member of any other expression: a call, another member, a subscript, a literal.
    Chain,
    /// A name within an import.
    ImportedName,
}

impl OccurrenceKind {
    /// Every kind.
    pub const ALL: [Self; 16] = [
        Self::SelfName,
        Self::Parameter,
        Self::Local,
        Self::FirstBinding,
        Self::Enclosing,
        Self::Import,
        Self::Global,
        Self::Outside,
        Self::KeywordArgument,
        Self::SelfAttribute,
        Self::InheritedAttribute,
        Self::ImportAttribute,
        Self::LocalAttribute,
        Self::ParameterAttribute,
        Self::Chain,
        Self::ImportedName,
    ];

    /// Returns the stable name: `self_name`, `parameter`, ...
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::SelfName => "self_name",
            Self::Parameter => "parameter",
            Self::Local => "local",
            Self::FirstBinding => "first_binding",
            Self::Enclosing => "enclosing",
            Self::Import => "import",
            Self::Global => "global",
            Self::Outside => "outside",
            Self::KeywordArgument => "keyword_argument",
            Self::SelfAttribute => "self_attribute",
            Self::InheritedAttribute => "inherited_attribute",
            Self::ImportAttribute => "import_attribute",
            Self::LocalAttribute => "local_attribute",
            Self::ParameterAttribute => "parameter_attribute",
            Self::Chain => "chain",
            Self::ImportedName => "imported_name",
        }
    }
}

impl fmt::Display for OccurrenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the identifiers of `text`, in order; a text beyond the limits of [`Language::parse`] has none.
///
/// Python's special names (`__init__`) are left out; identifiers within f-strings are not.
#[must_use]
pub fn occurrences(text: &str, language: Language) -> Vec<Occurrence> {
    let Some(tree) = language.parse(text) else { return Vec::new() };
    match language {
        Language::Python => python::occurrences(&tree, text),
        Language::Java => java::occurrences(&tree, text),
    }
}

/// Calls `visit` with each node of the tree and its ancestors, nearest last.
fn visit<'tree>(tree: &'tree tree_sitter::Tree, mut visit: impl FnMut(Node<'tree>, &[Node<'tree>])) {
    let mut walk = Preorder::new(tree);
    let mut ancestors = Vec::new();
    while let Some(node) = walk.next() {
        ancestors.truncate(walk.depth());
        visit(node, &ancestors);
        ancestors.push(node);
    }
}

fn is_field(parent: Node<'_>, field: &str, child: Node<'_>) -> bool {
    parent.child_by_field_name(field) == Some(child)
}

#[cfg(test)]
mod tests;
