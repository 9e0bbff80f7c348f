//! Sources: where repositories come from, and how each kind is read without running or unpacking anything.
//!
//! | specification | gives |
//! |---|---|
//! | `dir:PATH` | the directory as one repository |
//! | `dirs:PATH` | one repository for each directory in the directory |
//! | `git:URL[@REVISION]` | the tree of a commit (`https`, or `file` for a `file://` address) |
//! | `archive:PATH` | a `.zip`, `.whl`, `.jar`, `.tar`, `.tar.gz`, `.tgz`, `.tar.xz` or `.txz` file |
//! | `pypi:NAME==VERSION` | the wheel of a Python package |
//! | `deb:NAME==VERSION` | upstream's archive of a Debian source package, at upstream's version |
//!
//! Every kind hands its entries to one collector, which checks names and sizes before any content is read.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::filter::{DropReason, Filters};
use crate::manifest::{Manifest, SourceEntry};
use crate::package::Registry;
use crate::{Error, Result, digest};

mod archive;
mod collector;
mod directory;
mod git;
mod name;
mod package;

pub(crate) use collector::Collector;
pub(crate) use name::check as check_name;

/// Where one or more repositories come from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceSpec {
    /// A directory that is one repository.
    Directory(PathBuf),
    /// A directory of directories, each one repository.
    Directories(PathBuf),
    /// A git repository at an address, at a revision (a branch, a tag or a full commit hash) or at its default branch.
    Git {
        /// The address.
        url: String,
        /// The revision.
        revision: Option<String>,
    },
    /// An archive file.
    Archive(PathBuf),
    /// A Python package.
    Package(PackageSpec),
    /// A Debian source package.
    DebianSource(PackageSpec),
}

/// A registry package at a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageSpec {
    /// The name, as written.
    pub name: String,
    /// The version.
    pub version: String,
}

impl FromStr for PackageSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let is_valid = |part: &str| {
            part.starts_with(|c: char| c.is_ascii_alphanumeric())
                && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '!'))
        };
        match text.split_once("==") {
            Some((name, version)) if is_valid(name) && is_valid(version) => {
                Ok(Self { name: name.to_owned(), version: version.to_owned() })
            }
            _ => Err(Error::spec(text, "a package is written NAME==VERSION, for example flask==3.1.3")),
        }
    }
}

impl PackageSpec {
    /// Returns the name in the form in which registries compare names.
    #[must_use]
    pub fn normalized_name(&self) -> String {
        normalize_package_name(&self.name)
    }
}

impl fmt::Display for PackageSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}=={}", self.name, self.version)
    }
}

/// Returns a package name in lower case with `-` for every run of `-`, `_` and `.`.
pub(crate) fn normalize_package_name(name: &str) -> String {
    let lower = name.to_lowercase();
    lower.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

impl FromStr for SourceSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let kinds = "a source starts with dir:, dirs:, git:, archive:, pypi: or deb:";
        let (kind, rest) = text.split_once(':').ok_or_else(|| Error::spec(text, kinds))?;
        if rest.is_empty() {
            return Err(Error::spec(text, "nothing follows the colon"));
        }
        match kind {
            "dir" => Ok(Self::Directory(PathBuf::from(rest))),
            "dirs" => Ok(Self::Directories(PathBuf::from(rest))),
            "git" => git::parse(rest),
            "archive" => Ok(Self::Archive(PathBuf::from(rest))),
            "pypi" => rest.parse().map(Self::Package),
            "deb" => rest.parse().map(Self::DebianSource),
            _ => Err(Error::spec(text, kinds)),
        }
    }
}

impl fmt::Display for SourceSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => write!(formatter, "dir:{}", path.display()),
            Self::Directories(path) => write!(formatter, "dirs:{}", path.display()),
            Self::Git { url, revision: None } => write!(formatter, "git:{url}"),
            Self::Git { url, revision: Some(revision) } => write!(formatter, "git:{url}@{revision}"),
            Self::Archive(path) => write!(formatter, "archive:{}", path.display()),
            Self::Package(package) => write!(formatter, "pypi:{package}"),
            Self::DebianSource(package) => write!(formatter, "deb:{package}"),
        }
    }
}

