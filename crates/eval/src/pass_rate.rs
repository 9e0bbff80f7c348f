//! Pass rate: whether a repository's own tests pass with what was predicted in place of the target.
//!
//! The file as it was must pass first: a sample whose own text fails says nothing about predictions and has no pass
//! rate. A verdict is kept by what it depends on (the folder's content, the command, the limits, the changed file), so
//! that equal predictions are tried once. Tests that pass or fail by chance stay as they fell the first time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use analysis::server::{Program, Trial, TrialLimits, TrialProtection, Trials};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// How the tests of one repository are run.
#[derive(Clone, Debug)]
pub struct SuiteRule {
    /// The folder of the repository, whose files the paths of samples name.
    pub folder: PathBuf,
    /// The command that runs its tests there.
    pub command: Program,
    /// What one run may take.
    pub limits: TrialLimits,
    /// Whether tests may run on a machine that cannot shield itself from them.
    pub unprotected: bool,
}

/// A place in a file and what was predicted for it.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The file within the repository.
    pub path: &'a str,
    /// Everything before the target, from the start of some line of the file.
    pub left_context: &'a str,
    /// What stood there.
    pub target: &'a str,
    /// Everything after the target.
    pub right_context: &'a str,
    /// What is to stand there; more may follow.
    pub prediction: &'a str,
    /// Where the prediction ends.
    pub end: End,
}

/// Where a prediction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// After as many lines that are not blank as the target has.
    Lines,
    /// Before the first line that is indented less than the target's first line, as `RepoEval` cuts functions.
    Body,
}

impl Change<'_> {
    /// Returns the file as it was, from where the left context begins.
    #[must_use]
    pub fn original(&self) -> String {
        [self.left_context, self.target, self.right_context].concat()
    }

    /// Returns the same with the prediction, cut to its end, in place of the target.
    #[must_use]
    pub fn changed(&self) -> String {
        let cut = match self.end {
            End::Lines => first_lines(self.prediction, count_lines(self.target)),
            End::Body => body(self.left_context, self.target, self.prediction),
        };
        let kept = cut.trim_end_matches(['\n', '\r']);
        let line_ends = &self.target[self.target.trim_end_matches(['\n', '\r']).len()..];
        [self.left_context, kept, line_ends, self.right_context].concat()
    }
}

fn count_lines(text: &str) -> usize {
    text.lines().filter(|line| !line.trim().is_empty()).count()
}

/// Returns the beginning of a text that has `n` lines that are not blank.
fn first_lines(text: &str, n: usize) -> &str {
    let (mut byte, mut found) = (0, 0);
    for line in text.split_inclusive('\n') {
        if found == n {
            break;
        }
        found += usize::from(!line.trim().is_empty());
        byte += line.len();
    }
    &text[..byte]
}

/// Returns the beginning of a text up to the first line that is indented less than the target.
fn body<'a>(left_context: &str, target: &str, prediction: &'a str) -> &'a str {
    let begun = left_context.rsplit('\n').next().unwrap_or_default();
    let first = target.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    // A body may begin behind an indentation that is not part of it.
    let depth = indentation(if begun.is_empty() { first } else { begun });
    let mut byte = 0;
    for (index, line) in prediction.split_inclusive('\n').enumerate() {
        let is_begun = index == 0 && !begun.is_empty();
        if !is_begun && !line.trim().is_empty() && indentation(line) < depth {
            break;
        }
        byte += line.len();
    }
    &prediction[..byte]
}

/// Counts the blanks at the start of a line.
fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// What became of one prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgment {
    /// No tests are known for the repository.
    Untested,
    /// The file as it was does not pass, or is not what the repository has.
    OriginalFails,
    /// The tests pass with the prediction, or do not.
    Tested(bool),
}

impl Judgment {
    /// Returns the metric `pass_rate` of the sample, if it has one.
    #[must_use]
    pub fn pass_rate(self) -> Option<f64> {
        match self {
            Self::Tested(passes) => Some(f64::from(u8::from(passes))),
            Self::Untested | Self::OriginalFails => None,
        }
    }
}

