//! The training stage of a generator.

use std::path::Path;

use analysis::triggers::TRIGGER;
use anyhow::{Context, ensure};
use corpus::functions::StoredFunction;
use corpus::manifest::Split;
use models::{AdapterConfig, Decoder, LanguageModel, RowInit, Tokenizer};

use super::sources::Located;
use super::train::files_below;
use super::{Options, StageSummary, functions};
use crate::checkpoint::Checkpoints;
use crate::examples::{BareFunction, Example};
use crate::experiment::GeneratorExperiment;
use crate::generator::{GeneratorLoop, Line};
use crate::metrics_log;
use crate::run::{RunDirectory, record};
use crate::stage::{Fingerprint, Stage};

/// Returns what the trained generator depends on.
pub(super) fn fingerprint(
    experiment: &GeneratorExperiment,
    base: &Located,
    dataset: &str,
) -> anyhow::Result<Fingerprint> {
    let data = (&experiment.dataset.marked, &experiment.dataset.functions);
    let sections = serde_json::to_vec(&(
        data,
        &experiment.layout,
        &experiment.adapter,
        &experiment.optimizer,
        (&experiment.training, experiment.seed),
    ))?;
    Ok(Fingerprint::of(&[
        ("format", b"generator 2"),
        ("sections", &sections),
        ("dataset", dataset.as_bytes()),
        ("generator", base.fingerprint.as_bytes()),
    ]))
}

/// Trains the generator, or resumes, or finds it trained.
pub(super) fn train(
    experiment: &GeneratorExperiment,
    options: &Options,
    run: &RunDirectory,
    base: &Located,
) -> anyhow::Result<StageSummary> {
    let dataset = functions::fingerprint(experiment)?;
    let fingerprint = fingerprint(experiment, base, &dataset)?;
    let stage = Stage::new(run.root(), "train", fingerprint.clone());
    let skipped = stage.is_done();
    if !skipped {
        fit(experiment, options, run, base, &dataset, fingerprint)?;
        let generator = files_below(&run.generator(), "generator")?;
        let outputs: Vec<&str> = generator.iter().map(String::as_str).chain(["metrics.jsonl"]).collect();
        stage.finish(&outputs)?;
    }
    Ok(StageSummary { name: "train", skipped, seconds: 0.0, result: summary(run)?, path: run.generator() })
}

fn fit(
    experiment: &GeneratorExperiment,
    options: &Options,
    run: &RunDirectory,
    base: &Located,
    dataset: &str,
    fingerprint: Fingerprint,
) -> anyhow::Result<()> {
    let setting = experiment.setting();
    let weights = [(base.name.clone(), base.fingerprint.clone())];
    record(run, &setting, &toml::to_string(experiment)?, &weights, dataset)?;
    let mut decoder = prepared(experiment, &base.path)?;
    let functions = functions::choose(experiment, decoder.tokenizer())?;
    // A model that never learns to end a text never ends one.
    let end = decoder.tokenizer().eos().or(decoder.eos().first().copied());
    let end =
        end.context("the generator has no token that ends a text: neither its config nor its tokenizer names one")?;
    let examples = |split| examples(experiment, functions.of(split), split, (decoder.tokenizer(), end));
    let (train, validation) = (examples(Split::Train)?, examples(Split::Validation)?);
    let workers = setting.workers();
    GeneratorLoop {
        experiment,
        run,
        train: &train,
        validation: &validation,
        workers: &workers,
        checkpoints: Checkpoints::new(run.checkpoints(), fingerprint, experiment.training.checkpoints_max),
        interrupter: options.interrupter,
    }
    .train(&mut decoder)
}

/// Loads the model and attaches what is to be trained.
fn prepared(experiment: &GeneratorExperiment, base: &Path) -> anyhow::Result<Decoder> {
    let device = models::device::resolve(&experiment.hardware.device.parse()?)?;
    let mut decoder = Decoder::load(base, &device.autodiff())?;
    let (needed, context) = (experiment.layout.tokens_max, decoder.context_tokens_max());
    ensure!(needed <= context, "layout.tokens_max is {needed}, and the generator reads {context} tokens");
    let is_sections = decoder.model().network().start_token().is_some();
    ensure!(
        is_sections == (experiment.layout.form == "sections"),
        "layout.form is {}, and the generator is {}",
        experiment.layout.form,
        if is_sections { "an encoder-decoder, which reads `sections`" } else { "decoder-only, which reads `inline`" }
    );
    let new: &[&str] = if experiment.dataset.marked { &[TRIGGER] } else { &[] };
    let tokens = decoder.add_tokens(new, RowInit::Mean)?;
    if let Some(adapter) = &experiment.adapter {
        let config = AdapterConfig { lora: Some(adapter.lora()), tokens };
        decoder.adapt(&config, &mut repo::random::stream(experiment.seed, "train/adapter"))?;
    }
    Ok(decoder)
}

/// Lays functions out and tokenizes them; what was cut or left out is said.
fn examples(
    experiment: &GeneratorExperiment,
    functions: &[StoredFunction],
    split: Split,
    (tokenizer, end): (&Tokenizer, u32),
) -> anyhow::Result<Vec<Example>> {
    let marked = experiment.dataset.marked;
    let example = |function: &StoredFunction| {
        Example::new(&BareFunction::new(function), marked, &experiment.layout, (tokenizer, end))
    };
    let examples: Vec<Example> = functions.iter().filter_map(example).collect();
    let n_cut = examples.iter().filter(|example| example.cut > 0).count();
    let n_full = functions.len() - examples.len();
    let n_tokens: usize = examples.iter().map(Example::n_tokens).sum();
    tracing::info!("{split}: {n_tokens} tokens; {n_cut} functions cut, {n_full} left out for want of room");
    ensure!(!examples.is_empty(), "layout.tokens_max leaves no room for any function of the {split} split");
    Ok(examples)
}

fn summary(run: &RunDirectory) -> anyhow::Result<String> {
    let lines = metrics_log::read::<Line>(&run.metrics())?;
    let steps = lines.iter().filter(|line| matches!(line, Line::Step(_))).count();
    let validations = lines.iter().filter_map(|line| match line {
        Line::Validation(line) => Some(line),
        Line::Step(_) => None,
    });
    let best = validations.min_by(|a, b| a.loss.total_cmp(&b.loss)).context("metrics.jsonl holds no validation")?;
    Ok(format!("{steps} steps; best after step {}: validation loss {:.4} nats per token", best.step, best.loss))
}
