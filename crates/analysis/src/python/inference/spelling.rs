//! Types as Python writes them, from the way the inference engine displays them.
//!
//! The engine's display has more than Python has words for: unknown parts, intersections, objects of classes and
//! modules, owners of type variables, names of a callable's parameters. What is left here is text that an annotation
//! or a `def` line could hold. Overloads alone stay as the engine writes them.

mod text;
mod translator;

use repo::identifiers::is_word;
use text::{depths, split};

/// What the engine writes for members of a long union that it does not display.
pub(in crate::python) const OMITTED: &str = "... omitted ";

/// The longest display that is read, in bytes. Longer ones are of types that no one would write.
const DISPLAY_BYTES_MAX: usize = 50_000;

/// Returns `display` as Python writes it; `None` if nothing about it is known.
pub(in crate::python) fn spell(display: &str) -> Option<String> {
    if display.len() > DISPLAY_BYTES_MAX {
        return None;
    }
    let plain = translator::translate(display);
    if is_header(&plain) {
        return Some(plain);
    }
    let members = split(&plain, " | ");
    let known: Vec<&str> = members.iter().copied().filter(|member| *member != "Any").collect();
    // Where other values are possible, those that are seen say no more than their classes.
    let spelled = known.join(" | ");
    match (known.len(), members.len()) {
        (0, _) => None,
        (some, all) if some < all => Some(widen(&spelled)),
        _ => Some(spelled),
    }
}

/// Returns the display of a union of what is displayed as `members`.
pub(in crate::python) fn union(members: &[String]) -> String {
    let apart = |member: &String| if is_header(member) { format!("({member})") } else { member.clone() };
    members.iter().map(apart).collect::<Vec<_>>().join(" | ")
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

/// Returns the type argument number `slot` of a generic type, or of the one generic member of a union.
pub(in crate::python) fn argument(spelled: &str, slot: usize) -> Option<String> {
    let generic = |member: &str| Some(member.strip_suffix(']')?.split_once('[')?.1.to_owned());
    let [inner] = split(spelled, " | ").into_iter().filter_map(generic).collect::<Vec<_>>().try_into().ok()?;
    match split(&inner, ", ").as_slice() {
        [each, "..."] => Some((*each).to_owned()),
        arguments => arguments.get(slot).map(|argument| (*argument).to_owned()),
    }
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
        classes.retain(|class| {
            !seen.contains(class) && {
                seen.push(*class);
                true
            }
        });
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(display: &str, expected: &str) {
        assert_eq!(spell(display).as_deref().unwrap_or("-"), expected, "{display}");
    }

    #[test]
    fn what_python_writes_is_kept() {
        for same in
            ["int", "list[int] | None", "dict[str, list[A]]", "def f(x: int = 1) -> str | None", "Callable[..., A]"]
        {
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
        check("(A & ~B) | None", "A | None");
        check("(Any & ~None & ~Top[dict[Any, Any]]) | Literal[0]", "int");
        check("(Unknown & Mapping[str, A]) | (~AlwaysFalsy & B)", "Mapping[str, A] | B");
        check("list[(Unknown & str) | (A & ~(B | C))]", "list[str | A]");
        check("str | ... omitted 3 union elements", "str");
        check("list[str | ... omitted 3 union elements]", "list[str | Any]");
        check("dict[Literal[\"r\", \"w\", ... omitted 9 literals], A]", "dict[str, A]");
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
    fn callables_are_written_by_the_types_of_their_parameters() {
        check("(str, int, /) -> int", "Callable[[str, int], int]");
        check("((x: int, y=1) -> (() -> A | B)) | None", "Callable[[int, Any], Callable[[], A | B]] | None");
        check("(*args: int, key: str) -> None", "Callable[..., None]");
        check(
            "def f(g: (Any, /) -> str, h: int = 1) -> ((...) -> None)",
            "def f(g: Callable[[Any], str], h: int = 1) -> Callable[..., None]",
        );
        check("Overload[(a: int) -> int, (a: str) -> str]", "Overload[Callable[[int], int], Callable[[str], str]]");
    }

    #[test]
    fn literals_widen_to_their_classes() {
        assert_eq!(widen(r#"Literal[1, -2, "x, y", True, b"z"] | None"#), "int | str | bool | bytes | None");
        assert_eq!(widen("Literal[Color.RED, Color.BLUE] | Color"), "Color");
        assert_eq!(widen("tuple[Literal[1], Literal['a]', 'b']] | None"), "tuple[int, str] | None");
    }

    #[test]
    fn arguments_are_those_of_the_one_generic_member() {
        assert_eq!(argument("dict[str, list[A]] | None", 1).as_deref(), Some("list[A]"));
        assert_eq!(argument("tuple[int, ...]", 3).as_deref(), Some("int"));
        assert_eq!(argument("list[int] | set[str]", 0), None);
        assert_eq!(argument("int", 0), None);
    }

    proptest! {
        #[test]
        fn any_display_is_survived(display in r#"(Unknown|Top\[|Literal\[|\.\.\. omitted |, |/|x: |= | & | \| | -> |@Todo|<|>|class '|\||&|~|\[|\]|\(|\)|"|'|\\| |é|T@f|bound method |->|\.){0,24}"#) {
            if let Some(spelled) = spell(&display) {
                widen(&spelled);
            }
        }
    }
}