/// One repository that a source gives, before it is read.
#[derive(Clone, Debug)]
pub(crate) struct Unit<'a> {
    pub(crate) name: String,
    pub(crate) entry: &'a SourceEntry,
    /// The source as the ledger states it; for a directory of a folder, the folder and the directory.
    pub(crate) label: String,
    place: Place<'a>,
}

#[derive(Clone, Debug)]
enum Place<'a> {
    Directory(PathBuf),
    NoDirectory { is_symlink: bool },
    Git { url: &'a str, revision: Option<&'a str> },
    Archive(PathBuf),
    Package(Registry, &'a PackageSpec),
}

/// What reading needs to know besides the source.
pub(crate) struct Reading<'a> {
    pub(crate) filters: &'a Filters,
    pub(crate) cache: &'a Path,
    pub(crate) offline: bool,
}

/// A repository as its source stores it: every entry has a content or a reason.
#[derive(Debug, Default)]
pub(crate) struct RawRepository {
    /// The version of a package; for git the revision asked for; else empty.
    pub(crate) version: String,
    /// What pins the content: a commit, or the sha256 of an archive. Empty for a directory.
    pub(crate) revision: String,
    /// The license the repository itself states.
    pub(crate) license: Option<String>,
    /// The entries, sorted by path.
    pub(crate) files: Vec<RawFile>,
    /// Verdicts about the repository as a whole.
    pub(crate) notes: Vec<(DropReason, String)>,
}

/// An entry of a repository.
#[derive(Debug)]
pub(crate) struct RawFile {
    pub(crate) path: String,
    /// The size as stored.
    pub(crate) bytes: u64,
    pub(crate) content: RawContent,
}

/// What was read of an entry.
#[derive(Debug)]
pub(crate) enum RawContent {
    Read(Vec<u8>),
    Dropped(DropReason, String),
}

/// Returns the repositories of all sources in the order of the manifest, the directories of a folder by name.
pub(crate) fn units<'a>(manifest: &'a Manifest, base: &Path) -> Result<Vec<Unit<'a>>> {
    let mut units: Vec<Unit> = Vec::new();
    for entry in &manifest.sources {
        let added = entry_units(entry, base).map_err(|source| failed(&entry.spec.to_string(), source))?;
        units.extend(added);
    }
    let mut by_name: Vec<&Unit> = units.iter().collect();
    by_name.sort_by(|a, b| a.name.cmp(&b.name));
    match by_name.windows(2).find(|pair| pair[0].name == pair[1].name) {
        None => Ok(units),
        Some(pair) => Err(Error::DuplicateName {
            name: pair[0].name.clone(),
            first: pair[0].label.clone(),
            second: pair[1].label.clone(),
        }),
    }
}

/// Returns the repositories of one source, the directories of a folder by name.
pub(crate) fn entry_units<'a>(entry: &'a SourceEntry, base: &Path) -> Result<Vec<Unit<'a>>> {
    let (name, place) = match &entry.spec {
        SourceSpec::Directories(path) => return directory_units(entry, &find_directory(&base.join(path))?),
        SourceSpec::Directory(path) => {
            let path = find_directory(&base.join(path))?;
            (file_name(&path), Place::Directory(path))
        }
        SourceSpec::Git { url, revision } => (git::name(url), Place::Git { url, revision: revision.as_deref() }),
        SourceSpec::Archive(path) => (archive::name(path), Place::Archive(base.join(path))),
        SourceSpec::Package(package) => (package.normalized_name(), Place::Package(Registry::Python, package)),
        SourceSpec::DebianSource(package) => (package.name.clone(), Place::Package(Registry::Debian, package)),
    };
    let name = entry.name.clone().unwrap_or(name);
    Ok(vec![Unit { name, entry, label: entry.spec.to_string(), place }])
}

fn find_directory(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(Error::io("find the directory", path))
}

fn directory_units<'a>(entry: &'a SourceEntry, path: &Path) -> Result<Vec<Unit<'a>>> {
    let children = directory::children(path)?;
    Ok(children
        .into_iter()
        .map(|child| {
            let name = file_name(&child.path);
            let label = format!("{}/{name}", entry.spec);
            let place = match child.kind {
                directory::Kind::Directory => Place::Directory(child.path),
                kind => Place::NoDirectory { is_symlink: kind == directory::Kind::Symlink },
            };
            Unit { name, entry, label, place }
        })
        .collect())
}

