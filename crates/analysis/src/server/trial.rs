//! Trials: a repository's own tests on a file that someone else wrote.
//!
//! The text comes from a model and is not trusted. A trial runs on a copy of the repository in memory that is gone
//! afterwards, without network, where nothing else can be written, within limits, and with all its processes ended.
//! Without bubblewrap there is no such place, and a trial runs only if that is asked for.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::process::ChildStdout;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::process::Caps;
use super::process::End;
use super::process::Launch;
use super::process::Process;
use super::sandbox::{Program, find, hidden_by_own};
use crate::error::{Error, Result};

/// How much of the output is kept, in bytes.
const OUTPUT_BYTES: usize = 4096;
/// Where a trial finds the repository, and the changed file, inside.
const GIVEN: &str = "/run/given";
/// The first line of the output: the copy is there, and what follows is the command's.
const READY: &str = "retort: the copy is there\n";
/// Copies `$1` to `$2`, puts the file `$3` at `$4`, and becomes the command that follows.
const COPY_AND_RUN: &str = r#"cp -R "$1/." "$2" && cd "$2" && { [ -z "$4" ] || cp --remove-destination "$3" "$4"; } &&
echo 'retort: the copy is there' && shift 4 && exec "$@""#;
/// Tells in three lines which network devices there are, whether the repository can be written, and how large the place
/// for files is.
const PROBE: &str = r#"tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' \n'; echo
if touch "$1/retort-probe" 2>/dev/null; then rm "$1/retort-probe"; echo writable; else echo read-only; fi
df -Pk "$2" | tail -1"#;

/// What a trial may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialLimits {
    /// The longest time.
    pub deadline: Duration,
    /// The most memory that all processes may hold together, in bytes.
    pub memory_bytes_max: u64,
    /// The most processes.
    pub processes_max: usize,
    /// The most bytes of files, the copy of the repository included.
    pub file_bytes_max: u64,
}

impl Default for TrialLimits {
    /// Returns a minute, 2 GiB, 64 processes and 512 MiB of files.
    fn default() -> Self {
        let deadline = Duration::from_mins(1);
        Self { deadline, memory_bytes_max: 2 << 30, processes_max: 64, file_bytes_max: 512 << 20 }
    }
}

/// What a trial is really kept from, as a probe in the same place found it. It may read whatever the user may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialProtection {
    /// There is no network device but the loopback of its own.
    pub is_offline: bool,
    /// It can write nothing but its own copy, which is in memory.
    pub is_read_only: bool,
    /// Its files are held to [`TrialLimits::file_bytes_max`].
    pub is_file_size_limited: bool,
    /// Time, memory and number of processes are always held to these; looked at ten times a second.
    pub limits: TrialLimits,
}

impl fmt::Display for TrialProtection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = if self.is_offline { "network off" } else { "network NOT off" };
        let files = if self.is_read_only { "files read-only" } else { "files NOT read-only" };
        let size = match (self.is_file_size_limited, self.limits.file_bytes_max >> 20) {
            (true, mib) => format!("own files at most {mib} MiB"),
            (false, _) => "own files NOT limited".into(),
        };
        let TrialLimits { deadline, memory_bytes_max, processes_max, .. } = self.limits;
        let (seconds, mib) = (deadline.as_secs(), memory_bytes_max >> 20);
        write!(f, "{network}, {files}, {size}, at most {seconds} s, {mib} MiB of memory and {processes_max} processes")
    }
}

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The command succeeded.
    Passed,
    /// The command failed.
    Failed,
    /// It took too long.
    TooLong,
    /// It held too much memory.
    TooMuchMemory,
    /// It started too many processes.
    TooManyProcesses,
}

impl Verdict {
    /// Returns the stable name: `passed`, `failed`, `too_long`, `too_much_memory` or `too_many_processes`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::TooLong => "too_long",
            Self::TooMuchMemory => "too_much_memory",
            Self::TooManyProcesses => "too_many_processes",
        }
    }
}

/// A trial that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// How it ended.
    pub verdict: Verdict,
    /// The end of what the command wrote to its standard output.
    pub output: String,
}

/// Runs the tests of one repository.
#[derive(Debug)]
pub struct Trials {
    repository: PathBuf,
    command: Program,
    limits: TrialLimits,
    bubblewrap: Option<PathBuf>,
    protection: TrialProtection,
}

