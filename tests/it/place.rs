//! A place where an experiment runs as a user runs it.

use std::path::{Path, PathBuf};

use burn::train::Interrupter;
use tempfile::TempDir;
use train::experiment::{self, Experiment};
use train::pipeline::{Options, Outcome, StageSummary, Until, run};

use crate::root;

/// A place for one run, with its own dataset directory.
pub(crate) struct Place {
    directory: TempDir,
    /// The experiment file.
    pub(crate) experiment: PathBuf,
}

impl Place {
    /// Makes a place for runs of an experiment file of the repository.
    pub(crate) fn new(experiment: &str) -> Self {
        Self { directory: tempfile::tempdir().unwrap(), experiment: root().join(experiment) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn experiment(&self, overrides: &[&str]) -> Experiment {
        let data = format!("dataset.directory={}", self.path("data").display());
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).chain([data]).collect();
        experiment::load(&self.experiment, &overrides).unwrap()
    }

    pub(crate) fn run_with(&self, experiment: &Experiment, until: Until, interrupter: &Interrupter) -> Outcome {
        let options = Options {
            run_directory: self.path("run"),
            cache: self.path("cache"),
            offline: true,
            until,
            dashboard: false,
            interrupter,
        };
        run(experiment, &options).unwrap()
    }

    pub(crate) fn finish(&self, overrides: &[&str]) -> Vec<StageSummary> {
        match self.run_with(&self.experiment(overrides), Until::Evaluate, &Interrupter::new()) {
            Outcome::Finished(stages) => stages,
            Outcome::Interrupted => panic!("nobody interrupted"),
        }
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns `report.json` without its `timing` object.
    pub(crate) fn report(&self) -> serde_json::Value {
        let mut report: serde_json::Value = serde_json::from_slice(&self.bytes("run/report.json")).unwrap();
        report.as_object_mut().unwrap().remove("timing").unwrap();
        report
    }

    /// Runs to the end, stopped each time as soon as one more step or validation is done; returns how often.
    pub(crate) fn finish_in_rounds(&self, overrides: &[&str]) -> usize {
        let experiment = self.experiment(overrides);
        let interrupter = Interrupter::new();
        let metrics = self.path("run/metrics.jsonl");
        let mut interruptions = 0;
        while let Outcome::Interrupted = std::thread::scope(|scope| {
            interrupter.reset();
            let lines_before = lines(&metrics);
            let round = scope.spawn(|| self.run_with(&experiment, Until::Evaluate, &interrupter));
            while !round.is_finished() && lines(&metrics) <= lines_before {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            interrupter.stop(Some("a test"));
            round.join().unwrap()
        }) {
            interruptions += 1;
            assert!(interruptions < 100, "the run makes no progress");
        }
        interruptions
    }
}

fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).map_or(0, |text| text.lines().count())
}