/// Reads one repository.
///
/// # Errors
///
/// Returns an error if the repository cannot be read as a whole.
pub(crate) fn read(unit: &Unit, reading: &Reading) -> Result<RawRepository> {
    let raw = match &unit.place {
        Place::Directory(path) => directory::read(path, reading.filters),
        Place::NoDirectory { is_symlink } => Ok(no_directory(*is_symlink)),
        Place::Git { url, revision } => git::read(url, *revision, reading),
        Place::Archive(path) => archive::read_pinned(path, unit.entry.sha256.as_deref(), reading.filters),
        Place::Package(registry, spec) => package::read(*registry, spec, unit.entry.sha256.as_deref(), reading),
    };
    raw.map_err(|source| failed(&unit.label, source))
}

/// Returns a hash of what the local sources of a manifest hold now, as a crawl sees it: directories and archives by their
/// content, packages and git repositories by what the manifest says.
pub(crate) fn fingerprint(manifest: &Manifest, base: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    for unit in units(manifest, base)? {
        hasher.update(format!("{}\n{}\n", unit.name, unit.label).as_bytes());
        match &unit.place {
            Place::Directory(path) => {
                for file in directory::read(path, &manifest.filters).map_err(|error| failed(&unit.label, error))?.files
                {
                    let content = match file.content {
                        RawContent::Read(content) => blake3::hash(&content).to_hex().to_string(),
                        RawContent::Dropped(reason, detail) => format!("{reason} {detail}"),
                    };
                    hasher.update(format!("{} {} {content}\n", file.path, file.bytes).as_bytes());
                }
            }
            Place::Archive(path) => {
                let hash = digest::sha256_of_file(path).map_err(|error| failed(&unit.label, error))?;
                hasher.update(hash.as_bytes());
            }
            Place::NoDirectory { .. } | Place::Git { .. } | Place::Package(..) => {}
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}

fn no_directory(is_symlink: bool) -> RawRepository {
    let reason = if is_symlink { DropReason::Symlink } else { DropReason::NotARepository };
    RawRepository { notes: vec![(reason, "is not a directory of the folder".to_owned())], ..RawRepository::default() }
}

fn failed(spec: &str, source: Error) -> Error {
    Error::Source { spec: spec.to_owned(), source: Box::new(source) }
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| "root".to_owned(), |name| name::escape(name.as_encoded_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_are_displayed_as_they_are_written() {
        for text in [
            "dir:../code",
            "dirs:/data/repositories",
            "git:https://example.org/a/b",
            "git:https://example.org/a/b.git@v1.0",
            "git:file:///data/a@0123456789abcdef0123456789abcdef01234567",
            "archive:a-1.0.tar.gz",
            "pypi:Jinja2==3.1.6",
            "deb:zxing==3.4.1+ds",
        ] {
            assert_eq!(text.parse::<SourceSpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn wrong_specifications_say_what_would_be_right() {
        let message = |text: &str| text.parse::<SourceSpec>().unwrap_err().to_string();
        expect_test::expect![[r"
            `flask` is not a valid specification: a source starts with dir:, dirs:, git:, archive:, pypi: or deb:
            `dir:` is not a valid specification: nothing follows the colon
            `flask>=3` is not a valid specification: a package is written NAME==VERSION, for example flask==3.1.3
            `--index-url==1` is not a valid specification: a package is written NAME==VERSION, for example flask==3.1.3
            `ssh://example.org/a` is not a valid specification: a git address starts with https:// or file://
            `https://example.org/a@--upload-pack=x` is not a valid specification: a revision holds letters, digits and . _ / - only and starts with none of them but letters and digits"]]
        .assert_eq(
            &["flask", "dir:", "pypi:flask>=3", "pypi:--index-url==1", "git:ssh://example.org/a", "git:https://example.org/a@--upload-pack=x"]
                .map(message)
                .join("\n"),
        );
    }

    #[test]
    fn package_names_are_compared_as_registries_do() {
        assert_eq!(normalize_package_name("Markdown_It..py"), "markdown-it-py");
    }
}
