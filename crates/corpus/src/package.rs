//! Wheels of registry packages, in `packages/` of the cache.
//!
//! `pip download` is asked for a wheel only, without dependencies, so no code of a package runs; and for a wheel of any
//! platform, so that one sha256 holds everywhere. A wheel enters the cache after its sha256 was checked.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::source::{PackageSpec, normalize_package_name};
use crate::{Error, Result, atomic, digest};

/// The Python version that wheels must allow.
const PYTHON_VERSION: &str = "3.13";

/// A wheel in the cache.
#[derive(Debug)]
pub(crate) struct Wheel {
    pub(crate) path: PathBuf,
    pub(crate) sha256: String,
}

/// Returns the wheel of a package, downloading it if it is not in the cache.
pub(crate) fn fetch(spec: &PackageSpec, sha256: Option<&str>, cache: &Path, offline: bool) -> Result<Wheel> {
    let packages = cache.join("packages");
    if let Some(path) = find(&packages, spec)? {
        let advice = "remove the file to download it again, or correct the pin";
        return checked(path, sha256, advice);
    }
    if offline {
        return Err(Error::Offline { what: format!("the package {spec}"), cache: cache.to_path_buf() });
    }
    download(spec, sha256, &packages)
}

fn download(spec: &PackageSpec, sha256: Option<&str>, packages: &Path) -> Result<Wheel> {
    let temporary = atomic::directory_beside(&packages.join("wheel"))?;
    run_pip(spec, temporary.path())?;
    let path = find(temporary.path(), spec)?.ok_or_else(|| Error::Download {
        what: format!("the package {spec}"),
        message: "pip left no wheel of that name and version".to_owned(),
    })?;
    let advice = "if the pin is right, do not use the package; else correct the pin";
    let wheel = checked(path, sha256, advice)?;
    let file_name = wheel.path.file_name().expect("`find` returns files");
    let path = packages.join(file_name);
    std::fs::File::open(&wheel.path).and_then(|file| file.sync_all()).map_err(Error::io("flush", &wheel.path))?;
    std::fs::rename(&wheel.path, &path).map_err(Error::io("move a wheel to", &path))?;
    atomic::sync_directory(packages)?;
    Ok(Wheel { path, ..wheel })
}

fn run_pip(spec: &PackageSpec, directory: &Path) -> Result<()> {
    let what = || format!("the package {spec}");
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]);
    command.args(["--no-deps", "--only-binary=:all:", "--platform=any", "--implementation=py", "--abi=none"]);
    command.args(["--python-version", PYTHON_VERSION, "--dest"]).arg(directory).arg(spec.to_string());
    let output = command.stdin(Stdio::null()).output().map_err(|error| Error::Download {
        what: what(),
        message: format!("`python3 -m pip` cannot be started ({error}): install Python 3 with pip"),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let reason = errors.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason was given").trim();
    let message =
        format!("pip says: {reason} (is the network reachable, and is there a pure-Python wheel of that version?)");
    Err(Error::Download { what: what(), message })
}

/// Returns the wheel of a package in a directory; the first by name if there are more.
fn find(directory: &Path, spec: &PackageSpec) -> Result<Option<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("list the directory", directory)(error)),
    };
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in entries {
        let path = entry.map_err(Error::io("list the directory", directory))?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| is_wheel_of(name, spec)) {
            found.push(path);
        }
    }
    Ok(found.into_iter().min())
}

fn is_wheel_of(file_name: &str, spec: &PackageSpec) -> bool {
    let Some(stem) = file_name.strip_suffix(".whl") else { return false };
    let mut parts = stem.split('-');
    let (name, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    normalize_package_name(name) == spec.normalized_name() && version.eq_ignore_ascii_case(&spec.version)
}

fn checked(path: PathBuf, expected: Option<&str>, advice: &str) -> Result<Wheel> {
    let sha256 = digest::sha256_of_file(&path)?;
    match expected {
        Some(expected) if expected != sha256 => Err(Error::HashMismatch {
            what: format!("the wheel {}", path.display()),
            expected: expected.to_owned(),
            actual: sha256,
            advice: advice.to_owned(),
        }),
        _ => Ok(Wheel { path, sha256 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> PackageSpec {
        "Markdown-It.py==1.0".parse().unwrap()
    }

    #[test]
    fn wheels_are_found_by_normalized_name_and_version() {
        assert!(is_wheel_of("markdown_it_py-1.0-py3-none-any.whl", &spec()));
        assert!(!is_wheel_of("markdown_it_py-1.0.1-py3-none-any.whl", &spec()));
        assert!(!is_wheel_of("markdown_it-1.0-py3-none-any.whl", &spec()));
        assert!(!is_wheel_of("markdown_it_py-1.0.tar.gz", &spec()));
    }

    #[test]
    fn offline_without_the_wheel_is_a_clear_error() {
        let cache = tempfile::tempdir().unwrap();
        let message = fetch(&spec(), None, cache.path(), true).unwrap_err().to_string();
        let expected = format!(
            "the package Markdown-It.py==1.0 is not in the cache {} and the run is offline: run once with network access to fetch it",
            cache.path().display()
        );
        assert_eq!(message, expected);
    }

    #[test]
    fn another_hash_than_the_pinned_one_shows_both() {
        let cache = tempfile::tempdir().unwrap();
        let packages = cache.path().join("packages");
        std::fs::create_dir(&packages).unwrap();
        std::fs::write(packages.join("markdown_it_py-1.0-py3-none-any.whl"), "abc").unwrap();
        let pinned = "0".repeat(64);
        let message = fetch(&spec(), Some(&pinned), cache.path(), true).unwrap_err().to_string();
        assert!(message.contains(&pinned), "{message}");
        assert!(message.contains("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), "{message}");
        assert!(message.ends_with("remove the file to download it again, or correct the pin"), "{message}");
        assert!(fetch(&spec(), None, cache.path(), true).is_ok());
    }
}
