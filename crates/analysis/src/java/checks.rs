//! Names that nothing defines and members that no object has, where all that could define them is known.

use std::rc::Rc;

use repo::Language;
use repo::syntax::Preorder;
use tree_sitter::{Node, Tree};

use super::class::ClassId;
use super::expression::{Bindings, Meaning};
use super::focus::{Focus, Parsed};
use super::outline::Outline;
use super::resolved::Type;
use super::scan::readable;
use super::scope::Scope;
use super::store::Store;
use super::symbol::is_declared_name;
use crate::diagnostics::{Diagnostic, DiagnosticKind, syntax};

/// The most identifiers of one file that are checked.
const IDENTIFIERS_MAX: usize = 40_000;

/// Returns what is wrong in a text as the file at `path`, by position.
pub(super) fn diagnostics(store: &Store<'_>, path: &str, text: &str, last: &mut Option<Rc<Parsed>>) -> Vec<Diagnostic> {
    let readable = readable(text);
    let mut found = syntax(&readable, Language::Java);
    let index = store.repository.position(path);
    let file = match index.filter(|index| store.repository.files()[*index].text == text) {
        Some(index) => store.file(index),
        None => match Language::Java.parse(&readable) {
            Some(tree) => store.edit(index, Outline::of(&tree, text)),
            None => return found,
        },
    };
    let mut n_checked = 0;
    for id in &file.types {
        let class = store.class(*id);
        let mut previous = usize::MAX;
        for member in class.members.iter().filter(|member| !member.span.is_empty()) {
            // The declarators of one field share their declaration.
            if std::mem::replace(&mut previous, member.span.start) == member.span.start {
                continue;
            }
            let Some(mut focus) = Focus::in_member(store, &file, class.home, &member.span, text, last) else {
                continue;
            };
            for at in identifiers(&focus.parsed.tree) {
                n_checked += 1;
                if n_checked > IDENTIFIERS_MAX {
                    break;
                }
                focus.at = at;
                found.extend(check(store, &focus));
                store.forget_locals();
            }
        }
    }
    found.sort_by_key(|diagnostic| (diagnostic.span.start, diagnostic.span.end, diagnostic.kind as usize));
    found.dedup();
    found
}

/// Returns where the identifiers of a member are in its tree.
fn identifiers(tree: &Tree) -> Vec<usize> {
    let mut walk = Preorder::new(tree);
    let mut positions = Vec::new();
    while let Some(node) = walk.next() {
        if node.is_error() {
            walk.skip_children();
        } else if matches!(node.kind(), "identifier" | "type_identifier") && walk.depth() > 3 {
            positions.push(node.start_byte());
        }
    }
    positions
}

fn check(store: &Store<'_>, focus: &Focus) -> Option<Diagnostic> {
    let scope = Scope::new(store, focus);
    let kind = scope.wrong()?;
    let span = focus.in_file(&scope.path.last()?.byte_range())?;
    Some(Diagnostic { span, kind })
}

impl<'t> Scope<'t> {
    /// Returns what is wrong with the identifier at the caret, if anything is for certain.
    fn wrong(&self) -> Option<DiagnosticKind> {
        let (&node, above) = self.path.split_last()?;
        let &parent = above.last()?;
        let name = self.text_of(node);
        if name.is_empty() || is_declared_name(parent, node) || parent.is_error() {
            return None;
        }
        let is_field = |field: &str| parent.child_by_field_name(field) == Some(node);
        match parent.kind() {
            "method_invocation" if is_field("name") => match parent.child_by_field_name("object") {
                Some(left) => self.lacks(&self.meaning(left, &Bindings::new()), name),
                None => self.undefined_method(name),
            },
            "field_access" if is_field("field") => {
                let left = self.meaning(parent.child_by_field_name("object")?, &Bindings::new());
                self.lacks(&left, name)
            }
            "marker_annotation" | "annotation" => self.undefined_type(node, parent, name),
            _ if node.kind() == "type_identifier" => self.undefined_type(node, parent, name),
            _ => self.undefined_name(node, above, name),
        }
    }

    /// Returns whether a value or type is known through and through and has no member of this name.
    fn lacks(&self, left: &Meaning, name: &str) -> Option<DiagnosticKind> {
        let of = match left {
            Meaning::Value(of @ (Type::Class(..) | Type::Array(_) | Type::Variable(_, Some(_)))) => of.clone(),
            Meaning::Static(id) => Type::raw(*id),
            _ => return None,
        };
        if matches!(of, Type::Array(_)) && matches!(name, "length" | "clone") {
            return None;
        }
        let ids: Vec<ClassId> = match self.store.erased(&of) {
            Type::Class(id, _) => {
                let supertypes = self.store.supertypes(id);
                if !supertypes.is_complete {
                    return None;
                }
                supertypes.ids().collect()
            }
            _ => self.store.library_class("java.lang", "Object").into_iter().collect(),
        };
        let has = |id: &ClassId| {
            let class = self.store.class(*id);
            class.members.named(name).next().is_some() || self.store.own_nested(*id, name).is_some()
        };
        (!ids.iter().any(has)).then_some(DiagnosticKind::NoMember)
    }

