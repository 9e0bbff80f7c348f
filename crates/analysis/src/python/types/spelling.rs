//! Types as Python writes them, from the way the inference engine displays them.
//!
//! The engine's display has more than Python has words for: unknown parts, intersections, objects of classes and
//! modules, owners of type variables. What is left here is text that an annotation or a `def` line could hold.

use repo::identifiers::is_word;

/// What the engine writes for members of a long union that it does not display.
pub(in crate::python) const OMITTED: &str = "... omitted";

/// Returns `display` as Python writes it; `None` if nothing about it is known.
pub(in crate::python) fn spell(display: &str) -> Option<String> {
    let plain = translate(display);
    if is_header(&plain) {
        return Some(plain);
    }
    let mut members: Vec<&str> = Vec::new();
    let mut unknown = false;
    for member in split(&plain, " | ") {
        let known = split(member, " & ").into_iter().find(|part| !part.starts_with('~') && *part != "Any");
        unknown |= known.is_none();
        if let Some(known) = known.filter(|part| !part.starts_with(OMITTED) && !members.contains(part)) {
            members.push(known);
        }
    }
    // Where other values are possible, those that are seen say no more than their classes.
    let spelled = members.join(" | ");
    (!members.is_empty()).then(|| if unknown { widen(&spelled) } else { spelled })
}

/// Returns the type that a value comparable with one of type `spelled` has: literals become their classes.
pub(in crate::python) fn widen(spelled: &str) -> String {
    if is_header(spelled) {
        return spelled.to_owned();
    }
    let plain = widened(spelled);
    let mut members: Vec<&str> = Vec::new();
    for member in split(&plain, " | ") {
        if !members.contains(&member) {
            members.push(member);
        }
    }
    members.join(" | ")
}

fn widened(spelled: &str) -> String {
    const LITERAL: &str = "Literal[";
    let mut plain = String::with_capacity(spelled.len());
    let mut start = 0;
    for (at, _) in depths(spelled) {
        if at < start || !spelled[at..].starts_with(LITERAL) || spelled[..at].ends_with(is_word) {
            continue;
        }
        let inner = &spelled[at + LITERAL.len()..];
        let length = depths(inner).find(|(at, depth)| *depth == 0 && inner[*at..].starts_with(']'));
        let inner = &inner[..length.map_or(inner.len(), |(at, _)| at)];
        let mut classes: Vec<&str> = split(inner, ", ").into_iter().map(class_of_literal).collect();
        let mut seen = Vec::new();
        classes.retain(|class| !seen.contains(class) && { seen.push(*class); true });
        plain.push_str(&spelled[start..at]);
        plain.push_str(&classes.join(" | "));
        start = (at + LITERAL.len() + inner.len() + 1).min(spelled.len());
    }
    plain.push_str(&spelled[start..]);
    plain
}

fn class_of_literal(literal: &str) -> &str {
    match literal.chars().next() {
        Some('b') if literal[1..].starts_with(['"', '\'']) => "bytes",
        Some('"' | '\'' | '.') => "str",
        Some('-' | '0'..='9') => "int",
        _ if literal == "True" || literal == "False" => "bool",
        _ => literal.rsplit_once('.').map_or(literal, |(class, _)| class),
    }
}

/// Returns whether the type is that of one callable: its parts belong to its parameters and its result.
fn is_header(plain: &str) -> bool {
    plain.starts_with("def ") || split(plain, " -> ").len() > 1
}

/// Replaces the words that Python does not have, from left to right.
fn translate(display: &str) -> String {
    let mut plain = String::with_capacity(display.len());
    let mut rest = display;
    while let Some(c) = rest.chars().next() {
        let at_word = !plain.ends_with(is_word);
        let (written, length) = match c {
            '"' | '\'' => (rest[..quoted(rest)].to_owned(), quoted(rest)),
            '<' => object(rest),
            '@' => typevar_owner(rest),
            _ if at_word && rest.starts_with("bound method ") => bound_method(rest),
            _ if at_word && is_word(c) => word(rest),
            _ => (c.to_string(), c.len_utf8()),
        };
        plain.push_str(&written);
        rest = &rest[length.max(c.len_utf8())..];
    }
    plain
}

fn word(rest: &str) -> (String, usize) {
    let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let written = match &rest[..length] {
        "Unknown" | "Divergent" | "Todo" => "Any",
        known => known,
    };
    (written.to_owned(), length)
}

