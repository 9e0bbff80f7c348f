//! The scopes of a file, and what each binds.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What opens a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScopeKind {
    File,
    Class,
    Function,
}

/// How a scope comes to a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding {
    Parameter,
    Import,
    /// A variable, function or class; the byte of its first binding.
    Variable(usize),
}

/// A scope, and what is known of it.
#[derive(Debug)]
pub(super) struct Scope<'text> {
    pub(super) kind: ScopeKind,
    pub(super) span: Range<usize>,
    pub(super) parent: Option<usize>,
    pub(super) names: BTreeMap<&'text str, Binding>,
    /// The first parameter of a method of Python.
    pub(super) receiver: Option<&'text str>,
    /// The members that a class declares, those assigned through `self` among them.
    pub(super) members: BTreeSet<&'text str>,
}

/// The scopes of a file in order of their beginning, the file itself first.
#[derive(Debug)]
pub(super) struct Scopes<'text>(Vec<Scope<'text>>);

impl<'text> Scopes<'text> {
    pub(super) fn new(length: usize) -> Self {
        let mut scopes = Self(Vec::new());
        scopes.0.push(Scope::new(ScopeKind::File, 0..length + 1, None));
        scopes
    }

    /// Opens a scope within the one at its beginning.
    pub(super) fn open(&mut self, kind: ScopeKind, span: Range<usize>) {
        let parent = self.at(span.start);
        self.0.push(Scope::new(kind, span, Some(parent)));
    }

    /// Returns the innermost scope around `byte` while the file is walked: the one opened last or one around it.
    pub(super) fn at(&self, byte: usize) -> usize {
        self.outward_from(self.0.len() - 1, byte)
    }

    fn outward_from(&self, near: usize, byte: usize) -> usize {
        let mut scope = near;
        while let Some(parent) = self.0[scope].parent.filter(|_| !self.0[scope].span.contains(&byte)) {
            scope = parent;
        }
        scope
    }

    /// Returns the innermost scope around `byte` once all scopes are known.
    pub(super) fn around(&self, byte: usize) -> usize {
        self.outward_from(self.0.partition_point(|scope| scope.span.start <= byte).saturating_sub(1), byte)
    }

    pub(super) fn get(&self, index: usize) -> &Scope<'text> {
        &self.0[index]
    }

    pub(super) fn get_mut(&mut self, index: usize) -> &mut Scope<'text> {
        &mut self.0[index]
    }

    /// Returns a scope and those around it, innermost first.
    pub(super) fn outward(&self, index: usize) -> impl Iterator<Item = &Scope<'text>> {
        std::iter::successors(Some(&self.0[index]), |scope| scope.parent.map(|parent| &self.0[parent]))
    }

    /// Returns the innermost class around a scope.
    pub(super) fn class(&self, index: usize) -> Option<&Scope<'text>> {
        self.outward(index).find(|scope| scope.kind == ScopeKind::Class)
    }
}

impl<'text> Scope<'text> {
    fn new(kind: ScopeKind, span: Range<usize>, parent: Option<usize>) -> Self {
        Self { kind, span, parent, names: BTreeMap::new(), receiver: None, members: BTreeSet::new() }
    }

    /// Notes that the scope binds `name`; the first note stands.
    pub(super) fn bind(&mut self, name: &'text str, binding: Binding) {
        self.names.entry(name).or_insert(binding);
    }
}
