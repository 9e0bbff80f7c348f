//! Our own samples: the test split of a `samples.parquet`.

use std::path::Path;

use corpus::manifest::Split;
use corpus::samples::Sample;

use super::{BenchmarkTask, problem};
use crate::Result;

pub(super) fn read(path: &Path) -> Result<Vec<BenchmarkTask>> {
    let samples = corpus::table::read_samples(path).map_err(|error| problem(path, 0, error.to_string()))?;
    Ok(samples.into_iter().filter(|sample| sample.split == Split::Test).map(BenchmarkTask::from).collect())
}

impl From<Sample> for BenchmarkTask {
    fn from(sample: Sample) -> Self {
        Self {
            id: sample.id,
            repository: sample.repository,
            path: sample.path,
            language: sample.language,
            kind: sample.kind.to_string(),
            left_context: sample.left_context,
            target: sample.target,
            right_context: Some(sample.right_context),
            first_line: 0,
            given: None,
        }
    }
}
