//! Limits on the sizes that a configuration announces, checked before anything of that size is built.

use std::path::Path;

use crate::{Error, Result};

/// Above any size in use; keeps products of sizes far from overflow.
const SIZE_MAX: usize = 1 << 24;

/// Above any number of layers in use; every layer takes memory before its weights are looked for.
const LAYERS_MAX: usize = 1024;

/// Checks the dimensions of a model, each with its key, and its number of layers; `path` is named in errors.
///
/// # Errors
///
/// Returns an error that names the first key whose value is zero or too large.
pub(crate) fn check_sizes(path: &Path, sizes: &[(&str, usize)], num_hidden_layers: usize) -> Result<()> {
    check_sizes_and_layers(path, sizes, ("num_hidden_layers", num_hidden_layers))
}

/// Checks the dimensions of a model and its number of layers, each with its key; `path` is named in errors.
///
/// # Errors
///
/// Returns an error that names the first key whose value is zero or too large.
pub(crate) fn check_sizes_and_layers(path: &Path, sizes: &[(&str, usize)], layers: (&str, usize)) -> Result<()> {
    let sizes = sizes.iter().map(|&(key, size)| (key, size, SIZE_MAX));
    for (key, size, max) in sizes.chain([(layers.0, layers.1, LAYERS_MAX)]) {
        if !(1..=max).contains(&size) {
            return Err(Error::config(path, key, format!("{size} is not in 1..={max}")));
        }
    }
    Ok(())
}

/// Checks that groups of heads share keys evenly and that components of a head rotate in pairs; `path` is named in
/// errors.
///
/// # Errors
///
/// Returns an error that names the first key that does not fit.
pub(crate) fn check_heads(path: &Path, heads: usize, key_value_heads: usize, head_dim: usize) -> Result<()> {
    if !heads.is_multiple_of(key_value_heads) {
        return Err(Error::config(path, "num_key_value_heads", format!("does not divide {heads} heads")));
    }
    if !head_dim.is_multiple_of(2) {
        return Err(Error::config(path, "head_dim", "is odd"));
    }
    Ok(())
}

/// Checks that a constant is a positive number; `path` is named in errors.
///
/// # Errors
///
/// Returns an error that names `key` if it is not.
pub(crate) fn check_positive(path: &Path, key: &str, constant: f64) -> Result<()> {
    if constant.is_finite() && constant > 0.0 {
        return Ok(());
    }
    Err(Error::config(path, key, format!("{constant} is not positive")))
}
