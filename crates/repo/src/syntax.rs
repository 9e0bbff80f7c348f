//! Parsing within limits, and walking a tree without recursion.
//!
//! tree-sitter parses sound code in linear time, but its error recovery may take time quadratic in the length of a
//! stretch without structure, and much of that between two progress reports. Four limits keep it in check:
//! [`SOURCE_BYTES_MAX`], [`LINE_BYTES_MAX`], a budget of parser operations in proportion to the text, and
//! [`PARSE_TIME_MAX`]. The first three depend on the text alone. The last is for texts that are garbage by any measure,
//! and the one place of this crate that looks at a clock; a source file of ordinary size takes milliseconds.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tree_sitter::{Node, ParseOptions, Parser, Tree, TreeCursor};

use crate::language::Language;

/// The longest text that is parsed, in bytes.
pub const SOURCE_BYTES_MAX: usize = 4 << 20;

/// The longest line that is parsed, in bytes.
pub const LINE_BYTES_MAX: usize = 16 << 10;

/// The longest time that one parse may take.
pub const PARSE_TIME_MAX: Duration = Duration::from_secs(20);

/// Operations that every parse may use: the parser reports once per hundred.
const REPORTS_BASE: usize = 10_000;

/// Bytes of text for each further hundred operations; dense code needs about thirty.
const BYTES_PER_REPORT: usize = 10;

impl Language {
    /// Parses `text`, or returns `None` if it or its parse exceeds one of the limits.
    ///
    /// The tree may hold errors, and may be nested almost as deep as the text is long: walk it with [`Preorder`], and
    /// never turn it into an S-expression, which tree-sitter does recursively.
    #[must_use]
    pub fn parse(self, text: &str) -> Option<Tree> {
        let is_too_long = |line: &str| line.len() > LINE_BYTES_MAX;
        if text.len() > SOURCE_BYTES_MAX || text.split(['\n', '\r']).any(is_too_long) {
            return None;
        }
        let mut parser = Parser::new();
        parser.set_language(&self.grammar()).ok()?;
        let (started, mut n_reports) = (Instant::now(), 0);
        let n_reports_max = REPORTS_BASE + text.len() / BYTES_PER_REPORT;
        let mut report = |_: &_| {
            n_reports += 1;
            let is_within = n_reports <= n_reports_max && started.elapsed() <= PARSE_TIME_MAX;
            if is_within { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let options = ParseOptions::new().progress_callback(&mut report);
        parser.parse_with_options(&mut |offset, _| &text.as_bytes()[offset.min(text.len())..], None, Some(options))
    }

    fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
        }
    }
}

/// The nodes of a tree from the root down, each before its children, with constant work per node at any depth.
pub struct Preorder<'tree> {
    cursor: TreeCursor<'tree>,
    depth: usize,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    Descend,
    Skip,
    Done,
}

impl<'tree> Preorder<'tree> {
    /// Starts a walk over `tree`.
    #[must_use]
    pub fn new(tree: &'tree Tree) -> Self {
        Self { cursor: tree.walk(), depth: 0, state: State::Start }
    }

    /// Leaves out the children of the node returned last.
    pub fn skip_children(&mut self) {
        if self.state == State::Descend {
            self.state = State::Skip;
        }
    }

    /// Returns how many ancestors the node returned last has.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Returns the grammar's name for the place that the node returned last has in its parent, such as `left`.
    #[must_use]
    pub fn field(&self) -> Option<&'tree str> {
        self.cursor.field_name()
    }

    fn advance(&mut self) -> bool {
        if self.state == State::Descend && self.cursor.goto_first_child() {
            self.depth += 1;
            return true;
        }
        while !self.cursor.goto_next_sibling() {
            if !self.cursor.goto_parent() {
                return false;
            }
            self.depth -= 1;
        }
        true
    }
}

impl<'tree> Iterator for Preorder<'tree> {
    type Item = Node<'tree>;

    fn next(&mut self) -> Option<Node<'tree>> {
        let moved = match self.state {
            State::Start => true,
            State::Done => false,
            State::Descend | State::Skip => self.advance(),
        };
        self.state = if moved { State::Descend } else { State::Done };
        moved.then(|| self.cursor.node())
    }
}

/// Returns the text of `node`.
pub(crate) fn node_text<'text>(node: Node<'_>, text: &'text str) -> &'text str {
    text.get(node.byte_range()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    /// A sum of 1.5 million terms on lines of a thousand bytes: a tree nested to the left as deep.
    fn deep_sum() -> String {
        format!("x = (\n{}1)\n", format!("{}\n", "1+".repeat(500)).repeat(3_000))
    }

    #[test]
    fn a_walk_visits_parents_before_children_and_can_skip_them() {
        let tree = Language::Python.parse("f(x)\ndef g(): pass\n").unwrap();
        let mut walk = Preorder::new(&tree);
        let mut lines = Vec::new();
        while let Some(node) = walk.next() {
            lines.push("  ".repeat(walk.depth()) + node.kind());
            if node.kind() == "function_definition" {
                walk.skip_children();
            }
        }
        expect![[r"
            module
              expression_statement
                call
                  identifier
                  argument_list
                    (
                    identifier
                    )
              function_definition"]]
        .assert_eq(&lines.join("\n"));
    }

    #[test]
    fn a_tree_of_a_million_levels_is_parsed_walked_and_dropped() {
        let tree = Language::Python.parse(&deep_sum()).unwrap();
        let mut walk = Preorder::new(&tree);
        let mut depth_max = 0;
        while walk.next().is_some() {
            depth_max = depth_max.max(walk.depth());
        }
        assert!(depth_max >= 1_500_000, "{depth_max}");
    }

    #[test]
    fn a_text_beyond_the_limits_has_no_tree() {
        for language in Language::ALL {
            assert!(language.parse(&"1+".repeat(3 << 19)).is_none(), "a line of 3 MB");
            assert!(language.parse(&"\n".repeat(SOURCE_BYTES_MAX + 1)).is_none(), "a text of more than 4 MB");
            assert!(language.parse(&"\r".repeat(3 << 20)).is_some(), "line endings of another age");
        }
    }

    #[test]
    fn garbage_ends_in_time() {
        let stretches =
            ["(", "[{", "'", "\"\"\"", "f\"{", "A<", ",+", "if -", "lambda:", "\0", "/*", "\\", "é😀", "a b c ) ( "];
        for stretch in stretches {
            for ending in ["", "\n", "\r\n"] {
                let line = format!("{}{ending}", stretch.repeat(200 / stretch.len()));
                for language in Language::ALL {
                    let tree = language.parse(&line.repeat(3)).expect("garbage of this length parses");
                    assert!(Preorder::new(&tree).count() > 0);
                }
            }
        }
    }

    #[test]
    fn indentation_deeper_than_the_scanner_can_store_is_survived() {
        let text: String = (0..3_000).map(|depth| "\t".repeat(depth) + "if a:\n").collect();
        assert!(Language::Python.parse(&text).is_none_or(|tree| Preorder::new(&tree).count() > 0));
    }

    proptest! {
        #[test]
        fn a_walk_visits_every_node_once(text in "[a-z(){}\\[\\];:=.,\"'\n\0 ]{0,60}") {
            for language in Language::ALL {
                let tree = language.parse(&text).unwrap();
                prop_assert_eq!(Preorder::new(&tree).count(), tree.root_node().descendant_count());
            }
        }
    }
}
