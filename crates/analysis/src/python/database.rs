//! What ty works on: the repository's files in memory, the standard library's stubs, and at most one edited file.
//!
//! Files of the repository are durable inputs and the edited file is not, so that after an edit ty looks again only at
//! what depends on the edited file.

use std::collections::BTreeSet;
use std::sync::Arc;

use ruff_db::files::{File, FileRootKind, Files, system_path_to_file};
use ruff_db::source::{SourceText, source_text};
use ruff_db::system::{InMemorySystem, MemoryFileSystem, System, SystemPathBuf};
use ruff_db::vendored::VendoredFileSystem;
use salsa::{Durability, Setter};
use ty_module_resolver::{SearchPathSettings, UseDefaultStrategy};
use ty_python_core::platform::PythonPlatform;
use ty_python_core::program::{Program, ProgramSettings};
use ty_python_core::{Db as CoreDb, ProgramFile};
use ty_python_semantic::lint::{LintRegistry, RuleSelection};
use ty_python_semantic::{AnalysisSettings, Db, PythonVersionWithSource, check_file_unwrap, default_lint_registry};

use super::Texts;

/// The directory in memory that stands for the repository's root.
pub(super) const ROOT: &str = "/repository";

/// Import roots beyond the repository's own root; a repository with more packages at odd places is rare.
const ROOTS_MAX: usize = 16;

/// A program that ty can ask about.
#[salsa::db]
#[derive(Clone)]
pub(super) struct Database {
    storage: salsa::Storage<Self>,
    files: Files,
    system: InMemorySystem,
    vendored: VendoredFileSystem,
    settings: ProgramSettings,
    rules: RuleSelection,
    analysis: AnalysisSettings,
    paths: Arc<[String]>,
}

/// The file that differs from the repository, and how to undo that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    path: String,
    text: String,
    is_new: bool,
}

impl Database {
    /// Takes the Python files of a repository, texts by paths.
    pub(super) fn new(texts: &Texts) -> Self {
        let system = InMemorySystem::from_memory_fs(MemoryFileSystem::new());
        // A path that is the directory of another one cannot be written; that file is left out.
        let write = |(path, text): (&String, &Arc<str>)| system.fs().write_file_all(path_of(path), &**text).is_err();
        let _left_out = texts.iter().filter(|file| write(*file)).count();
        let _exists = system.fs().create_directory_all(ROOT);
        let vendored = ty_vendored::file_system().clone();
        let paths: Vec<&str> = texts.keys().map(String::as_str).collect();
        let settings = settings(&paths, &system, &vendored);
        let rules = RuleSelection::from_registry(default_lint_registry());
        let analysis = AnalysisSettings { respect_type_ignore_comments: false, ..AnalysisSettings::default() };
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        let (storage, files) = (salsa::Storage::new(None), Files::default());
        let database = Self { storage, files, system, vendored, settings, rules, analysis, paths };
        // The first root of a path decides how durable its files are.
        database.files.try_add_root(&database, &SystemPathBuf::from(ROOT), FileRootKind::SearchPath);
        database.settings.search_paths.try_register_static_roots(&database);
        database
    }

    /// Returns the file at `path` of the repository, if there is one.
    pub(super) fn file(&self, path: &str) -> Option<File> {
        system_path_to_file(self, path_of(path)).ok()
    }

    /// Returns the Python files of the repository, by path.
    pub(super) fn python_files(&self) -> impl Iterator<Item = File> {
        self.paths.iter().filter_map(|path| self.file(path))
    }

    /// Returns the program to which every file belongs.
    pub(super) fn program(&self) -> Program<'_> {
        program(self)
    }

    /// Gives the file at `path` another text, on top of what `before` changed there, and returns how to undo it.
    pub(super) fn edit(&mut self, before: Option<Edit>, path: &str, text: &str) -> Option<Edit> {
        if before.as_ref().is_some_and(|edit| edit.path == path && edit.text == text) {
            return before;
        }
        let is_new = match before {
            Some(edit) if edit.path == path => edit.is_new,
            other => {
                self.restore(other);
                let is_new = self.file(path).is_none();
                if is_new {
                    self.system.fs().write_file_all(path_of(path), "").ok()?;
                    File::sync_path(self, &path_of(path));
                }
                is_new
            }
        };
        let file = self.file(path)?;
        let source = source_text(self, file).with_text(text.to_owned(), &<_>::default());
        self.replace(file, Some(source), Durability::LOW);
        Some(Edit { path: path.to_owned(), text: text.to_owned(), is_new })
    }

    /// Undoes an edit.
    pub(super) fn restore(&mut self, edit: Option<Edit>) {
        let Some(edit) = edit else { return };
        let Some(file) = self.file(&edit.path) else { return };
        self.replace(file, None, Durability::HIGH);
        if edit.is_new && self.system.fs().remove_file(path_of(&edit.path)).is_ok() {
            File::sync_path(self, &path_of(&edit.path));
        }
    }

    fn replace(&mut self, file: File, text: Option<SourceText>, durability: Durability) {
        file.set_source_text_override(self).with_durability(durability).to(text);
    }
}

