//! Files and the repository that holds them.

use crate::language::Language;

/// One source file: its path and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Path relative to the repository root, separated by `/`.
    pub path: String,
    /// The language the file is written in.
    pub language: Language,
    /// The whole text.
    pub text: String,
}

/// The source files of one repository, sorted by path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The repository's name, as its source gave it.
    pub name: String,
    files: Vec<SourceFile>,
}

impl Repository {
    /// Creates a repository from files in any order.
    ///
    /// The files are sorted by path; of files with equal paths the first is kept.
    pub fn new(name: impl Into<String>, mut files: Vec<SourceFile>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|later, earlier| later.path == earlier.path);
        let name = name.into();
        Self { name, files }
    }

    /// Returns all files, sorted by path.
    #[must_use]
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Returns the file at `path`.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&SourceFile> {
        self.position(path).map(|index| &self.files[index])
    }

    /// Returns the index of the file at `path` in [`files`](Self::files).
    #[must_use]
    pub fn position(&self, path: &str) -> Option<usize> {
        self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()
    }
}

/// Returns the directory of `path`, empty for a file at the root.
pub(crate) fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Joins a directory, which may be the empty root, and a name.
pub(crate) fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.into(), language: Language::Python, text: text.into() }
    }

    #[test]
    fn files_are_sorted_and_later_duplicates_are_dropped() {
        let files = vec![python("b.py", "1"), python("a.py", "2"), python("b.py", "3")];
        let repository = Repository::new("r", files);
        assert_eq!(repository.files(), [python("a.py", "2"), python("b.py", "1")]);
        assert_eq!(repository.position("b.py"), Some(1));
        assert_eq!(repository.file("c.py"), None);
    }
}
