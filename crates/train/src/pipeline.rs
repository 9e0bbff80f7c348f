//! The main job: crawl, sample, train, evaluate, report; each stage skipped while nothing it depends on has changed.

mod benchmark;
mod data;
mod evaluate;
mod fine_tune;
mod functions;
mod sources;
mod train;
mod write;

use std::path::PathBuf;
use std::time::Instant;

use burn::train::Interrupter;

pub use data::{Crawl, tasks};
pub use functions::choose as functions;
pub use sources::{Located, Models, Store};

use crate::evaluator::Interrupted;
use crate::experiment::{Experiment, GeneratorExperiment, RetrieverExperiment};
use crate::run::RunDirectory;

/// A stage of the pipeline, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Until {
    /// Repositories read and filtered.
    Crawl,
    /// Samples drawn, or functions marked.
    Samples,
    /// The retriever or generator trained.
    Train,
    /// The arms compared and the report written.
    #[default]
    Evaluate,
}

/// How to run an experiment.
pub struct Options<'a> {
    /// Where the run writes.
    pub run_directory: PathBuf,
    /// Where downloads are kept.
    pub cache: PathBuf,
    /// Whether downloads are forbidden.
    pub offline: bool,
    /// The last stage to run.
    pub until: Until,
    /// Whether a person watches burn's full-screen dashboard.
    pub dashboard: bool,
    /// Set by SIGTERM and SIGINT.
    pub interrupter: &'a Interrupter,
}

/// How a run ended.
#[derive(Debug)]
pub enum Outcome {
    /// All stages asked for are done.
    Finished(Vec<StageSummary>),
    /// A signal came; the same command resumes.
    Interrupted,
}

/// What one stage did.
#[derive(Clone, Debug)]
pub struct StageSummary {
    /// Name of the stage.
    pub name: &'static str,
    /// Whether nothing it depends on had changed.
    pub skipped: bool,
    /// Wall time, in seconds.
    pub seconds: f64,
    /// What it produced, in words.
    pub result: String,
    /// Where.
    pub path: PathBuf,
}

/// Runs the stages of an experiment.
///
/// # Errors
///
/// Returns the first error; what the stages before it produced stays and is not done again.
pub fn run(experiment: &Experiment, options: &Options) -> anyhow::Result<Outcome> {
    let stages = match experiment {
        Experiment::Retriever(experiment) => retriever(experiment, options),
        Experiment::Generator(experiment) => generator(experiment, options),
    };
    match stages {
        Ok(stages) => Ok(Outcome::Finished(stages)),
        Err(error) if error.is::<Interrupted>() => Ok(Outcome::Interrupted),
        Err(error) => Err(error),
    }
}

fn retriever(experiment: &RetrieverExperiment, options: &Options) -> anyhow::Result<Vec<StageSummary>> {
    let run = RunDirectory::create(&options.run_directory)?;
    let models = Models::find(experiment, &Store::new(&experiment.setting(), options))?;
    let mut done = vec![timed(|| data::crawl(&experiment.setting(), options))?];
    if options.until >= Until::Samples {
        done.push(timed(|| data::samples(experiment))?);
    }
    // An experiment that compares retrievers of other runs trains none.
    if options.until == Until::Train || (options.until > Until::Train && experiment.compares_trained()) {
        done.push(timed(|| train::train(experiment, options, &run, &models))?);
    }
    if options.until >= Until::Evaluate {
        let earlier = done.clone();
        done.push(timed(|| evaluate::evaluate(experiment, options, &run, &models, &earlier))?);
    }
    Ok(done)
}

fn generator(experiment: &GeneratorExperiment, options: &Options) -> anyhow::Result<Vec<StageSummary>> {
    let run = RunDirectory::create(&options.run_directory)?;
    let setting = experiment.setting();
    let base = Located::find(&Store::new(&setting, options), "generator.model", &experiment.generator)?;
    let mut done = vec![timed(|| data::crawl(&setting, options))?];
    if options.until >= Until::Samples {
        done.push(timed(|| functions::mark(experiment, options))?);
    }
    if options.until >= Until::Train {
        done.push(timed(|| fine_tune::train(experiment, options, &run, &base))?);
    }
    if options.until >= Until::Evaluate {
        let earlier = done.clone();
        done.push(timed(|| write::evaluate(experiment, options, &run, &base, &earlier))?);
    }
    Ok(done)
}

fn timed(stage: impl FnOnce() -> anyhow::Result<StageSummary>) -> anyhow::Result<StageSummary> {
    let started = Instant::now();
    let summary = stage()?;
    let seconds = started.elapsed().as_secs_f64();
    let verb = if summary.skipped { "unchanged" } else { "done" };
    tracing::info!("{} {verb} in {seconds:.1} s: {}", summary.name, summary.result);
    Ok(StageSummary { seconds, ..summary })
}