/// `<class 'C'>` is `type[C]`; Python has no word for other objects than their class.
fn object(rest: &str) -> (String, usize) {
    let length = closing(rest);
    let inner = rest[..length].trim_end_matches('>');
    let written = match inner.split_once('\'') {
        Some(("<class ", class)) => format!("type[{}]", translate_name(class.trim_end_matches('\''))),
        Some(("<module ", _)) => "ModuleType".to_owned(),
        _ => "object".to_owned(),
    };
    (written, length)
}

/// A class display may itself hold unknown arguments, as in `<class 'list[Unknown]'>`.
fn translate_name(class: &str) -> String {
    class.replace("Unknown", "Any")
}

/// `T@f` is the `T` of `f`; `@Todo(why)` is a type that the engine does not know yet.
fn typevar_owner(rest: &str) -> (String, usize) {
    let word = rest[1..].find(|c| !is_word(c) && c != '.').map_or(rest.len(), |end| end + 1);
    if !rest[..word].starts_with("@Todo") {
        return (String::new(), word);
    }
    let reason = if rest[word..].starts_with('(') { closing(&rest[word..]) } else { 0 };
    ("Any".to_owned(), word + reason)
}

/// `bound method C.f(x: int) -> str` is `def f(x: int) -> str`.
fn bound_method(rest: &str) -> (String, usize) {
    let length = depths(rest).find(|(at, depth)| *depth == 0 && rest[*at..].starts_with('(')).map_or(rest.len(), |at| at.0);
    let path = &rest["bound method ".len()..length];
    let name = split(path, ".").pop().unwrap_or(path);
    (format!("def {name}"), length)
}

/// Splits at `separator` outside brackets and quotes.
fn split<'text>(text: &'text str, separator: &str) -> Vec<&'text str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, depth) in depths(text) {
        if depth == 0 && at >= start && text[at..].starts_with(separator) {
            parts.push(&text[start..at]);
            start = at + separator.len();
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Yields the bytes outside quotes at which a character begins, with the depth of brackets before it.
fn depths(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let (mut depth, mut quoted_until) = (0_usize, 0);
    text.char_indices().filter_map(move |(at, c)| {
        if at < quoted_until {
            return None;
        }
        let before = depth;
        match c {
            '"' | '\'' => quoted_until = at + quoted(&text[at..]),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        Some((at, before))
    })
}

/// Returns the length of the quotation that `text` begins with, backslashes observed.
fn quoted(text: &str) -> usize {
    let quote = text.chars().next();
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if Some(c) == quote {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// Returns the length of the bracketed text that `text` begins with.
fn closing(text: &str) -> usize {
    let (open, close) = if text.starts_with('<') { ('<', '>') } else { ('(', ')') };
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close && !text[..at].ends_with('-') {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at + c.len_utf8();
            }
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(display: &str, expected: &str) {
        assert_eq!(spell(display).as_deref().unwrap_or("-"), expected, "{display}");
    }

    #[test]
    fn what_python_writes_is_kept() {
        for same in ["int", "list[int] | None", "dict[str, list[A]]", "def f(x: int = 1) -> str | None", "(x: int) -> A"] {
            check(same, same);
        }
        check(r#"Literal["a | b", "it's"]"#, r#"Literal["a | b", "it's"]"#);
    }

    #[test]
    fn unknown_parts_are_dropped_or_any() {
        check("Unknown", "-");
        check("@Todo(a reason (here))", "-");
        check("Unknown | int | Unknown", "int");
        check("Unknown | Literal[1]", "int");
        check("list[Unknown] | None", "list[Any] | None");
        check("int & ~AlwaysFalsy", "int");
        check("(A & ~B) | None", "(A & ~B) | None");
    }

    #[test]
    fn objects_are_written_as_their_classes() {
        check("<class 'A'> | None", "type[A] | None");
        check("<class 'list[Unknown]'>", "type[list[Any]]");
        check("<module 'os.path'>", "ModuleType");
        check("bound method list[int].append(object: int, /) -> None", "def append(object: int, /) -> None");
        check("list[T@f] | Self@A", "list[T] | Self");
    }

    #[test]
    fn literals_widen_to_their_classes() {
        assert_eq!(widen(r#"Literal[1, -2, "x, y", True, b"z"] | None"#), "int | str | bool | bytes | None");
        assert_eq!(widen("Literal[Color.RED, Color.BLUE] | Color"), "Color");
        assert_eq!(widen("tuple[Literal[1], Literal['a]', 'b']] | None"), "tuple[int, str] | None");
    }

    proptest! {
        #[test]
        fn any_display_is_survived(display in r#"(Unknown|@Todo|<|>|class '|\||&|~|\[|\]|\(|\)|"|'|\\| |é|T@f|bound method |->|\.){0,24}"#) {
            if let Some(spelled) = spell(&display) {
                widen(&spelled);
            }
        }
    }
}
