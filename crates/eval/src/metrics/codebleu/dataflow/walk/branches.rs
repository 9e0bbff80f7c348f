//! Branches: each alternative starts from what held before the statement, and afterwards all may have happened.

use std::collections::{BTreeMap, BTreeSet};

use repo::Language;

use super::super::tokens::Code;
use super::{States, Task, Walk};

/// The branches of one statement.
pub(super) struct Branches {
    before: States,
    first: States,
    others: Vec<States>,
}

impl Walk<'_> {
    pub(super) fn branch(&mut self, node: usize) {
        let mut tasks = vec![Task::Fork];
        let (mut is_complete, mut is_alternative) = (false, false);
        for child in self.tree.children(node) {
            let kind = self.tree.nodes[child].kind;
            is_complete |= kind.contains("else");
            is_alternative = match self.language {
                Language::Python => matches!(kind, "elif_clause" | "else_clause"),
                Language::Java => is_alternative || matches!(kind, "if_statement" | "else"),
            };
            if is_alternative {
                tasks.extend([Task::Enter, Task::Visit(child), Task::Leave]);
            } else {
                tasks.push(Task::Visit(child));
            }
        }
        tasks.push(Task::Join(is_complete));
        self.plan(tasks);
    }

    pub(super) fn fork(&mut self) -> Option<()> {
        self.charge(self.states.len())?;
        self.branches.push(Branches { before: self.states.clone(), first: States::new(), others: Vec::new() });
        Some(())
    }

    pub(super) fn enter(&mut self) -> Option<()> {
        self.charge(self.states.len())?;
        let branches = self.branches.last_mut()?;
        branches.first = std::mem::replace(&mut self.states, branches.before.clone());
        Some(())
    }

    pub(super) fn leave(&mut self) -> Option<()> {
        let branches = self.branches.last_mut()?;
        let first = std::mem::take(&mut branches.first);
        branches.others.push(std::mem::replace(&mut self.states, first));
        Some(())
    }

    pub(super) fn join(&mut self, is_complete: bool) -> Option<()> {
        let Branches { before, others, .. } = self.branches.pop()?;
        let first = std::mem::take(&mut self.states);
        let skipped = (!is_complete).then_some(before);
        let mut joined: BTreeMap<Code, BTreeSet<usize>> = BTreeMap::new();
        for (code, positions) in others.into_iter().chain([first]).chain(skipped).flatten() {
            self.charge(positions.len())?;
            joined.entry(code).or_default().extend(positions);
        }
        self.states = joined.into_iter().map(|(code, positions)| (code, positions.into_iter().collect())).collect();
        Some(())
    }
}
