//! The questions, and what the answers hold.

use std::ops::Range;

use crate::caret::Caret;
use crate::diagnostics::Diagnostic;
use crate::error::Result;

/// A tool that knows one repository.
///
/// Answers are the same whenever the question is: ordered, free of duplicates, and without trace of earlier carets.
/// A tool that cannot answer a kind of question says [`Unsupported`](crate::Error::Unsupported).
pub trait CodeIntelligence {
    /// Returns the name under which reports list the tool.
    fn name(&self) -> &str;

    /// Returns the CPU time that processes started by the tool have used so far, in seconds; zero for a tool that works
    /// within this process.
    fn outside_cpu_seconds(&self) -> f64 {
        0.0
    }

    /// Returns what a report has to say of the tool's work so far, one line each: what it was kept from, how often it
    /// failed. A tool within this process has nothing to say.
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the identifiers that may stand at the caret: those that begin with the [prefix](Caret::prefix), whole.
    ///
    /// What stands behind the caret is read as code when it is an identifier (a file as it is on disk), so a name that
    /// is bound there for the first time is not suggested by its own binding.
    ///
    /// # Errors
    ///
    /// Returns an error if the tool gives no answer.
    fn completions(&mut self, caret: &Caret<'_>) -> Result<Vec<Suggestion>>;

    /// Returns where the identifier that the caret touches is defined, imports followed.
    ///
    /// # Errors
    ///
    /// Returns an error if the tool gives no answer.
    fn definitions(&mut self, caret: &Caret<'_>) -> Result<Vec<Definition>>;

    /// Returns the type of the expression that ends with the identifier the caret touches, as the language writes it;
    /// `None` if it is not known.
    ///
    /// # Errors
    ///
    /// Returns an error if the tool gives no answer.
    fn inferred_type(&mut self, caret: &Caret<'_>) -> Result<Option<String>>;

    /// Returns the type that an expression at the caret must have (an argument, a returned value, the right side of an
    /// annotated assignment), as the language writes it; `None` if anything may stand there or it is not known.
    ///
    /// # Errors
    ///
    /// Returns an error if the tool gives no answer.
    fn expected_type(&mut self, caret: &Caret<'_>) -> Result<Option<String>>;

    /// Returns the definitions of the types that are reachable from the expected type at the caret, or where nothing
    /// is expected from the inferred one: itself, then the types of its members and parameters, nearest first.
    ///
    /// # Errors
    ///
    /// Returns an error if the tool gives no answer.
    fn reachable_types(&mut self, caret: &Caret<'_>) -> Result<Vec<TypeDefinition>>;

    /// Returns the headers of the values in scope at the caret, innermost scope first and by name within a scope.
    ///
    /// # Errors
    ///
    /// Returns an error if the tool gives no answer.
    fn headers(&mut self, caret: &Caret<'_>) -> Result<Vec<Header>>;

    /// Returns what is wrong in `text` as the file at `path`, by position.
    ///
    /// # Errors
    ///
    /// Returns an error if the tool gives no answer.
    fn diagnostics(&mut self, path: &str, text: &str) -> Result<Vec<Diagnostic>>;
}

/// An identifier that may stand at a caret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Suggestion {
    /// The whole identifier.
    pub name: String,
    /// Where the tool has it from.
    pub origin: Origin,
}

/// Where a suggested name comes from, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// A parameter of the function that is called at the caret.
    KeywordArgument,
    /// A name of the innermost function or class.
    Local,
    /// A name of a function around it.
    Enclosing,
    /// A member of the object before the caret, or of the class around it where members need no object.
    Member,
    /// A name of the file: defined or imported there.
    Global,
    /// A name of the file's package or of other files that needs no import, or a module that can be imported.
    Package,
    /// A name that the language gives to every file.
    Builtin,
    /// The tool does not say.
    Unknown,
}

impl Origin {
    /// Returns the stable name: `keyword_argument`, `local`, ...
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KeywordArgument => "keyword_argument",
            Self::Local => "local",
            Self::Enclosing => "enclosing",
            Self::Member => "member",
            Self::Global => "global",
            Self::Package => "package",
            Self::Builtin => "builtin",
            Self::Unknown => "unknown",
        }
    }
}

/// Where something is defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a file of the repository: its path, and the bytes of the defined name.
    Repository {
        /// Path of the file.
        path: String,
        /// The bytes of the name in the file's text.
        span: Range<usize>,
    },
    /// Elsewhere: the standard library or a package that is not part of the repository.
    Outside {
        /// The module or package that has it.
        module: String,
    },
}

/// One definition of an identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The name as defined, which differs from the identifier where an import renames it.
    pub name: String,
    /// Where it is defined.
    pub place: Place,
}

/// A type and how it is declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeDefinition {
    /// The type's name.
    pub name: String,
    /// Where it is defined.
    pub place: Place,
    /// Its declaration without bodies: the class line and the headers of its own members.
    pub declaration: String,
}

/// A value in scope and its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The name.
    pub name: String,
    /// The scope that has it.
    pub origin: Origin,
    /// How it is declared, without a body: `def f(x: int) -> str`, `x: int`, `String name`.
    pub declaration: String,
}
