//! A tool over its lifetime: started when asked, ended when it fails, started again for the next question.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::ChildStdin;
use std::time::{Duration, Instant};

use repo::Repository;
use serde_json::{Value, json};

use super::connection::{Connection, Deaf, Fault};
use super::json_rpc::{Framing, beginning};
use super::process::Caps;
use super::process::End;
use super::process::Process;
use super::sandbox::{OWN_FOLDER, Program, Sandbox};
use super::{Limits, Usage};
use crate::error::{Error, Result};

/// What a worker in Python is served with.
const SERVE: &str = include_str!("json_lines.py");

/// A program that answers questions, running or not.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: String,
    pub(super) limits: Limits,
    pub(super) sandbox: Sandbox,
    pub(super) usage: Usage,
    program: Program,
    framing: Framing,
    running: Option<(Process, Connection<ChildStdin>)>,
    n_starts: u64,
    /// It has answered no question since it was started.
    is_cold: bool,
    /// Processor time of the processes that are over.
    cpu_before: Duration,
}

impl Tool {
    /// Copies the repository for a tool, which is not started yet.
    pub(super) fn new(
        name: String,
        program: Program,
        framing: Framing,
        repository: &Repository,
        limits: Limits,
    ) -> Result<Self> {
        let sandbox = Sandbox::new(repository, limits.memory_bytes_max)
            .map_err(|source| Error::Start { command: program.to_string(), source })?;
        let (usage, cpu_before) = (Usage::default(), Duration::ZERO);
        Ok(Self {
            name,
            limits,
            sandbox,
            usage,
            program,
            framing,
            running: None,
            n_starts: 0,
            is_cold: true,
            cpu_before,
        })
    }

    /// Copies the repository for a tool that is a Python worker with this script.
    pub(super) fn python(
        name: &str,
        python: &Path,
        script: &str,
        repository: &Repository,
        limits: Limits,
    ) -> Result<Self> {
        // A script, so that Python looks for modules beside it and never in the repository; without the user's packages.
        let path = format!("{OWN_FOLDER}/worker.py");
        let arguments = vec!["-s".into(), "-B".into(), path, limits.memory_bytes_max.to_string()];
        let variables = [("PYTHONHASHSEED", "0"), ("PYTHONIOENCODING", "utf-8")];
        let environment = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let program = Program { path: python.to_owned(), arguments, environment: BTreeMap::from(environment) };
        let command = program.to_string();
        let tool = Self::new(name.into(), program, Framing::Lines, repository, limits)?;
        let mut scripts = [("json_lines.py", SERVE), ("worker.py", script)].into_iter();
        let written = scripts.try_for_each(|(name, text)| tool.sandbox.put(name, text));
        written.map(|()| tool).map_err(|source| Error::Start { command, source })
    }

    /// Starts a worker if it is not running, which answers once its packages are there.
    pub(super) fn start_worker(&mut self) -> Result<()> {
        if self.is_running() {
            return Ok(());
        }
        self.start()?;
        let started = self.talk(self.limits.start_deadline, |connection, deadline| {
            connection.request("start", json!({}), deadline, &mut Deaf)
        });
        if started.is_err() {
            // One that lacks its packages still runs, but knows nothing.
            self.stop();
        }
        started.map(drop)
    }

    /// Counts an answer that is none.
    pub(super) fn no_answer(&mut self, answer: &Value) -> Error {
        let (tool, answer) = (self.name.clone(), beginning(answer.to_string().as_bytes()));
        self.counted(Error::Protocol { tool, answer })
    }

    /// Returns the processor time of all the tool's processes so far.
    pub(super) fn cpu(&self) -> Duration {
        self.cpu_before + self.running.as_ref().map_or(Duration::ZERO, |(process, _)| process.cpu())
    }

