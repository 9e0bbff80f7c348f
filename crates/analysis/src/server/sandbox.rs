//! The copy of a repository that a tool sees, and what keeps the tool from everything else.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use repo::Repository;
use tempfile::TempDir;

use super::process::Launch;
use super::process::succeeds;

/// Stands in an argument for the tool's own temporary folder, as the tool sees it.
pub const OWN_FOLDER: &str = "{own}";

/// A program and what it is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub path: PathBuf,
    /// Its arguments, in which [`OWN_FOLDER`] is replaced.
    pub arguments: Vec<String>,
    /// Variables it gets beside `PATH`, `HOME`, `TMPDIR` and `LANG`.
    pub environment: BTreeMap<String, String>,
}

impl Program {
    /// Reads a command line whose words are separated by spaces, without quotes.
    #[must_use]
    pub fn parse(line: &str) -> Self {
        let mut words = line.split_whitespace();
        let path = words.next().unwrap_or_default().into();
        Self { path, arguments: words.map(str::to_owned).collect(), environment: BTreeMap::new() }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
    }
}

/// What a tool is really kept from. It may read whatever the user may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protection {
    /// It reaches no network.
    pub is_offline: bool,
    /// It can write nothing but its own temporary folder, which is removed at the end.
    pub is_read_only: bool,
    /// It is ended when its processes hold more than these bytes together; looked at ten times a second.
    pub memory_bytes_max: u64,
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = if self.is_offline { "network off" } else { "network NOT off (no bubblewrap)" };
        let files = if self.is_read_only { "files read-only" } else { "files NOT read-only (no bubblewrap)" };
        write!(f, "{network}, {files}, memory at most {} MiB", self.memory_bytes_max >> 20)
    }
}

/// A copy of a repository, and how programs that read it are started. The copy is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Sandbox {
    folder: TempDir,
    /// The folder `repository` within, without symbolic links in its path.
    root: PathBuf,
    bubblewrap: Option<PathBuf>,
    memory_bytes_max: u64,
}

impl Sandbox {
    /// Copies a repository; programs run under bubblewrap where it works, else as plain processes.
    pub(super) fn new(repository: &Repository, memory_bytes_max: u64) -> io::Result<Self> {
        let mut sandbox = Self::plain(repository, memory_bytes_max)?;
        sandbox.bubblewrap = find("bwrap".as_ref()).ok();
        let probe = Program::parse("true");
        if !sandbox.launch(&probe).is_ok_and(|launch| succeeds(&launch)) {
            sandbox.bubblewrap = None;
        }
        Ok(sandbox)
    }

    /// Copies a repository; programs run as plain processes.
    pub(super) fn plain(repository: &Repository, memory_bytes_max: u64) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("retort-").tempdir()?;
        let root = folder.path().canonicalize()?.join("repository");
        std::fs::create_dir(&root)?;
        std::fs::create_dir(folder.path().join("own"))?;
        for file in repository.files() {
            write(&root, &file.path, &file.text)?;
        }
        Ok(Self { folder, root, bubblewrap: None, memory_bytes_max })
    }

    /// Writes a file into the tool's own folder.
    pub(super) fn put(&self, name: &str, text: &str) -> io::Result<()> {
        std::fs::write(self.folder.path().join("own").join(name), text)
    }

    /// Writes `text` to a new file beside the one at `path`, as `name`, and returns its path within the repository.
    ///
    /// It is there until it is [removed](Self::remove).
    pub(super) fn put_beside(&self, path: &str, name: &str, text: &str) -> io::Result<String> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let beside = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        write(&self.root, &beside, text)?;
        Ok(beside)
    }

    /// Removes a file of the repository's copy.
    pub(super) fn remove(&self, path: &str) -> io::Result<()> {
        std::fs::remove_file(self.root.join(path))
    }

    pub(super) fn protection(&self) -> Protection {
        let is_wrapped = self.bubblewrap.is_some();
        let memory_bytes_max = self.memory_bytes_max;
        Protection { is_offline: is_wrapped, is_read_only: is_wrapped, memory_bytes_max }
    }

    /// Returns the folder of the repository's copy, which has the same path inside.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns how to start a program in here.
    pub(super) fn launch(&self, program: &Program) -> io::Result<Launch> {
        let path = find(&program.path)?;
        let own = self.folder.path().join("own");
        let own_inside = if self.bubblewrap.is_some() { Path::new("/tmp") } else { &own };
        let own_text = own_inside.to_string_lossy();
        let arguments = program.arguments.iter().map(|argument| argument.replace(OWN_FOLDER, &own_text).into());
        let mut environment: Vec<(String, OsString)> = vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into())),
            ("HOME".into(), own_inside.into()),
            ("TMPDIR".into(), own_inside.into()),
            ("LANG".into(), "C.UTF-8".into()),
        ];
        environment.extend(program.environment.iter().map(|(name, value)| (name.clone(), value.into())));
        let directory = self.root.clone();
        let plain = Launch { program: path, arguments: arguments.collect(), environment, directory };
        Ok(match &self.bubblewrap {
            Some(bubblewrap) => self.wrapped(bubblewrap, &own, plain),
            None => plain,
        })
    }

    fn wrapped(&self, bubblewrap: &Path, own: &Path, plain: Launch) -> Launch {
        let mut arguments: Vec<OsString> = [
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--cap-drop",
            "ALL",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
        ]
        .map(OsString::from)
        .into();
        // Sockets of the machine's services would be reachable there, network or not.
        if !plain.program.starts_with("/run") {
            arguments.extend(["--tmpfs", "/run"].map(OsString::from));
        }
        arguments.extend(["--bind".into(), own.into(), "/tmp".into()]);
        for shown in hidden_by_own(&plain.program).into_iter().chain([self.root.clone()]) {
            arguments.extend(["--ro-bind".into(), shown.clone().into(), shown.into()]);
        }
        arguments.extend(["--chdir".into(), self.root.clone().into(), "--".into(), plain.program.into()]);
        arguments.extend(plain.arguments);
        Launch { program: bubblewrap.to_owned(), arguments, directory: "/".into(), ..plain }
    }
}

