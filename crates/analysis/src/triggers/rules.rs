//! Which functions are marked, at which identifiers, and what the tool sees.

use std::fmt;
use std::str::FromStr;

use repo::Language;

use super::skip::{is_builtin, is_skipped};

/// How triggers are inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rules {
    /// Which identifiers are asked about.
    pub eligibility: Eligibility,
    /// What the tool sees of the function.
    pub context: Context,
    /// Whether `self` and `cls` are marked too. Every tool suggests them everywhere in a method, and the example of
    /// the paper (Figure 4) shows none. In Java, `this` is a keyword and no question.
    pub mark_self: bool,
    /// Whether names that the language gives to every file ([`is_builtin`]) stay unmarked.
    pub skip_builtins: bool,
    /// Which functions are too large.
    pub limits: Limits,
}

/// Which identifiers are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Eligibility {
    /// Every identifier of the body, those inside f-strings included.
    #[default]
    Paper,
    /// As the released code: `self` and the names of [`is_builtin`] are never marked and not counted as suggestions
    /// (`cls` is marked), and an f-string is one token without identifiers, as Python before 3.12 cuts it. The switches
    /// [`Rules::mark_self`] and [`Rules::skip_builtins`] have no say.
    Released,
}

/// What the tool sees of the function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Context {
    /// The whole file as it is. The tool reads each file once, which is far faster; a name that only the statement
    /// itself binds must not be suggested by it ([`completions`](crate::CodeIntelligence::completions)).
    #[default]
    Intact,
    /// The function as far as it is written when the model reaches the identifier, without docstring and comments and
    /// with nothing behind the caret; the file around the function is kept. As the paper and the released code.
    Unfinished,
}

/// The largest functions, files and repositories that are marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most files of the language in the repository.
    pub files_max: usize,
    /// Most lines of the file.
    pub file_lines_max: usize,
    /// Most lines of the function without docstring, comments and blank lines.
    pub code_lines_max: usize,
    /// Most tokens of the same: leaves of the syntax tree with a string as one, stretches of space between them, and
    /// line ends. This follows Python's tokenizer but for the empty tokens that end a block.
    pub code_tokens_max: usize,
}

impl Limits {
    /// No limit at all.
    pub const NONE: Self = Self {
        files_max: usize::MAX,
        file_lines_max: usize::MAX,
        code_lines_max: usize::MAX,
        code_tokens_max: usize::MAX,
    };
}

impl Default for Limits {
    /// The limits of `ToolGen`'s released code.
    fn default() -> Self {
        Self { files_max: 500, file_lines_max: 1_000, code_lines_max: 50, code_tokens_max: 512 }
    }
}

impl Rules {
    /// Returns whether the tool is asked about an identifier.
    pub(super) fn is_eligible(&self, name: &str, is_in_string: bool, language: Language) -> bool {
        match self.eligibility {
            Eligibility::Released => !is_in_string && !self.is_skipped(name, language),
            Eligibility::Paper => {
                let is_self = language == Language::Python && matches!(name, "self" | "cls");
                (self.mark_self || !is_self) && !(self.skip_builtins && is_builtin(name, language))
            }
        }
    }

    /// Returns whether a suggestion does not count.
    pub(super) fn is_skipped(&self, name: &str, language: Language) -> bool {
        self.eligibility == Eligibility::Released && is_skipped(name, language)
    }
}

impl Eligibility {
    /// Returns the stable name: `paper` or `released`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Released => "released",
        }
    }
}

impl Context {
    /// Returns the stable name: `intact` or `unfinished`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Unfinished => "unfinished",
        }
    }
}

impl fmt::Display for Eligibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Eligibility {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = [Self::Paper, Self::Released].into_iter().find(|rule| rule.name() == name);
        found.ok_or_else(|| format!("unknown eligibility `{name}`, expected `paper` or `released`"))
    }
}

impl FromStr for Context {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = [Self::Intact, Self::Unfinished].into_iter().find(|context| context.name() == name);
        found.ok_or_else(|| format!("unknown context `{name}`, expected `intact` or `unfinished`"))
    }
}