/// Returns where a path of the repository lies in memory.
fn path_of(path: &str) -> SystemPathBuf {
    SystemPathBuf::from(format!("{ROOT}/{path}"))
}

fn settings(paths: &[&str], system: &dyn System, vendored: &VendoredFileSystem) -> ProgramSettings {
    let roots = import_roots(paths).iter().map(|root| path_of(root)).collect();
    let Ok(search_paths) = SearchPathSettings::new(roots).to_search_paths(system, vendored, &UseDefaultStrategy);
    let python_version = PythonVersionWithSource::default();
    ProgramSettings { python_version, python_platform: PythonPlatform::All, search_paths }
}

/// Returns the directories that imports start from: the root, then where packages lie, the shallowest first.
fn import_roots(paths: &[&str]) -> Vec<String> {
    let packages: BTreeSet<&str> = paths.iter().filter_map(|path| path.strip_suffix("/__init__.py")).collect();
    let outermost = packages.iter().filter_map(|package| {
        let (parent, _) = package.rsplit_once('/')?;
        (!packages.contains(parent) && !is_support(parent)).then_some(parent)
    });
    let source = paths.iter().any(|path| path.starts_with("src/")).then_some("src");
    let roots: BTreeSet<(usize, &str)> = outermost.chain(source).map(|root| (root.split('/').count(), root)).collect();
    let others = roots.into_iter().map(|(_, root)| root.to_owned()).take(ROOTS_MAX);
    std::iter::once(String::new()).chain(others).collect()
}

/// Returns whether code below `directory` is not what others import.
fn is_support(directory: &str) -> bool {
    let support = ["test", "tests", "testing", "doc", "docs", "example", "examples", "fixtures"];
    directory.split('/').any(|part| support.contains(&part))
}

#[salsa::db]
trait ProgramDb: CoreDb {
    fn settings(&self) -> &ProgramSettings;
}

// Interning a program hashes every search path, so it is done once.
#[salsa::tracked(returns(copy))]
fn program(db: &dyn ProgramDb) -> Program<'_> {
    Program::from_settings(db, db.settings())
}

#[salsa::db]
impl salsa::Database for Database {}

#[salsa::db]
impl ProgramDb for Database {
    fn settings(&self) -> &ProgramSettings {
        &self.settings
    }
}

#[salsa::db]
impl ruff_db::Db for Database {
    fn vendored(&self) -> &VendoredFileSystem {
        &self.vendored
    }

    fn system(&self) -> &dyn System {
        &self.system
    }

    fn files(&self) -> &Files {
        &self.files
    }
}

#[salsa::db]
impl ty_module_resolver::Db for Database {}

#[salsa::db]
impl CoreDb for Database {
    fn should_check_file(&self, file: File) -> bool {
        !file.path(self).is_vendored_path()
    }
}

#[salsa::db]
impl Db for Database {
    fn check_file(&self, file: File) -> Vec<ruff_db::diagnostic::Diagnostic> {
        if self.should_check_file(file) { check_file_unwrap(self, self.program_file(file)) } else { Vec::new() }
    }

    fn program_file(&self, file: File) -> ProgramFile<'_> {
        self.program().program_file(self, file)
    }

    fn python_version_with_source(&self, _file: File) -> &PythonVersionWithSource {
        &self.settings.python_version
    }

    fn rule_selection(&self, _file: File) -> &RuleSelection {
        &self.rules
    }

    fn lint_registry(&self) -> &LintRegistry {
        default_lint_registry()
    }

    fn analysis_settings(&self, _file: File) -> &AnalysisSettings {
        &self.analysis
    }

    fn verbose(&self) -> bool {
        false
    }

    fn is_open_file(&self, _file: File) -> bool {
        false
    }

    fn dyn_clone(&self) -> Box<dyn Db> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_start_at_the_root_and_where_packages_lie() {
        let paths =
            ["setup.py", "src/a/__init__.py", "src/a/b/__init__.py", "tests/x/c/__init__.py", "py/lib/d/__init__.py"];
        assert_eq!(import_roots(&paths), ["", "src", "py/lib"]);
        assert_eq!(import_roots(&["a/__init__.py"]), [""]);
    }
}