/// Returns the installation of a program below the machine's `/tmp`, where its own folder stands instead.
pub(super) fn hidden_by_own(program: &Path) -> Option<PathBuf> {
    let installation = program.parent()?.parent()?;
    (program.starts_with("/tmp") && installation != Path::new("/tmp")).then(|| installation.to_owned())
}

/// Finds a program by its path, or by its name in `PATH`.
pub(super) fn find(program: &Path) -> io::Result<PathBuf> {
    let not_found = || io::Error::new(io::ErrorKind::NotFound, "no such program");
    if program.components().count() > 1 {
        let path = std::path::absolute(program)?;
        return if path.is_file() { Ok(path) } else { Err(not_found()) };
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut paths = std::env::split_paths(&folders).filter(|folder| folder.is_absolute()).map(|f| f.join(program));
    paths.find(|path| path.is_file()).ok_or_else(not_found)
}

/// Writes one file below `root`; one whose path leads elsewhere, or that no file system can hold, is left out.
fn write(root: &Path, path: &str, text: &str) -> io::Result<()> {
    if !Path::new(path).components().all(|component| matches!(component, Component::Normal(_))) {
        return Ok(());
    }
    let target = root.join(path);
    let folder = target.parent().unwrap_or(root);
    match std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&target, text)) {
        Err(error) if is_about_the_name(error.kind()) => Ok(()),
        result => result,
    }
}

fn is_about_the_name(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{AlreadyExists, InvalidFilename, InvalidInput, IsADirectory, NotADirectory};
    matches!(kind, AlreadyExists | InvalidFilename | InvalidInput | IsADirectory | NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::process::{Caps, Process};
    use repo::{Language, SourceFile};
    use std::io::Read;

    fn sandboxes() -> Vec<Sandbox> {
        let file = |path: &str| SourceFile { path: path.into(), language: Language::Python, text: "x = 1\n".into() };
        let paths = ["a/b.py", "a/b.py/c.py", "/etc/outside.py", "../outside.py", "nul\0.py", ""];
        let repository = Repository::new("r", paths.map(file).into());
        vec![Sandbox::plain(&repository, 1 << 30).unwrap(), Sandbox::new(&repository, 1 << 30).unwrap()]
    }

    fn shell(sandbox: &Sandbox, script: &str) -> String {
        let arguments = vec!["-c".into(), script.into()];
        let launch = sandbox.launch(&Program { arguments, ..Program::parse("sh") }).unwrap();
        let (_process, _stdin, mut stdout) = Process::start(&launch, Caps::memory(1 << 30)).unwrap();
        let mut text = String::new();
        stdout.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn the_tool_sees_the_files_that_a_folder_can_hold() {
        for sandbox in sandboxes() {
            assert_eq!(shell(&sandbox, "find . -type f; cat a/b.py"), "./a/b.py\nx = 1\n");
        }
    }

    #[test]
    fn protection_claims_what_holds() {
        for sandbox in sandboxes() {
            let protection = sandbox.protection();
            let writes = shell(&sandbox, "touch a/new 2>/dev/null && echo yes || echo no");
            assert_eq!(writes == "no\n", protection.is_read_only);
            let devices = shell(&sandbox, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' \\n'");
            assert!(!protection.is_offline || devices == "lo", "{devices}");
        }
    }

    #[test]
    fn the_environment_is_cleared_and_the_own_folder_is_removed() {
        for sandbox in sandboxes() {
            let folder = sandbox.folder.path().to_owned();
            let names = shell(&sandbox, "env | cut -d= -f1 | sort | tr '\\n' ' '; echo x >\"$TMPDIR/x\" && cat ~/x");
            let names: Vec<&str> = names.split_whitespace().filter(|name| *name != "_").collect();
            assert_eq!(names, ["HOME", "LANG", "PATH", "PWD", "TMPDIR", "x"]);
            drop(sandbox);
            assert!(!folder.exists());
        }
    }

    #[test]
    fn commands_and_protections_read_well() {
        assert_eq!(Program::parse(" zuban  server ").to_string(), "zuban server");
        let protection = Protection { is_offline: false, is_read_only: true, memory_bytes_max: 1 << 30 };
        let expected = "network NOT off (no bubblewrap), files read-only, memory at most 1024 MiB";
        assert_eq!(protection.to_string(), expected);
        assert_eq!(find("no-such-program".as_ref()).unwrap_err().to_string(), "no such program");
    }
}
