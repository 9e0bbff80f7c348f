//! The evaluation stage of a generator.

use std::collections::BTreeMap;
use std::path::Path;

use corpus::functions::StoredFunction;
use corpus::manifest::Split;
use corpus::table;
use models::{Decoder, LanguageModel};
use anyhow::ensure;
use repo::Repository;

use super::data::FILES;
use super::sources::Located;
use super::{Options, StageSummary, functions};
use crate::examples::{BareFunction, prompt_tokens};
use crate::experiment::GeneratorExperiment;
use crate::run::RunDirectory;
use crate::writing::{Writing, WritingStore, Written};

/// Largest change of a logit when the adapter is folded into the weights.
const DRIFT_MAX: f32 = 1e-2;

/// Writes the test functions under every arm, measures them, and writes `predictions.jsonl` and the reports.
pub(super) fn evaluate(
    experiment: &GeneratorExperiment,
    options: &Options,
    run: &RunDirectory,
    base: &Located,
) -> anyhow::Result<StageSummary> {
    let (functions, written) = write(experiment, options, run, base, &run.path("written.jsonl"))?;
    let result = format!("{} functions, {} texts", functions.len(), written.len());
    Ok(StageSummary { name: "evaluate", skipped: false, seconds: 0.0, result, path: run.path("report.html") })
}

/// Writes the test functions under every arm, or takes what an interrupted run has written.
fn write(
    experiment: &GeneratorExperiment,
    options: &Options,
    run: &RunDirectory,
    base: &Located,
    store: &Path,
) -> anyhow::Result<(Vec<StoredFunction>, Vec<Written>)> {
    let setting = experiment.setting();
    let mut generator = load(experiment, run, base)?;
    let functions = functions::choose(experiment, generator.tokenizer())?.splits.remove(&Split::Test).unwrap_or_default();
    let prompt = |function| prompt_tokens(experiment.layout.layout(), &BareFunction::new(function), generator.tokenizer());
    let prompts: Vec<Vec<u32>> = functions.iter().map(prompt).collect();
    let longest = prompts.iter().map(Vec::len).max().unwrap_or(0);
    let room = generator.new_tokens_max(longest);
    ensure!(
        room >= experiment.evaluation.tokens_max,
        "evaluation.tokens_max is {}, and after the longest prompt the generator can write {room}",
        experiment.evaluation.tokens_max
    );
    if experiment.adapter.is_some() {
        generator.merge(&prompts[..1], DRIFT_MAX)?;
    }
    let crawled = table::read_files(&setting.dataset.join(FILES))?;
    let repositories: BTreeMap<&str, &Repository> =
        crawled.iter().map(|crawled| (crawled.repository.name.as_str(), &crawled.repository)).collect();
    let workers = setting.workers();
    let writing = Writing {
        experiment,
        generator: &generator,
        repositories: &repositories,
        workers: &workers,
        interrupter: options.interrupter,
    };
    let written = writing.run(&functions, WritingStore::open(store)?)?;
    Ok((functions, written))
}

/// Loads the trained generator.
fn load(experiment: &GeneratorExperiment, run: &RunDirectory, base: &Located) -> anyhow::Result<Decoder> {
    let device = models::device::resolve(&experiment.hardware.device.parse()?)?;
    if experiment.adapter.is_none() {
        return Ok(Decoder::load(&run.generator(), &device)?);
    }
    let mut decoder = Decoder::load(&base.path, &device)?;
    decoder.load_peft(&run.generator())?;
    Ok(decoder)
}
