//! Trials of small shell scripts, friendly and hostile.

use super::*;

/// A repository whose test is the shell script in its file `test.sh`.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a b")).unwrap();
    std::fs::write(folder.path().join("test.sh"), "exit 1").unwrap();
    std::fs::write(folder.path().join("a b/data.txt"), "data").unwrap();
    folder
}

fn limits() -> TrialLimits {
    TrialLimits {
        deadline: Duration::from_secs(20),
        memory_bytes_max: 128 << 20,
        processes_max: 20,
        file_bytes_max: 8 << 20,
    }
}

fn trials(folder: &Path, limits: TrialLimits) -> Trials {
    Trials::new(folder, Program::parse("sh test.sh"), limits, false).unwrap()
}

fn run(script: &str, limits: TrialLimits) -> Trial {
    let folder = repository();
    trials(folder.path(), limits).run("test.sh", script).unwrap()
}

#[test]
fn the_changed_file_decides() {
    let folder = repository();
    let trials = trials(folder.path(), limits());
    assert_eq!(trials.run("test.sh", "cat 'a b/data.txt'; echo; pwd").unwrap().verdict, Verdict::Passed);
    let failed = trials.run("a b/data.txt", "other").unwrap();
    assert_eq!((failed.verdict, failed.output.as_str()), (Verdict::Failed, ""));
    assert_eq!(trials.run("new/../test.sh", "").unwrap_err().kind(), "failed");
    assert_eq!(std::fs::read_to_string(folder.path().join("test.sh")).unwrap(), "exit 1");
}

#[test]
fn a_path_that_leads_out_is_refused() {
    let folder = repository();
    let trials = trials(folder.path(), limits());
    for path in ["", "../test.sh", "/etc/hosts", "a/../../b"] {
        assert!(trials.run(path, "exit 0").is_err(), "{path}");
    }
    std::os::unix::fs::symlink("/etc/hosts", folder.path().join("link.sh")).unwrap();
    assert_eq!(trials.run("link.sh", "replaced").unwrap().verdict, Verdict::Failed);
    assert_ne!(std::fs::read_to_string("/etc/hosts").unwrap_or_default(), "replaced");
}

#[test]
fn every_protection_that_is_claimed_holds() {
    let folder = repository();
    let protection = trials(folder.path(), limits()).protection();
    assert!(protection.is_offline && protection.is_read_only && protection.is_file_size_limited, "{protection}");
    let outside = std::env::temp_dir().join("retort-outside");
    let script = format!(
        "touch {} /retort-outside {}/x /run/x /run/given/x /run/given/repository/x; \
         ls /retort-outside /run/x /run/given/x /run/given/repository/x; tail -n +3 /proc/net/dev; ls /proc | grep -c '^[0-9]'",
        outside.display(),
        folder.path().display(),
    );
    let trial = run(&script, limits());
    let lines: Vec<&str> = trial.output.lines().collect();
    assert!(!outside.exists() && !folder.path().join("x").exists());
    let [device, processes] = lines.as_slice() else { panic!("{lines:?}") };
    assert!(device.trim_start().starts_with("lo:"), "{device}");
    assert!(processes.parse::<usize>().unwrap() < 10, "sees {processes} processes");
}

#[test]
fn each_limit_ends_a_trial_under_its_name() {
    let short = TrialLimits { deadline: Duration::from_secs(1), ..limits() };
    assert_eq!(run("echo begun; setsid sleep 60 & sleep 60", short).verdict, Verdict::TooLong);
    let memory = run("x=0123456789abcdef; while :; do x=$x$x; done", limits());
    assert_eq!(memory.verdict, Verdict::TooMuchMemory);
    let processes = run("i=0; while [ $i -lt 60 ]; do sleep 30 & i=$((i+1)); done; wait", limits());
    assert_eq!(processes.verdict, Verdict::TooManyProcesses);
    let files = run("head -c 20000000 /dev/zero >large && echo written; exit 0", limits());
    assert_eq!((files.verdict, files.output.as_str()), (Verdict::Passed, ""));
}

#[test]
fn output_without_end_is_kept_short_and_a_trial_cannot_pose_as_passed() {
    let short = TrialLimits { deadline: Duration::from_secs(2), ..limits() };
    let flood = run("yes", short);
    assert_eq!(flood.verdict, Verdict::TooLong);
    assert!(flood.output.len() <= OUTPUT_BYTES);
    let killed = run("kill -9 $$", limits());
    assert_eq!(killed.verdict, Verdict::Failed);
    let silent = run("exec >&- 2>&-; sleep 1; exit 3", limits());
    assert_eq!(silent.verdict, Verdict::Failed);
    let patient = run("exec >&- 2>&-; sleep 1; exit 0", limits());
    assert_eq!(patient.verdict, Verdict::Passed);
}

#[test]
fn what_does_not_start_says_why() {
    let folder = repository();
    let make = |folder: &Path, command: &str| Trials::new(folder, Program::parse(command), limits(), true);
    assert!(make(&folder.path().join("nowhere"), "sh").is_err());
    assert!(make(&folder.path().join("test.sh"), "sh").is_err());
    assert!(make(folder.path(), "no-such-program").is_err());
    let large = TrialLimits { file_bytes_max: 4096, ..limits() };
    std::fs::write(folder.path().join("large"), vec![0; 1 << 20]).unwrap();
    let message = trials(folder.path(), large).run("test.sh", "exit 0").unwrap_err().to_string();
    assert!(message.contains("could not be copied"), "{message}");
}

#[test]
fn without_bubblewrap_nothing_is_claimed() {
    let folder = repository();
    let mut trials = trials(folder.path(), limits());
    trials.bubblewrap = None;
    trials.protection.is_offline = false;
    trials.protection.is_read_only = false;
    trials.protection.is_file_size_limited = false;
    assert_eq!(trials.run("test.sh", "cat 'a b/data.txt'").unwrap().output, "data");
    let text = trials.protection().to_string();
    assert!(text.starts_with("network NOT off, files NOT read-only, own files NOT limited, at most 20 s"), "{text}");
}
