//! Python modules: from a dotted path to a file, and from a name to the file that defines it.

use std::collections::BTreeSet;

use super::python::Facts;
use super::{Import, ImportKind};
use crate::language::Language;
use crate::source::{Repository, directory, join};

const PACKAGE: &str = "__init__.py";

/// Where the modules of a repository lie; known from paths alone.
pub(crate) struct Layout<'a> {
    repository: &'a Repository,
    roots: BTreeSet<String>,
}

impl<'a> Layout<'a> {
    /// Finds the roots of absolute imports.
    pub(crate) fn new(repository: &'a Repository) -> Self {
        let mut roots = BTreeSet::from([String::new()]);
        let is_package = |directory: &str| repository.position(&join(directory, PACKAGE)).is_some();
        for file in repository.files().iter().filter(|file| file.language == Language::Python) {
            let mut package = directory(&file.path);
            if file.path == join(package, PACKAGE) && !package.is_empty() && !is_package(directory(package)) {
                roots.insert(directory(package).to_owned());
            }
            while !package.is_empty() {
                if package == "src" || package.ends_with("/src") {
                    roots.insert(package.to_owned());
                }
                package = directory(package);
            }
        }
        Self { repository, roots }
    }

    /// Returns the file of a module that `file` names by `level` leading dots and a path.
    pub(crate) fn module(&self, file: usize, level: usize, path: &[String]) -> Option<usize> {
        let own_path = self.repository.files()[file].path.as_str();
        let Some(levels_up) = level.checked_sub(1) else {
            return self.search_order(own_path).find_map(|root| self.lookup(root, path));
        };
        let mut base = directory(own_path);
        for _ in 0..levels_up {
            if base.is_empty() {
                return None;
            }
            base = directory(base);
        }
        self.lookup(base, path)
    }

    /// Returns the file of `member` taken as a module within the module of the path.
    pub(crate) fn submodule(&self, file: usize, level: usize, path: &[String], member: &str) -> Option<usize> {
        let path: Vec<String> = path.iter().cloned().chain([member.to_owned()]).collect();
        self.module(file, level, &path)
    }

    /// A package comes before a module of the same name, as in Python.
    fn lookup(&self, root: &str, path: &[String]) -> Option<usize> {
        let base = path.iter().fold(root.to_owned(), |base, part| join(&base, part));
        let package = self.repository.position(&join(&base, PACKAGE));
        package.or_else(|| self.repository.position(&format!("{base}.py")))
    }

    /// The file's own directory if it is no package, the roots around the file from the inside out, the other roots.
    fn search_order<'b>(&'b self, path: &'b str) -> impl Iterator<Item = &'b str> {
        let own = Some(directory(path)).filter(|own| self.repository.position(&join(own, PACKAGE)).is_none());
        let (around, others): (Vec<&str>, Vec<&str>) =
            self.roots.iter().map(String::as_str).partition(|root| contains(root, path));
        own.into_iter().chain(around.into_iter().rev()).chain(others)
    }
}

fn contains(directory: &str, path: &str) -> bool {
    directory.is_empty() || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

/// The Python modules of a repository, with what each imports and defines.
pub(super) struct Modules<'a> {
    layout: Layout<'a>,
    facts: Vec<Facts>,
}

/// Where a name may come from: a file as a whole, or a name within one.
enum Origin {
    File(usize),
    Name(usize, String),
}

impl<'a> Modules<'a> {
    /// Reads every Python file of `repository`.
    pub(super) fn new(repository: &'a Repository) -> Self {
        let facts = repository.files().iter().map(|file| match file.language {
            Language::Python => Facts::of(file),
            Language::Java => Facts::default(),
        });
        Self { layout: Layout::new(repository), facts: facts.collect() }
    }

    /// Returns the files that the imports of `file` name.
    pub(super) fn dependencies(&self, file: usize) -> BTreeSet<usize> {
        self.facts[file].imports.iter().flat_map(|import| self.files_of(file, import)).collect()
    }

    fn files_of(&self, file: usize, import: &Import) -> Vec<usize> {
        let path = &import.path;
        match &import.kind {
            ImportKind::Module => self.layout.module(file, 0, path).into_iter().collect(),
            ImportKind::Star { level } => self.layout.module(file, *level, path).into_iter().collect(),
            ImportKind::Member { level, name } => {
                let module = self.layout.module(file, *level, path);
                let definer = module.and_then(|module| self.definer(module, name));
                let member = definer.or_else(|| self.layout.submodule(file, *level, path, name));
                module.into_iter().chain(member).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Follows `name` through the imports of `module` to the file that defines it.
    ///
    /// The search is depth first, named imports before star imports, and visits each (module, name) once, so that
    /// import cycles end.
    fn definer(&self, module: usize, name: &str) -> Option<usize> {
        let mut pending = vec![Origin::Name(module, name.to_owned())];
        let mut seen = BTreeSet::new();
        while let Some(origin) = pending.pop() {
            let (module, name) = match origin {
                Origin::File(file) => return Some(file),
                Origin::Name(module, name) => (module, name),
            };
            if self.facts[module].definitions.contains(&name) {
                return Some(module);
            }
            if seen.insert((module, name.clone())) {
                pending.extend(self.origins(module, &name).into_iter().rev());
            }
        }
        None
    }

    fn origins(&self, module: usize, name: &str) -> Vec<Origin> {
        let facts = &self.facts[module];
        let positions = facts.bindings.get(name).into_iter().flatten().chain(&facts.stars);
        positions.flat_map(|&position| self.origins_in(module, &facts.imports[position], name)).collect()
    }

    fn origins_in(&self, module: usize, import: &Import, name: &str) -> Vec<Origin> {
        match &import.kind {
            ImportKind::Module => {
                let is_aliased = import.path.first().map(String::as_str) != Some(name);
                let path = if is_aliased { &import.path } else { &import.path[..1] };
                self.layout.module(module, 0, path).map(Origin::File).into_iter().collect()
            }
            ImportKind::Member { level, name } => {
                let within = self.layout.module(module, *level, &import.path);
                let submodule = self.layout.submodule(module, *level, &import.path, name);
                let within = within.map(|within| Origin::Name(within, name.clone()));
                within.into_iter().chain(submodule.map(Origin::File)).collect()
            }
            ImportKind::Star { level } if !name.starts_with('_') => {
                let within = self.layout.module(module, *level, &import.path);
                within.map(|within| Origin::Name(within, name.to_owned())).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }
}