    /// Returns whether the tool can be talked to; one that ended since the last question cannot.
    pub(super) fn is_running(&mut self) -> bool {
        if self.running.as_ref().is_some_and(|(process, _)| process.is_over()) {
            self.stop();
        }
        self.running.is_some()
    }

    /// Starts the tool if it is not running.
    pub(super) fn start(&mut self) -> Result<()> {
        if !self.is_running() {
            self.n_starts += 1;
            self.is_cold = true;
            self.usage.n_restarts = self.n_starts - 1;
            let started = self.try_start();
            let failed = started.map_err(|source| Error::Start { command: self.program.to_string(), source });
            self.running = Some(failed.map_err(|error| self.counted(error))?);
        }
        Ok(())
    }

    fn try_start(&self) -> io::Result<(Process, Connection<ChildStdin>)> {
        let launch = self.sandbox.launch(&self.program)?;
        let (process, stdin, stdout) = Process::start(&launch, Caps::memory(self.limits.memory_bytes_max))?;
        Ok((process, Connection::new(stdin, stdout, self.framing)?))
    }

    /// Puts a question to the running tool.
    ///
    /// # Panics
    ///
    /// Panics if the tool was not [started](Self::start).
    pub(super) fn ask<T>(
        &mut self,
        talk: impl FnOnce(&mut Connection<ChildStdin>, Instant) -> std::result::Result<T, Fault>,
    ) -> Result<T> {
        let Limits { deadline, start_deadline, .. } = self.limits;
        let patience = if self.is_cold { deadline.max(start_deadline) } else { deadline };
        let answer = self.talk(patience, talk);
        self.is_cold &= answer.is_err();
        answer
    }

    /// Talks to the running tool for at most `patience`. A tool that breaks off is ended.
    ///
    /// # Panics
    ///
    /// Panics if the tool was not [started](Self::start).
    pub(super) fn talk<T>(
        &mut self,
        patience: Duration,
        talk: impl FnOnce(&mut Connection<ChildStdin>, Instant) -> std::result::Result<T, Fault>,
    ) -> Result<T> {
        let (process, connection) = self.running.as_mut().expect("a tool is started before it is talked to");
        let deadline = Instant::now() + patience;
        process.arm(deadline);
        let said = talk(connection, deadline);
        process.disarm();
        said.map_err(|fault| {
            let error = match fault {
                Fault::Failed(reason) => Error::Failed { tool: self.name.clone(), reason },
                fault => self.end(fault, patience),
            };
            self.counted(error)
        })
    }

    /// Ends the tool after a fault and tells what really happened.
    fn end(&mut self, fault: Fault, deadline: Duration) -> Error {
        let Some((mut process, connection)) = self.running.take() else { unreachable!("it was just talked to") };
        // A tool that still reads sees the end of its input.
        drop(connection);
        if fault != Fault::Closed {
            process.stop();
        }
        let end = process.finish();
        self.cpu_before += process.cpu();
        let tool = self.name.clone();
        match (fault, end) {
            (Fault::Garbage(answer), _) => Error::Protocol { tool, answer },
            (Fault::Deadline, _) | (_, End::Deadline) => Error::Deadline { tool, deadline },
            (_, End::Memory(bytes)) => {
                Error::Ended { tool, reason: format!("its memory grew above {} MiB", bytes >> 20) }
            }
            (_, End::Stopped | End::Processes(_)) => {
                Error::Ended { tool, reason: with("it closed its output", &process.last_words()) }
            }
            (_, End::Exited(status)) => Error::Ended { tool, reason: with(&status, &process.last_words()) },
        }
    }

    /// Ends the tool; it is started again for the next question.
    pub(super) fn stop(&mut self) {
        if let Some((mut process, _)) = self.running.take() {
            process.stop();
            self.cpu_before += process.cpu();
        }
    }

    /// Counts a failure.
    pub(super) fn counted(&mut self, error: Error) -> Error {
        *self.usage.failures.entry(error.kind()).or_default() += 1;
        error
    }
}

