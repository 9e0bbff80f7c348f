//! The training stage.

use std::path::Path;

use anyhow::{Context, ensure};
use corpus::manifest::Split;
use inference::seam::MOVED_BYTES_MAX as SEAM_TOKENS_MAX;
use models::encoder::Encoder;
use models::{Decoder, LanguageModel, Workers};

use super::{Models, Options, StageSummary, Until, data};
use crate::cache::ScoreCache;
use crate::checkpoint::Checkpoints;
use crate::dashboard::Dashboard;
use crate::evaluator::Evaluator;
use crate::experiment::RetrieverExperiment;
use crate::metrics::Line;
use crate::metrics_log;
use crate::retriever::RetrieverLoop;
use crate::run::{RunDirectory, record};
use crate::stage::{Fingerprint, Stage};

/// Returns what the trained retriever depends on.
pub(super) fn fingerprint(
    experiment: &RetrieverExperiment,
    models: &Models,
    dataset: &str,
) -> anyhow::Result<Fingerprint> {
    let sections = serde_json::to_vec(&(
        &experiment.candidates,
        &experiment.encoder,
        &experiment.retrieval,
        &experiment.prompt,
        &experiment.reward.without_cache(),
        &experiment.optimizer,
        (&experiment.training, experiment.seed),
    ))?;
    Ok(Fingerprint::of(&[
        ("format", b"retriever 1"),
        ("sections", &sections),
        ("dataset", dataset.as_bytes()),
        ("encoder", models.encoder.fingerprint.as_bytes()),
        ("evaluator", models.evaluator.fingerprint.as_bytes()),
    ]))
}

/// Trains the retriever, or resumes, or finds it trained.
pub(super) fn train(
    experiment: &RetrieverExperiment,
    options: &Options,
    run: &RunDirectory,
    models: &Models,
) -> anyhow::Result<StageSummary> {
    let dataset = data::fingerprint(experiment)?;
    let fingerprint = fingerprint(experiment, models, &dataset)?;
    let stage = Stage::new(run.root(), "train", fingerprint.clone());
    let skipped = stage.is_done();
    if !skipped {
        fit(experiment, options, run, models, &dataset, fingerprint)?;
        let retriever = files_below(&run.retriever(), "retriever")?;
        let outputs: Vec<&str> = retriever.iter().map(String::as_str).chain(["metrics.jsonl"]).collect();
        stage.finish(&outputs)?;
    }
    Ok(StageSummary { name: "train", skipped, seconds: 0.0, result: summary(run)?, path: run.retriever() })
}

fn fit(
    experiment: &RetrieverExperiment,
    options: &Options,
    run: &RunDirectory,
    models: &Models,
    dataset: &str,
    fingerprint: Fingerprint,
) -> anyhow::Result<()> {
    let device = models::device::resolve(&experiment.hardware.device.parse()?)?;
    let workers = experiment.setting().workers();
    record_run(experiment, run, models, dataset)?;
    let encoder = Encoder::load(&models.encoder.path, &device.clone().autodiff())?;
    let decoder = Decoder::load(&models.evaluator.path, &device)?;
    check_context(experiment, options, models, &decoder)?;
    let tasks = |split| data::tasks(experiment, split);
    let (train, validation) = (tasks(Split::Train)?, tasks(Split::Validation)?);
    let evaluator = evaluator(experiment, (options, run), models, &decoder, &workers)?;
    let dashboard = if options.dashboard { Dashboard::screen(options.interrupter) } else { Dashboard::Log };
    RetrieverLoop {
        experiment,
        run,
        evaluator,
        train: &train,
        validation: &validation,
        workers: &workers,
        checkpoints: Checkpoints::new(run.checkpoints(), fingerprint, experiment.training.checkpoints_max),
        interrupter: options.interrupter,
        dashboard,
    }
    .train(&encoder)
}

/// Writes down what the run is and what it runs on.
pub(super) fn record_run(
    experiment: &RetrieverExperiment,
    run: &RunDirectory,
    models: &Models,
    dataset: &str,
) -> anyhow::Result<()> {
    let weights = [&models.encoder, &models.evaluator, &models.generator];
    let weights: Vec<_> = weights.iter().map(|model| (model.name.clone(), model.fingerprint.clone())).collect();
    record(run, &experiment.setting(), &toml::to_string(experiment)?, &weights, dataset)
}

/// Makes the evaluator of a decoder, with the scores that are known already.
pub(super) fn evaluator<'a>(
    experiment: &RetrieverExperiment,
    (options, run): (&Options<'a>, &RunDirectory),
    models: &Models,
    decoder: &'a Decoder,
    workers: &'a Workers,
) -> anyhow::Result<Evaluator<'a>> {
    let shared = experiment.reward.cache.as_ref();
    let scores = shared.map_or_else(|| run.scores(), |path| experiment.setting().path(path));
    Ok(Evaluator::new(
        decoder,
        models.evaluator.fingerprint.clone(),
        experiment.prompt.rule(decoder)?,
        &experiment.reward,
        workers,
        options.interrupter,
        ScoreCache::open(&scores)?,
    ))
}

/// Refuses prompts that a model cannot read, before anything is trained.
fn check_context(
    experiment: &RetrieverExperiment,
    options: &Options,
    models: &Models,
    evaluator: &Decoder,
) -> anyhow::Result<()> {
    let target = experiment.reward.target_tokens_max;
    let needed = experiment.prompt.context_tokens_max + SEAM_TOKENS_MAX + target;
    let context = evaluator.context_tokens_max();
    ensure!(
        needed <= context,
        "prompt.context_tokens_max and reward.target_tokens_max need up to {needed} tokens, and the evaluator reads {context}"
    );
    if options.until < Until::Evaluate {
        return Ok(());
    }
    let written = experiment.evaluation.generation_tokens_max.max(target);
    let needed = experiment.evaluation.prompt.context_tokens_max + SEAM_TOKENS_MAX + written;
    let context = if models.generator.path == models.evaluator.path {
        context
    } else {
        let device = models::device::resolve(&experiment.hardware.device.parse()?)?;
        Decoder::load(&models.generator.path, &device)?.context_tokens_max()
    };
    ensure!(
        needed <= context,
        "evaluation.prompt.context_tokens_max and evaluation.generation_tokens_max need up to {needed} tokens, and the generator reads {context}"
    );
    Ok(())
}

/// Returns the names of the files in a directory and below it, each after `prefix`, in order.
pub(super) fn files_below(directory: &Path, prefix: &str) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    let mut open = vec![(directory.to_path_buf(), prefix.to_owned())];
    while let Some((directory, prefix)) = open.pop() {
        for entry in std::fs::read_dir(&directory).with_context(|| format!("cannot read {}", directory.display()))? {
            let entry = entry?;
            let name = format!("{prefix}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() { open.push((entry.path(), name)) } else { names.push(name) }
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn summary(run: &RunDirectory) -> anyhow::Result<String> {
    let lines = metrics_log::read(&run.metrics())?;
    let steps = lines.iter().filter(|line| matches!(line, Line::Step(_))).count();
    let validations = lines.iter().filter_map(|line| match line {
        Line::Validation(line) => Some(line),
        Line::Step(_) => None,
    });
    let best = validations
        .min_by(|a, b| a.first_choice_nll.total_cmp(&b.first_choice_nll))
        .context("metrics.jsonl holds no validation")?;
    Ok(format!(
        "{steps} steps; best after epoch {}: weighted perplexity {:.2} on {} validation samples",
        best.epoch, best.choices.weighted_perplexity_first, best.choices.n
    ))
}
