//! Brackets that a text cut short leaves open.

use super::scan::{Scan, Token};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
