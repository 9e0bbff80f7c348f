//! The walk over a tree that finds where values come from, with a stack of tasks instead of recursion.

mod branches;

use std::collections::BTreeMap;

use repo::Language;

use branches::Branches;

use super::super::tree::FlatTree;
use super::items::{Edge, Relation, merged};
use super::tokens::{Code, Token, of_nodes, token_nodes};
use super::{DEPTH_MAX, STEPS_MAX};

/// Where each variable may have got its value: positions of tokens.
type States = BTreeMap<Code, Vec<usize>>;

/// What remains to be done; the last task is next.
enum Task {
    /// Follows a node.
    Visit(usize),
    /// Assigns the tokens of the second node to those of the first.
    Bind(Binding, usize, usize),
    /// Declares the tokens of a node.
    Declare(usize),
    /// Begins the branches of a statement.
    Fork,
    /// Goes back to what held before the statement.
    Enter,
    /// Ends a branch and goes on with the first.
    Leave,
    /// Joins the branches; `true` if one of them is always taken.
    Join(bool),
    /// Merges what a loop left since it began, which is the number of edges then.
    EndLoop(usize),
}

/// How assigned tokens become edges.
#[derive(Clone, Copy)]
enum Binding {
    /// One edge per assigned token.
    Joined,
    /// One edge per pair of tokens.
    Pairs(Relation),
}

struct Walk<'a> {
    tree: &'a FlatTree<'a>,
    language: Language,
    tokens: Vec<Option<Token>>,
    tasks: Vec<Task>,
    states: States,
    branches: Vec<Branches>,
    edges: Vec<Edge>,
    steps_left: usize,
}

/// Returns the edges of a tree in the order in which the original finds them; none beyond the limits, or where it
/// fails.
///
/// # References
///
/// `CodeBLEU`, `DFG_python` and `DFG_java`, oddities included: an attribute is assigned to part by part if the value
/// has as many parts, and the body of a Python `for` that has an `else` is not followed.
pub(super) fn edges(tree: &FlatTree<'_>, language: Language) -> Vec<Edge> {
    if tree.nodes.is_empty() || tree.depth_max > DEPTH_MAX {
        return Vec::new();
    }
    let mut walk = Walk {
        tree,
        language,
        tokens: of_nodes(tree),
        tasks: vec![Task::Visit(0)],
        states: States::new(),
        branches: Vec::new(),
        edges: Vec::new(),
        steps_left: STEPS_MAX,
    };
    walk.run().map_or_else(Vec::new, |()| walk.edges)
}

