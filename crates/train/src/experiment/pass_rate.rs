//! The section that says how the tests of repositories are run on what was predicted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use analysis::server::{Program, TrialLimits};
use eval::pass_rate::SuiteRule;
use serde::{Deserialize, Serialize};

/// `[evaluation.tests]`: the pass rate; none is measured without suites.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TestsConfig {
    /// The tests of repositories, by the name that samples give the repository.
    pub suites: BTreeMap<String, SuiteConfig>,
    /// The longest time of one run, in seconds.
    pub seconds_max: u64,
    /// The most memory of one run, in MiB.
    pub memory_mib_max: u64,
    /// The most processes of one run.
    pub processes_max: usize,
    /// The most files of one run, in MiB, the copy of the repository included.
    pub files_mib_max: u64,
    /// Lets tests run on a machine that cannot shield itself from them.
    pub unprotected: bool,
}

/// `[evaluation.tests.suites.NAME]`: the tests of one repository.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteConfig {
    /// The folder that holds the repository as its samples name its files.
    pub folder: PathBuf,
    /// The command that runs its tests in a copy of the folder: words separated by spaces, without quotes.
    pub command: String,
}

impl Default for TestsConfig {
    fn default() -> Self {
        let limits = TrialLimits::default();
        Self {
            suites: BTreeMap::new(),
            seconds_max: limits.deadline.as_secs(),
            memory_mib_max: limits.memory_bytes_max >> 20,
            processes_max: limits.processes_max,
            files_mib_max: limits.file_bytes_max >> 20,
            unprotected: false,
        }
    }
}

impl TestsConfig {
    /// Returns how the tests of each repository are run; `resolve` makes a path of the experiment file one of the
    /// process.
    #[must_use]
    pub fn rules(&self, resolve: impl Fn(&Path) -> PathBuf) -> BTreeMap<String, SuiteRule> {
        let limits = TrialLimits {
            deadline: Duration::from_secs(self.seconds_max),
            memory_bytes_max: self.memory_mib_max << 20,
            processes_max: self.processes_max,
            file_bytes_max: self.files_mib_max << 20,
        };
        let rule = |(name, suite): (&String, &SuiteConfig)| {
            let (folder, command) = (resolve(&suite.folder), Program::parse(&suite.command));
            (name.clone(), SuiteRule { folder, command, limits, unprotected: self.unprotected })
        };
        self.suites.iter().map(rule).collect()
    }
}