/// The tests of some repositories.
#[derive(Debug)]
pub struct PassRate {
    suites: BTreeMap<String, Suite>,
    verdicts: Mutex<Verdicts>,
    /// A trial is over.
    over: Condvar,
}

/// The tests of one repository.
#[derive(Debug)]
struct Suite {
    trials: Trials,
    folder: PathBuf,
    fingerprint: String,
}

impl PassRate {
    /// Makes the tests of repositories by name ready, and opens the file that keeps verdicts.
    ///
    /// # Errors
    ///
    /// Returns an error if a folder cannot be read, if a command does not start or has no protection, or if the file
    /// cannot be opened.
    pub fn open(rules: &BTreeMap<String, SuiteRule>, verdicts: &Path) -> Result<Self> {
        let suite = |(name, rule): (&String, &SuiteRule)| {
            let trials = Trials::new(&rule.folder, rule.command.clone(), rule.limits, rule.unprotected);
            let trials = trials.map_err(|source| Error::Tests { repository: name.clone(), source })?;
            let fingerprint = fingerprint(rule)?;
            Ok((name.clone(), Suite { trials, folder: rule.folder.clone(), fingerprint }))
        };
        let suites = rules.iter().map(suite).collect::<Result<_>>()?;
        Ok(Self { suites, verdicts: Mutex::new(Verdicts::open(verdicts)?), over: Condvar::new() })
    }

    /// Returns what the tests of each repository are really kept from.
    #[must_use]
    pub fn protection(&self) -> BTreeMap<&str, TrialProtection> {
        self.suites.iter().map(|(name, suite)| (name.as_str(), suite.trials.protection())).collect()
    }

    /// Tries a prediction, after the file as it was.
    ///
    /// # Errors
    ///
    /// Returns an error if the tests cannot be run or the verdict cannot be kept.
    pub fn judge(&self, repository: &str, change: &Change<'_>) -> Result<Judgment> {
        let Some(suite) = self.suites.get(repository) else { return Ok(Judgment::Untested) };
        let file = std::fs::read_to_string(suite.folder.join(change.path)).unwrap_or_default();
        // A benchmark may leave out the beginning of a file.
        let Some(before) = file.strip_suffix(&change.original()) else { return Ok(Judgment::OriginalFails) };
        let is_whole = before.is_empty() || before.ends_with('\n');
        if !is_whole || !self.passes(repository, suite, change.path, &file)? {
            return Ok(Judgment::OriginalFails);
        }
        let changed = [before, &change.changed()].concat();
        Ok(Judgment::Tested(self.passes(repository, suite, change.path, &changed)?))
    }

    fn passes(&self, repository: &str, suite: &Suite, path: &str, text: &str) -> Result<bool> {
        let key = blake3_of(&[suite.fingerprint.as_bytes(), path.as_bytes(), text.as_bytes()]);
        let mut verdicts = self.verdicts();
        // Another thread may be at it: a file is tried once.
        while verdicts.running.contains(&key) {
            verdicts = self.over.wait(verdicts).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(verdict) = verdicts.by_key.get(&key) {
            return Ok(verdict == "passed");
        }
        verdicts.running.insert(key.clone());
        drop(verdicts);
        let trial = suite.trials.run(path, text);
        let mut verdicts = self.verdicts();
        verdicts.running.remove(&key);
        self.over.notify_all();
        let Trial { verdict, .. } =
            trial.map_err(|source| Error::Tests { repository: repository.to_owned(), source })?;
        verdicts.add(key, verdict.name())?;
        Ok(verdict.name() == "passed")
    }

    fn verdicts(&self) -> MutexGuard<'_, Verdicts> {
        self.verdicts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A line of the file that keeps verdicts.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    key: String,
    verdict: String,
}

/// Verdicts by what they depend on.
#[derive(Debug)]
struct Verdicts {
    path: PathBuf,
    file: File,
    by_key: BTreeMap<String, String>,
    /// The keys of trials that are not over.
    running: BTreeSet<String>,
}

impl Verdicts {
    /// Opens the file, or makes it; a line that a crash cut short counts for nothing.
    fn open(path: &Path) -> Result<Self> {
        let io = |action| move |source| Error::Io { path: path.to_owned(), action, source };
        let bytes = match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            bytes => bytes.map_err(io("reading"))?,
        };
        let text = String::from_utf8_lossy(&bytes);
        let kept = text.lines().filter_map(|line| serde_json::from_str::<Kept>(line).ok());
        let by_key = kept.map(|Kept { key, verdict }| (key, verdict)).collect();
        let mut file = OpenOptions::new().create(true).append(true).open(path).map_err(io("opening"))?;
        if !text.is_empty() && !text.ends_with('\n') {
            file.write_all(b"\n").map_err(io("writing"))?;
        }
        Ok(Self { path: path.to_owned(), file, by_key, running: BTreeSet::new() })
    }

