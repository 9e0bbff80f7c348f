//! A git repository: a bare shallow clone whose blobs are read from the object store. There is never a working tree, so
//! hooks, filters, links and hostile names have nothing to act on.
//!
//! Clones lie in `git/` of the cache. One of a full commit hash is used again; a branch, tag or default branch is cloned
//! anew unless the run is offline. Blobs above the size filter are not even transferred where the server allows that.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::collector::Admission;
use super::{Collector, RawRepository, Reading, SourceSpec};
use crate::filter::DropReason;
use crate::{Error, Result, atomic};

/// Settings for every call: no hooks, no links, no recursion, no helpers, checked objects, and an end to stalled
/// transfers.
const SETTINGS: [&str; 8] = [
    "core.hooksPath=/dev/null",
    "transfer.fsckObjects=true",
    "core.symlinks=false",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "credential.helper=",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=60",
];

/// The whole environment of every call, besides the search path and the protocol.
const ENVIRONMENT: [(&str, &str); 8] = [
    ("HOME", "/nonexistent"),
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "/bin/true"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_LFS_SKIP_SMUDGE", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
];

/// The variables of a proxy and of certificates, passed on if they are set.
const PASSED_ON: [&str; 6] = ["https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "GIT_SSL_CAINFO"];

const CLONE_FLAGS: [&str; 7] =
    ["--bare", "--depth=1", "--no-tags", "--single-branch", "--no-recurse-submodules", "--template=", "--quiet"];

/// The longest name of a tree entry, in bytes.
const ENTRY_BYTES_MAX: u64 = 64 * 1024;

/// Parses what follows `git:`.
pub(super) fn parse(text: &str) -> Result<SourceSpec> {
    let slash = text.rfind('/').unwrap_or(0);
    let revision_at = text[slash..].find('@').map(|at| slash + at);
    // A revision may itself hold slashes: then its `@` comes before the last slash, after the address's host.
    let revision_at = revision_at.or_else(|| text.find("://").and_then(|scheme| find_after_host(text, scheme + 3)));
    let (url, revision) = revision_at.map_or((text, None), |at| (&text[..at], Some(&text[at + 1..])));
    if !url.starts_with("https://") && !url.starts_with("file://") {
        return Err(Error::spec(text, "a git address starts with https:// or file://"));
    }
    if revision.is_some_and(|revision| !is_revision(revision)) {
        let rule =
            "a revision holds letters, digits and . _ / - only and starts with none of them but letters and digits";
        return Err(Error::spec(text, rule));
    }
    Ok(SourceSpec::Git { url: url.to_owned(), revision: revision.map(str::to_owned) })
}

fn find_after_host(text: &str, host: usize) -> Option<usize> {
    let path = host + text[host..].find('/')?;
    text[path..].find('@').map(|at| path + at)
}

fn is_revision(revision: &str) -> bool {
    revision.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !revision.contains("..")
        && revision.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '/' | '-'))
}

/// Returns the repository name that an address gives: its last two components, owner and name.
pub(super) fn name(url: &str) -> String {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest).trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let components: Vec<&str> = path.split('/').skip(1).filter(|component| !component.is_empty()).collect();
    let start = components.len().saturating_sub(2);
    if components.is_empty() { path.to_owned() } else { components[start..].join("/") }
}

/// Clones a repository, unless the cache serves, and reads the tree of the revision.
pub(super) fn read(url: &str, revision: Option<&str>, reading: &Reading) -> Result<RawRepository> {
    let git = Git { url };
    let directory = git.clone_into_cache(revision, reading)?;
    let commit = git.commit(&directory)?;
    let mut collector = Collector::new(reading.filters);
    let blobs = git.list(&directory, &commit, &mut collector)?;
    git.read_blobs(&directory, blobs, &mut collector)?;
    Ok(RawRepository {
        version: revision.unwrap_or_default().to_owned(),
        revision: format!("commit:{commit}"),
        license: collector.license(),
        files: collector.finish(),
        notes: Vec::new(),
    })
}

struct Git<'a> {
    url: &'a str,
}

struct Blob {
    id: String,
    bytes: u64,
    admission: Admission,
}

