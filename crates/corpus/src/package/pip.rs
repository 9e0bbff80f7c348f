//! Wheels: `pip download` without dependencies, for any platform, so that one sha256 holds everywhere.

use std::ffi::OsString;
use std::path::Path;

use super::{Downloader, Registry, run};
use crate::Result;
use crate::source::{PackageSpec, normalize_package_name};

/// The Python version that wheels must allow.
const PYTHON_VERSION: &str = "3.13";

const PIP: Downloader = Downloader {
    program: "python3",
    name: "pip",
    install: "install Python 3 with pip",
    check: "is the network reachable, and is there a pure-Python wheel of that version?",
};

pub(super) fn download(spec: &PackageSpec, directory: &Path) -> Result<()> {
    let options = "-m pip download --quiet --no-input --disable-pip-version-check --no-deps --only-binary=:all: \
        --platform=any --implementation=py --abi=none";
    let mut arguments: Vec<OsString> = options.split_whitespace().map(OsString::from).collect();
    arguments.extend(["--python-version", PYTHON_VERSION, "--dest", "."].map(OsString::from));
    arguments.push(spec.to_string().into());
    run(&PIP, &arguments, directory, &Registry::Python.what(spec))
}

pub(super) fn is_wheel_of(file_name: &str, spec: &PackageSpec) -> bool {
    let Some(stem) = file_name.strip_suffix(".whl") else { return false };
    let mut parts = stem.split('-');
    let (name, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    normalize_package_name(name) == spec.normalized_name() && version.eq_ignore_ascii_case(&spec.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_are_found_by_normalized_name_and_version() {
        let spec = "Markdown-It.py==1.0".parse().unwrap();
        assert!(is_wheel_of("markdown_it_py-1.0-py3-none-any.whl", &spec));
        assert!(!is_wheel_of("markdown_it_py-1.0.1-py3-none-any.whl", &spec));
        assert!(!is_wheel_of("markdown_it-1.0-py3-none-any.whl", &spec));
        assert!(!is_wheel_of("markdown_it_py-1.0.tar.gz", &spec));
    }
}
