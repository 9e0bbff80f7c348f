//! A syntax tree as a list of nodes, parents before children, that is walked by index.

use repo::syntax::Preorder;

/// Trees with more levels are not printed: the printing of tree-sitter recurses.
const PRINTED_DEPTH_MAX: usize = 500;

/// A place in a text: its line and the byte within the line, both from 0.
pub(super) type Place = (usize, usize);

/// A text with its syntax tree.
pub(super) struct FlatTree<'a> {
    pub(super) text: &'a str,
    /// Nothing if the text cannot be parsed within limits.
    pub(super) nodes: Vec<FlatNode<'a>>,
    /// The most ancestors a node has.
    pub(super) depth_max: usize,
}

/// One node of a tree.
pub(super) struct FlatNode<'a> {
    pub(super) kind: &'a str,
    /// The place it has in its parent.
    pub(super) field: Option<&'a str>,
    pub(super) is_named: bool,
    pub(super) is_missing: bool,
    /// The sign that an error node without children stumbled over, as tree-sitter prints it.
    pub(super) unexpected: Option<String>,
    /// Tokens that are missing below it and that no walk meets, with the number of what is printed before each.
    pub(super) hidden: Vec<(usize, String)>,
    pub(super) start: Place,
    pub(super) end: Place,
    /// The index after its last descendant.
    pub(super) after: usize,
}

impl<'a> FlatTree<'a> {
    /// Lists the nodes of a tree of `text`, or none if there is no tree.
    pub(super) fn new(text: &'a str, walk: Option<Preorder<'a>>) -> Self {
        let mut flat = Self { text, nodes: Vec::new(), depth_max: 0 };
        let Some(mut walk) = walk else { return flat };
        let mut open: Vec<usize> = Vec::new();
        let mut broken = Vec::new();
        while let Some(node) = walk.next() {
            let index = flat.nodes.len();
            for closed in open.drain(walk.depth()..) {
                flat.nodes[closed].after = index;
            }
            open.push(index);
            flat.depth_max = flat.depth_max.max(walk.depth());
            if node.has_error() {
                broken.push((index, node));
            }
            let (start, end) = (node.start_position(), node.end_position());
            let is_unexpected = node.is_error() && node.child_count() == 0 && !node.byte_range().is_empty();
            flat.nodes.push(FlatNode {
                kind: node.kind(),
                field: walk.field(),
                is_named: node.is_named(),
                is_missing: node.is_missing(),
                unexpected: is_unexpected.then(|| node.to_sexp()),
                hidden: Vec::new(),
                start: (start.row, start.column),
                end: (end.row, end.column),
                after: 0,
            });
        }
        let n_nodes = flat.nodes.len();
        for closed in open {
            flat.nodes[closed].after = n_nodes;
        }
        if flat.depth_max <= PRINTED_DEPTH_MAX {
            for (index, node) in broken {
                flat.nodes[index].hidden = hidden(&node.to_sexp());
            }
        }
        flat
    }

    /// Returns the children of a node.
    pub(super) fn children(&self, parent: usize) -> impl Iterator<Item = usize> {
        let end = self.nodes[parent].after;
        let next = move |child: usize| Some(child).filter(|child| *child < end);
        std::iter::successors(next(parent + 1), move |child| next(self.nodes[*child].after))
    }

    /// Returns the first child that has a place in its parent.
    pub(super) fn child(&self, parent: usize, field: &str) -> Option<usize> {
        self.children(parent).find(|child| self.nodes[*child].field == Some(field))
    }

    pub(super) fn has_children(&self, node: usize) -> bool {
        self.nodes[node].after > node + 1
    }
}

/// Returns what is missing right below the root of a printed tree and has a hidden name, such as `_newline`.
fn hidden(printed: &str) -> Vec<(usize, String)> {
    let (mut depth, mut n_before, mut start) = (0, 0, 0);
    let mut found = Vec::new();
    let mut characters = printed.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '(' => {
                depth += 1;
                start = if depth == 2 { index } else { start };
            }
            ')' => {
                depth -= 1;
                if depth == 1 {
                    let item = &printed[start..=index];
                    if item.starts_with("(MISSING _") {
                        found.push((n_before, item.to_owned()));
                    }
                    n_before += 1;
                }
            }
            // A sign stands in quotes: one character, which may be escaped, or the text of a token.
            '\'' => {
                let escaped = characters.next().is_some_and(|(_, sign)| sign == '\\');
                characters.nth(usize::from(escaped));
            }
            '"' => while characters.next().is_some_and(|(_, sign)| sign != '"') {},
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use repo::Language;

    use super::*;

    #[test]
    fn what_is_missing_and_hidden_is_found_in_print() {
        let printed =
            r#"(a (b (MISSING _x)) (UNEXPECTED '(') f: (MISSING ")") (MISSING _newline) (c) (MISSING _dedent))"#;
        let expected = [(3, "(MISSING _newline)".to_owned()), (5, "(MISSING _dedent)".to_owned())];
        assert_eq!(hidden(printed), expected);
        let text = "if x:\n    y\n    \\   z";
        let tree = Language::Python.parse(text);
        let tree = FlatTree::new(text, tree.as_ref().map(Preorder::new));
        assert!(tree.nodes.iter().all(|node| node.hidden.is_empty() || node.kind != "identifier"));
    }

    #[test]
    fn children_and_fields_are_found_by_index() {
        let text = "x = f(1)\ny\n";
        let tree = Language::Python.parse(text);
        let tree = FlatTree::new(text, tree.as_ref().map(Preorder::new));
        let kinds = |parent| tree.children(parent).map(|child| tree.nodes[child].kind).collect::<Vec<_>>();
        assert_eq!(kinds(0), ["expression_statement", "expression_statement"]);
        assert_eq!(kinds(2), ["identifier", "=", "call"]);
        assert_eq!(tree.child(2, "right").map(|child| tree.nodes[child].kind), Some("call"));
        assert_eq!(tree.child(2, "body"), None);
    }
}