    fn add(&mut self, key: String, verdict: &str) -> Result<()> {
        let kept = Kept { key, verdict: verdict.to_owned() };
        let line = serde_json::to_string(&kept).map_err(Error::Serialize)? + "\n";
        let io = |source| Error::Io { path: self.path.clone(), action: "writing", source };
        self.file.write_all(line.as_bytes()).map_err(io)?;
        self.by_key.insert(kept.key, kept.verdict);
        Ok(())
    }
}

/// Returns what the verdicts of a suite depend on beside the changed file.
///
/// # Errors
///
/// Returns an error if the folder cannot be read.
pub fn fingerprint(rule: &SuiteRule) -> Result<String> {
    let folder = folder_fingerprint(&rule.folder)?;
    let (command, limits) = (format!("{:?}", rule.command), format!("{:?}", rule.limits));
    Ok(blake3_of(&[b"trial 1", folder.as_bytes(), command.as_bytes(), limits.as_bytes()]))
}

/// Hashes the paths and contents of a folder; what version control and Python leave there is left out.
fn folder_fingerprint(folder: &Path) -> Result<String> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { path, action: "reading", source }
    };
    let mut open = vec![folder.to_owned()];
    let mut files = BTreeMap::new();
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).map_err(io(&next))? {
            let path = entry.map_err(io(&next))?.path();
            let name = path.file_name().unwrap_or_default();
            if name == ".git" || name == "__pycache__" {
                continue;
            }
            let kind = std::fs::symlink_metadata(&path).map_err(io(&path))?.file_type();
            if kind.is_dir() {
                open.push(path);
                continue;
            }
            let hash = if kind.is_symlink() {
                let target = std::fs::read_link(&path).map_err(io(&path))?;
                blake3_of(&[b"link", target.as_os_str().as_encoded_bytes()])
            } else if kind.is_file() {
                blake3_of(&[b"file", &std::fs::read(&path).map_err(io(&path))?])
            } else {
                continue;
            };
            let within = path.strip_prefix(folder).unwrap_or(&path).as_os_str().as_encoded_bytes().to_vec();
            files.insert(within, hash);
        }
    }
    let parts: Vec<&[u8]> = files.iter().flat_map(|(path, hash)| [path.as_slice(), hash.as_bytes()]).collect();
    Ok(blake3_of(&parts))
}

