//! What kind of place a caret stands at.

use ruff_python_ast::find_node::CoveringNode;
use ruff_python_ast::{self as ast, AnyNodeRef, ExprRef};
use ruff_text_size::Ranged;
use ty_python_core::scope::FileScopeId;
use ty_python_core::semantic_index;

use super::view::View;

/// What an identifier at the caret would be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spot<'a> {
    /// A member of what stands before the dot.
    Attribute(&'a ast::ExprAttribute),
    /// A name of a scope, perhaps at the beginning of an argument of a call.
    Name(FileScopeId, Option<Argument<'a>>),
    /// A module name in `import a.b` whose first `offset` bytes stand before the caret's component.
    Module { name: &'a ast::Identifier, level: u32 },
    /// A name imported by `from module import name`.
    Imported(&'a ast::StmtImportFrom),
    /// A name that a `global` statement takes.
    Global,
    /// A place where a new name is made up, or no code.
    Nothing,
}

/// An argument that begins at the caret.
#[derive(Debug, Clone, Copy)]
pub(super) struct Argument<'a> {
    /// The call.
    pub(super) call: &'a ast::ExprCall,
    /// How many arguments without a keyword stand before it.
    pub(super) n_positional: usize,
    /// The argument itself where it is a keyword argument.
    pub(super) keyword: Option<&'a ast::Keyword>,
}

/// Finds out what stands at the view's word.
pub(super) fn spot<'a>(view: &View<'_>, covering: &'a CoveringNode<'a>) -> Spot<'a> {
    let mut around = covering.ancestors();
    let Some(node) = around.next() else { return Spot::Nothing };
    let parent = around.next();
    match (node, parent) {
        (AnyNodeRef::ExprName(name), _) => {
            let scope = scope_of(view, ExprRef::Name(name), covering);
            Spot::Name(scope, argument(covering))
        }
        (AnyNodeRef::Identifier(_), Some(AnyNodeRef::ExprAttribute(attribute))) => Spot::Attribute(attribute),
        (AnyNodeRef::Identifier(_), Some(AnyNodeRef::Keyword(keyword))) => {
            Spot::Name(scope_of(view, ExprRef::from(&keyword.value), covering), argument(covering))
        }
        (AnyNodeRef::Identifier(name), Some(AnyNodeRef::Alias(alias))) => match around.next() {
            Some(AnyNodeRef::StmtImportFrom(import)) if is_same(name, &alias.name) => Spot::Imported(import),
            Some(AnyNodeRef::StmtImport(_)) if is_same(name, &alias.name) => Spot::Module { name, level: 0 },
            _ => Spot::Nothing,
        },
        (AnyNodeRef::Identifier(name), Some(AnyNodeRef::StmtImportFrom(import))) => {
            Spot::Module { name, level: import.level }
        }
        (AnyNodeRef::Identifier(_), Some(AnyNodeRef::StmtGlobal(_))) => Spot::Global,
        _ => Spot::Nothing,
    }
}

fn is_same(a: &ast::Identifier, b: &ast::Identifier) -> bool {
    a.range == b.range
}

/// Returns the scope of an expression; where ty does not know it, that of the nearest expression around.
fn scope_of(view: &View<'_>, expression: ExprRef<'_>, covering: &CoveringNode<'_>) -> FileScopeId {
    let index = semantic_index(view.db, view.file);
    let own = index.try_expression_scope_id(&expression);
    let around =
        || covering.ancestors().filter_map(AnyNodeRef::as_expr_ref).find_map(|e| index.try_expression_scope_id(&e));
    own.or_else(around).unwrap_or_else(FileScopeId::global)
}

/// Returns the argument whose first word is the covered one.
fn argument<'a>(covering: &CoveringNode<'a>) -> Option<Argument<'a>> {
    let start = covering.node().start();
    let mut around = covering.ancestors().skip_while(|node| node.start() == start && !node.is_keyword());
    let mut next = around.next()?;
    let mut keyword = None;
    if let AnyNodeRef::Keyword(own) = next {
        keyword = (own.start() == start).then_some(own);
        keyword?;
        next = around.next()?;
    }
    let (AnyNodeRef::Arguments(arguments), AnyNodeRef::ExprCall(call)) = (next, around.next()?) else { return None };
    let before = arguments.args.iter().filter(|argument| argument.start() < start);
    Some(Argument { call, n_positional: before.count(), keyword })
}
