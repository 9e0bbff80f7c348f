//! The tokens of a text that hold it together, found without a tree: brackets, and what is no code.

use std::borrow::Cow;
use std::ops::Range;

use repo::syntax::LINE_BYTES_MAX;

/// Literals longer than this are left out of texts with lines that are too long.
const LITERAL_BYTES_MAX: usize = 256;

/// A piece of code that matters to the structure of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'text> {
    /// A word: a keyword, an identifier or a number.
    Word(&'text str),
    /// Any other visible character.
    Sign(u8),
    /// A comment.
    Comment,
}

/// Walks over the tokens of a text; a literal of characters is one `"`.
pub(super) struct Scan<'text> {
    text: &'text str,
    at: usize,
    end: usize,
    /// The comment or literal passed last, which the caret may be in.
    pub(super) opaque: Range<usize>,
}

impl<'text> Scan<'text> {
    pub(super) fn new(text: &'text str, span: Range<usize>) -> Self {
        Self { text, at: span.start, end: span.end, opaque: 0..0 }
    }

    /// Returns the byte after `from` at which `pattern` ends, or the end of the text.
    fn after(&self, from: usize, pattern: &str) -> usize {
        let rest = self.text.as_bytes().get(from..self.end).unwrap_or_default();
        let found = rest.windows(pattern.len()).position(|window| window == pattern.as_bytes());
        found.map_or(self.end, |at| from + at + pattern.len())
    }

    /// Returns the byte after the quote that closes a literal whose content begins at `from`; one line at most.
    fn after_quote(&self, from: usize, quote: u8) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = from;
        while at < self.end {
            match bytes[at] {
                b'\\' => at += 1,
                b'\n' => return at,
                byte if byte == quote => return at + 1,
                _ => {}
            }
            at += 1;
        }
        self.end
    }

    fn opaque_end(&self) -> Option<usize> {
        let rest = &self.text.as_bytes()[self.at..self.end];
        match rest {
            [b'/', b'/', ..] => {
                let length = rest.iter().position(|byte| *byte == b'\n');
                Some(length.map_or(self.end, |length| self.at + length))
            }
            [b'/', b'*', ..] => Some(self.after(self.at + 2, "*/")),
            [b'"', b'"', b'"', ..] => Some(self.after(self.at + 3, "\"\"\"")),
            [quote @ (b'"' | b'\''), ..] => Some(self.after_quote(self.at + 1, *quote)),
            _ => None,
        }
    }
}

impl<'text> Iterator for Scan<'text> {
    type Item = (usize, Token<'text>);

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.end {
            let start = self.at;
            let byte = self.text.as_bytes()[start];
            if let Some(end) = self.opaque_end() {
                self.at = end.min(self.end);
                self.opaque = start..self.at;
                return Some((start, if byte == b'/' { Token::Comment } else { Token::Sign(b'"') }));
            }
            if byte.is_ascii_whitespace() {
                self.at += 1;
            } else if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80 {
                let bytes = &self.text.as_bytes()[start..self.end];
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || *byte >= 0x80;
                self.at += bytes.iter().position(|byte| !is_part(byte)).unwrap_or(bytes.len());
                return Some((start, Token::Word(self.text.get(start..self.at).unwrap_or_default())));
            } else {
                self.at += 1;
                return Some((start, Token::Sign(byte)));
            }
        }
        None
    }
}

/// Returns a text of the same length and structure that is within the parser's limits where long literals are all that
/// exceeds them: their content becomes line endings.
pub(super) fn readable(text: &str) -> Cow<'_, str> {
    if text.split(['\n', '\r']).all(|line| line.len() <= LINE_BYTES_MAX) {
        return Cow::Borrowed(text);
    }
    let mut readable = String::with_capacity(text.len());
    let mut scan = Scan::new(text, 0..text.len());
    while let Some((start, token)) = scan.next() {
        let literal = scan.opaque.clone();
        let is_long = token == Token::Sign(b'"') && literal.len() > LITERAL_BYTES_MAX;
        if is_long && !is_open(&text[literal.clone()]) {
            readable.push_str(&text[readable.len()..=start]);
            readable.extend(std::iter::repeat_n('\n', literal.len() - 2));
        }
    }
    readable.push_str(&text[readable.len()..]);
    Cow::Owned(readable)
}

/// Returns whether `byte` is inside a comment or a literal of characters.
pub(super) fn is_opaque(text: &str, start: usize, byte: usize) -> bool {
    let mut scan = Scan::new(text, start..text.len());
    while let Some((at, _)) = scan.next() {
        let Range { start, end } = scan.opaque.clone();
        if start < byte && (byte < end || byte == end && is_open(&text[start..end])) {
            return true;
        }
        if at >= byte {
            return false;
        }
    }
    false
}

/// Returns whether an opaque piece still goes on at its end: a line comment, or what was never closed.
fn is_open(piece: &str) -> bool {
    let is_closed = match piece.as_bytes() {
        [b'/', b'/', ..] => false,
        [b'/', b'*', ..] => piece.len() > 3 && piece.ends_with("*/"),
        [b'"', b'"', b'"', ..] => piece.len() > 5 && piece.ends_with("\"\"\""),
        [quote, .., last] => last == quote,
        _ => false,
    };
    !is_closed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn comments_and_literals_are_no_code() {
        let text = "a /* b */ + \"c\\\"d\" // e\n'f'";
        let opaque = |word: char| is_opaque(text, 0, text.find(word).unwrap());
        assert!(['b', 'c', 'd', 'e', 'f'].into_iter().all(opaque));
        assert!(!opaque('a') && !opaque('+'));
        assert!(is_opaque("// a", 0, 4) && is_opaque("\"a", 0, 2) && !is_opaque("\"a\"", 0, 3));
    }

    #[test]
    fn long_literals_do_not_keep_a_text_from_being_read() {
        assert_eq!(super::readable(&format!("\"{}é\n", "x".repeat(20_000))).len(), 20_004);
        let text = format!("class A {{ String a = \"{}é\"; int b; }}", "x ".repeat(10_000));
        let readable = readable(&text);
        assert_eq!(readable.len(), text.len());
        assert_eq!(readable.find("int b"), text.find("int b"));
        assert!(repo::Language::Java.parse(&readable).is_some_and(|tree| !tree.root_node().has_error()));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[a{}()\\[\\]\"'/*;é\n\\\\]{0,40}") {
            crate::java::glance::glance(&text);
            for (at, _) in text.char_indices() {
                crate::java::brackets::closing(&text, at);
                is_opaque(&text, 0, at);
            }
        }
    }
}
