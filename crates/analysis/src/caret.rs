//! The place a question is about.

use std::borrow::Cow;
use std::ops::Range;

use repo::SourceFile;
use repo::identifiers::{is_word, last_word_start};

/// A byte of a text that stands in a repository at some path.
///
/// The text need not be the repository's own: it may have a function cut short, or hold edits not yet saved. Every
/// other file of the repository is as the repository has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caret<'text> {
    /// Path of the file, relative to the repository root; it need not exist there.
    pub path: &'text str,
    /// The whole text of the file.
    pub text: Cow<'text, str>,
    /// The position within `text` in bytes, on a character boundary.
    pub byte: usize,
}

impl<'text> Caret<'text> {
    /// Stands in a file as the repository has it.
    ///
    /// # Panics
    ///
    /// Panics if `byte` is not on a character boundary of the text.
    #[must_use]
    pub fn intact(file: &'text SourceFile, byte: usize) -> Self {
        Self::new(&file.path, Cow::Borrowed(&file.text), byte)
    }

    /// Stands at the end of `written`, which takes the place of the bytes `span` of the file: a function that is not
    /// finished yet, with the code after it kept.
    ///
    /// # Panics
    ///
    /// Panics if `span` is not a span of the text on character boundaries.
    #[must_use]
    pub fn unfinished(file: &'text SourceFile, span: Range<usize>, written: &str) -> Self {
        let (before, after) = (&file.text[..span.start], &file.text[span.end..]);
        Self::new(&file.path, Cow::Owned([before, written, after].concat()), before.len() + written.len())
    }

    /// Stands at `byte` of `text`.
    ///
    /// # Panics
    ///
    /// Panics if `byte` is not on a character boundary of the text.
    #[must_use]
    pub fn new(path: &'text str, text: Cow<'text, str>, byte: usize) -> Self {
        assert!(text.is_char_boundary(byte), "byte {byte} of {path} is inside a character or past the end");
        Self { path, text, byte }
    }

    /// Returns what is typed of the identifier before the caret, empty between identifiers.
    #[must_use]
    pub fn prefix(&self) -> &str {
        let before = &self.text[..self.byte];
        &before[last_word_start(before)..]
    }

    /// Returns the identifier that begins before or at the caret and goes on behind it, if the caret touches one.
    #[must_use]
    pub fn word(&self) -> Option<Range<usize>> {
        let start = self.byte - self.prefix().len();
        let length = self.text[start..].find(|c| !is_word(c)).unwrap_or(self.text.len() - start);
        (length > 0).then_some(start..start + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use repo::Language;

    fn file(text: &str) -> SourceFile {
        SourceFile { path: "a.py".into(), language: Language::Python, text: text.into() }
    }

    #[test]
    fn an_unfinished_function_stands_in_its_place() {
        let file = file("a\ndef f(): return größe\nb\n");
        let caret = Caret::unfinished(&file, 2..25, "def f(): return größ");
        assert_eq!((&*caret.text, caret.byte), ("a\ndef f(): return größ\nb\n", 24));
        assert_eq!((caret.prefix(), caret.word()), ("größ", Some(18..24)));
    }

    #[test]
    fn the_word_is_what_the_caret_touches() {
        let file = file("self.name = 1");
        assert_eq!(Caret::intact(&file, 5).word(), Some(5..9));
        assert_eq!(Caret::intact(&file, 7).prefix(), "na");
        assert_eq!(Caret::intact(&file, 10).word(), None);
    }
}
