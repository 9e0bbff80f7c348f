//! The tokens of a text that hold it together, found without a tree: brackets, and what is no code.

use std::borrow::Cow;
use std::ops::Range;

use repo::identifiers::is_word;
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
        if token == Token::Sign(b'"') && literal.len() > LITERAL_BYTES_MAX {
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

/// What has to be written at a place so that the statement there ends and every bracket opened before it and not closed
/// behind it is closed.
pub(super) fn closing(text: &str, at: usize) -> String {
    let open = open_brackets(text, at);
    let n_closed = unmatched_closers(text, at).min(open.len());
    let mut closing = String::new();
    let in_block = matches!(open.last(), Some(Bracket::Brace | Bracket::Try | Bracket::Do));
    if in_block && n_closed == open.len() && ends_statement(text, at) {
        closing.push(';');
    }
    for bracket in open[n_closed..].iter().rev() {
        closing.push_str(match bracket {
            Bracket::Header { n_semicolons: 1 } => ";;)",
            Bracket::Parenthesis | Bracket::Header { .. } => ")",
            Bracket::Square => "]",
            Bracket::Values => "}",
            Bracket::Brace => ";}",
            Bracket::Try => ";} finally {}",
            Bracket::Do => ";} while (true);",
        });
    }
    closing
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Parenthesis,
    /// The parenthesis of a `for`.
    Header {
        n_semicolons: usize,
    },
    Square,
    /// The brace of an array.
    Values,
    Brace,
    Try,
    Do,
}

/// Returns the brackets that are open at `at`, outermost first.
fn open_brackets(text: &str, at: usize) -> Vec<Bracket> {
    let mut open: Vec<(Bracket, &str)> = Vec::new();
    let (mut word, mut last) = ("", b';');
    for (_, token) in Scan::new(text, 0..at) {
        match token {
            Token::Comment => {}
            Token::Word(found) => (word, last) = (found, b'a'),
            Token::Sign(sign) => {
                match sign {
                    b'(' if word == "for" => open.push((Bracket::Header { n_semicolons: 0 }, word)),
                    b'(' => open.push((Bracket::Parenthesis, word)),
                    b'[' => open.push((Bracket::Square, word)),
                    b'{' if word == "try" => open.push((Bracket::Try, word)),
                    b'{' if word == "do" => open.push((Bracket::Do, word)),
                    b'{' if matches!(last, b'=' | b']' | b',' | b'(') => open.push((Bracket::Values, word)),
                    b'{' if last == b'{' && open.last().is_some_and(|(bracket, _)| *bracket == Bracket::Values) => {
                        open.push((Bracket::Values, word));
                    }
                    b'{' => open.push((Bracket::Brace, word)),
                    b')' | b']' | b'}' => word = close(&mut open, sign),
                    b';' => {
                        if let Some((Bracket::Header { n_semicolons }, _)) = open.last_mut() {
                            *n_semicolons += 1;
                        }
                    }
                    _ => {}
                }
                if sign != b')' {
                    word = "";
                }
                last = sign;
            }
        }
    }
    open.into_iter().map(|(bracket, _)| bracket).collect()
}

/// Closes the innermost bracket that `sign` can close; returns the word before it, so that `try (...) {` is known.
fn close<'text>(open: &mut Vec<(Bracket, &'text str)>, sign: u8) -> &'text str {
    let fits = |bracket: Bracket| match sign {
        b')' => matches!(bracket, Bracket::Parenthesis | Bracket::Header { .. }),
        b']' => bracket == Bracket::Square,
        _ => matches!(bracket, Bracket::Brace | Bracket::Try | Bracket::Do | Bracket::Values),
    };
    // A brace closes what was left open in it; nothing else closes a brace.
    let mut depth = open.len();
    while let Some((bracket, word)) = depth.checked_sub(1).map(|last| open[last]) {
        if fits(bracket) {
            open.truncate(depth - 1);
            return if word == "for" { "" } else { word };
        }
        if sign != b'}' && matches!(bracket, Bracket::Brace | Bracket::Try | Bracket::Do) {
            break;
        }
        depth -= 1;
    }
    ""
}

/// Returns whether what is behind `at` is no part of the statement there: the end of the block, or code on another line
/// that does not go on with an expression.
fn ends_statement(text: &str, at: usize) -> bool {
    let next = Scan::new(text, at..text.len()).find(|(_, token)| *token != Token::Comment);
    match next {
        Some((_, Token::Sign(b'}' | b'@'))) => true,
        Some((start, Token::Word(word))) => word != "instanceof" && text[at..start].contains('\n'),
        _ => false,
    }
}