    /// Returns whether everything that could bring a name into scope by inheritance or import is known.
    fn is_closed(&self) -> bool {
        let is_known = |import: &super::outline::Import| {
            let path = if import.is_on_demand { Some(&*import.path) } else { None };
            path.is_none_or(|path| {
                self.store.qualified(path).is_some() || !import.is_static && self.store.has_package(path)
            })
        };
        self.classes().all(|(id, _)| self.store.supertypes(id).is_complete)
            && self.focus.file.imports.iter().all(is_known)
    }

    fn is_imported(&self, name: &str) -> bool {
        self.focus.file.imports.iter().any(|import| import.binding() == Some(name))
    }

    fn undefined_method(&self, name: &str) -> Option<DiagnosticKind> {
        let is_defined = self.is_imported(name) || !self.methods_in_scope(name).is_empty() || !self.is_closed();
        (!is_defined).then_some(DiagnosticKind::UndefinedName)
    }

    fn undefined_type(&self, node: Node<'t>, parent: Node<'t>, name: &str) -> Option<DiagnosticKind> {
        if parent.kind() == "scoped_type_identifier" {
            let left = parent.named_child(0).filter(|left| *left != node)?;
            return self.lacks_type(&self.meaning(left, &Bindings::new()), name);
        }
        if parent.kind() == "type_parameter" || name == "var" {
            return None;
        }
        if parent.kind() == "object_creation_expression" && parent.child(0).is_some_and(|first| first.kind() != "new") {
            return None;
        }
        let is_defined = self.store.resolve_simple(name, self.place()) != Type::Unknown
            || self.is_imported(name)
            || self.store.has_package(name)
            || !self.is_closed()
            || node.is_missing();
        (!is_defined).then_some(DiagnosticKind::UndefinedName)
    }

    fn lacks_type(&self, left: &Meaning, name: &str) -> Option<DiagnosticKind> {
        match left {
            Meaning::Static(_) => self.lacks(left, name),
            // A package that is only the beginning of others may have types that nobody told of.
            Meaning::Package(package) => {
                let is_defined = self.store.names_in(package).next().is_none()
                    || self.store.type_in(package, name).is_some()
                    || self.store.has_package(&format!("{package}.{name}"));
                (!is_defined).then_some(DiagnosticKind::UndefinedName)
            }
            _ => None,
        }
    }

    fn undefined_name(&self, node: Node<'t>, above: &[Node<'t>], name: &str) -> Option<DiagnosticKind> {
        let (&parent, outer) = above.split_last()?;
        let is_field = |field: &str| parent.child_by_field_name(field) == Some(node);
        let is_read = match parent.kind() {
            // `a.b.C` may begin with a package that is not known; `a.b()` and a lone `a.b` do not.
            "field_access" if is_field("object") => outer
                .last()
                .is_none_or(|outer| !matches!(outer.kind(), "field_access" | "method_invocation" | "method_reference")),
            "method_invocation" => is_field("object"),
            "switch_label" => self.is_constant(name) == Some(false),
            "argument_list"
            | "binary_expression"
            | "assignment_expression"
            | "return_statement"
            | "unary_expression"
            | "parenthesized_expression"
            | "update_expression"
            | "ternary_expression"
            | "array_access"
            | "throw_statement"
            | "expression_statement"
            | "dimensions_expr" => true,
            "variable_declarator" | "enhanced_for_statement" | "cast_expression" => is_field("value"),
            "instanceof_expression" => is_field("left"),
            _ => false,
        };
        let is_defined = !is_read
            || self.named(name).is_some()
            || self.is_imported(name)
            || !self.is_closed()
            || self.has_pattern(name);
        (!is_defined).then_some(DiagnosticKind::UndefinedName)
    }

    /// Returns whether the value of the `switch` at the caret has this constant, if its type is known.
    fn is_constant(&self, name: &str) -> Option<bool> {
        let switch = self.path.iter().rev().find(|node| node.kind() == "switch_expression")?;
        let of = self.type_of(switch.child_by_field_name("condition")?, &Bindings::new());
        of.is_known().then(|| self.field_type(&of, name).is_some())
    }

    /// Returns whether a pattern anywhere in the member binds a name: where it is in scope follows from the flow.
    fn has_pattern(&self, name: &str) -> bool {
        let mut walk = Preorder::new(&self.focus.parsed.tree);
        walk.any(|node| {
            let found = match node.kind() {
                "instanceof_expression" => node.child_by_field_name("name"),
                "type_pattern" | "record_pattern_component" => node.named_child(1),
                _ => None,
            };
            found.is_some_and(|found| self.text_of(found) == name)
        })
    }
}
