//! Many repositories on disk: crawl, filter, deduplicate, store.
//!
//! A manifest (`datasets/NAME.toml`) lists *sources*; [`crawl::crawl`] reads each of them into a
//! [`repo::Repository`], gives **every file it sees one verdict** in a ledger, groups the kept files into clusters
//! and assigns splits; [`samples::sample`] draws completion samples from the clusters; [`table`] stores all three, and
//! [`functions`] with triggers, as Parquet and [`dataset::Dataset`] reads them back for training. [`fetch`] brings models into the same cache.
//!
//! This crate is the sole owner of network, git, archives and Parquet. Its invariants:
//!
//! - Nothing is ever checked out or unpacked: git blobs come from the object store of a bare clone, archive entries are
//!   read in memory, symbolic links are never followed. The only writes are below the cache and the output directory.
//! - No code of a source ever runs. The only programs started are `git`, `python3 -m pip download` and `apt-get`, which
//!   downloads into the cache.
//! - Bad data never ends a crawl: it is a ledger row with a named reason. A repository that cannot be read at all is an
//!   error, unless the manifest says `failed_repositories = "skip"`.
//! - The output is the same bytes for any number of threads.
#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::path::PathBuf;

mod error;

pub mod manifest;
pub mod source;

mod encoding;
mod license;

pub mod filter;
pub mod ledger;

pub mod decontaminate;
mod dedup;
mod split;

pub mod crawl;
pub mod functions;
mod open;
pub mod samples;

pub mod dataset;
pub mod schema;
pub mod table;

pub mod fetch;
mod package;

mod atomic;
mod digest;

pub use error::{Error, Result};
pub use open::open;

/// Returns the directory for downloads: `$RETORT_CACHE`, else `$XDG_CACHE_HOME/retort`, else `~/.cache/retort`.
///
/// Below it lie `packages/` (wheels and source archives), `apt/` (Debian's list of sources), `models/` (files taken out of wheels), `hub/` (Hugging Face snapshots) and `git/`
/// (bare clones). Everything in it can be deleted and fetched again.
#[must_use]
pub fn cache_dir() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(cache) = set("RETORT_CACHE") {
        return PathBuf::from(cache);
    }
    if let Some(cache) = set("XDG_CACHE_HOME") {
        return PathBuf::from(cache).join("retort");
    }
    let home = set("HOME").map_or_else(std::env::temp_dir, PathBuf::from);
    home.join(".cache").join("retort")
}
