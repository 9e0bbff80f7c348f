//! Types as they are written, before anyone asks what they name.

use std::rc::Rc;

use tree_sitter::Node;

/// Type arguments nested deeper than this are left out.
const DEPTH_MAX: usize = 12;

/// A type as written: a dotted name, its arguments and dimensions. Wildcards stand for their bound.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Written {
    /// The dotted name, of a primitive type too; empty if the text says nothing.
    pub(super) name: Rc<str>,
    pub(super) arguments: Vec<Written>,
    pub(super) n_dimensions: usize,
}

impl Written {
    pub(super) fn named(name: &str) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds the dimensions of a declarator or of a variadic parameter.
    pub(super) fn with_dimensions(mut self, n_more: usize) -> Self {
        self.n_dimensions += n_more;
        self
    }

    /// Reads a type off its node; a node that is no type gives an empty name.
    pub(super) fn of(node: Node<'_>, text: &str) -> Self {
        Self::at_depth(node, text, 0)
    }

    // Bounded by `DEPTH_MAX`, not by the text.
    fn at_depth(node: Node<'_>, text: &str, depth: usize) -> Self {
        if depth > DEPTH_MAX {
            return Self::default();
        }
        let mut cursor = node.walk();
        match node.kind() {
            "array_type" => {
                let element = node.child_by_field_name("element");
                let written = element.map(|element| Self::at_depth(element, text, depth + 1)).unwrap_or_default();
                written.with_dimensions(n_dimensions(node, text))
            }
            "annotated_type" | "catch_type" => {
                let is_type = |child: &Node<'_>| !child.kind().ends_with("annotation");
                let found = node.named_children(&mut cursor).find(is_type);
                found.map(|child| Self::at_depth(child, text, depth + 1)).unwrap_or_default()
            }
            "wildcard" => {
                let bound = node.named_children(&mut cursor).filter(|child| is_type(child.kind())).last();
                bound.map_or_else(|| Self::named("Object"), |child| Self::at_depth(child, text, depth + 1))
            }
            "generic_type" => {
                let mut written = Self::default();
                for child in node.named_children(&mut cursor) {
                    if child.kind() == "type_arguments" {
                        let mut inner = child.walk();
                        let arguments = child.named_children(&mut inner).filter(|argument| is_type(argument.kind()));
                        written.arguments =
                            arguments.map(|argument| Self::at_depth(argument, text, depth + 1)).collect();
                    } else {
                        written.name = dotted_name(child, text).into();
                    }
                }
                written
            }
            kind if is_type(kind) || kind == "identifier" => Self::named(&dotted_name(node, text)),
            _ => Self::default(),
        }
    }

    /// Writes the type as code does, nesting with dots; depth is bounded by that of reading.
    pub(super) fn display(&self) -> String {
        let mut text = self.name.strip_prefix("java.lang.").unwrap_or(&self.name).replace('$', ".");
        if !self.arguments.is_empty() {
            let arguments: Vec<String> = self.arguments.iter().map(Self::display).collect();
            text = format!("{text}<{}>", arguments.join(", "));
        }
        text + &"[]".repeat(self.n_dimensions.min(8))
    }

    /// Reads a type off the member table, where types have no spaces.
    pub(super) fn parse(text: &str) -> Self {
        let mut rest = text;
        parse_type(&mut rest, 0)
    }
}

fn is_type(kind: &str) -> bool {
    matches!(
        kind,
        "type_identifier"
            | "scoped_type_identifier"
            | "generic_type"
            | "array_type"
            | "annotated_type"
            | "integral_type"
            | "floating_point_type"
            | "boolean_type"
            | "void_type"
            | "wildcard"
    )
}

/// Returns how many `[]` the `dimensions` of a node have.
pub(super) fn n_dimensions(node: Node<'_>, text: &str) -> usize {
    let dimensions = node.child_by_field_name("dimensions");
    dimensions.map_or(0, |dimensions| {
        text.get(dimensions.byte_range()).unwrap_or_default().bytes().filter(|byte| *byte == b'[').count()
    })
}

/// Returns a dotted name without type arguments, annotations and spaces.
fn dotted_name(node: Node<'_>, text: &str) -> String {
    let text = text.get(node.byte_range()).unwrap_or_default();
    if text.bytes().all(|byte| !byte.is_ascii_whitespace() && !matches!(byte, b'<' | b'@' | b'/')) {
        return text.to_owned();
    }
    let (mut name, mut depth, mut in_annotation) = (String::new(), 0_usize, false);
    for (_, token) in super::scan::Scan::new(text, 0..text.len()) {
        use super::scan::Token::{Sign, Word};
        match token {
            Sign(b'<' | b'(') => depth += 1,
            Sign(b'>' | b')') => depth = depth.saturating_sub(1),
            Sign(b'@') => in_annotation = true,
            Sign(b'.') if depth == 0 => name.push('.'),
            Word(_) if in_annotation && depth == 0 => in_annotation = false,
            Word(word) if depth == 0 => name.push_str(word),
            _ => {}
        }
    }
    name
}

// The table is ours: its types nest a few levels.
fn parse_type(rest: &mut &str, depth: usize) -> Written {
    let length = rest.find(['<', '>', ',', '[', '.']).unwrap_or(rest.len());
    let mut length = length;
    while rest[length..].starts_with('.') && !rest[length..].starts_with("...") {
        length += 1 + rest[length + 1..].find(['<', '>', ',', '[', '.']).unwrap_or(rest.len() - length - 1);
    }
    let name = &rest[..length];
    let mut written = Written::named(if name == "?" { "Object" } else { name });
    *rest = &rest[length..];
    if rest.starts_with('<') && depth < DEPTH_MAX {
        while rest.starts_with(['<', ',']) {
            *rest = &rest[1..];
            written.arguments.push(parse_type(rest, depth + 1));
        }
        *rest = rest.strip_prefix('>').unwrap_or(rest);
    }
    loop {
        let after = rest.strip_prefix("[]").or_else(|| rest.strip_prefix("..."));
        let Some(after) = after else { return written };
        written.n_dimensions += 1;
        *rest = after;
    }
}
