//! How a function is laid out for a model that writes its body: what the model reads, and what it is to write.
//!
//! Training and inference lay functions out with the same code, and the text that is read is tokenized apart from the
//! text that is written, so that a model reads at inference exactly what it was trained on.
//!
//! # References
//!
//! `ToolGen` (arXiv 2401.06391) and its released code; Java is our adaptation.

use std::fmt;
use std::str::FromStr;

use models::Tokenizer;
use repo::Language;

use crate::{Error, Result};

/// How a function is laid out.
///
/// Parsed from and displayed as `inline` and `sections`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// The signature with the docstring where the language has it; the body is written. For decoder-only models.
    #[default]
    Inline,
    /// The docstring under one heading and the signature under another; the whole function is written. For
    /// encoder-decoders.
    Sections,
}

/// A function whose body is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FunctionHeader<'a> {
    /// The language of the file.
    pub language: Language,
    /// The text from the start of the function to the end of its signature, the colon of Python included.
    pub signature: &'a str,
    /// What the function is to do, without quotes or comment signs.
    pub docstring: &'a str,
    /// The white space before the statements of the body.
    pub indentation: &'a str,
}

impl Layout {
    /// Returns what the model reads.
    #[must_use]
    pub fn prompt(self, function: &FunctionHeader<'_>) -> String {
        let FunctionHeader { language, signature, docstring, indentation } = function;
        match (self, language) {
            (Self::Sections, _) => format!("### Description\n{docstring}\n### Signature\n{signature}\n"),
            (Self::Inline, Language::Python) => format!("{signature}\n{indentation}'''{docstring}'''"),
            (Self::Inline, Language::Java) => format!("/** {docstring} */\n{signature}"),
        }
    }

    /// Returns the tokens of what the model reads, after the one that the model expects before every text, if any.
    #[must_use]
    pub fn prompt_tokens(self, function: &FunctionHeader<'_>, tokenizer: &Tokenizer) -> Vec<u32> {
        tokenizer.begin().into_iter().chain(tokenizer.encode(&self.prompt(function))).collect()
    }

    /// Returns what the model writes: `body` is all that follows the signature.
    #[must_use]
    pub fn completion(self, signature: &str, body: &str) -> String {
        match self {
            Self::Inline => body.to_owned(),
            Self::Sections => [signature, body].concat(),
        }
    }

    /// Returns the function as far as a model has written it.
    #[must_use]
    pub fn function(self, signature: &str, written: &str) -> String {
        match self {
            Self::Inline => [signature, written].concat(),
            Self::Sections => written.to_owned(),
        }
    }

    /// Returns the body within what a model has written so far, which is nothing while it writes the signature.
    #[must_use]
    pub fn body_of<'t>(self, signature: &str, written: &'t str) -> &'t str {
        match self {
            Self::Inline => written,
            Self::Sections => written.strip_prefix(signature).unwrap_or_default(),
        }
    }
}

/// Returns the white space before the first statement of a body, `body` being all that follows the signature.
///
/// A body on the line of its signature has none.
#[must_use]
pub fn indentation(body: &str) -> &str {
    let first = body.split('\n').skip(1).find(|line| !line.trim().is_empty()).unwrap_or_default();
    &first[..first.len() - first.trim_start().len()]
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inline => "inline",
            Self::Sections => "sections",
        })
    }
}

impl FromStr for Layout {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "inline" => Ok(Self::Inline),
            "sections" => Ok(Self::Sections),
            _ => Err(Error::UnknownLayout(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_and_completion_make_up_the_function() {
        let header = FunctionHeader {
            language: Language::Python,
            signature: "def area(self):",
            docstring: "Return the area.",
            indentation: "        ",
        };
        let prompt = Layout::Inline.prompt(&header);
        assert_eq!(prompt, "def area(self):\n        '''Return the area.'''");
        let body = "\n        return self.width";
        assert_eq!(Layout::Inline.completion(header.signature, body), body);
        assert_eq!(indentation(body), header.indentation);
        assert_eq!(
            Layout::Sections.prompt(&header),
            "### Description\nReturn the area.\n### Signature\ndef area(self):\n"
        );
        let whole = Layout::Sections.completion(header.signature, body);
        assert_eq!(whole, "def area(self):\n        return self.width");
        assert_eq!(Layout::Sections.body_of(header.signature, &whole), body);
        assert_eq!(Layout::Sections.body_of(header.signature, "def ar"), "");
        assert_eq!(Layout::Inline.function(header.signature, body), whole);
        assert_eq!(Layout::Sections.function(header.signature, &whole), whole);
    }

    #[test]
    fn javadoc_stands_before_the_signature() {
        let header = FunctionHeader {
            language: Language::Java,
            signature: "int area()",
            docstring: "Returns the area.",
            indentation: "    ",
        };
        assert_eq!(Layout::Inline.prompt(&header), "/** Returns the area. */\nint area()");
    }

    #[test]
    fn a_body_on_the_line_of_its_signature_has_no_indentation() {
        assert_eq!(indentation(" return 1"), "");
        assert_eq!(indentation("\n\n\treturn 1"), "\t");
    }
}
