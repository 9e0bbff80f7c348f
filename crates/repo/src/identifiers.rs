//! Identifiers of a text, found lexically: no tree, so a span cut out of a file has them too.

use std::ops::Range;

use crate::language::Language;

/// Returns the byte spans of the identifiers of `text`, in order.
///
/// An identifier is a letter or underscore followed by letters, digits and underscores (letters and digits of any
/// script), and not a keyword of `language`. Letters within a number (`0xFF`, `1e9`, `10L`) are not identifiers; words
/// within comments and string literals are.
#[must_use]
pub fn identifier_spans(text: &str, language: Language) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.chars().next() {
        let offset = text.len() - rest.len();
        let length = if start.is_numeric() {
            run_length(rest, |c| is_word(c) || c == '.')
        } else if is_word(start) {
            let length = run_length(rest, is_word);
            if !language.is_keyword(&rest[..length]) {
                spans.push(offset..offset + length);
            }
            length
        } else {
            start.len_utf8()
        };
        rest = &rest[length..];
    }
    spans
}

/// Returns whether `c` may stand in an identifier.
#[must_use]
pub fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Returns where the run of [word characters](is_word) that ends `text` begins; its length if it ends in none.
#[must_use]
pub fn last_word_start(text: &str) -> usize {
    text.trim_end_matches(is_word).len()
}

fn run_length(text: &str, accept: impl Fn(char) -> bool) -> usize {
    text.find(|c| !accept(c)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check(text: &str, language: Language, expected: &Expect) {
        let names: Vec<&str> = identifier_spans(text, language).into_iter().map(|span| &text[span]).collect();
        expected.assert_eq(&names.join(" "));
    }

    #[test]
    fn keywords_are_left_out_per_language() {
        check("if x is None: new = self.y", Language::Python, &expect!["x new self y"]);
        check("if (x == null) { self = new Y(); }", Language::Java, &expect!["x self Y"]);
    }

    #[test]
    fn letters_of_numbers_are_left_out() {
        check("0xFF + 1e9 + 1.e5j + 10L + 3_000 + x1[2].real", Language::Python, &expect!["x1 real"]);
    }

    #[test]
    fn letters_of_any_script_count() {
        check("größe = 数 + _", Language::Python, &expect!["größe 数 _"]);
    }

    #[test]
    fn the_last_word_may_be_empty() {
        assert_eq!(["self.größe", "self.", "", "x"].map(last_word_start), [5, 5, 0, 0]);
    }

    proptest! {
        #[test]
        fn spans_are_ordered_and_hold_words_only(text in "\\PC*") {
            let spans = identifier_spans(&text, Language::Java);
            prop_assert!(spans.is_sorted_by(|a, b| a.end <= b.start));
            for span in spans {
                prop_assert!(text[span].chars().all(is_word));
            }
        }
    }
}