/// Returns how many brackets are closed behind `at` that are not opened behind it.
fn unmatched_closers(text: &str, at: usize) -> usize {
    let (mut n_open, mut n_unmatched) = (0_usize, 0);
    for (_, token) in Scan::new(text, at..text.len()) {
        match token {
            Token::Sign(b'(' | b'[' | b'{') => n_open += 1,
            Token::Sign(b')' | b']' | b'}') if n_open > 0 => n_open -= 1,
            Token::Sign(b')' | b']' | b'}') => n_unmatched += 1,
            _ => {}
        }
    }
    n_unmatched
}

/// What a glance at a file says: its package, and the types at its top.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Glance {
    pub(super) package: String,
    pub(super) types: Vec<String>,
}

/// Reads package and top-level types of a file without parsing it.
pub(super) fn glance(text: &str) -> Glance {
    let mut glance = Glance::default();
    let (mut depth, mut last, mut in_package) = (0_usize, "", false);
    for (_, token) in Scan::new(text, 0..text.len()) {
        match token {
            Token::Sign(b'{' | b'(') => depth += 1,
            Token::Sign(b'}' | b')') => depth = depth.saturating_sub(1),
            Token::Sign(b';') => in_package = false,
            Token::Sign(b'.') if in_package => glance.package.push('.'),
            Token::Comment => continue,
            Token::Sign(_) => {}
            Token::Word("package") if depth == 0 && glance.package.is_empty() => in_package = true,
            Token::Word(word) if in_package => glance.package.push_str(word),
            Token::Word(word) => {
                let is_name = word.starts_with(is_word) && !matches!(word, "class" | "interface" | "enum" | "record");
                if depth == 0 && is_name && matches!(last, "class" | "interface" | "enum" | "record") {
                    glance.types.push(word.to_owned());
                }
                last = word;
                continue;
            }
        }
        last = "";
    }
    glance
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_closing(before: &str, after: &str, expected: &str) {
        assert_eq!(closing(&format!("{before}{after}"), before.len()), expected, "{before}|{after}");
    }

    #[test]
    fn what_is_open_is_closed() {
        check_closing("class A { void f() { g(a[", "", "]);};}");
        check_closing("class A { void f() { g(a[", "\n}", "]);}");
        check_closing("class A { void f() { g(", ") } }", "");
        check_closing("{ a.b", "\n}", ";");
        check_closing("{ a.b", "\nc();}", ";");
        check_closing("{ a.b", "\n.c();}", "");
        check_closing("{ int[][] a = {{ b", "}};}", "");
        check_closing("{ try (a) { b", "}", ";} finally {}");
        check_closing("{ for (int i = 0; i < ", "}", ";;)");
        check_closing("{ for (A a : ", "}", ")");
        check_closing("{ do { x(\"(\", '{') /* ( */", "}", ";} while (true);");
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        let text = "a /* b */ + \"c\\\"d\" // e\n'f'";
        let opaque = |word: char| is_opaque(text, 0, text.find(word).unwrap());
        assert!(['b', 'c', 'd', 'e', 'f'].into_iter().all(opaque));
        assert!(!opaque('a') && !opaque('+'));
        assert!(is_opaque("// a", 0, 4) && is_opaque("\"a", 0, 2) && !is_opaque("\"a\"", 0, 3));
    }

    #[test]
    fn a_glance_finds_package_and_types() {
        let text =
            "/* class X */ package a.b; import c.D; @A(b = C.class) public final class E { class F {} } enum G {}";
        assert_eq!(glance(text), Glance { package: "a.b".into(), types: vec!["E".into(), "G".into()] });
    }

    #[test]
    fn long_literals_do_not_keep_a_text_from_being_read() {
        let text = format!("class A {{ String a = \"{}é\"; int b; }}", "x ".repeat(10_000));
        let readable = readable(&text);
        assert_eq!(readable.len(), text.len());
        assert_eq!(readable.find("int b"), text.find("int b"));
        assert!(repo::Language::Java.parse(&readable).is_some_and(|tree| !tree.root_node().has_error()));
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[a{}()\\[\\]\"'/*;é\n\\\\]{0,40}") {
            glance(&text);
            for (at, _) in text.char_indices() {
                closing(&text, at);
                is_opaque(&text, 0, at);
            }
        }
    }
}
