//! A running program: its pipes, the watcher that holds it to its limits, and what it used.
//!
//! The program is started by its watcher's thread, which lives as long as the program: a sandbox that ends with the
//! thread that started it does not end when the asking thread does.

mod tree;

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

use tree::Tree;

/// How often a program is looked at.
const INTERVAL: Duration = Duration::from_millis(100);
/// How long a program that closed its output may take to end by itself, so that its exit status is known.
const GRACE: Duration = Duration::from_millis(500);
/// How much of the standard error is kept, in bytes.
const LAST_WORDS_BYTES: usize = 2048;

/// What to start, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    /// The whole environment.
    pub(super) environment: Vec<(String, OsString)>,
    pub(super) directory: PathBuf,
}

/// What a program and all it started may hold together; looked at ten times a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Caps {
    pub(super) memory_bytes: u64,
    pub(super) processes: usize,
}

impl Caps {
    /// Returns a cap on memory alone.
    pub(super) fn memory(memory_bytes: u64) -> Self {
        Self { memory_bytes, processes: usize::MAX }
    }
}

/// A running program. Dropping it ends the program and all it started.
#[derive(Debug)]
pub(super) struct Process {
    shared: Arc<Shared>,
    id: u32,
    watcher: Option<JoinHandle<()>>,
}

/// Why a program is not running any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// Its answer was overdue.
    Deadline,
    /// It and its children held more bytes than this.
    Memory(u64),
    /// It and its children were more than this.
    Processes(usize),
    /// It was ended from here.
    Stopped,
    /// It ended by itself, with this status.
    Exited(String),
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    deadline: Option<Instant>,
    is_stopped: bool,
    end: Option<End>,
    cpu: Duration,
    last_words: Vec<u8>,
    /// There are no more words.
    is_silent: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // The state stays whole whatever a thread died of.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        self.state().is_stopped = true;
        self.changed.notify_all();
    }
}

