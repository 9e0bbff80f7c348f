//! Java: names and types from tree-sitter trees.
