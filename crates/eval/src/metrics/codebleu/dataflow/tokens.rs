//! The tokens of a tree as the original cuts them out of the text.

use std::collections::BTreeMap;

use super::super::tree::{FlatTree, Place};

/// A number that only equal texts share.
pub(super) type Code = usize;

/// A token: its place among the tokens, and its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) position: usize,
    pub(super) code: Code,
    /// Whether the text is also the kind of the node: keywords and signs.
    pub(super) is_fixed: bool,
}

/// Returns the token of each node that is one; of tokens at the same place all are the last.
///
/// Positions in lines are bytes to tree-sitter, but the original uses them as characters: after a character of more
/// than one byte the tokens of a line are cut too late. That is kept.
pub(super) fn of_nodes(tree: &FlatTree<'_>) -> Vec<Option<Token>> {
    let lines: Vec<Line> = tree.text.split('\n').map(Line::new).collect();
    let mut last: BTreeMap<(Place, Place), (usize, Code)> = BTreeMap::new();
    let mut codes: BTreeMap<String, Code> = BTreeMap::new();
    let nodes = token_nodes(tree, 0);
    for (position, &node) in nodes.iter().enumerate() {
        let (start, end) = (tree.nodes[node].start, tree.nodes[node].end);
        let next = codes.len();
        let code = *codes.entry(cut(&lines, start, end)).or_insert(next);
        last.insert((start, end), (position, code));
    }
    let mut tokens = vec![None; tree.nodes.len()];
    for node in nodes {
        let (position, code) = last[&(tree.nodes[node].start, tree.nodes[node].end)];
        let is_fixed = codes.get(tree.nodes[node].kind) == Some(&code);
        tokens[node] = Some(Token { position, code, is_fixed });
    }
    tokens
}

/// Returns the nodes that are tokens, in a node and below it: leaves, and strings as a whole; comments are none.
pub(super) fn token_nodes(tree: &FlatTree<'_>, root: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut index = root;
    while index < tree.nodes[root].after {
        let node = &tree.nodes[index];
        let is_whole = matches!(node.kind, "string_literal" | "string" | "character_literal");
        if (is_whole || !tree.has_children(index)) && node.kind != "comment" {
            found.push(index);
            index = node.after;
        } else {
            index += 1;
        }
    }
    found
}

/// A line of text that is cut by characters.
struct Line<'a> {
    text: &'a str,
    is_ascii: bool,
}

impl<'a> Line<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, is_ascii: text.is_ascii() }
    }

    fn byte(&self, character: usize) -> usize {
        let length = self.text.len();
        if self.is_ascii {
            return character.min(length);
        }
        self.text.char_indices().nth(character).map_or(length, |(byte, _)| byte)
    }

    fn from(&self, start: usize) -> &'a str {
        &self.text[self.byte(start)..]
    }

    fn before(&self, end: usize) -> &'a str {
        &self.text[..self.byte(end)]
    }

    fn between(&self, start: usize, end: usize) -> &'a str {
        self.text.get(self.byte(start)..self.byte(end)).unwrap_or_default()
    }
}

/// Returns the text between two places, without the ends of lines.
fn cut(lines: &[Line<'_>], start: Place, end: Place) -> String {
    let line = |row: usize| lines.get(row);
    if start.0 == end.0 {
        return line(start.0).map_or_else(String::new, |line| line.between(start.1, end.1).to_owned());
    }
    let mut text = line(start.0).map_or_else(String::new, |line| line.from(start.1).to_owned());
    for row in start.0 + 1..end.0 {
        text.push_str(line(row).map_or("", |line| line.text));
    }
    text + line(end.0).map_or("", |line| line.before(end.1))
}

#[cfg(test)]
mod tests {
    use repo::Language;
    use repo::syntax::Preorder;

    use super::*;

    #[test]
    fn strings_are_whole_and_comments_are_left_out() {
        let text = "x = f'{y}' # z\n";
        let tree = Language::Python.parse(text);
        let tree = FlatTree::new(text, tree.as_ref().map(Preorder::new));
        let kinds: Vec<_> = token_nodes(&tree, 0).into_iter().map(|node| tree.nodes[node].kind).collect();
        assert_eq!(kinds, ["identifier", "=", "string"]);
    }

    #[test]
    fn lines_are_cut_by_characters_and_joined() {
        let lines: Vec<Line> = ["größe = 1", "b", "cd"].into_iter().map(Line::new).collect();
        assert_eq!(cut(&lines, (0, 0), (0, 7)), "größe =");
        assert_eq!(cut(&lines, (0, 8), (2, 1)), "1bc");
        assert_eq!(cut(&lines, (1, 5), (1, 3)), "");
    }
}
