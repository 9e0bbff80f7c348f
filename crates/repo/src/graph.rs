//! The dependency graph of a repository, and its clusters.
//!
//! A cluster is a weakly connected component of more than one file: files that see each other over some chain of
//! imports. Graph, clusters and order depend on paths and texts alone, not on the order in which files were given.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::unionfind::UnionFind;
use petgraph::{Direction, visit::EdgeRef};

use crate::imports;
use crate::source::Repository;

/// Which file of a repository depends on which.
#[derive(Debug, Clone)]
pub struct DependencyGraph {
    /// Node weights are absent: a node's index is its file's.
    graph: DiGraph<(), ()>,
}

/// Connected files, more than one, each after what it depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Indices into the repository's files.
    pub files: Vec<usize>,
}

impl DependencyGraph {
    /// Builds the graph from the imports of every file.
    #[must_use]
    pub fn build(repository: &Repository) -> Self {
        Self::from_dependencies(&imports::resolve(repository))
    }

    fn from_dependencies(dependencies: &[Vec<usize>]) -> Self {
        let mut graph = DiGraph::with_capacity(dependencies.len(), 0);
        for _ in dependencies {
            graph.add_node(());
        }
        for (file, targets) in dependencies.iter().enumerate() {
            for &target in targets {
                graph.add_edge(NodeIndex::new(file), NodeIndex::new(target), ());
            }
        }
        Self { graph }
    }

    /// Returns the sorted indices of the files that `file` depends on.
    ///
    /// # Panics
    ///
    /// Panics if the repository has no file `file`.
    #[must_use]
    pub fn dependencies(&self, file: usize) -> Vec<usize> {
        assert!(file < self.graph.node_count(), "no file with this index");
        self.neighbors(file, Direction::Outgoing)
    }

    /// Returns all edges as (file, file it depends on), sorted.
    #[must_use]
    pub fn edges(&self) -> Vec<(usize, usize)> {
        let edges = self.graph.edge_references().map(|edge| (edge.source().index(), edge.target().index()));
        let sorted: BTreeSet<(usize, usize)> = edges.collect();
        sorted.into_iter().collect()
    }

    /// Returns the clusters, ordered by the first path of each.
    ///
    /// Within a cluster the order is Kahn's: of the files whose dependencies are all placed, the first by path comes
    /// next. Files that import each other in a cycle never get that far. A cycle is entered, once everything that it
    /// depends on from outside is placed, at the file with the fewest unplaced dependencies, then by path. Only edges
    /// within a cycle (a strongly connected component) are ever violated.
    #[must_use]
    pub fn clusters(&self) -> Vec<Cluster> {
        let mut components = UnionFind::new(self.graph.node_count());
        for (file, dependency) in self.edges() {
            components.union(file, dependency);
        }
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for file in 0..self.graph.node_count() {
            members.entry(components.find_mut(file)).or_default().push(file);
        }
        let mut members: Vec<Vec<usize>> = members.into_values().filter(|files| files.len() > 1).collect();
        members.sort();
        let cycles = self.cycles();
        members.into_iter().map(|files| Cluster { files: self.ordered(&files, &cycles) }).collect()
    }

    /// Returns for each file the number of its strongly connected component.
    fn cycles(&self) -> Vec<usize> {
        let mut cycles = vec![0; self.graph.node_count()];
        for (number, component) in kosaraju_scc(&self.graph).into_iter().enumerate() {
            for file in component {
                cycles[file.index()] = number;
            }
        }
        cycles
    }

    fn ordered(&self, files: &[usize], cycles: &[usize]) -> Vec<usize> {
        let unplaced = |file: usize| {
            let dependencies = self.neighbors(file, Direction::Outgoing).into_iter();
            let (inside, outside): (Vec<_>, Vec<_>) = dependencies.partition(|&other| cycles[file] == cycles[other]);
            Unplaced { outside: outside.len(), inside: inside.len() }
        };
        let mut counts: BTreeMap<usize, Unplaced> = files.iter().map(|&file| (file, unplaced(file))).collect();
        let mut queue: BTreeSet<(Unplaced, usize)> = counts.iter().map(|(&file, &count)| (count, file)).collect();
        let mut order = Vec::with_capacity(files.len());
        while let Some((_, file)) = queue.pop_first() {
            counts.remove(&file);
            order.push(file);
            for dependent in self.neighbors(file, Direction::Incoming) {
                let Some(count) = counts.get_mut(&dependent) else { continue };
                queue.remove(&(*count, dependent));
                count.place_one(cycles[file] == cycles[dependent]);
                queue.insert((*count, dependent));
            }
        }
        order
    }

    fn neighbors(&self, file: usize, direction: Direction) -> Vec<usize> {
        let neighbors = self.graph.neighbors_directed(NodeIndex::new(file), direction);
        let sorted: BTreeSet<usize> = neighbors.map(NodeIndex::index).collect();
        sorted.into_iter().collect()
    }
}

/// How many dependencies of a file are not placed yet, outside its cycle and inside it; ordered in that order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Unplaced {
    outside: usize,
    inside: usize,
}