/// Hashes parts of which each knows where it ends.
fn blake3_of(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change<'a>(left_context: &'a str, target: &'a str, prediction: &'a str) -> Change<'a> {
        Change { path: "m.py", left_context, target, right_context: "\nend\n", prediction, end: End::Lines }
    }

    #[test]
    fn a_prediction_is_cut_to_the_lines_of_the_target() {
        let one = change("x = ", "f(1)", "f(2)\ny = 3\n");
        assert_eq!((one.original().as_str(), one.changed().as_str()), ("x = f(1)\nend\n", "x = f(2)\nend\n"));
        assert_eq!(change("", "a\n\nb\n", "c\n\n\nd\ne\n").changed(), "c\n\n\nd\n\nend\n");
        assert_eq!(change("", "a\n", "").changed(), "\n\nend\n");
        for target in ["a", "a\n", "a\r\n", "\na\n\nb\n\n", ""] {
            assert_eq!(change("x", target, target).changed(), change("x", target, "").original());
        }
    }

    #[test]
    fn a_body_ends_where_less_is_indented() {
        let body = |left, target, prediction| Change { end: End::Body, ..change(left, target, prediction) }.changed();
        assert_eq!(
            body("def f():\n", "    return 1\n", "    x = 2\n\n    return x\n\ndef g():\n"),
            "def f():\n    x = 2\n\n    return x\n\nend\n"
        );
        assert_eq!(
            body("def f():\n    ", "return 1", "x = 2\n    return x\nf()\n"),
            "def f():\n    x = 2\n    return x\nend\n"
        );
    }

    fn rule(folder: &Path) -> SuiteRule {
        let command = Program::parse("sh test.sh");
        SuiteRule { folder: folder.to_owned(), command, limits: TrialLimits::default(), unprotected: false }
    }

    #[test]
    fn the_original_must_pass_and_equal_predictions_are_tried_once() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("repository");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("test.sh"), "grep -q 'x = 1' m.py").unwrap();
        std::fs::write(folder.join("m.py"), "x = 1\nend\n").unwrap();
        let verdicts = root.path().join("trials.jsonl");
        let open = || PassRate::open(&[("r".to_owned(), rule(&folder))].into(), &verdicts).unwrap();
        let lines = || std::fs::read_to_string(&verdicts).unwrap().lines().count();
        let tests = open();
        let judge =
            |tests: &PassRate, target, prediction| tests.judge("r", &change("x = ", target, prediction)).unwrap();
        assert_eq!(judge(&tests, "1", "1\ny = 2"), Judgment::Tested(true));
        assert_eq!(lines(), 1, "the prediction is the original");
        assert_eq!(judge(&tests, "1", "2"), Judgment::Tested(false));
        assert_eq!(judge(&open(), "1", "2"), Judgment::Tested(false));
        assert_eq!(lines(), 2);
        assert_eq!(judge(&tests, "3", "1"), Judgment::OriginalFails);
        assert_eq!(tests.judge("other", &change("", "", "")).unwrap(), Judgment::Untested);
        std::fs::write(folder.join("test.sh"), "exit 1").unwrap();
        assert_eq!(judge(&open(), "1", "1"), Judgment::OriginalFails);
        assert_eq!(Judgment::OriginalFails.pass_rate(), None);
    }

    #[test]
    fn a_left_context_may_begin_within_the_file() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("repository");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("test.sh"), "grep -q 'import os' m.py && grep -q 'x = 1' m.py").unwrap();
        std::fs::write(folder.join("m.py"), "import os\nx = 1\nend\n").unwrap();
        let verdicts = root.path().join("trials.jsonl");
        let tests = PassRate::open(&[("r".to_owned(), rule(&folder))].into(), &verdicts).unwrap();
        let judge = |left, prediction| tests.judge("r", &change(left, "1", prediction)).unwrap();
        assert_eq!(judge("x = ", "1"), Judgment::Tested(true));
        assert_eq!(judge("x = ", "2"), Judgment::Tested(false));
        assert_eq!(judge("= ", "1"), Judgment::OriginalFails);
    }

    #[test]
    fn threads_that_ask_the_same_try_it_once() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("repository");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("test.sh"), "sleep 0.2; grep -q 'x = 1' m.py").unwrap();
        std::fs::write(folder.join("m.py"), "x = 1\nend\n").unwrap();
        let verdicts = root.path().join("trials.jsonl");
        let tests = PassRate::open(&[("r".to_owned(), rule(&folder))].into(), &verdicts).unwrap();
        std::thread::scope(|scope| {
            for prediction in ["1", "2", "2", "1"] {
                let judged = scope.spawn(|| tests.judge("r", &change("x = ", "1", prediction)).unwrap());
                drop(judged);
            }
        });
        assert_eq!(std::fs::read_to_string(&verdicts).unwrap().lines().count(), 2);
    }

    #[test]
    fn a_verdict_that_was_cut_short_counts_for_nothing() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("trials.jsonl");
        std::fs::write(&path, "{\"key\":\"a\",\"verdict\":\"passed\"}\n{\"key\":\"b\",\"ver").unwrap();
        Verdicts::open(&path).unwrap().add("c".into(), "failed").unwrap();
        let verdicts = Verdicts::open(&path).unwrap();
        assert_eq!(verdicts.by_key.keys().collect::<Vec<_>>(), ["a", "c"]);
    }
}
