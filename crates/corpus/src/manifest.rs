//! Manifests: what a dataset is made of (`datasets/NAME.toml`).
//!
//! ```toml
//! version = 1
//! name = "example"
//! benchmarks = ["benchmarks.toml"]        # optional: lists of what must not be trained on
//!
//! [crawl]                                 # optional: the keys of `filter::Filters`
//! licenses = ["MIT", "BSD-3-Clause"]
//!
//! [split]                                 # optional: for sources that name no split
//! by = "repository"
//! validation = 0.1
//! test = 0.1
//!
//! [[source]]
//! spec = "pypi:flask==3.1.3"              # the forms are in `source`
//! sha256 = "..."                          # needed for packages, optional for archives
//! license = "BSD-3-Clause"                # optional: replaces what the repository states
//! split = "test"                          # optional
//! name = "flask"                          # optional: replaces the name that the source gives
//! ```
//!
//! Paths are relative to the manifest. A key that is not known is an error.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;
use toml::Spanned;

use crate::filter::Filters;
use crate::source::{self, SourceSpec};
use crate::{Error, Result, digest};

/// The version of the manifest format.
pub const VERSION: u32 = 1;

/// Which part of an experiment a repository serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Training.
    Train,
    /// Choosing a checkpoint.
    Validation,
    /// Reported numbers.
    Test,
}

impl Split {
    /// Every split, in the order in which samples are stored.
    pub const ALL: [Self; 3] = [Self::Train, Self::Validation, Self::Test];

    /// Returns the name: `train`, `validation` or `test`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::Validation => "validation",
            Self::Test => "test",
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for Split {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        Self::ALL.into_iter().find(|split| split.name() == name).ok_or_else(|| format!("unknown split `{name}`"))
    }
}

/// How sources that name no split are split.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SplitRule {
    /// What is held out as a whole.
    pub by: SplitBy,
    /// The share for validation.
    pub validation: f64,
    /// The share for test.
    pub test: f64,
}

impl Default for SplitRule {
    fn default() -> Self {
        Self { by: SplitBy::Repository, validation: 0.1, test: 0.1 }
    }
}

/// What is held out as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitBy {
    /// A repository is in one split: the rule for real data.
    Repository,
    /// A file is in one split: for smoke tests with one or two repositories only, because the candidates of a held-out
    /// file are files that were trained on.
    File,
}

/// One `[[source]]` of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceEntry {
    /// Where the repositories come from.
    pub spec: SourceSpec,
    /// The pinned sha256 of an archive or a package.
    pub sha256: Option<String>,
    /// The license, in place of what the repository states.
    pub license: Option<String>,
    /// The split of all its repositories.
    pub split: Option<Split>,
    /// The repository's name, in place of what the source gives.
    pub name: Option<String>,
}