impl Process {
    /// Starts a program as the leader of its own group, with all three standard streams piped.
    pub(super) fn start(launch: &Launch, caps: Caps) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut command = command(launch);
        let shared = Arc::new(Shared::default());
        let (sender, started) = mpsc::channel();
        let theirs = Arc::clone(&shared);
        let watcher = Builder::new()
            .name("watcher".into())
            .spawn(move || start_and_watch(&mut command, &theirs, caps, &sender))?;
        let (id, stdin, stdout) = started.recv().map_err(|_| io::Error::other("its watcher ended"))??;
        Ok((Self { shared, id, watcher: Some(watcher) }, stdin, stdout))
    }

    /// Ends the program at the deadline, unless that is lifted before.
    pub(super) fn arm(&self, deadline: Instant) {
        self.shared.state().deadline = Some(deadline);
        self.shared.changed.notify_all();
    }

    /// Lifts the deadline.
    pub(super) fn disarm(&self) {
        self.shared.state().deadline = None;
    }

    /// Returns the processor time of the program and its children so far.
    pub(super) fn cpu(&self) -> Duration {
        let before = self.shared.state().cpu;
        if self.shared.state().end.is_some() { before } else { before.max(Tree::of(self.id).cpu()) }
    }

    /// Returns whether the program is not running any more.
    pub(super) fn is_over(&self) -> bool {
        self.shared.state().end.is_some()
    }

    /// Returns the last line of the standard error that is not blank, empty if there is none.
    pub(super) fn last_words(&self) -> String {
        let state = self.shared.state();
        let text = String::from_utf8_lossy(&state.last_words);
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
    }

    /// Waits a moment for the program to end by itself, then ends it, and tells why it is not running any more.
    pub(super) fn finish(&mut self) -> End {
        let wait = |waiting: fn(&mut State) -> bool| {
            drop(self.shared.changed.wait_timeout_while(self.shared.state(), GRACE, waiting));
        };
        wait(|state| state.end.is_none());
        self.shared.stop();
        // A child that left the tree may hold the standard error open.
        wait(|state| state.end.is_none() || !state.is_silent);
        self.stop();
        self.shared.state().end.clone().unwrap_or(End::Stopped)
    }

    /// Waits for the program to end, by itself or at its deadline, and tells why it is not running any more.
    pub(super) fn wait(&mut self) -> End {
        drop(self.shared.changed.wait_while(self.shared.state(), |state| state.end.is_none()));
        self.stop();
        self.shared.state().end.clone().unwrap_or(End::Stopped)
    }

    /// Ends the program and all it started.
    pub(super) fn stop(&mut self) {
        self.shared.stop();
        if let Some(watcher) = self.watcher.take() {
            // A watcher that died has nothing left to say.
            watcher.join().unwrap_or_default();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns whether a program starts and succeeds.
pub(super) fn succeeds(launch: &Launch) -> bool {
    let status = command(launch).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn command(launch: &Launch) -> Command {
    let mut command = Command::new(&launch.program);
    command.args(&launch.arguments).env_clear().current_dir(&launch.directory).process_group(0);
    command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

type Started = io::Result<(u32, ChildStdin, ChildStdout)>;

fn start_and_watch(command: &mut Command, shared: &Arc<Shared>, caps: Caps, sender: &Sender<Started>) {
    let mut child = match command.spawn() {
        Ok(child) => child,
        // The receiver waits for this message, whatever it is.
        Err(error) => return sender.send(Err(error)).unwrap_or_default(),
    };
    let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = pipes else { unreachable!("all three streams are piped") };
    let listener = Arc::clone(shared);
    if let Err(error) = Builder::new().name("stderr".into()).spawn(move || keep_last_words(stderr, &listener)) {
        end(&mut child).map(drop).unwrap_or_default();
        return sender.send(Err(error)).unwrap_or_default();
    }
    sender.send(Ok((child.id(), stdin, stdout))).unwrap_or_default();
    watch(&mut child, shared, caps);
}

fn watch(child: &mut Child, shared: &Shared, caps: Caps) {
    loop {
        let tree = Tree::of(child.id());
        // The times are read before the exit status: an ended program has them until then.
        let (cpu, memory, is_over) = (tree.cpu(), tree.memory_bytes(), has_ended(child));
        let mut state = shared.state();
        state.cpu = state.cpu.max(cpu);
        let now = Instant::now();
        let reason = if is_over {
            Some(End::Exited(String::new()))
        } else if state.is_stopped {
            Some(End::Stopped)
        } else if state.deadline.is_some_and(|deadline| deadline <= now) {
            Some(End::Deadline)
        } else if memory > caps.memory_bytes {
            Some(End::Memory(caps.memory_bytes))
        } else if tree.descendants().len() > caps.processes {
            Some(End::Processes(caps.processes))
        } else {
            None
        };
        if let Some(reason) = reason {
            drop(state);
            let status = end(child);
            let mut state = shared.state();
            state.end = Some(match reason {
                End::Exited(_) => {
                    End::Exited(status.map_or_else(|error| error.to_string(), |status| status.to_string()))
                }
                other => other,
            });
            drop(state);
            return shared.changed.notify_all();
        }
        let until_deadline = state.deadline.map_or(INTERVAL, |deadline| deadline - now);
        drop(shared.changed.wait_timeout(state, INTERVAL.min(until_deadline)));
    }
}

/// Returns whether a program has ended, without forgetting it: until then its number belongs to no other program.
fn has_ended(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    !matches!(waitid(WaitId::Pid(pid(child.id())), options), Ok(None))
}

/// Ends a program, its group, and the children that left the group.
fn end(child: &mut Child) -> io::Result<ExitStatus> {
    let tree = Tree::of(child.id());
    // One that is gone already cannot be signaled, and need not be.
    kill_process_group(pid(child.id()), Signal::KILL).unwrap_or_default();
    for id in tree.descendants() {
        kill_process(pid(*id), Signal::KILL).unwrap_or_default();
    }
    child.wait()
}

fn pid(id: u32) -> Pid {
    i32::try_from(id).ok().and_then(Pid::from_raw).expect("a running program has a positive number")
}

fn keep_last_words(mut stderr: ChildStderr, shared: &Shared) {
    let mut buffer = [0; LAST_WORDS_BYTES];
    loop {
        let length = stderr.read(&mut buffer).unwrap_or_default();
        if length == 0 {
            shared.state().is_silent = true;
            return shared.changed.notify_all();
        }
        let mut state = shared.state();
        state.last_words.extend_from_slice(&buffer[..length]);
        let excess = state.last_words.len().saturating_sub(LAST_WORDS_BYTES);
        state.last_words.drain(..excess);
    }
}

#[cfg(test)]
mod tests;
