//! Filters with named reasons: which files of a repository are kept.
//!
//! The first reason that applies is the verdict, in the order of [`DropReason`]: reasons known from the name come
//! before reasons that need the content, so that what is not wanted is not read.

use std::fmt;
use std::str::FromStr;

use repo::language::Language;
use serde::Deserialize;

mod content;

pub(crate) use content::check as check_content;

/// The name of the verdict on a file that is kept, beside the names of [`DropReason`].
pub const KEPT: &str = "kept";

/// Directory names that hold other people's code.
const VENDORED: [&str; 14] = [
    "_vendor",
    "_vendored",
    "vendor",
    "vendored",
    "third_party",
    "third-party",
    "thirdparty",
    "3rdparty",
    "node_modules",
    "site-packages",
    "dist-packages",
    ".venv",
    ".tox",
    ".eggs",
];

/// What a crawl keeps: the `[crawl]` table of a manifest.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Filters {
    /// The languages kept.
    #[serde(deserialize_with = "languages")]
    pub languages: Vec<Language>,
    /// The largest file kept, in bytes.
    pub file_bytes_max: u64,
    /// The most content read from one repository, in bytes.
    pub repository_bytes_max: u64,
    /// The most that one compressed archive may expand to, in bytes.
    pub archive_bytes_max: u64,
    /// The most entries of one repository.
    pub entries_max: usize,
    /// The longest line kept, in characters; a longer one marks a minified or data file.
    pub line_chars_max: usize,
    /// The largest average line length kept, in characters.
    pub average_line_chars_max: f64,
    /// The largest share of a file's bytes that may lie in syntax errors.
    pub error_share_max: f64,
    /// Directory names that hold other people's code.
    pub vendored: Vec<String>,
    /// Whether test files are dropped.
    pub drop_tests: bool,
    /// Whether files that a `.gitignore` of the repository excludes are dropped (directories only: a clone or an archive
    /// holds none).
    pub gitignore: bool,
    /// The licenses allowed, as SPDX identifiers; empty allows every license and none.
    pub licenses: Vec<String>,
    /// The shortest content that counts as a duplicate, in bytes: an empty `__init__.py` is no copy of another.
    pub duplicate_bytes_min: usize,
    /// What happens if a whole repository cannot be read.
    pub failed_repositories: FailedRepositories,
}

/// What happens if a whole repository cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedRepositories {
    /// The crawl ends with an error.
    Error,
    /// The repository is one ledger row.
    Skip,
}

impl Default for Filters {
    /// Returns the defaults. The line limits are those of The Stack's filters.
    fn default() -> Self {
        Self {
            languages: vec![Language::Python, Language::Java],
            file_bytes_max: 1_000_000,
            repository_bytes_max: 500_000_000,
            archive_bytes_max: 4_000_000_000,
            entries_max: 200_000,
            line_chars_max: 1_000,
            average_line_chars_max: 100.0,
            error_share_max: 0.05,
            vendored: VENDORED.map(str::to_owned).to_vec(),
            drop_tests: false,
            gitignore: true,
            licenses: Vec::new(),
            duplicate_bytes_min: 100,
            failed_repositories: FailedRepositories::Error,
        }
    }
}

impl Filters {
    /// Returns the reason to drop a file that its path alone gives, or its language.
    pub(crate) fn check_path(&self, path: &str) -> Result<Language, DropReason> {
        let language = Language::from_path(path).filter(|language| self.languages.contains(language));
        let language = language.ok_or(DropReason::UnsupportedLanguage)?;
        let mut directories: Vec<&str> = path.split('/').collect();
        let name = directories.pop().unwrap_or_default();
        if directories.iter().any(|directory| self.vendored.iter().any(|vendored| vendored == directory)) {
            return Err(DropReason::Vendored);
        }
        if self.drop_tests && is_test(&directories, name, language) {
            return Err(DropReason::Test);
        }
        Ok(language)
    }
}

fn is_test(directories: &[&str], name: &str, language: Language) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    directories.iter().any(|directory| matches!(*directory, "test" | "tests"))
        || stem == "conftest"
        || stem.starts_with("test_")
        || stem.ends_with("_test")
        || language == Language::Java && stem.ends_with("Test")
}

