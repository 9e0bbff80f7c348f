//! What a file takes from other files, and which files of the repository that is.
//!
//! Two steps. [`collect`] reads the imports off a file's tree, as they are written. [`resolve`] finds the files of the
//! repository behind them:
//!
//! - **Python**: absolute modules under the roots of the repository (its top, every directory named `src`, every parent
//!   of a top-level package, and a script's own directory), relative modules, submodules, star imports. A name that a
//!   module only passes on is followed to the file that defines it; the importing file depends on both.
//! - **Java**: imported types, nested types, static members; types of the same package and of packages imported on
//!   demand where the file uses them by their simple name; fully qualified types.
//!
//! What lies outside the repository resolves to nothing.

mod java;
mod modules;
mod packages;
mod python;

use std::collections::BTreeSet;
use std::ops::Range;

use crate::language::Language;
use crate::source::{Repository, SourceFile};

pub(crate) use java::is_type_declaration as is_java_type;
pub(crate) use modules::Layout;

/// One name, module, package or type that a file takes from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The form of the import.
    pub kind: ImportKind,
    /// The dotted path as written, without leading dots, a Python member or the final `*`.
    pub path: Vec<String>,
    /// The name that the import binds in the file, unless it binds many.
    pub binding: Option<String>,
    /// Bytes of the statement, or of the first use for [`ImportKind::Use`].
    pub span: Range<usize>,
}

/// The forms of import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportKind {
    /// Python `import a.b`; without an alias it binds `a`.
    Module,
    /// Python `from ..a import name`.
    Member {
        /// Number of leading dots, 0 for an absolute import.
        level: usize,
        /// The imported name, as the module calls it.
        name: String,
    },
    /// Python `from ..a import *`.
    Star {
        /// Number of leading dots, 0 for an absolute import.
        level: usize,
    },
    /// Java `import a.b.C`.
    Type,
    /// Java `import a.b.*`.
    OnDemand,
    /// Java `import static a.b.C.member`; the path ends with the member.
    Static,
    /// Java `import static a.b.C.*`; the path ends with the type.
    StaticOnDemand,
    /// A Java type used by a simple (`C`) or qualified name (`C.D`, `a.b.C`), once per name.
    Use,
}

/// Returns the imports of `file`, in the order in which they occur.
#[must_use]
pub fn collect(file: &SourceFile) -> Vec<Import> {
    match file.language {
        Language::Python => python::Facts::of(file).imports,
        Language::Java => java::Facts::of(file).imports,
    }
}

/// Returns, for each file of `repository`, the sorted indices of the files it depends on, itself excluded.
#[must_use]
pub fn resolve(repository: &Repository) -> Vec<Vec<usize>> {
    let modules = modules::Modules::new(repository);
    let packages = packages::Packages::new(repository);
    let dependencies = |(index, file): (usize, &SourceFile)| {
        let mut found: BTreeSet<usize> = match file.language {
            Language::Python => modules.dependencies(index),
            Language::Java => packages.dependencies(index),
        };
        found.remove(&index);
        found.into_iter().collect()
    };
    repository.files().iter().enumerate().map(dependencies).collect()
}

#[cfg(test)]
mod tests;
