//! Tensors that a T5 checkpoint may carry besides those that are read: copies of the token table.

use crate::weights::TensorSource;
use crate::{Error, Result};

const TABLE: &str = "shared.weight";
const HEAD: &str = "lm_head.weight";
const COPIES: [&str; 2] = ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight"];
/// The first T5 checkpoints have a bias for distances to the source text, which no implementation reads.
const UNREAD: &str = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight";

/// Tells whether a tensor is a copy of the token table, or is read by no implementation.
pub(crate) fn is_copy(name: &str) -> bool {
    COPIES.contains(&name) || [HEAD, UNREAD].contains(&name)
}

/// Checks that every copy of the token table equals it.
///
/// # Errors
///
/// Returns an error that names the first that does not: the model that was saved is another one.
pub(crate) fn check_copies(source: &impl TensorSource, is_head_tied: bool) -> Result<()> {
    let head = is_head_tied.then_some(HEAD);
    let copies = COPIES.into_iter().chain(head).filter(|&name| source.shapes().contains_key(name));
    let mut table: Option<Vec<f32>> = None;
    for name in copies {
        let expected = match table.take() {
            Some(table) => table,
            None => source.read(TABLE)?,
        };
        if source.read(name)? != expected {
            let message = format!("{name} differs from {TABLE}, to which it is tied");
            return Err(Error::Weights { path: source.path().to_owned(), message });
        }
        table = Some(expected);
    }
    Ok(())
}
