//! Why a function is not marked.

use std::fmt;
use std::str::FromStr;

/// Why a function is dropped: the first reason that applies, in this order.
///
/// # References
///
/// `ToolGen` (arXiv 2401.06391), the filters of its released code, one name for each. [`LiteralTrigger`] is ours.
///
/// [`LiteralTrigger`]: Self::LiteralTrigger
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// The function has no docstring.
    NoDocstring,
    /// The repository has more files of the language than [`Limits::files_max`](super::Limits::files_max).
    LargeRepository,
    /// The file has more lines than [`Limits::file_lines_max`](super::Limits::file_lines_max).
    LongFile,
    /// The function is a Python coroutine.
    Async,
    /// Nothing is left of the docstring once it is cleaned.
    DocstringEmpty,
    /// The docstring does not begin with a letter from a to z.
    DocstringStart,
    /// The docstring has fewer than 3 words.
    DocstringShort,
    /// The docstring has more than 256 words.
    DocstringLong,
    /// The docstring has a word of more than 25 characters.
    DocstringLongWord,
    /// The docstring begins with `deprecated`, `todo`, `note`, `test`, `overrides`, `we `, `you ` or `this `.
    DocstringOpening,
    /// The docstring ends with a question mark or an exclamation mark.
    DocstringEnding,
    /// The docstring begins with a word and a colon.
    DocstringLabel,
    /// The docstring has an image or a link.
    DocstringLink,
    /// The docstring has `---`, ` -- ` or `=`.
    DocstringMarkup,
    /// The function is a test by its name.
    Test,
    /// The code has more tokens than [`Limits::code_tokens_max`](super::Limits::code_tokens_max).
    ManyTokens,
    /// The text of the function holds the trigger itself.
    LiteralTrigger,
    /// The function stands on one line.
    SingleLine,
    /// The body does nothing: `pass`, `return`, or an exception that says so.
    TrivialBody,
    /// The code has more lines than [`Limits::code_lines_max`](super::Limits::code_lines_max).
    LongCode,
}

impl DropReason {
    /// Every reason, in order.
    pub const ALL: [Self; 20] = [
        Self::NoDocstring,
        Self::LargeRepository,
        Self::LongFile,
        Self::Async,
        Self::DocstringEmpty,
        Self::DocstringStart,
        Self::DocstringShort,
        Self::DocstringLong,
        Self::DocstringLongWord,
        Self::DocstringOpening,
        Self::DocstringEnding,
        Self::DocstringLabel,
        Self::DocstringLink,
        Self::DocstringMarkup,
        Self::Test,
        Self::ManyTokens,
        Self::LiteralTrigger,
        Self::SingleLine,
        Self::TrivialBody,
        Self::LongCode,
    ];

    /// Returns the stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LargeRepository => "large_repository",
            Self::LongFile => "long_file",
            Self::Async => "async",
            Self::NoDocstring => "no_docstring",
            Self::DocstringEmpty => "docstring_empty",
            Self::DocstringStart => "docstring_start",
            Self::DocstringShort => "docstring_short",
            Self::DocstringLong => "docstring_long",
            Self::DocstringLongWord => "docstring_long_word",
            Self::DocstringOpening => "docstring_opening",
            Self::DocstringEnding => "docstring_ending",
            Self::DocstringLabel => "docstring_label",
            Self::DocstringLink => "docstring_link",
            Self::DocstringMarkup => "docstring_markup",
            Self::LiteralTrigger => "literal_trigger",
            Self::Test => "test",
            Self::SingleLine => "single_line",
            Self::TrivialBody => "trivial_body",
            Self::LongCode => "long_code",
            Self::ManyTokens => "many_tokens",
        }
    }
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DropReason {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let reason = Self::ALL.into_iter().find(|reason| reason.name() == name);
        reason.ok_or_else(|| format!("unknown drop reason `{name}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_listed_in_order_and_their_names_round_trip() {
        assert!(DropReason::ALL.is_sorted());
        for reason in DropReason::ALL {
            assert_eq!(reason.to_string().parse(), Ok(reason));
        }
        assert!("other".parse::<DropReason>().is_err());
    }
}
