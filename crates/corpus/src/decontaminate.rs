//! Decontamination: repositories and contents of benchmarks, which must not be trained on.
//!
//! A list is a TOML file:
//!
//! ```toml
//! version = 1
//! repositories = ["huggingface/diffusers", "requests"]
//! contents = ["<blake3 of the text, decoded, line feeds only>"]
//! ```
//!
//! Names are compared without letter case and with `-`, `_` and `.` alike. Where one side has no owner, the names alone
//! are compared, so that a package is recognized as the repository it is built from.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::manifest::Place;
use crate::source::normalize_package_name;
use crate::{Error, Result};

/// The version of the list format.
pub const VERSION: u32 = 1;

/// What belongs to benchmarks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Benchmarks {
    repositories: BTreeSet<(Option<String>, String)>,
    contents: BTreeSet<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    version: toml::Spanned<u32>,
    #[serde(default)]
    repositories: Vec<String>,
    #[serde(default)]
    contents: Vec<String>,
}

impl Benchmarks {
    /// Reads lists, whose paths are relative to `base`.
    ///
    /// # Errors
    ///
    /// Returns an error if a list cannot be read or has an unknown key.
    pub fn load(paths: &[PathBuf], base: &Path) -> Result<Self> {
        let mut benchmarks = Self::default();
        for path in paths {
            let path = base.join(path);
            let text = std::fs::read_to_string(&path).map_err(Error::io("read the benchmark list", &path))?;
            let place = Place { text: &text, path: &path };
            let list: List = place.parse()?;
            if *list.version.get_ref() != VERSION {
                return Err(
                    place.error(&list.version.span(), format!("this version reads lists with `version = {VERSION}`"))
                );
            }
            benchmarks.repositories.extend(list.repositories.iter().map(|name| split_name(name)));
            benchmarks.contents.extend(list.contents);
        }
        Ok(benchmarks)
    }

    /// Returns whether a repository of this name belongs to a benchmark.
    #[must_use]
    pub fn has_repository(&self, name: &str) -> bool {
        let (owner, name) = split_name(name);
        self.repositories.iter().any(|(listed_owner, listed_name)| {
            *listed_name == name && (owner.is_none() || listed_owner.is_none() || owner == *listed_owner)
        })
    }

    /// Returns whether a text with this blake3 hash belongs to a benchmark.
    #[must_use]
    pub fn has_content(&self, hash: &str) -> bool {
        self.contents.contains(hash)
    }
}

fn split_name(name: &str) -> (Option<String>, String) {
    let (owner, name) = name.rsplit_once('/').map_or((None, name), |(owner, name)| (Some(owner.to_lowercase()), name));
    (owner, normalize_package_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_with_or_without_their_owner() {
        let directory = tempfile::tempdir().unwrap();
        let list = "version = 1\nrepositories = ['psf/requests', 'rich', 'a/Markdown_It']\ncontents = ['ab']\n";
        std::fs::write(directory.path().join("list.toml"), list).unwrap();
        let benchmarks = Benchmarks::load(&["list.toml".into()], directory.path()).unwrap();
        for name in ["requests", "PSF/requests", "rich", "Textualize/rich", "markdown.it"] {
            assert!(benchmarks.has_repository(name), "{name}");
        }
        for name in ["other/requests", "requests-oauthlib", "richer"] {
            assert!(!benchmarks.has_repository(name), "{name}");
        }
        assert!(benchmarks.has_content("ab") && !benchmarks.has_content("cd"));
    }

    #[test]
    fn a_wrong_list_is_an_error_with_its_line() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("list.toml"), "version = 1\nrepos = []\n").unwrap();
        let message = Benchmarks::load(&["list.toml".into()], directory.path()).unwrap_err().to_string();
        assert!(message.contains("list.toml:2: unknown field `repos`"), "{message}");
    }
}
