//! The integration tests: the rules of the house, and the whole pipeline on the fixture repositories.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod analyze;
mod benchmark;
#[cfg(feature = "browser")]
mod browser;
mod complete;
mod experiments;
mod generator;
mod model;
mod place;
mod smoke;
mod tidy;

use std::path::{Path, PathBuf};

/// Returns the root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package lies below the root").to_path_buf()
}
