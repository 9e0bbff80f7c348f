//! Subtrees that two trees share, compared as S-expressions without writing any.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::{FlatNode, FlatTree};

/// What an S-expression shows of a node itself.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Label<'a> {
    Named(&'a str),
    Missing(&'a str, bool),
    Unexpected(&'a str),
    /// A sign of more than one token, such as `not in`, which is shown only where it is the root.
    Sign(&'a str),
}

/// A number that only equal subtrees share.
type Id = usize;

/// The subtrees seen so far.
type Known<'a> = BTreeMap<(Label<'a>, Vec<(Option<&'a str>, Id)>, &'a [(usize, String)]), Id>;

/// Returns how many subtrees of the target the prediction has, and how many the target has.
///
/// A subtree is a node with all that is below it; leaves are none, but the root always is one. A subtree that the
/// target has twice counts twice, however often the prediction has it.
///
/// # References
///
/// `CodeBLEU`, `corpus_syntax_match`: the text of tokens does not matter, only named nodes and fields do.
pub(super) fn matches(prediction: &FlatTree<'_>, target: &FlatTree<'_>) -> (usize, usize) {
    let mut known = Known::new();
    let predicted: BTreeSet<Id> = subtrees(prediction, &mut known).into_iter().collect();
    let wanted = subtrees(target, &mut known);
    (wanted.iter().filter(|id| predicted.contains(id)).count(), wanted.len())
}

fn subtrees<'a>(tree: &'a FlatTree<'_>, known: &mut Known<'a>) -> Vec<Id> {
    let mut ids = vec![0; tree.nodes.len()];
    let mut found = Vec::new();
    // Children have higher numbers than their parents.
    for index in (0..tree.nodes.len()).rev() {
        let node = &tree.nodes[index];
        if !is_shown(node) && !tree.has_children(index) {
            continue;
        }
        let key = (label(node), shown_below(tree, index, &ids), node.hidden.as_slice());
        let next = known.len();
        ids[index] = *known.entry(key).or_insert(next);
        if tree.has_children(index) || index == 0 {
            found.push(ids[index]);
        }
    }
    found
}

/// Returns the fields and numbers of the topmost shown nodes below a node.
fn shown_below<'a>(tree: &FlatTree<'a>, parent: usize, ids: &[Id]) -> Vec<(Option<&'a str>, Id)> {
    let mut below = Vec::new();
    let mut index = parent + 1;
    while index < tree.nodes[parent].after {
        let node = &tree.nodes[index];
        if is_shown(node) {
            below.push((node.field, ids[index]));
            index = node.after;
        } else {
            index += 1;
        }
    }
    below
}

fn is_shown(node: &FlatNode<'_>) -> bool {
    node.is_named || node.is_missing
}

fn label<'a>(node: &'a FlatNode<'_>) -> Label<'a> {
    match &node.unexpected {
        Some(sign) => Label::Unexpected(sign),
        None if node.is_missing => Label::Missing(node.kind, node.is_named),
        None if node.is_named => Label::Named(node.kind),
        None => Label::Sign(node.kind),
    }
}

#[cfg(test)]
mod tests {
    use repo::Language;
    use repo::syntax::Preorder;

    use super::*;

    fn counts(prediction: &str, target: &str) -> (usize, usize) {
        let (left, right) = (Language::Python.parse(prediction), Language::Python.parse(target));
        let left = FlatTree::new(prediction, left.as_ref().map(Preorder::new));
        matches(&left, &FlatTree::new(target, right.as_ref().map(Preorder::new)))
    }

    #[test]
    fn names_do_not_matter_but_structure_does() {
        assert_eq!(counts("a = b(1)", "x = y(2)"), (5, 5));
        assert_eq!(counts("a = b", "x = y(2)"), (0, 5));
        assert_eq!(counts("f(1)", "f(2)\nf(3)"), (6, 7));
    }

    #[test]
    fn an_empty_text_is_one_subtree() {
        assert_eq!(counts("", ""), (1, 1));
        assert_eq!(counts("x", ""), (0, 1));
    }

    #[test]
    fn a_missing_token_that_no_walk_meets_is_part_of_the_structure() {
        let target = "for i in sorted(inserts, reverse=True):\n    parts[i:i] = [inserts[i]]";
        // The block of the prediction is like that of the target but for a missing dedent.
        let prediction = target.replace("=True", "=Tr\"ue").replace("[i:i]", "[i:é]");
        assert_eq!(counts(&prediction, target), (6, 12));
    }

    #[test]
    fn errors_are_part_of_the_structure() {
        assert_eq!(counts("$", "?"), (0, 2));
        assert_eq!(counts("$", "$"), (2, 2));
    }
}
