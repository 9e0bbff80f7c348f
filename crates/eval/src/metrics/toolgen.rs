//! What `ToolGen` does to a generated function before it compares.

use analysis::triggers::TRIGGER;

use super::python_text::strip;

/// Returns the text without triggers, with every string literal blanked to `''`, and stripped.
///
/// A literal is what stands between two equal quotes of one line, first all single ones, then all double ones: the text
/// is not tokenized. Of a string over several lines only the quotes are touched, and the apostrophe of `"it's"` opens a
/// literal too.
///
/// # References
///
/// `ToolGen`, `clean_str` and `clean_lsp`.
#[must_use]
pub fn clean(code: &str) -> String {
    without_strings(&code.replace(TRIGGER, ""))
}

/// Returns the text with every string literal blanked as [`clean`] does; triggers outside of literals stay.
pub(super) fn without_strings(code: &str) -> String {
    strip(&blanked(&blanked(code, '\''), '"')).to_owned()
}

/// Replaces what stands between two quotes of one line, and the quotes, by `''`.
fn blanked(code: &str, quote: char) -> String {
    let line = |line: &str| {
        let (mut blank, mut rest) = (String::with_capacity(line.len()), line);
        while let Some((before, opened)) = rest.split_once(quote)
            && let Some((_, after)) = opened.split_once(quote)
        {
            blank.push_str(before);
            blank.push_str("''");
            rest = after;
        }
        blank + rest
    };
    code.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_blank_and_triggers_gone() {
        assert_eq!(clean(" x = <COMP>f('a', \"b\")\n"), "x = f('', '')");
        assert_eq!(clean("'''one'''"), "''''''");
    }

    #[test]
    fn a_literal_ends_with_its_line_and_starts_at_an_apostrophe() {
        assert_eq!(clean("x = '''a\nb'''\ny"), "x = '''a\nb'''\ny");
        assert_eq!(clean("f(\"it's\", 'b')"), "f(\"it''b')");
        assert_eq!(clean("f('a"), "f('a");
    }
}
