//! Text functions of Python's standard library, where they differ from Rust's.

/// Says whether Python's `str.isspace` holds: Rust's white space and four separators.
pub(super) fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// Python's `str.strip`.
pub(super) fn strip(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Python's `str.rstrip`.
pub(super) fn strip_end(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

/// Python's `str.split`: the words between runs of whitespace.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// The stripped lines that are not blank, as Python's `str.splitlines` cuts them.
pub(super) fn stripped_lines(text: &str) -> Vec<&str> {
    // A carriage return with its newline gives an empty line more, which is blank and dropped.
    text.split(is_line_end).map(strip).filter(|line| !line.is_empty()).collect()
}

fn is_line_end(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_space_and_end_lines() {
        assert_eq!(strip("\u{1f} a \u{1c}\t"), "a");
        assert_eq!(strip_end(" a\u{3000}"), " a");
        assert_eq!(stripped_lines(" a\r\n\r b\u{c}\u{1f}c\u{2028}\n"), ["a", "b", "c"]);
    }
}
