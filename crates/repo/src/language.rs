//! The languages completed, and what differs between them lexically.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// A language that is completed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// Python 3.
    Python,
    /// Java.
    Java,
}

impl Language {
    /// Every language, in the order of their names' first mention.
    pub const ALL: [Self; 2] = [Self::Python, Self::Java];

    /// Returns the language of a path by its extension (`.py`, `.java`).
    #[must_use]
    pub fn from_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        match name.rsplit_once('.')? {
            (_, "py") => Some(Self::Python),
            (_, "java") => Some(Self::Java),
            _ => None,
        }
    }

    /// Returns the stable lower-case name: `python` or `java`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Java => "java",
        }
    }

    /// Returns what turns a line into a comment, with its trailing space.
    #[must_use]
    pub fn comment_prefix(self) -> &'static str {
        match self {
            Self::Python => "# ",
            Self::Java => "// ",
        }
    }

    /// Returns the reserved words, sorted; words reserved only in some contexts (`match`, `record`) are not among them.
    #[must_use]
    pub fn keywords(self) -> &'static [&'static str] {
        match self {
            Self::Python => &PYTHON_KEYWORDS,
            Self::Java => &JAVA_KEYWORDS,
        }
    }

    pub(crate) fn is_keyword(self, word: &str) -> bool {
        self.keywords().binary_search(&word).is_ok()
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Language {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL
            .into_iter()
            .find(|language| language.name() == name)
            .ok_or_else(|| Error::UnknownLanguage(name.to_owned()))
    }
}

const PYTHON_KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

#[rustfmt::skip]
const JAVA_KEYWORDS: [&str; 54] = [
    "_", "abstract", "assert", "boolean", "break", "byte", "case", "catch", "char", "class", "const", "continue",
    "default", "do", "double", "else", "enum", "extends", "false", "final", "finally", "float", "for", "goto", "if",
    "implements", "import", "instanceof", "int", "interface", "long", "native", "new", "null", "package", "private",
    "protected", "public", "return", "short", "static", "strictfp", "super", "switch", "synchronized", "this",
    "throw", "throws", "transient", "true", "try", "void", "volatile", "while",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_their_language() {
        assert_eq!(Language::from_path("a/b.py"), Some(Language::Python));
        assert_eq!(Language::from_path("src/main/java/A.java"), Some(Language::Java));
        assert_eq!(Language::from_path("a.py/README"), None);
        assert_eq!(Language::from_path("a.pyi"), None);
    }

    #[test]
    fn names_round_trip() {
        for language in Language::ALL {
            assert_eq!(language.to_string().parse(), Ok(language));
        }
        assert_eq!("kotlin".parse::<Language>(), Err(Error::UnknownLanguage("kotlin".into())));
    }

    #[test]
    fn keywords_are_sorted() {
        for language in Language::ALL {
            assert!(language.keywords().is_sorted());
        }
    }
}
