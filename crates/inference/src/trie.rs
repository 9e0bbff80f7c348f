//! Suggestions as a tree of tokens, walked from its root while a model chooses among them.
//!
//! A node stands for what suggestions begin with. Where it has one child nothing is left to choose; where a suggestion
//! ends and a longer one goes on, both ways are open unless the tree was built of the [shortest](Trie::of_shortest).

use std::collections::BTreeMap;

/// The tokens of several suggestions; what they begin with in common is there once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trie {
    /// The root first.
    nodes: Vec<Node>,
}

/// One way to go on from a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Child {
    /// The token that leads there.
    pub token: u32,
    /// The node that it leads to.
    pub node: usize,
    /// The place of the best suggestion that begins so, 0 for the best of all.
    pub rank: usize,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Node {
    children: BTreeMap<u32, usize>,
    end: Option<usize>,
    rank: usize,
    forks: bool,
}

impl Trie {
    /// The node where every walk begins.
    pub const ROOT: usize = 0;

    /// Arranges suggestions, the best first; those without tokens are left out.
    #[must_use]
    pub fn new(suggestions: &[Vec<u32>]) -> Self {
        let mut trie = Self { nodes: vec![Node::default()] };
        let spelled = suggestions.iter().enumerate().filter(|(_, tokens)| !tokens.is_empty());
        spelled.for_each(|(rank, tokens)| trie.insert(rank, tokens));
        trie
    }

    /// Arranges suggestions, the best first, without those that begin with another one: a walk that stops where a
    /// suggestion ends never reaches them.
    #[must_use]
    pub fn of_shortest(suggestions: &[Vec<u32>]) -> Self {
        let mut by_length: Vec<(usize, &Vec<u32>)> =
            suggestions.iter().enumerate().filter(|(_, tokens)| !tokens.is_empty()).collect();
        by_length.sort_by_key(|(_, tokens)| tokens.len());
        let mut trie = Self { nodes: vec![Node::default()] };
        for (rank, tokens) in by_length {
            if !trie.reaches_end(tokens) {
                trie.insert(rank, tokens);
            }
        }
        trie
    }

    /// Returns whether there is nothing to choose from.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.len() == 1
    }

    /// Returns the ways to go on from a node, by token.
    ///
    /// # Panics
    ///
    /// Panics if there is no such node.
    pub fn children(&self, node: usize) -> impl ExactSizeIterator<Item = Child> {
        let children = self.nodes[node].children.iter();
        children.map(|(&token, &node)| Child { token, node, rank: self.nodes[node].rank })
    }

    /// Returns the place of the best suggestion that ends at a node.
    ///
    /// # Panics
    ///
    /// Panics if there is no such node.
    #[must_use]
    pub fn end(&self, node: usize) -> Option<usize> {
        self.nodes[node].end
    }

    /// Returns whether a walk from a node may come to where one suggestion ends and another goes on; that node itself
    /// counts.
    ///
    /// # Panics
    ///
    /// Panics if there is no such node.
    #[must_use]
    pub fn forks(&self, node: usize) -> bool {
        self.nodes[node].forks
    }

    fn insert(&mut self, rank: usize, tokens: &[u32]) {
        let mut path = vec![Self::ROOT];
        for &token in tokens {
            let (node, next) = (path[path.len() - 1], self.nodes.len());
            let child = *self.nodes[node].children.entry(token).or_insert(next);
            if child == next {
                self.nodes.push(Node { rank, ..Node::default() });
            }
            path.push(child);
        }
        self.nodes[path[path.len() - 1]].end.get_or_insert(rank);
        let is_fork = |&node: &usize| self.nodes[node].end.is_some() && !self.nodes[node].children.is_empty();
        let last_fork = path.iter().rposition(is_fork);
        for (depth, node) in path.into_iter().enumerate() {
            let node = &mut self.nodes[node];
            node.rank = node.rank.min(rank);
            node.forks |= last_fork.is_some_and(|fork| depth <= fork);
        }
    }

    /// Returns whether a suggestion ends on the way that `tokens` lead.
    fn reaches_end(&self, tokens: &[u32]) -> bool {
        let mut node = Self::ROOT;
        for token in tokens {
            match self.nodes[node].children.get(token) {
                Some(&child) => node = child,
                None => return false,
            }
            if self.nodes[node].end.is_some() {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns every way from the root to where a suggestion ends, with its rank.
    fn ends(trie: &Trie) -> Vec<(Vec<u32>, usize)> {
        let (mut found, mut open) = (Vec::new(), vec![(Trie::ROOT, Vec::new())]);
        while let Some((node, tokens)) = open.pop() {
            found.extend(trie.end(node).map(|rank| (tokens.clone(), rank)));
            open.extend(trie.children(node).map(|child| (child.node, [&tokens[..], &[child.token]].concat())));
        }
        found.sort();
        found
    }

    #[test]
    fn what_suggestions_begin_with_in_common_is_there_once() {
        let trie = Trie::new(&[vec![1, 2, 3], vec![1, 2], vec![4], vec![1, 5], vec![4], vec![]]);
        assert_eq!(ends(&trie), [(vec![1, 2], 1), (vec![1, 2, 3], 0), (vec![1, 5], 3), (vec![4], 2)]);
        let children: Vec<(u32, usize)> = trie.children(Trie::ROOT).map(|child| (child.token, child.rank)).collect();
        assert_eq!(children, [(1, 0), (4, 2)]);
        assert!(!trie.is_empty() && Trie::new(&[vec![]]).is_empty());
    }

    #[test]
    fn nodes_above_an_end_that_goes_on_are_known() {
        let trie = Trie::new(&[vec![1, 2, 3], vec![1, 2], vec![4]]);
        let step = |node, token| trie.children(node).find(|child| child.token == token).unwrap().node;
        let (one, four) = (step(Trie::ROOT, 1), step(Trie::ROOT, 4));
        let two = step(one, 2);
        assert_eq!(
            [Trie::ROOT, one, two, step(two, 3), four].map(|node| trie.forks(node)),
            [true, true, true, false, false]
        );
    }

    #[test]
    fn the_shortest_hide_what_begins_with_them() {
        let trie = Trie::of_shortest(&[vec![1, 2, 3], vec![2, 2], vec![1], vec![2]]);
        assert_eq!(ends(&trie), [(vec![1], 2), (vec![2], 3)]);
        assert!(trie.children(Trie::ROOT).map(|child| child.rank).eq([2, 3]));
    }

    proptest! {
        #[test]
        fn every_suggestion_is_reached_and_nothing_else(
            suggestions in prop::collection::vec(prop::collection::vec(0_u32..3, 0..5), 0..8),
        ) {
            let first = |tokens: &Vec<u32>| suggestions.iter().position(|other| other == tokens).unwrap();
            let mut expected: Vec<(Vec<u32>, usize)> =
                suggestions.iter().filter(|tokens| !tokens.is_empty()).map(|tokens| (tokens.clone(), first(tokens))).collect();
            expected.sort();
            expected.dedup();
            prop_assert_eq!(&ends(&Trie::new(&suggestions)), &expected);
            let begins = |long: &[u32], short: &[u32]| long.len() > short.len() && long.starts_with(short);
            let mut shortest = expected.clone();
            shortest.retain(|(tokens, _)| !expected.iter().any(|(other, _)| begins(tokens, other)));
            let trie = Trie::of_shortest(&suggestions);
            prop_assert_eq!(ends(&trie), shortest);
            prop_assert!(!trie.forks(Trie::ROOT));
        }
    }
}