impl Git<'_> {
    fn clone_into_cache(&self, revision: Option<&str>, reading: &Reading) -> Result<PathBuf> {
        let key = blake3::hash(format!("{}@{}", self.url, revision.unwrap_or_default()).as_bytes()).to_hex();
        let directory = reading.cache.join("git").join(&key[..32]);
        let is_commit = revision.is_some_and(is_commit);
        if directory.is_dir() && (is_commit || reading.offline) {
            return Ok(directory);
        }
        if reading.offline && self.url.starts_with("https://") {
            return Err(Error::Offline {
                what: format!("a clone of {}", self.url),
                cache: reading.cache.to_path_buf(),
            });
        }
        let temporary = atomic::directory_beside(&directory)?;
        let filter = format!("--filter=blob:limit={}", reading.filters.file_bytes_max + 1);
        match revision.filter(|_| is_commit) {
            Some(commit) => self.fetch_commit(commit, &filter, temporary.path())?,
            None => self.clone(revision, &filter, temporary.path())?,
        }
        // Without a remote, a blob that was filtered out is missing instead of fetched behind our back.
        let mut remove = self.command(Some(temporary.path()));
        self.run(remove.args(["config", "--remove-section", "remote.origin"]))?;
        atomic::publish_directory(temporary, &directory, true)?;
        Ok(directory)
    }

    fn clone(&self, revision: Option<&str>, filter: &str, directory: &Path) -> Result<()> {
        let mut command = self.command(None);
        command.arg("clone").args(CLONE_FLAGS).arg(filter);
        if let Some(revision) = revision {
            command.arg(format!("--branch={revision}"));
        }
        self.run(command.arg("--").arg(self.url).arg(directory)).map(drop)
    }

    fn fetch_commit(&self, commit: &str, filter: &str, directory: &Path) -> Result<()> {
        let mut init = self.command(None);
        self.run(init.args(["init", "--bare", "--quiet", "--template="]).arg(directory))?;
        let mut add = self.command(Some(directory));
        self.run(add.args(["remote", "add", "origin", self.url]))?;
        let mut fetch = self.command(Some(directory));
        fetch.args(["fetch", "--depth=1", "--no-tags", "--no-recurse-submodules", "--quiet", filter, "origin", commit]);
        self.run(&mut fetch)?;
        let mut update = self.command(Some(directory));
        self.run(update.args(["update-ref", "--no-deref", "HEAD", commit])).map(drop)
    }

    fn commit(&self, directory: &Path) -> Result<String> {
        let mut command = self.command(Some(directory));
        let output = self.run(command.args(["rev-parse", "--verify", "--end-of-options", "HEAD^{commit}"]))?;
        Ok(String::from_utf8_lossy(&output).trim().to_owned())
    }

    /// Gives every entry of the tree to the collector and returns the blobs to read.
    fn list(&self, directory: &Path, commit: &str, collector: &mut Collector) -> Result<Vec<Blob>> {
        let mut command = self.command(Some(directory));
        command.args(["ls-tree", "-r", "-z", "-l", "--full-tree", commit]).stdout(Stdio::piped());
        let mut child = Running(command.spawn().map_err(|error| self.error(error))?);
        let mut reader = BufReader::new(child.0.stdout.take().expect("standard output is piped"));
        let mut blobs = Vec::new();
        loop {
            let mut entry = Vec::new();
            (&mut reader).take(ENTRY_BYTES_MAX).read_until(0, &mut entry).map_err(|error| self.error(error))?;
            match entry.pop() {
                None => break,
                Some(0) => blobs.extend(self.admit(&entry, collector)?),
                Some(_) => return Err(self.error("the list of files ends early or has a name beyond 64 KiB")),
            }
        }
        match child.0.wait() {
            Ok(status) if status.success() => Ok(blobs),
            _ => Err(self.error("the files of the commit cannot be listed")),
        }
    }

    fn admit(&self, entry: &[u8], collector: &mut Collector) -> Result<Option<Blob>> {
        let tab = entry.iter().position(|byte| *byte == b'\t').ok_or_else(|| self.error("unexpected list of files"))?;
        let (fields, name) = (String::from_utf8_lossy(&entry[..tab]).into_owned(), &entry[tab + 1..]);
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let [mode, kind, id, bytes] = fields[..] else { return Err(self.error("unexpected list of files")) };
        match (mode, kind, bytes.parse::<u64>()) {
            ("120000", ..) => collector.drop(name, 0, DropReason::Symlink, "not followed")?,
            (_, "commit", _) => collector.drop(name, 0, DropReason::Submodule, id)?,
            (_, "blob", Ok(bytes)) => match collector.admit(name, bytes)? {
                Admission::Done => {}
                admission => return Ok(Some(Blob { id: id.to_owned(), bytes, admission })),
            },
            // A blob that the clone left out because of its size.
            (_, "blob", Err(_)) => {
                if let Admission::Read(path) = collector.admit(name, 0)? {
                    collector.drop(path.as_bytes(), 0, DropReason::TooLarge, "not transferred")?;
                }
            }
            _ => collector.drop(name, 0, DropReason::NotAFile, kind)?,
        }
        Ok(None)
    }

    fn read_blobs(&self, directory: &Path, blobs: Vec<Blob>, collector: &mut Collector) -> Result<()> {
        let mut command = self.command(Some(directory));
        command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Running(command.spawn().map_err(|error| self.error(error))?);
        let mut requests = child.0.stdin.take().expect("standard input is piped");
        let mut answers = BufReader::new(child.0.stdout.take().expect("standard output is piped"));
        for blob in blobs {
            self.read_blob(blob, &mut requests, &mut answers, collector)?;
        }
        drop(requests);
        match child.0.wait() {
            Ok(status) if status.success() => Ok(()),
            _ => Err(self.error("the content of the commit cannot be read")),
        }
    }

    fn read_blob(
        &self,
        blob: Blob,
        requests: &mut ChildStdin,
        answers: &mut BufReader<ChildStdout>,
        collector: &mut Collector,
    ) -> Result<()> {
        writeln!(requests, "{}", blob.id).and_then(|()| requests.flush()).map_err(|error| self.error(error))?;
        let mut header = String::new();
        answers.take(ENTRY_BYTES_MAX).read_line(&mut header).map_err(|error| self.error(error))?;
        let stated = header.split_ascii_whitespace().nth(2).and_then(|bytes| bytes.parse::<u64>().ok());
        let Some(bytes) = stated else {
            return match blob.admission {
                Admission::Read(path) => collector.unreadable(path, blob.bytes, header.trim().to_owned()),
                _ => Ok(()),
            };
        };
        let mut content = answers.take(bytes + 1);
        match blob.admission {
            Admission::Read(path) => collector.read(path, blob.bytes, (&mut content).take(bytes))?,
            Admission::Aside(path) => collector.read_aside(path, (&mut content).take(bytes)),
            Admission::Done => {}
        }
        std::io::copy(&mut content, &mut std::io::sink()).map(drop).map_err(|error| self.error(error))
    }

    fn command(&self, directory: Option<&Path>) -> Command {
        let mut command = Command::new("git");
        command.env_clear().envs(ENVIRONMENT).env("GIT_NO_LAZY_FETCH", "1");
        let passed_on = PASSED_ON.into_iter().chain(["PATH"]);
        command.envs(passed_on.filter_map(|name| std::env::var_os(name).map(|value| (name, value))));
        let protocol = if self.url.starts_with("file://") { "file" } else { "https" };
        command.env("GIT_ALLOW_PROTOCOL", protocol);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        if let Some(directory) = directory {
            command.arg("--git-dir").arg(directory);
        }
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn run(&self, command: &mut Command) -> Result<Vec<u8>> {
        let output = command.stderr(Stdio::piped()).output();
        let output = output.map_err(|error| self.error(format!("`git` cannot be started ({error}): install git")))?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(self.error(format!("git says: {}", reason(&errors))))
    }

    fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::Git { url: self.url.to_owned(), message: message.to_string() }
    }
}

