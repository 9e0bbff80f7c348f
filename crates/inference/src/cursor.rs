//! Where a completion is wanted.

use repo::language::Language;

/// A place in a file and the text before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor<'a> {
    /// The file's path within its repository, separated by `/`.
    pub path: &'a str,
    /// The file's language.
    pub language: Language,
    /// Everything in the file before the place.
    pub left_context: &'a str,
    /// Everything in the file after the place; only prompts that fill in the middle show it.
    pub right_context: &'a str,
}