impl Trials {
    /// Takes a repository's folder and the command that runs its tests there.
    ///
    /// Unless `unprotected` is set, a machine on which the network is not off or files are not read-only is refused.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder or the command is not there, or if there is no protection.
    pub fn new(repository: &Path, command: Program, limits: TrialLimits, unprotected: bool) -> Result<Self> {
        let start = |source| Error::Start { command: command.to_string(), source };
        let repository = repository.canonicalize().map_err(start)?;
        if !repository.is_dir() {
            return Err(start(io::Error::new(io::ErrorKind::NotADirectory, "the repository is no folder")));
        }
        find(&command.path).map_err(start)?;
        let protection =
            TrialProtection { is_offline: false, is_read_only: false, is_file_size_limited: false, limits };
        let bubblewrap = find("bwrap".as_ref()).ok();
        let mut trials = Self { repository, command, limits, bubblewrap, protection };
        if trials.bubblewrap.is_some() && !trials.probe()? {
            trials.bubblewrap = None;
        }
        let is_protected = trials.protection.is_offline && trials.protection.is_read_only;
        if !(unprotected || is_protected) {
            let reason = format!("no place to run untrusted code: bubblewrap is missing or does not work ({trials})");
            return Err(Error::Failed { tool: trials.command.to_string(), reason });
        }
        Ok(trials)
    }

    /// Returns what a trial is kept from.
    #[must_use]
    pub fn protection(&self) -> TrialProtection {
        self.protection
    }

    /// Runs the command with the file at `path` within the repository replaced by `text`.
    ///
    /// # Errors
    ///
    /// Returns an error if the path leads out of the repository, or if the copy or the command cannot be started.
    pub fn run(&self, path: &str, text: &str) -> Result<Trial> {
        let is_within = Path::new(path).components().all(|component| matches!(component, Component::Normal(_)));
        if !is_within || path.is_empty() {
            return Err(self.failed(format!("{path:?} is no file of the repository")));
        }
        let given = self.own_folder().map_err(|source| self.start(source))?;
        std::fs::write(given.path().join("changed"), text).map_err(|source| self.start(source))?;
        let place = self.place(given.path());
        let mut words: Vec<OsString> = ["sh".into(), "-c".into(), COPY_AND_RUN.into(), "sh".into()].into();
        let inside = [&place.repository, &place.copy, &place.changed].map(|path| path.clone().into_os_string());
        words.extend(inside.into_iter().chain([path.into(), self.command.path.clone().into()]));
        words.extend(self.command.arguments.iter().map(OsString::from));
        let (end, output) = self.watch(&self.launch(given.path(), words)?)?;
        let Some(output) = output.strip_prefix(READY) else {
            return Err(self.failed(format!("the repository could not be copied: {end:?}")));
        };
        let verdict = match end {
            End::Exited(status) if status == "exit status: 0" => Verdict::Passed,
            End::Exited(_) | End::Stopped => Verdict::Failed,
            End::Deadline => Verdict::TooLong,
            End::Memory(_) => Verdict::TooMuchMemory,
            End::Processes(_) => Verdict::TooManyProcesses,
        };
        Ok(Trial { verdict, output: output.to_owned() })
    }

    fn failed(&self, reason: String) -> Error {
        Error::Failed { tool: self.command.to_string(), reason }
    }

    fn start(&self, source: io::Error) -> Error {
        Error::Start { command: self.command.to_string(), source }
    }

    fn own_folder(&self) -> io::Result<tempfile::TempDir> {
        let folder = tempfile::Builder::new().prefix("retort-").tempdir()?;
        if self.bubblewrap.is_none() {
            std::fs::create_dir(folder.path().join("copy"))?;
        }
        Ok(folder)
    }

    /// Finds out what the place keeps a program from; false if nothing can be run there.
    fn probe(&mut self) -> Result<bool> {
        let given = self.own_folder().map_err(|source| self.start(source))?;
        let place = self.place(given.path());
        let mut words: Vec<OsString> = ["sh".into(), "-c".into(), PROBE.into(), "sh".into()].into();
        words.extend([place.repository.into_os_string(), place.copy.into_os_string()]);
        let (end, output) = self.watch(&self.launch(given.path(), words)?)?;
        let lines: Vec<&str> = output.lines().collect();
        let (End::Exited(_), [devices, writes, disk]) = (end, lines.as_slice()) else { return Ok(false) };
        let kib = disk.split_whitespace().nth(1).and_then(|field| field.parse::<u64>().ok());
        self.protection.is_offline = devices.is_empty() || *devices == "lo";
        self.protection.is_read_only = *writes == "read-only";
        self.protection.is_file_size_limited = kib.is_some_and(|kib| kib <= self.limits.file_bytes_max.div_ceil(1024));
        Ok(true)
    }