/// What a dataset is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// The version of the format.
    pub version: u32,
    /// The name of the dataset.
    pub name: String,
    /// What is kept.
    pub filters: Filters,
    /// How sources that name no split are split.
    pub split: SplitRule,
    /// Lists of what must not be trained on, relative to the manifest.
    pub benchmarks: Vec<PathBuf>,
    /// The sources, in order: of equal files the first is kept.
    pub sources: Vec<SourceEntry>,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    ///
    /// Returns an error that names the line if the file cannot be read, has an unknown key or a value that cannot be
    /// used.
    pub fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io("read the manifest", path))?;
        Self::parse(&text, path)
    }

    /// Parses the text of a manifest; the path is for messages.
    ///
    /// # Errors
    ///
    /// As [`Manifest::load`].
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let place = Place { text, path };
        let file: ManifestFile = place.parse()?;
        if *file.version.get_ref() != VERSION {
            return Err(
                place.error(&file.version.span(), format!("this version reads manifests with `version = {VERSION}`"))
            );
        }
        let shares = file.split.get_ref();
        let sum = shares.validation + shares.test;
        if !(0.0..=1.0).contains(&sum) || shares.validation < 0.0 || shares.test < 0.0 {
            return Err(place
                .error(&file.split.span(), "`validation` and `test` are shares and add up to at most 1".to_owned()));
        }
        let sources = file.source.into_iter().map(|entry| entry.check(&place)).collect::<Result<_>>()?;
        Ok(Self {
            version: VERSION,
            name: file.name,
            filters: file.crawl,
            split: *shares,
            benchmarks: file.benchmarks,
            sources,
        })
    }

    /// Returns a hash of what the manifest points at: the content of directories, archives and benchmark lists. Packages
    /// are pinned by the manifest itself; a branch of a git repository that has moved on is not noticed.
    ///
    /// # Errors
    ///
    /// Returns an error if a source or a list cannot be read.
    pub fn content_fingerprint(&self, base: &Path) -> Result<String> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(source::fingerprint(self, base)?.as_bytes());
        for list in &self.benchmarks {
            let path = base.join(list);
            let content = std::fs::read(&path).map_err(Error::io("read the benchmark list", &path))?;
            hasher.update(blake3::hash(&content).as_bytes());
        }
        Ok(hasher.finalize().to_hex().to_string())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestFile {
    version: Spanned<u32>,
    name: String,
    #[serde(default)]
    crawl: Filters,
    #[serde(default = "default_split")]
    split: Spanned<SplitRule>,
    #[serde(default)]
    benchmarks: Vec<PathBuf>,
    source: Vec<SourceTable>,
}

fn default_split() -> Spanned<SplitRule> {
    Spanned::new(0..0, SplitRule::default())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceTable {
    spec: Spanned<String>,
    sha256: Option<Spanned<String>>,
    license: Option<String>,
    split: Option<Split>,
    name: Option<Spanned<String>>,
}

impl SourceTable {
    fn check(self, place: &Place) -> Result<SourceEntry> {
        let at_spec = |message: String| place.error(&self.spec.span(), message);
        let spec: SourceSpec = self.spec.get_ref().parse().map_err(|error: Error| at_spec(error.to_string()))?;
        match (&spec, &self.sha256) {
            (_, Some(sha256)) if !digest::is_sha256(sha256.get_ref()) => {
                return Err(place.error(&sha256.span(), "a sha256 is 64 lower-case hexadecimal digits".to_owned()));
            }
            (SourceSpec::Package(_) | SourceSpec::DebianSource(_), None) => {
                return Err(at_spec("a package needs the `sha256` of its wheel or archive".to_owned()));
            }
            (SourceSpec::Package(_) | SourceSpec::DebianSource(_) | SourceSpec::Archive(_), _) | (_, None) => {}
            (_, Some(sha256)) => {
                return Err(place.error(&sha256.span(), "only packages and archives have a `sha256`".to_owned()));
            }
        }
        if let (SourceSpec::Directories(_), Some(name)) = (&spec, &self.name) {
            return Err(place
                .error(&name.span(), "the repositories of a folder have the names of their directories".to_owned()));
        }
        let sha256 = self.sha256.map(Spanned::into_inner);
        Ok(SourceEntry {
            spec,
            sha256,
            license: self.license,
            split: self.split,
            name: self.name.map(Spanned::into_inner),
        })
    }
}

/// Returns the parser's message; for an unknown name, the known one nearest to it before the list of all.
fn with_suggestion(message: &str) -> String {
    let message = message.replace('\n', " ");
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let nearest = match quoted.split_first() {
        Some((unknown, known)) if message.starts_with("unknown ") => {
            let edits = |name: &&&str| strsim::damerau_levenshtein(unknown, name);
            known.iter().min_by_key(edits).filter(|name| edits(name) <= 1 + unknown.len() / 4)
        }
        _ => None,
    };
    nearest.map_or(message.clone(), |name| format!("{message}; did you mean `{name}`?"))
}

/// A TOML text and its path, for messages that point at a line.
pub(crate) struct Place<'a> {
    pub(crate) text: &'a str,
    pub(crate) path: &'a Path,
}

