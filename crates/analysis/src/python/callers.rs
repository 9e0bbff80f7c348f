//! What parameters without annotation are given where their function is called.

use ruff_python_ast as ast;
use ty_python_core::scope::FileScopeId;

use super::members::Names;
use super::view::View;

/// Adds the members of what callers pass for the parameter `value`; returns whether they are known.
pub(super) fn add_members(_view: &View<'_>, _value: &ast::Expr, _scope: FileScopeId, _names: &mut Names) -> bool {
    false
}