impl Walk<'_> {
    fn run(&mut self) -> Option<()> {
        while let Some(task) = self.tasks.pop() {
            self.charge(1)?;
            match task {
                Task::Visit(node) => self.visit(node)?,
                Task::Bind(binding, left, right) => self.bind(binding, left, right)?,
                Task::Declare(node) => self.declare(node)?,
                Task::Fork => self.fork()?,
                Task::Enter => self.enter()?,
                Task::Leave => self.leave()?,
                Task::Join(is_complete) => self.join(is_complete)?,
                Task::EndLoop(start) => {
                    self.charge(self.edges.len() - start)?;
                    let edges = self.edges.split_off(start);
                    self.edges.extend(merged(edges));
                }
            }
        }
        Some(())
    }

    fn charge(&mut self, steps: usize) -> Option<()> {
        self.steps_left = self.steps_left.checked_sub(steps)?;
        Some(())
    }

    /// Puts tasks on the stack so that the first is next.
    fn plan(&mut self, tasks: impl IntoIterator<Item = Task, IntoIter: DoubleEndedIterator>) {
        self.tasks.extend(tasks.into_iter().rev());
    }

    fn visit(&mut self, node: usize) -> Option<()> {
        if let Some(token) = self.tokens[node] {
            return self.use_token(node, token);
        }
        // The parts of a string are no tokens: the original fails where a string is assigned part by part.
        if !self.tree.has_children(node) && self.tree.nodes[node].kind != "comment" {
            return None;
        }
        match self.tree.nodes[node].kind {
            "if_statement" => self.branch(node),
            "while_statement" => {
                let children = || self.tree.children(node).map(Task::Visit);
                let tasks: Vec<Task> = children().chain(children()).chain([Task::EndLoop(self.edges.len())]).collect();
                self.plan(tasks);
            }
            kind if self.language == Language::Python => self.visit_python(node, kind)?,
            kind => self.visit_java(node, kind)?,
        }
        Some(())
    }

    fn visit_python(&mut self, node: usize, kind: &str) -> Option<()> {
        match kind {
            "default_parameter" => self.declaration(node)?,
            "assignment" | "augmented_assignment" => self.python_assignment(node)?,
            "for_in_clause" => {
                let (left, right) = (self.tree.child(node, "left")?, self.tree.children(node).last()?);
                self.plan([Task::Visit(right), Task::Bind(Binding::Joined, left, right)]);
            }
            "for_statement" => self.python_for(node)?,
            _ => {
                // Comprehensions bind before they are read.
                let is_first = |child: &usize| self.tree.nodes[*child].kind == "for_in_clause";
                let (first, rest): (Vec<usize>, Vec<usize>) = self.tree.children(node).partition(is_first);
                self.plan(first.into_iter().chain(rest).map(Task::Visit).collect::<Vec<_>>());
            }
        }
        Some(())
    }

    fn visit_java(&mut self, node: usize, kind: &str) -> Option<()> {
        match kind {
            "variable_declarator" => self.declaration(node)?,
            "assignment_expression" => {
                let (left, right) = (self.tree.child(node, "left")?, self.tree.child(node, "right")?);
                self.plan([Task::Visit(right), Task::Bind(Binding::Pairs(Relation::ComputedFrom), left, right)]);
            }
            "update_expression" => self.bind(Binding::Pairs(Relation::ComputedFrom), node, node)?,
            "for_statement" => self.java_for(node),
            "enhanced_for_statement" => self.java_for_each(node)?,
            _ => self.plan(self.tree.children(node).map(Task::Visit).collect::<Vec<_>>()),
        }
        Some(())
    }

    fn use_token(&mut self, node: usize, Token { position, code, is_fixed }: Token) -> Option<()> {
        if is_fixed {
            return Some(());
        }
        let (mut sources, mut source_positions) = (Vec::new(), Vec::new());
        if let Some(known) = self.states.get(&code) {
            (sources, source_positions) = (vec![code], known.clone());
        } else if self.tree.nodes[node].kind == "identifier" {
            self.states.insert(code, vec![position]);
        }
        self.charge(source_positions.len())?;
        self.edges.push(Edge { code, position, relation: Relation::ComesFrom, sources, source_positions });
        Some(())
    }

    fn declaration(&mut self, node: usize) -> Option<()> {
        let name = self.tree.child(node, "name")?;
        match self.tree.child(node, "value") {
            None => self.plan([Task::Declare(name)]),
            Some(value) => {
                self.plan([Task::Visit(value), Task::Bind(Binding::Pairs(Relation::ComesFrom), name, value)]);
            }
        }
        Some(())
    }

    fn declare(&mut self, node: usize) -> Option<()> {
        for Token { position, code, .. } in self.variables(node)? {
            let (sources, source_positions) = (Vec::new(), Vec::new());
            self.edges.push(Edge { code, position, relation: Relation::ComesFrom, sources, source_positions });
            self.states.insert(code, vec![position]);
        }
        Some(())
    }

    fn bind(&mut self, binding: Binding, left: usize, right: usize) -> Option<()> {
        let (left, right) = (self.variables(left)?, self.variables(right)?);
        for Token { position, code, .. } in left {
            self.charge(right.len())?;
            let edge = |relation, sources: &[Token]| Edge {
                code,
                position,
                relation,
                sources: sources.iter().map(|token| token.code).collect(),
                source_positions: sources.iter().map(|token| token.position).collect(),
            };
            match binding {
                Binding::Joined => self.edges.push(edge(Relation::ComputedFrom, &right)),
                Binding::Pairs(relation) => self.edges.extend(right.chunks(1).map(|token| edge(relation, token))),
            }
            self.states.insert(code, vec![position]);
        }
        Some(())
    }

    /// Returns the tokens in a node that are neither keywords nor signs.
    fn variables(&mut self, node: usize) -> Option<Vec<Token>> {
        self.charge(self.tree.nodes[node].after - node)?;
        let tokens = token_nodes(self.tree, node).into_iter().filter_map(|node| self.tokens[node]);
        Some(tokens.filter(|token| !token.is_fixed).collect())
    }

    fn python_assignment(&mut self, node: usize) -> Option<()> {
        // An annotation alone assigns nothing.
        let Some(right) = self.tree.child(node, "right") else { return Some(()) };
        let left = self.tree.child(node, "left")?;
        let tasks = self.assignment(left, right);
        self.plan(tasks);
        Some(())
    }

    /// Follows the value and binds it: part by part if both sides have as many parts.
    fn assignment(&self, left: usize, right: usize) -> Vec<Task> {
        let parts = |node: usize| -> Vec<usize> {
            self.tree.children(node).filter(|child| self.tree.nodes[*child].kind != ",").collect()
        };
        let (mut lefts, mut rights) = (parts(left), parts(right));
        if lefts.len() != rights.len() || lefts.is_empty() {
            (lefts, rights) = (vec![left], vec![right]);
        }
        let visits = rights.iter().map(|right| Task::Visit(*right));
        let binds = lefts.iter().zip(&rights).map(|(left, right)| Task::Bind(Binding::Joined, *left, *right));
        visits.chain(binds).collect()
    }

    fn python_for(&mut self, node: usize) -> Option<()> {
        let (left, right) = (self.tree.child(node, "left")?, self.tree.child(node, "right")?);
        let body = self.tree.children(node).last().filter(|last| self.tree.nodes[*last].kind == "block");
        let once = || self.assignment(left, right).into_iter().chain(body.map(Task::Visit));
        let tasks: Vec<Task> = once().chain(once()).chain([Task::EndLoop(self.edges.len())]).collect();
        self.plan(tasks);
        Some(())
    }

    /// Runs the whole loop once, and what follows a declaration of the loop variable twice.
    fn java_for(&mut self, node: usize) {
        let children: Vec<usize> = self.tree.children(node).collect();
        let is_declaration = |child: &&usize| self.tree.nodes[**child].kind == "local_variable_declaration";
        let again = children.iter().skip_while(|child| !is_declaration(child)).skip(1);
        let visits = children.iter().chain(again).map(|child| Task::Visit(*child));
        let tasks: Vec<Task> = visits.chain([Task::EndLoop(self.edges.len())]).collect();
        self.plan(tasks);
    }

    fn java_for_each(&mut self, node: usize) -> Option<()> {
        let child = |field| self.tree.child(node, field);
        let (name, value, body) = (child("name")?, child("value")?, child("body")?);
        let bind = || Task::Bind(Binding::Pairs(Relation::ComputedFrom), name, value);
        let once = || [Task::Visit(value), bind(), Task::Visit(body)];
        let tasks: Vec<Task> = once().into_iter().chain(once()).chain([Task::EndLoop(self.edges.len())]).collect();
        self.plan(tasks);
        Some(())
    }
}