/// Returns what failed, from what `git` wrote: warnings and hints may stand before it and after it.
fn reason(errors: &str) -> String {
    let lines = || errors.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines().find(|line| ["fatal:", "error:", "remote:"].iter().any(|start| line.starts_with(start)));
    let fatal = lines().find(|line| line.starts_with("fatal:"));
    match (first, fatal) {
        (Some(first), Some(fatal)) if first.starts_with("error:") => format!("{first}; {fatal}"),
        (Some(first), _) => first.to_owned(),
        (None, _) => lines().next_back().unwrap_or("no reason was given").to_owned(),
    }
}

fn is_commit(revision: &str) -> bool {
    matches!(revision.len(), 40 | 64) && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A child process that does not outlive its reader.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // A child that has ended already cannot be killed, which is fine.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_owner_and_name() {
        assert_eq!(name("https://example.org/owner/name.git"), "owner/name");
        assert_eq!(name("https://example.org/name/"), "name");
        assert_eq!(name("file:///a/b/c"), "b/c");
        assert_eq!(name("https://example.org"), "example.org");
    }

    #[test]
    fn the_reason_is_the_first_line_that_states_a_failure() {
        let check = |errors: &str, expected: &str| assert_eq!(reason(errors), expected);
        check("warning: w\nfatal: not found\nPlease make sure\nand the repository exists.\n", "fatal: not found");
        check("error: bad tree\nerror: more\nfatal: fsck failed\n", "error: bad tree; fatal: fsck failed");
        check("error: alone\nhint: h\n", "error: alone");
        check("remote: no such repository\nfatal: access denied\n", "remote: no such repository");
        check("something\nelse\n\n", "else");
        check(" \n", "no reason was given");
    }

    #[test]
    fn the_revision_follows_the_last_at_sign_of_the_path() {
        let parts = |text: &str| match parse(text) {
            Ok(SourceSpec::Git { url, revision }) => (url, revision),
            other => panic!("{other:?}"),
        };
        assert_eq!(parts("https://user@example.org/a/b"), ("https://user@example.org/a/b".into(), None));
        assert_eq!(parts("https://example.org/a/b@v1"), ("https://example.org/a/b".into(), Some("v1".into())));
        assert_eq!(
            parts("https://example.org/a/b@feature/x"),
            ("https://example.org/a/b".into(), Some("feature/x".into()))
        );
        assert!(parse("https://example.org/a/b@").is_err());
        assert!(parse("https://example.org/a/b@a..b").is_err());
    }
}
