//! Packages of registries, in `packages/` of the cache: wheels of Python packages and source archives of Debian.
//!
//! Only such files are asked for that no code of a package runs while they are fetched. One enters the cache after its
//! sha256 was checked.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::source::PackageSpec;
use crate::{Error, Result, atomic, digest};

mod apt;
mod pip;

/// Where packages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Registry {
    /// The Python package index, for wheels.
    Python,
    /// The Debian archive, for what a source package calls its original archive.
    Debian,
}

/// A file of a package in the cache.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) path: PathBuf,
    pub(crate) sha256: String,
}

/// A program that downloads packages.
struct Downloader {
    program: &'static str,
    /// What the program is called where it complains.
    name: &'static str,
    /// What to do if the program is missing.
    install: &'static str,
    /// What to check if it fails.
    check: &'static str,
}

impl Registry {
    /// Returns what the registry calls the files that are taken from it.
    fn noun(self) -> &'static str {
        match self {
            Self::Python => "wheel",
            Self::Debian => "source archive",
        }
    }

    fn what(self, spec: &PackageSpec) -> String {
        match self {
            Self::Python => format!("the package {spec}"),
            Self::Debian => format!("the Debian source package {spec}"),
        }
    }

    fn holds(self, file_name: &str, spec: &PackageSpec) -> bool {
        match self {
            Self::Python => pip::is_wheel_of(file_name, spec),
            Self::Debian => apt::is_source_of(file_name, spec),
        }
    }

    /// Lets the registry's program put the files of a package into a directory.
    fn download(self, spec: &PackageSpec, directory: &Path, cache: &Path) -> Result<()> {
        match self {
            Self::Python => pip::download(spec, directory),
            Self::Debian => apt::download(spec, directory, &cache.join("apt")),
        }
    }
}

/// Returns the file of a package, downloading it if it is not in the cache.
pub(crate) fn fetch(
    registry: Registry,
    spec: &PackageSpec,
    sha256: Option<&str>,
    cache: &Path,
    offline: bool,
) -> Result<Package> {
    let packages = cache.join("packages");
    if let Some(path) = find(registry, &packages, spec)? {
        return checked(registry, path, sha256, "remove the file to download it again, or correct the pin");
    }
    if offline {
        return Err(Error::Offline { what: registry.what(spec), cache: cache.to_path_buf() });
    }
    let temporary = atomic::directory_beside(&packages.join("package"))?;
    registry.download(spec, temporary.path(), cache)?;
    let path = find(registry, temporary.path(), spec)?.ok_or_else(|| Error::Download {
        what: registry.what(spec),
        message: format!("a {} of that version was not among what came", registry.noun()),
    })?;
    let package = checked(registry, path, sha256, "if the pin is right, do not use the package; else correct the pin")?;
    publish(package, &packages)
}

fn publish(package: Package, packages: &Path) -> Result<Package> {
    let path = packages.join(package.path.file_name().expect("`find` returns files"));
    std::fs::File::open(&package.path).and_then(|file| file.sync_all()).map_err(Error::io("flush", &package.path))?;
    std::fs::rename(&package.path, &path).map_err(Error::io("move a package to", &path))?;
    atomic::sync_directory(packages)?;
    Ok(Package { path, ..package })
}

/// Returns the file of a package in a directory; the first by name if there are more.
fn find(registry: Registry, directory: &Path, spec: &PackageSpec) -> Result<Option<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("list the directory", directory)(error)),
    };
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::io("list the directory", directory))?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| registry.holds(name, spec)) {
            found.push(path);
        }
    }
    Ok(found.into_iter().min())
}

fn checked(registry: Registry, path: PathBuf, expected: Option<&str>, advice: &str) -> Result<Package> {
    let sha256 = digest::sha256_of_file(&path)?;
    match expected {
        Some(expected) if expected != sha256 => Err(Error::HashMismatch {
            what: format!("the {} {}", registry.noun(), path.display()),
            expected: expected.to_owned(),
            actual: sha256,
            advice: advice.to_owned(),
        }),
        _ => Ok(Package { path, sha256 }),
    }
}

/// Runs a program in a directory until it ends; its last complaint is the error if it fails.
fn run(downloader: &Downloader, arguments: &[OsString], directory: &Path, what: &str) -> Result<()> {
    let failed = |message: String| Error::Download { what: what.to_owned(), message };
    let Downloader { program, name, install, check } = downloader;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).env("LC_ALL", "C.UTF-8").stdin(Stdio::null());
    let output =
        command.output().map_err(|error| failed(format!("`{program}` cannot be started ({error}): {install}")))?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let reason = errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason was given").trim();
    Err(failed(format!("{name} says: {reason} ({check})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> PackageSpec {
        "Markdown-It.py==1.0".parse().unwrap()
    }

    #[test]
    fn offline_without_the_file_is_a_clear_error() {
        let cache = tempfile::tempdir().unwrap();
        let message =
            |registry| fetch(registry, &spec(), None, cache.path(), true).unwrap_err().to_string().replace('`', "");
        let rest = format!(
            "Markdown-It.py==1.0 is not in the cache {} and the run is offline: run once with network access to fetch it",
            cache.path().display()
        );
        assert_eq!(message(Registry::Python), format!("the package {rest}"));
        assert_eq!(message(Registry::Debian), format!("the Debian source package {rest}"));
    }

    #[test]
    fn another_hash_than_the_pinned_one_shows_both() {
        let cache = tempfile::tempdir().unwrap();
        let packages = cache.path().join("packages");
        std::fs::create_dir(&packages).unwrap();
        for (registry, name) in [
            (Registry::Python, "markdown_it_py-1.0-py3-none-any.whl"),
            (Registry::Debian, "Markdown-It.py_1.0.orig.tar.xz"),
        ] {
            std::fs::write(packages.join(name), "abc").unwrap();
            let pinned = "0".repeat(64);
            let message = fetch(registry, &spec(), Some(&pinned), cache.path(), true).unwrap_err().to_string();
            assert!(message.contains(&pinned), "{message}");
            assert!(message.contains("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), "{message}");
            assert!(message.ends_with("remove the file to download it again, or correct the pin"), "{message}");
            assert!(fetch(registry, &spec(), None, cache.path(), true).is_ok());
        }
    }

    #[test]
    fn a_program_that_fails_or_is_missing_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let message = |program: &'static str, arguments: &[&str]| {
            let downloader = Downloader { program, name: "it", install: "install it", check: "is it there?" };
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            run(&downloader, &arguments, folder.path(), "a thing").unwrap_err().to_string()
        };
        assert_eq!(
            message("sh", &["-c", "echo first >&2; echo last >&2; echo >&2; exit 3"]),
            "cannot download a thing: it says: last (is it there?)"
        );
        let missing = message("no-such-program", &[]);
        assert!(missing.starts_with("cannot download a thing: `no-such-program` cannot be started ("), "{missing}");
        assert!(missing.ends_with("): install it"), "{missing}");
    }
}