fn with(reason: &str, last_words: &str) -> String {
    if last_words.is_empty() { reason.to_owned() } else { format!("{reason}; {last_words}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers each request by its number, but the third, at which the script goes on.
    const COUNTING: &str = "for i in 1 2; do read x; echo '{\"id\":'$i',\"result\":'$i'}'; done; read x; ";

    fn tool(script: &str, memory_bytes_max: u64) -> Tool {
        let limits = Limits { deadline: Duration::from_millis(500), memory_bytes_max, ..Limits::default() };
        let program = Program { arguments: vec!["-c".into(), script.into()], ..Program::parse("sh") };
        let repository = Repository::new("r", Vec::new());
        Tool::new("shell".into(), program, Framing::Lines, &repository, limits).unwrap()
    }

    fn ask(tool: &mut Tool) -> Result<Value> {
        tool.start()?;
        tool.ask(|connection, deadline| connection.request("ask", json!({}), deadline, &mut Deaf))
    }

    fn third_error(tool: &mut Tool) -> String {
        assert_eq!((ask(tool).unwrap(), ask(tool).unwrap()), (json!(1), json!(2)));
        ask(tool).unwrap_err().to_string()
    }

    #[test]
    fn a_tool_that_ends_says_why_and_is_started_again() {
        let mut tool = tool(&format!("{COUNTING} echo 'out of luck' >&2; exit 7"), 1 << 30);
        assert_eq!(third_error(&mut tool), "shell ended: exit status: 7; out of luck");
        assert!(!tool.is_running());
        assert_eq!(third_error(&mut tool), "shell ended: exit status: 7; out of luck");
        assert_eq!(tool.usage.to_string(), "0 questions, 1 restarts, 0 incomplete, 2 failures (ended 2)");
    }

    #[test]
    fn a_slow_tool_meets_its_deadline() {
        let mut tool = tool(&format!("{COUNTING} sleep 60"), 1 << 30);
        assert_eq!(third_error(&mut tool), "shell did not answer within 0.5 s");
        assert_eq!(ask(&mut tool).unwrap(), json!(1));
        assert_eq!(tool.usage.failures["deadline"], 1);
    }

    #[test]
    fn a_greedy_tool_is_ended_and_its_processor_time_kept() {
        let mut tool = tool(&format!("{COUNTING} x=0123456789abcdef; while :; do x=$x$x; done"), 64 << 20);
        tool.limits.deadline = Duration::from_mins(1);
        assert_eq!(third_error(&mut tool), "shell ended: its memory grew above 64 MiB");
        let before = tool.cpu();
        ask(&mut tool).unwrap();
        assert!(tool.cpu() >= before);
    }

    #[test]
    fn a_tool_that_ended_since_is_started_again() {
        let mut tool = tool("read x; echo '{\"id\":1,\"result\":1}'", 1 << 30);
        ask(&mut tool).unwrap();
        while tool.is_running() {
            std::thread::yield_now();
        }
        assert_eq!(ask(&mut tool).unwrap(), json!(1));
        assert_eq!(tool.usage.to_string(), "0 questions, 1 restarts, 0 incomplete, 0 failures");
    }

    #[test]
    fn nonsense_ends_the_tool() {
        let mut tool = tool(&format!("{COUNTING} echo hello; sleep 60"), 1 << 30);
        assert_eq!(third_error(&mut tool), "shell answered `hello`");
        assert!(!tool.is_running());
    }

    #[test]
    fn a_tool_that_is_not_there_is_named_by_its_command() {
        let repository = Repository::new("r", Vec::new());
        let program = Program::parse("no-such-server --stdio");
        let mut tool = Tool::new("none".into(), program, Framing::Headers, &repository, Limits::default()).unwrap();
        assert_eq!(ask(&mut tool).unwrap_err().to_string(), "cannot start `no-such-server --stdio`");
        assert_eq!(tool.usage.failures["start"], 1);
    }
}
