//! Debian's source archives: `apt-get source` with a state of its own in the cache, so that it needs no rights and no
//! file of the system changes. Signatures are checked with Debian's keys as always.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;

use super::{Downloader, Registry, run};
use crate::source::PackageSpec;
use crate::{Error, Result};

/// The release whose source packages are read: it no longer changes but for repairs, and those leave upstream's archive
/// as it is.
const SOURCES: &str =
    "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main\n";

const APT: Downloader = Downloader {
    program: "apt-get",
    name: "apt-get",
    install: "run this on Debian or Ubuntu, or put the .orig.tar file into `packages` of the cache by hand",
    check: "is the network reachable, the package debian-archive-keyring installed, and the source in bookworm?",
};

/// Brings the list of sources up to date in `state`, and downloads the archive of one into `directory`.
pub(super) fn download(spec: &PackageSpec, directory: &Path, state: &Path) -> Result<()> {
    let state = std::path::absolute(state).map_err(Error::io("find the directory", state))?;
    let what = Registry::Debian.what(spec);
    // Two programs that write the same lists would disturb each other.
    let lock = prepare(&state)?;
    lock.lock().map_err(Error::io("lock", &state))?;
    run(&APT, &arguments(&state, &["update"]), directory, &what)?;
    run(&APT, &arguments(&state, &["source", "--download-only", "--tar-only", &spec.name]), directory, &what)
}

/// Makes the directory that apt works in; returns the file to lock while it does.
fn prepare(state: &Path) -> Result<File> {
    for directory in ["lists/partial", "archives/partial"].map(|directory| state.join(directory)) {
        std::fs::create_dir_all(&directory).map_err(Error::io("create", &directory))?;
    }
    let sources = state.join("sources.list");
    std::fs::write(&sources, SOURCES).map_err(Error::io("write", &sources))?;
    let lock = state.join("lock");
    File::create(&lock).map_err(Error::io("create", &lock))
}

fn arguments(state: &Path, command: &[&str]) -> Vec<OsString> {
    let mut arguments = vec![OsString::from("-qq")];
    let mut option = |name: &str, path: &Path| {
        let mut option = OsString::from(format!("{name}="));
        option.push(path);
        arguments.extend([OsString::from("-o"), option]);
    };
    option("Dir::State", state);
    option("Dir::State::lists", &state.join("lists"));
    option("Dir::State::status", Path::new("/dev/null"));
    option("Dir::Cache", state);
    option("Dir::Etc::sourcelist", &state.join("sources.list"));
    option("Dir::Etc::sourceparts", Path::new("-"));
    option("Acquire::Languages", Path::new("none"));
    // Where root runs it, apt would else want its own user to own the directories.
    option("APT::Sandbox::User", Path::new("root"));
    arguments.extend(command.iter().map(OsString::from));
    arguments
}

/// Returns whether a file is upstream's archive of a source package, at upstream's version.
pub(super) fn is_source_of(file_name: &str, spec: &PackageSpec) -> bool {
    let stem = ["gz", "xz"].iter().find_map(|ending| file_name.strip_suffix(&format!(".orig.tar.{ending}")));
    stem == Some(&format!("{}_{}", spec.name, spec.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_archives_are_found_by_name_and_upstream_version() {
        let spec = "zxing==3.4.1+ds".parse().unwrap();
        assert!(is_source_of("zxing_3.4.1+ds.orig.tar.xz", &spec));
        assert!(is_source_of("zxing_3.4.1+ds.orig.tar.gz", &spec));
        for other in ["zxing_3.4.1.orig.tar.xz", "zxing_3.4.1+ds-1.debian.tar.xz", "zxing_3.4.1+ds-1.dsc", "zxing"] {
            assert!(!is_source_of(other, &spec), "{other}");
        }
    }

    #[test]
    fn apt_is_told_to_write_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let _lock = prepare(folder.path()).unwrap();
        let written: Vec<String> = arguments(folder.path(), &["source", "a"])
            .into_iter()
            .map(|argument| argument.into_string().unwrap().replace(folder.path().to_str().unwrap(), "STATE"))
            .collect();
        expect_test::expect![
            "-qq -o Dir::State=STATE -o Dir::State::lists=STATE/lists -o Dir::State::status=/dev/null -o Dir::Cache=STATE -o Dir::Etc::sourcelist=STATE/sources.list -o Dir::Etc::sourceparts=- -o Acquire::Languages=none -o APT::Sandbox::User=root source a"
        ]
        .assert_eq(&written.join(" "));
        assert!(folder.path().join("lists/partial").is_dir() && folder.path().join("sources.list").is_file());
    }
}