impl Place<'_> {
    pub(crate) fn parse<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        toml::from_str(self.text).map_err(|error| {
            let message = with_suggestion(error.message());
            self.error(&error.span().unwrap_or(0..0), message)
        })
    }

    pub(crate) fn error(&self, span: &Range<usize>, message: String) -> Error {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        Error::Manifest { path: self.path.to_path_buf(), line: before.matches('\n').count() + 1, message }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn parse(text: &str) -> Result<Manifest> {
        Manifest::parse(text, Path::new("m.toml"))
    }

    #[test]
    fn a_manifest_is_read_with_its_defaults() {
        let manifest = parse(
            "version = 1\nname = 'a'\n[crawl]\ndrop_tests = true\nlanguages = ['java']\n\
             [[source]]\nspec = 'dir:x'\nsplit = 'test'\n[[source]]\nspec = 'archive:b.zip'\n",
        )
        .unwrap();
        assert!(manifest.filters.drop_tests);
        assert_eq!(manifest.filters.languages, [repo::language::Language::Java]);
        assert_eq!(manifest.filters.file_bytes_max, 1_000_000);
        assert_eq!(manifest.sources[0].split, Some(Split::Test));
        assert_eq!(manifest.sources[1].split, None);
        assert_eq!(manifest.split, SplitRule::default());
    }

    #[test]
    fn wrong_manifests_point_at_the_line() {
        let head = "version = 1\nname = 'a'\n";
        let messages: Vec<String> = [
            "version = 2\nname = 'a'\nsource = []\n".to_owned(),
            format!("{head}[crawl]\nfile_byte_max = 3\n[[source]]\nspec = 'dir:x'\n"),
            format!("{head}[[source]]\nspec = 'flask==1'\n"),
            format!("{head}[[source]]\nspec = 'pypi:flask==1'\n"),
            format!("{head}[[source]]\nspec = 'deb:jsoup==1'\n"),
            format!("{head}[[source]]\nspec = 'pypi:flask==1'\nsha256 = 'ABC'\n"),
            format!("{head}[[source]]\nspec = 'dir:x'\nsha256 = '{}'\n", "0".repeat(64)),
            format!("{head}[[source]]\nspec = 'dir:x'\nsplit = 'dev'\n"),
            format!("{head}[split]\ntest = 0.9\nvalidation = 0.2\n[[source]]\nspec = 'dir:x'\n"),
            format!("{head}[crawl]\nlanguages = ['kotlin']\n[[source]]\nspec = 'dir:x'\n"),
            format!("{head}[crawl\n"),
        ]
        .iter()
        .map(|text| parse(text).unwrap_err().to_string())
        .collect();
        expect![[r"
            m.toml:1: this version reads manifests with `version = 1`
            m.toml:4: unknown field `file_byte_max`, expected one of `languages`, `file_bytes_max`, `repository_bytes_max`, `archive_bytes_max`, `entries_max`, `line_chars_max`, `average_line_chars_max`, `error_share_max`, `vendored`, `drop_tests`, `gitignore`, `licenses`, `duplicate_bytes_min`, `failed_repositories`; did you mean `file_bytes_max`?
            m.toml:4: `flask==1` is not a valid specification: a source starts with dir:, dirs:, git:, archive:, pypi: or deb:
            m.toml:4: a package needs the `sha256` of its wheel or archive
            m.toml:4: a package needs the `sha256` of its wheel or archive
            m.toml:5: a sha256 is 64 lower-case hexadecimal digits
            m.toml:5: only packages and archives have a `sha256`
            m.toml:5: unknown variant `dev`, expected one of `train`, `validation`, `test`
            m.toml:3: `validation` and `test` are shares and add up to at most 1
            m.toml:4: unknown language `kotlin`, expected `python` or `java`
            m.toml:3: unclosed table, expected `]`"]].assert_eq(&messages.join("\n"));
    }
}