/// What was decided about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The file is stored and belongs to a cluster.
    Kept,
    /// The file gives neither samples nor candidates.
    Dropped(DropReason),
}

impl Verdict {
    /// Returns [`KEPT`] or the name of the reason.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => KEPT,
            Self::Dropped(reason) => reason.name(),
        }
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Why a file was dropped; each has a stable name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum DropReason {
            $($(#[$doc])* $variant,)*
        }

        impl DropReason {
            /// Every reason, in the order in which they are tried.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name in the ledger.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

reasons! {
    /// The source could not be read at all; a row of the repository.
    RepositoryFailed = "repository_failed",
    /// The repository has no files; a row of the repository.
    EmptyRepository = "empty_repository",
    /// An entry of a folder of repositories that is not a directory; a row of the repository.
    NotARepository = "not_a_repository",
    /// A path that is not UTF-8, is absolute, has `..`, a backslash or a control character, or lies below a link.
    BadName = "bad_name",
    /// A symbolic or hard link; it is never followed.
    Symlink = "symlink",
    /// Another repository, by reference.
    Submodule = "submodule",
    /// A device, pipe, socket or another special entry.
    NotAFile = "not_a_file",
    /// Excluded by a `.gitignore` of the repository.
    Ignored = "ignored",
    /// Not in one of the languages asked for.
    UnsupportedLanguage = "unsupported_language",
    /// Other people's code.
    Vendored = "vendored",
    /// A test, where tests are not wanted.
    Test = "test",
    /// Larger than the limit for a file.
    TooLarge = "too_large",
    /// Beyond the limit for the content of one repository.
    RepositoryTooLarge = "repository_too_large",
    /// The content could not be read.
    Unreadable = "unreadable",
    /// Another file has the same path but for letter case.
    NameCollision = "name_collision",
    /// The repository's license is not among those allowed.
    LicenseNotAllowed = "license_not_allowed",
    /// The repository or the content belongs to a benchmark.
    Benchmark = "benchmark",
    /// Holds NUL characters.
    Binary = "binary",
    /// Not text in any encoding that was stated or detected.
    NotUtf8 = "not_utf8",
    /// Minified or data: a line is too long, or the lines are on average.
    LongLines = "long_lines",
    /// Says in its first lines that it was generated.
    Generated = "generated",
    /// Too much of it is syntax errors.
    Unparsable = "unparsable",
    /// Has the content of a file that comes before it, in this or another repository.
    Duplicate = "duplicate",
    /// Neither imports a file of its repository nor is imported. The one reason whose files are stored in
    /// `files.parquet` (with a null cluster), because resolving the imports of the others needs them.
    NoCrossFileDependency = "no_cross_file_dependency",
}

impl fmt::Display for DropReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for DropReason {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .iter()
            .copied()
            .find(|reason| reason.name() == name)
            .ok_or_else(|| format!("unknown drop reason `{name}`"))
    }
}

fn languages<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Language>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    names.iter().map(|name| name.parse().map_err(serde::de::Error::custom)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_found_by_its_name() {
        for reason in DropReason::ALL {
            assert_eq!(reason.name().parse(), Ok(*reason));
        }
        assert!("nonsense".parse::<DropReason>().is_err());
    }

    #[test]
    fn a_path_alone_tells_language_vendored_and_test() {
        let filters = Filters { drop_tests: true, ..Filters::default() };
        let check = |path: &str| filters.check_path(path);
        assert_eq!(check("pkg/a.py"), Ok(Language::Python));
        assert_eq!(check("src/A.java"), Ok(Language::Java));
        assert_eq!(check("README.md"), Err(DropReason::UnsupportedLanguage));
        assert_eq!(check("pip/_vendor/six.py"), Err(DropReason::Vendored));
        assert_eq!(check("vendor.py"), Ok(Language::Python));
        assert_eq!(check("tests/a.py"), Err(DropReason::Test));
        assert_eq!(check("pkg/test_a.py"), Err(DropReason::Test));
        assert_eq!(check("src/ATest.java"), Err(DropReason::Test));
        assert_eq!(check("pkg/latest.py"), Ok(Language::Python));
        assert_eq!(Filters::default().check_path("tests/a.py"), Ok(Language::Python));
    }
}
