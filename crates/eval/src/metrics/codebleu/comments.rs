//! Taking comments and docstrings out of a text, as the `codebleu` package does.

mod python;

use repo::Language;

use crate::metrics::python_text::strip;

/// Returns the text without comments, docstrings and blank lines; a Python text that Python's `tokenize` refuses stays
/// as it is.
///
/// # References
///
/// `codebleu` 0.7.0, `remove_comments_and_docstrings`, under Python 3.11 or older: since 3.12 `tokenize` cuts
/// f-strings into pieces.
#[must_use]
pub fn without_comments(code: &str, language: Language) -> String {
    let stripped = match language {
        Language::Python => python::without_comments(code),
        Language::Java => Some(java(code)),
    };
    stripped.map_or_else(|| code.to_owned(), |code| without_blank_lines(&code))
}

fn without_blank_lines(code: &str) -> String {
    let lines: Vec<&str> = code.split('\n').filter(|line| !strip(line).is_empty()).collect();
    lines.join("\n")
}

/// Replaces each comment by a space.
fn java(code: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(code.len()), code);
    while let Some(start) = rest.find(['/', '\'', '"']) {
        kept.push_str(&rest[..start]);
        rest = &rest[start..];
        let (shown, length) = match rest.as_bytes() {
            [b'/', b'/', ..] => (" ", rest.find('\n').unwrap_or(rest.len())),
            [b'/', b'*', ..] => rest[2..].find("*/").map_or(("/", 1), |end| (" ", end + 4)),
            [b'/', ..] => ("/", 1),
            _ => literal_bytes(rest).map_or((&rest[..1], 1), |length| (&rest[..length], length)),
        };
        kept.push_str(shown);
        rest = &rest[length..];
    }
    kept + rest
}

/// Returns the length of the literal that starts at the quote, which may span lines, or nothing if it has no end.
fn literal_bytes(text: &str) -> Option<usize> {
    let mut characters = text.char_indices();
    let (_, quote) = characters.next()?;
    while let Some((index, character)) = characters.next() {
        if character == quote {
            return Some(index + 1);
        }
        if character == '\\' {
            characters.next()?;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_java_comment_is_a_space_and_a_string_is_none() {
        let code = "int a; // b\n\n/* c\n */ d = \"//\" + '\\'' / 2; /* e";
        assert_eq!(without_comments(code, Language::Java), "int a;  \n  d = \"//\" + '\\'' / 2; /* e");
        assert_eq!(without_comments("it's // a", Language::Java), "it's  ");
    }

    #[test]
    fn a_python_docstring_is_gone() {
        let code = "def f(a):\n    \"\"\"Doc.\"\"\"\n\n    # note\n    x = 'kept'  # note\n    return x";
        let expected = "def f(a):\n    x = 'kept'  \n    return x";
        assert_eq!(without_comments(code, Language::Python), expected);
    }

    #[test]
    fn a_text_that_does_not_tokenize_stays() {
        for code in ["f(  # a", "'''a # b", "if a:\n    b\n  c # d"] {
            assert_eq!(without_comments(code, Language::Python), code);
        }
    }
}
