//! Tests of limits on running programs, by small shell scripts.

use super::*;
use std::io::Write;

const MEMORY: u64 = 1 << 30;

fn shell(script: &str) -> Launch {
    Launch {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
        directory: std::env::temp_dir(),
    }
}

/// Returns what the program wrote until its output closed, and how it ended.
fn run(script: &str, deadline: Duration, memory: u64) -> (String, Process, End) {
    let (mut process, stdin, mut stdout) = Process::start(&shell(script), Caps::memory(memory)).unwrap();
    process.arm(Instant::now() + deadline);
    drop(stdin);
    let mut text = String::new();
    stdout.read_to_string(&mut text).unwrap();
    let end = process.finish();
    (text, process, end)
}

fn is_running(id: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, fields)| !fields.trim_start().starts_with(['Z', 'X']))
}

/// Asserts that a process is gone soon: a killed one takes a moment when its parent is not ours.
fn assert_gone(id: &str) {
    let patience = Instant::now() + Duration::from_secs(5);
    while is_running(id) {
        assert!(Instant::now() < patience, "process {id} still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_program_that_ends_leaves_its_status_and_last_words() {
    let (text, process, end) =
        run("echo out; echo first >&2; echo 'the reason' >&2; echo >&2; exit 3", GRACE * 20, MEMORY);
    assert_eq!((text.as_str(), end), ("out\n", End::Exited("exit status: 3".into())));
    assert_eq!(process.last_words(), "the reason");
}

#[test]
fn a_deadline_ends_the_program_and_its_children() {
    let start = Instant::now();
    let (text, _process, end) = run("sleep 60 & echo $!; wait", Duration::from_millis(1500), MEMORY);
    assert_eq!(end, End::Deadline);
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_gone(text.trim());
}

#[test]
fn children_that_left_the_group_end_too() {
    let (text, _process, end) = run("setsid sleep 60 & echo $!; wait", Duration::from_millis(1500), MEMORY);
    assert_eq!(end, End::Deadline);
    assert_gone(text.trim());
}

#[test]
fn a_program_that_does_not_read_cannot_block_its_writer() {
    let (mut process, mut stdin, _stdout) = Process::start(&shell("sleep 60"), Caps::memory(MEMORY)).unwrap();
    process.arm(Instant::now() + Duration::from_millis(300));
    assert!(stdin.write_all(&vec![b'x'; 1 << 20]).is_err());
    assert_eq!(process.finish(), End::Deadline);
}

#[test]
fn memory_above_the_cap_ends_the_program() {
    // A shell variable that doubles soon needs more than 64 MiB, whatever the shell.
    let script = "x=0123456789abcdef; while :; do x=$x$x; done";
    let (_, _process, end) = run(script, Duration::from_mins(1), 64 << 20);
    assert_eq!(end, End::Memory(64 << 20));
}

#[test]
fn processor_time_counts_children_and_outlives_the_program() {
    let busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let (_, process, end) = run(&format!("sh -c '{busy}'; exit 0"), Duration::from_mins(1), MEMORY);
    assert_eq!(end, End::Exited("exit status: 0".into()));
    assert!(process.cpu() >= Duration::from_millis(20), "{:?}", process.cpu());
}

#[test]
fn a_program_that_is_dropped_ends() {
    let (process, _stdin, mut stdout) = Process::start(&shell("echo $$; exec sleep 60"), Caps::memory(MEMORY)).unwrap();
    let mut line = [0; 32];
    let length = stdout.read(&mut line).unwrap();
    drop(process);
    assert_gone(String::from_utf8_lossy(&line[..length]).trim());
}

#[test]
fn a_program_that_is_not_there_does_not_start() {
    let launch = Launch { program: "/nowhere/tool".into(), ..shell("") };
    assert_eq!(Process::start(&launch, Caps::memory(MEMORY)).unwrap_err().kind(), io::ErrorKind::NotFound);
    assert!(!succeeds(&launch));
}
