//! Java packages: from the name of a type to the file that declares it.

use std::collections::{BTreeMap, BTreeSet};

use super::ImportKind;
use super::java::Facts;
use crate::language::Language;
use crate::source::{Repository, directory};

/// The Java types of a repository, with what each file imports and uses.
pub(super) struct Packages<'a> {
    repository: &'a Repository,
    facts: Vec<Facts>,
    /// Files, in order of their paths, by the qualified name of a top-level type.
    types: BTreeMap<String, Vec<usize>>,
    known: BTreeSet<String>,
}

/// What the simple type names of one file may mean, besides its own package.
struct Scope<'a> {
    /// Names imported one by one.
    imported: BTreeSet<&'a str>,
    /// Packages of the repository imported on demand.
    on_demand: BTreeSet<String>,
}

impl<'a> Packages<'a> {
    /// Reads every Java file of `repository`.
    pub(super) fn new(repository: &'a Repository) -> Self {
        let facts = repository.files().iter().map(|file| match file.language {
            Language::Java => Facts::of(file),
            Language::Python => Facts::default(),
        });
        let facts: Vec<Facts> = facts.collect();
        let known = facts.iter().map(|facts| facts.package.clone()).collect();
        let mut types: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (index, (file, facts)) in repository.files().iter().zip(&facts).enumerate() {
            for name in &facts.types {
                types.entry(qualified(&facts.package, &file.path, name)).or_default().push(index);
            }
        }
        Self { repository, facts, types, known }
    }

    /// Returns the files that the imports and the used types of `file` name.
    pub(super) fn dependencies(&self, file: usize) -> BTreeSet<usize> {
        let scope = self.scope(file);
        let found = self.facts[file].imports.iter().filter_map(|import| match import.kind {
            ImportKind::Use => self.used(file, &import.path, &scope),
            _ => self.declarer(file, &import.path),
        });
        found.collect()
    }

    fn scope(&self, file: usize) -> Scope<'_> {
        let imports = &self.facts[file].imports;
        let single = imports.iter().filter(|import| import.kind == ImportKind::Type);
        let on_demand = imports.iter().filter(|import| import.kind == ImportKind::OnDemand);
        let packages = on_demand.map(|import| import.path.join("."));
        Scope {
            imported: single.filter_map(|import| import.binding.as_deref()).collect(),
            on_demand: packages.filter(|package| self.known.contains(package)).collect(),
        }
    }

    /// Looks a used name up where Java does: this file, its imports, its package, packages imported on demand.
    ///
    /// A name that is none of these may still be qualified in full.
    fn used(&self, file: usize, path: &[String], scope: &Scope<'_>) -> Option<usize> {
        let simple = &path[0];
        if self.facts[file].declared.contains(simple) || scope.imported.contains(simple.as_str()) {
            return None;
        }
        let mut on_demand = scope.on_demand.iter().map(|package| format!("{package}.{simple}"));
        let own = qualified(&self.facts[file].package, &self.repository.files()[file].path, simple);
        self.nearest(file, &own)
            .or_else(|| on_demand.find_map(|qualified| self.nearest(file, &qualified)))
            .or_else(|| if path.len() > 1 { self.declarer(file, path) } else { None })
    }

    /// Returns the file that declares the longest leading part of `path`: a type, whatever is named within it.
    fn declarer(&self, file: usize, path: &[String]) -> Option<usize> {
        (1..=path.len()).rev().find_map(|length| self.nearest(file, &path[..length].join(".")))
    }

    /// Of several files that declare the type, returns the one that shares most directories with `file`.
    fn nearest(&self, file: usize, qualified: &str) -> Option<usize> {
        let shared = |&other: &usize| {
            let [own, other] = [file, other].map(|index| directory(&self.repository.files()[index].path).split('/'));
            own.zip(other).take_while(|(own, other)| own == other).count()
        };
        self.types.get(qualified)?.iter().copied().rev().max_by_key(shared)
    }
}

/// The unnamed package is one per directory, because projects without packages share nothing else.
fn qualified(package: &str, path: &str, name: &str) -> String {
    match package {
        "" => format!("{}/{name}", directory(path)),
        package => format!("{package}.{name}"),
    }
}
