//! From edges to items that two texts can share.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::Code;

/// How a value got where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Relation {
    /// It is used or declared.
    ComesFrom,
    /// It is assigned.
    ComputedFrom,
}

/// Where the value of one token comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub(super) code: Code,
    pub(super) position: usize,
    pub(super) relation: Relation,
    /// The texts of the tokens it comes from.
    pub(super) sources: Vec<Code>,
    /// Their places among the tokens.
    pub(super) source_positions: Vec<usize>,
}

/// A variable, a relation and the variables it comes from, numbered in the order of their first mention.
pub(super) type Item = (usize, Relation, Vec<usize>);

/// Returns one edge per token, relation and text, in the order of their first mention: what a loop run twice leaves.
pub(super) fn merged(edges: Vec<Edge>) -> Vec<Edge> {
    let mut indices: BTreeMap<(Code, usize, Relation), usize> = BTreeMap::new();
    let mut merged: Vec<Edge> = Vec::new();
    for edge in edges {
        let next = merged.len();
        match *indices.entry((edge.code, edge.position, edge.relation)).or_insert(next) {
            new if new == next => merged.push(edge),
            known => add_sources(&mut merged[known], &edge),
        }
    }
    merged
}

fn add_sources(known: &mut Edge, edge: &Edge) {
    known.sources = distinct(known.sources.iter().chain(&edge.sources));
    let positions: BTreeSet<usize> = known.source_positions.iter().chain(&edge.source_positions).copied().collect();
    known.source_positions = positions.into_iter().collect();
}

/// Returns the codes without repetition, in the order of their first mention.
fn distinct<'a>(codes: impl Iterator<Item = &'a Code>) -> Vec<Code> {
    let mut seen = BTreeSet::new();
    codes.copied().filter(|code| seen.insert(*code)).collect()
}

/// Returns the items of the edges in the order of their tokens; tokens that no other has to do with have none.
pub(super) fn normalized(mut edges: Vec<Edge>) -> Vec<Item> {
    edges.sort_by_key(|edge| edge.position);
    let is_target = |edge: &&Edge| !edge.source_positions.is_empty();
    let targets = edges.iter().filter(is_target).map(|edge| edge.position);
    let linked: BTreeSet<usize> = edges.iter().flat_map(|edge| edge.source_positions.clone()).chain(targets).collect();
    let linked_edges = edges.into_iter().filter(|edge| linked.contains(&edge.position));
    numbered(&one_per_token(linked_edges))
}

/// Of several edges of a token the last gives text and relation, and all give sources.
fn one_per_token(edges: impl Iterator<Item = Edge>) -> Vec<Edge> {
    let mut tokens: Vec<Edge> = Vec::new();
    for edge in edges {
        match tokens.last_mut() {
            Some(last) if last.position == edge.position => {
                add_sources(last, &edge);
                (last.code, last.relation) = (edge.code, edge.relation);
            }
            _ => tokens.push(edge),
        }
    }
    tokens
}

fn numbered(edges: &[Edge]) -> Vec<Item> {
    let mut numbers: BTreeMap<Code, usize> = BTreeMap::new();
    let mut number = |code: Code| {
        let next = numbers.len();
        *numbers.entry(code).or_insert(next)
    };
    let item = |edge: &Edge| {
        let sources: Vec<usize> = edge.sources.iter().map(|code| number(*code)).collect();
        (number(edge.code), edge.relation, sources)
    };
    edges.iter().map(item).collect()
}

/// Returns how many of the wanted items are among the predicted ones, each of which counts once.
pub(super) fn shared(predicted: Vec<Item>, wanted: &[Item]) -> usize {
    let mut left: BTreeMap<Item, usize> = BTreeMap::new();
    for item in predicted {
        *left.entry(item).or_default() += 1;
    }
    let take = |item: &&Item| {
        let count = left.get_mut(*item).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_some()
    };
    wanted.iter().filter(take).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(code: Code, position: usize, sources: &[(Code, usize)]) -> Edge {
        let (sources, source_positions) = sources.iter().copied().unzip();
        Edge { code, position, relation: Relation::ComesFrom, sources, source_positions }
    }

    #[test]
    fn edges_of_one_token_are_merged() {
        let merged = merged(vec![edge(7, 3, &[(5, 1), (5, 1)]), edge(7, 3, &[(4, 0)]), edge(8, 4, &[])]);
        assert_eq!(merged, [edge(7, 3, &[(5, 0), (4, 1)]), edge(8, 4, &[])]);
    }

    #[test]
    fn tokens_without_relatives_have_no_item() {
        let items = normalized(vec![edge(9, 2, &[(7, 0)]), edge(7, 0, &[]), edge(8, 1, &[])]);
        assert_eq!(items, [(0, Relation::ComesFrom, vec![]), (1, Relation::ComesFrom, vec![0])]);
    }

    #[test]
    fn items_are_shared_as_often_as_both_have_them() {
        let item = |number| (number, Relation::ComesFrom, vec![]);
        assert_eq!(shared(vec![item(1), item(2)], &[item(1), item(1), item(3)]), 1);
    }
}