    /// Returns where a trial finds things.
    fn place(&self, given: &Path) -> Place {
        let (repository, given) = match &self.bubblewrap {
            Some(_) => (Path::new(GIVEN).join("repository"), Path::new(GIVEN).join("own")),
            None => (self.repository.clone(), given.to_owned()),
        };
        let own = if self.bubblewrap.is_some() { Path::new("/tmp") } else { given.as_path() };
        let copy = own.join("copy");
        Place { repository, changed: given.join("changed"), copy }
    }

    fn launch(&self, given: &Path, words: Vec<OsString>) -> Result<Launch> {
        let home = if self.bubblewrap.is_some() { "/tmp".into() } else { self.place(given).copy };
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        let mut environment: Vec<(String, OsString)> = vec![
            ("PATH".into(), path),
            ("HOME".into(), home.clone().into()),
            ("TMPDIR".into(), home.into()),
            ("LANG".into(), "C.UTF-8".into()),
            ("PYTHONHASHSEED".into(), "0".into()),
        ];
        environment.extend(self.command.environment.iter().map(|(name, value)| (name.clone(), value.into())));
        let Some(bubblewrap) = &self.bubblewrap else {
            let program = find("sh".as_ref()).map_err(|source| self.start(source))?;
            let arguments = words.into_iter().skip(1).collect();
            return Ok(Launch { program, arguments, environment, directory: "/".into() });
        };
        let size = self.limits.file_bytes_max.to_string();
        let fixed = [
            ["--unshare-all", "--die-with-parent", "--new-session"].as_slice(),
            &["--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
            // Sockets of the machine's services would be reachable there, network or not.
            &["--tmpfs", "/run", "--size", &size, "--tmpfs", "/tmp"],
        ];
        let mut arguments: Vec<OsString> = fixed.concat().into_iter().map(OsString::from).collect();
        let copy = self.place(given).copy;
        arguments.extend(["--dir".into(), copy.into()]);
        let mut show = |from: &Path, to: &Path| arguments.extend(["--ro-bind".into(), from.into(), to.into()]);
        show(&self.repository, &Path::new(GIVEN).join("repository"));
        show(given, &Path::new(GIVEN).join("own"));
        if let Some(installation) = hidden_by_own(&self.command.path) {
            show(&installation, &installation);
        }
        // Whatever it is given is not there to be changed.
        arguments.extend(["--remount-ro", "/run", "--chdir", "/", "--"].map(OsString::from));
        arguments.extend(words);
        Ok(Launch { program: bubblewrap.clone(), arguments, environment, directory: "/".into() })
    }

    /// Runs to the end, and returns how it ended with the first line and the last bytes of its output.
    fn watch(&self, launch: &Launch) -> Result<(End, String)> {
        let caps = Caps { memory_bytes: self.limits.memory_bytes_max, processes: self.limits.processes_max };
        let (mut process, stdin, stdout) = Process::start(launch, caps).map_err(|source| self.start(source))?;
        process.arm(Instant::now() + self.limits.deadline);
        drop(stdin);
        let (sender, output) = mpsc::channel();
        // Whoever left the process group may hold the output open for good; nobody waits for the thread then.
        std::thread::spawn(move || sender.send(ends(stdout)));
        let end = process.wait();
        let output = output.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
        Ok((end, String::from_utf8_lossy(&output).into_owned()))
    }
}

impl fmt::Display for Trials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.protection.fmt(f)
    }
}

/// Where a trial finds what it is given, and where its copy is.
struct Place {
    repository: PathBuf,
    changed: PathBuf,
    copy: PathBuf,
}

/// Reads to the end, and keeps the beginning as long as [`READY`] and the last [`OUTPUT_BYTES`].
fn ends(mut output: ChildStdout) -> Vec<u8> {
    let (mut kept, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = output.read(&mut buffer) {
        kept.extend_from_slice(&buffer[..length]);
        let excess = kept.len().saturating_sub(READY.len() + OUTPUT_BYTES);
        if excess > 0 {
            kept.drain(READY.len()..READY.len() + excess);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
