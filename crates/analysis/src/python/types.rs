//! The types of expressions, and what they are made of.

use super::view::View;
use crate::intelligence::TypeDefinition;

/// Returns the type of the expression that ends with the identifier at the caret.
pub(super) fn inferred_type(_view: &View<'_>) -> Option<String> {
    None
}

/// Returns the type that an expression at the caret must have.
pub(super) fn expected_type(_view: &View<'_>) -> Option<String> {
    None
}

/// Returns the definitions of the types reachable from what is expected at the caret.
pub(super) fn reachable_types(_view: &View<'_>) -> Vec<TypeDefinition> {
    Vec::new()
}