impl Unplaced {
    fn place_one(&mut self, is_inside: bool) {
        if is_inside {
            self.inside -= 1;
        } else {
            self.outside -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn order(dependencies: &[&[usize]]) -> Vec<Vec<usize>> {
        let dependencies: Vec<Vec<usize>> = dependencies.iter().map(|files| files.to_vec()).collect();
        let clusters = DependencyGraph::from_dependencies(&dependencies).clusters();
        clusters.into_iter().map(|cluster| cluster.files).collect()
    }

    #[test]
    fn a_file_follows_what_it_depends_on() {
        assert_eq!(order(&[&[2], &[0, 2], &[]]), [[2, 0, 1]]);
    }

    #[test]
    fn files_without_edges_are_in_no_cluster() {
        assert_eq!(order(&[&[], &[3], &[4], &[], &[]]), [[3, 1], [4, 2]]);
    }

    #[test]
    fn a_cycle_is_entered_where_fewest_dependencies_are_missing() {
        assert_eq!(order(&[&[1, 2], &[2], &[0]]), [[1, 0, 2]]);
    }

    #[test]
    fn a_cycle_waits_for_what_it_depends_on() {
        assert_eq!(order(&[&[1], &[0, 3], &[0], &[]]), [[3, 0, 1, 2]]);
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let n = 200_000;
        let dependencies: Vec<Vec<usize>> = (0..n).map(|i| if i + 1 < n { vec![i + 1] } else { vec![] }).collect();
        let clusters = DependencyGraph::from_dependencies(&dependencies).clusters();
        assert_eq!(clusters[0].files, (0..n).rev().collect::<Vec<_>>());
    }

    fn check_fixture(name: &str, expected: &Expect) {
        let repository = fixtures::load(name);
        let cluster_paths = |cluster| {
            let files = fixtures::cluster_files(&repository, &cluster).into_iter();
            files.map(|file| file.path.as_str()).collect::<Vec<_>>().join("\n")
        };
        let clusters: Vec<String> = fixtures::clusters(&repository).into_iter().map(cluster_paths).collect();
        expected.assert_eq(&clusters.join("\n--\n"));
    }

    #[test]
    fn the_fixture_repositories_have_these_clusters() {
        check_fixture(
            "python_shop",
            &expect![[r"
            scripts/tables.py
            scripts/sales_report.py
            --
            src/shop/money.py
            src/shop/catalog/products.py
            src/shop/catalog/index.py
            src/shop/catalog/__init__.py
            src/shop/orders/discounts.py
            src/shop/orders/cart.py
            src/shop/orders/checkout.py
            src/shop/orders/__init__.py
            src/shop/__init__.py
            src/shop/storage.py
            src/shop/cli.py
            --
            warehouse/__init__.py
            warehouse/layout.py
            warehouse/inventory.py
            warehouse/picking.py"]],
        );
        check_fixture(
            "java_library",
            &expect![[r"
            src/main/java/org/example/library/labels/Barcode.java
            src/main/java/org/example/library/labels/Label.java
            src/main/java/org/example/library/labels/LabelSheet.java
            --
            src/main/java/org/example/library/service/LendingException.java
            src/main/java/org/example/library/util/Checks.java
            src/main/java/org/example/library/util/Isbn.java
            src/main/java/org/example/library/model/Book.java
            src/main/java/org/example/library/service/Catalog.java
            src/main/java/org/example/library/util/TextTable.java
            src/main/java/org/example/library/model/Loan.java
            src/main/java/org/example/library/model/Member.java
            src/main/java/org/example/library/service/LendingDesk.java
            src/main/java/org/example/library/service/Reminders.java
            src/test/java/org/example/library/service/LendingDeskTest.java"]],
        );
    }

    fn dependencies() -> impl Strategy<Value = Vec<Vec<usize>>> {
        (1..12_usize).prop_flat_map(|n| {
            let targets = prop::collection::btree_set(0..n, 0..3);
            prop::collection::vec(targets, n).prop_map(|files| {
                let others = |(file, targets): (usize, BTreeSet<usize>)| {
                    targets.into_iter().filter(|&target| target != file).collect()
                };
                files.into_iter().enumerate().map(others).collect()
            })
        })
    }

    proptest! {
        #[test]
        fn clusters_partition_the_connected_files(dependencies in dependencies()) {
            let graph = DependencyGraph::from_dependencies(&dependencies);
            let mut clustered: Vec<usize> = graph.clusters().into_iter().flat_map(|c| c.files).collect();
            clustered.sort_unstable();
            let connected: BTreeSet<usize> = graph.edges().into_iter().flat_map(|(a, b)| [a, b]).collect();
            prop_assert_eq!(clustered, connected.into_iter().collect::<Vec<_>>());
            for cluster in graph.clusters() {
                let is_inside = |file: &usize| cluster.files.contains(file);
                prop_assert!(graph.edges().iter().all(|(a, b)| is_inside(a) == is_inside(b)));
            }
        }

        #[test]
        fn only_edges_within_a_cycle_point_forward(dependencies in dependencies()) {
            let graph = DependencyGraph::from_dependencies(&dependencies);
            let cycles = graph.cycles();
            let order: Vec<usize> = graph.clusters().into_iter().flat_map(|c| c.files).collect();
            let position = |file| order.iter().position(|&other| other == file);
            for (file, dependency) in graph.edges() {
                prop_assert!(position(dependency) < position(file) || cycles[file] == cycles[dependency]);
            }
        }
    }
}
