//! The identifiers of a code text, as `CrossCodeEval` finds them.

use std::collections::BTreeSet;

use repo::Language;

/// Returns the identifiers of a code text in order, repeated ones repeated.
///
/// Quoted strings are deleted, the rest is cut into words, and a word that starts like an ASCII identifier and is not a
/// keyword counts. `True`, `False`, `true`, `false` and `null` count as identifiers, `None` does not.
///
/// # References
///
/// `CrossCodeEval`, `extract_identifiers`. Combining marks inside a word are letters here, word boundaries there.
#[must_use]
pub fn cceval(code: &str, language: Language) -> Vec<String> {
    without_strings(code)
        .split(|character: char| !is_word(character))
        .filter(|word| word.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic()))
        .filter(|word| !is_keyword(word, language))
        .map(str::to_owned)
        .collect()
}

/// Returns the share of the set of `names` that is among the others: precision or recall; 0 if there are none.
#[must_use]
pub fn share_cceval(names: &[String], others: &[String]) -> f64 {
    let (names, others): (BTreeSet<&String>, BTreeSet<&String>) = (names.iter().collect(), others.iter().collect());
    if names.is_empty() { 0.0 } else { names.intersection(&others).count() as f64 / names.len() as f64 }
}

/// Returns the F1 over the sets of identifiers, from 0 to 1; 0 if both are empty.
#[must_use]
pub fn f1_cceval(prediction: &[String], target: &[String]) -> f64 {
    let prediction: BTreeSet<&String> = prediction.iter().collect();
    let target: BTreeSet<&String> = target.iter().collect();
    let shared = prediction.intersection(&target).count();
    if shared == 0 {
        return 0.0;
    }
    2.0 * shared as f64 / (prediction.len() + target.len()) as f64
}

fn without_strings(code: &str) -> String {
    let mut rest = code;
    let mut kept = String::with_capacity(code.len());
    while let Some(start) = rest.find(['"', '\'']) {
        kept.push_str(&rest[..start]);
        rest = &rest[start..];
        if let Some(length) = string_bytes(rest) {
            rest = &rest[length..];
        } else {
            kept.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    kept + rest
}

/// Returns the length of the string that starts at the quote, or nothing if it has no end.
///
/// A string may span lines, but a backslash escapes no newline: there the pattern of the reference fails.
fn string_bytes(text: &str) -> Option<usize> {
    let mut characters = text.char_indices();
    let (_, quote) = characters.next()?;
    while let Some((index, character)) = characters.next() {
        if character == quote {
            return Some(index + quote.len_utf8());
        }
        if character == '\\' && characters.next()?.1 == '\n' {
            return None;
        }
    }
    None
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn is_keyword(word: &str, language: Language) -> bool {
    match language {
        Language::Python => PYTHON_KEYWORDS.contains(&word),
        Language::Java => JAVA_KEYWORDS.contains(&word),
    }
}

/// The keywords of the benchmark: those of Python 3 without `True` and `False`.
const PYTHON_KEYWORDS: [&str; 33] = [
    "None", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
    "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not", "or",
    "pass", "raise", "return", "try", "while", "with", "yield",
];

/// The keywords of the benchmark: with `var`, without the literals `true`, `false` and `null`.
const JAVA_KEYWORDS: [&str; 51] = [
    "abstract",
    "assert",
    "boolean",
    "break",
    "byte",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extends",
    "final",
    "finally",
    "float",
    "for",
    "goto",
    "if",
    "implements",
    "import",
    "instanceof",
    "int",
    "interface",
    "long",
    "native",
    "new",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "short",
    "static",
    "strictfp",
    "super",
    "switch",
    "synchronized",
    "this",
    "throw",
    "throws",
    "transient",
    "try",
    "var",
    "void",
    "volatile",
    "while",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_keywords_and_numbers_are_not_identifiers() {
        let code = "return self.read('a\\'b', 2x, \"c\") if True else None";
        assert_eq!(cceval(code, Language::Python), ["self", "read", "True"]);
    }

    #[test]
    fn an_unterminated_string_is_code() {
        assert_eq!(cceval("a('b c", Language::Python), ["a", "b", "c"]);
        assert_eq!(cceval("'a\\\nb'", Language::Java), ["a", "b"]);
    }

    #[test]
    fn f1_compares_sets() {
        let names = |text: &str| cceval(text, Language::Java);
        let value = f1_cceval(&names("a.b(a)"), &names("a.c(d)"));
        assert!((value - 0.4).abs() < 1e-12);
        assert!(f1_cceval(&[], &[]).abs() < 1e-12);
    }
}
