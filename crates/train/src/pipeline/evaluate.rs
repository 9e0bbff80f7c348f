//! The evaluation stage and its report.

use std::collections::BTreeMap;

use corpus::manifest::Split;
use eval::report::{Curve, Prediction, Report, RewardSummary, Series, VERSION, compare, headline, summarize};
use models::Decoder;
use models::encoder::Encoder;

use super::{Models, Options, StageSummary, data};
use crate::evaluation::Evaluation;
use crate::experiment::RetrieverExperiment;
use crate::metrics::{Line, StepLine, ValidationLine};
use crate::metrics_log;
use crate::run::RunDirectory;
use crate::stage::{Fingerprint, Stage, hash_file};

/// Completes the held-out samples under every arm and writes `predictions.jsonl`, `report.json` and `report.html`.
pub(super) fn evaluate(
    experiment: &RetrieverExperiment,
    options: &Options,
    run: &RunDirectory,
    models: &Models,
    earlier: &[StageSummary],
) -> anyhow::Result<StageSummary> {
    let inputs = fingerprint(experiment, run, models)?;
    let stage = Stage::new(run.root(), "evaluate", inputs);
    let skipped = stage.is_done();
    if !skipped {
        let started = std::time::Instant::now();
        let predictions = predict(experiment, options, run, models)?;
        let mut timing: BTreeMap<String, f64> =
            earlier.iter().map(|stage| (format!("{}_seconds", stage.name), stage.seconds)).collect();
        timing.insert("evaluate_seconds".into(), started.elapsed().as_secs_f64());
        let report = report(experiment, run, models, &predictions, timing)?;
        eval::report::write_predictions(&run.path("predictions.jsonl"), &predictions)?;
        report.write(&run.path("report.json"))?;
        eval::report::write_html(&run.path("report.html"), &report, &predictions)?;
        stage.finish(&["predictions.jsonl", "report.json", "report.html"])?;
    }
    let report = Report::read(&run.path("report.json"))?;
    let result = headline(&report).first().cloned().unwrap_or_default();
    Ok(StageSummary { name: "evaluate", skipped, seconds: 0.0, result, path: run.path("report.html") })
}

fn fingerprint(experiment: &RetrieverExperiment, run: &RunDirectory, models: &Models) -> anyhow::Result<Fingerprint> {
    let dataset = data::fingerprint(experiment)?;
    let sections = serde_json::to_vec(&(
        &experiment.candidates,
        &experiment.encoder,
        &experiment.retrieval,
        &experiment.reward,
        (&experiment.evaluation, experiment.seed),
    ))?;
    Ok(Fingerprint::of(&[
        ("format", b"evaluation 1"),
        ("sections", &sections),
        ("dataset", dataset.as_bytes()),
        ("untrained", models.encoder.fingerprint.as_bytes()),
        ("trained", hash_file(&run.retriever().join("model.safetensors"))?.as_bytes()),
        ("metrics", hash_file(&run.metrics())?.as_bytes()),
        ("generator", models.generator.fingerprint.as_bytes()),
    ]))
}

fn predict(
    experiment: &RetrieverExperiment,
    options: &Options,
    run: &RunDirectory,
    models: &Models,
) -> anyhow::Result<Vec<Prediction>> {
    let device = models::device::resolve(&experiment.hardware.device.parse()?)?;
    let workers = experiment.setting().workers();
    let generator = Decoder::load(&models.generator.path, &device)?;
    let untrained = Encoder::load(&models.encoder.path, &device)?;
    let trained = Encoder::load(&run.retriever(), &device)?;
    let evaluation = Evaluation {
        experiment,
        generator: &generator,
        untrained: &untrained,
        trained: &trained,
        workers: &workers,
        interrupter: options.interrupter,
    };
    evaluation.run(&data::tasks(experiment, Split::Test)?)
}

fn report(
    experiment: &RetrieverExperiment,
    run: &RunDirectory,
    models: &Models,
    predictions: &[Prediction],
    timing: BTreeMap<String, f64>,
) -> anyhow::Result<Report> {
    let arms: Vec<&str> = experiment.evaluation.arms.iter().map(String::as_str).collect();
    // The last arm is the one in question; the pairs it is in come first.
    let pairs = (0..arms.len()).rev().flat_map(|arm| (0..arm).rev().map(move |baseline| (arm, baseline)));
    let difference = |(arm, baseline): (usize, usize)| compare(predictions, arms[arm], arms[baseline], experiment.seed);
    let comparisons = pairs.flat_map(difference).collect();
    let (steps, validations) = curves_of(run)?;
    Ok(Report {
        version: VERSION,
        experiment: experiment.name.clone(),
        identity: identity(experiment, models)?,
        rewards: rewards(experiment, &validations),
        arms: summarize(predictions, &arms, experiment.seed),
        comparisons,
        curves: curves(&steps, &validations),
        corpus: data::summary(experiment)?,
        notes: notes(experiment, &steps),
        timing,
    })
}

fn identity(experiment: &RetrieverExperiment, models: &Models) -> anyhow::Result<BTreeMap<String, String>> {
    let model = |model: &super::Located| format!("{} ({})", model.name, &model.fingerprint[..12]);
    Ok([
        ("encoder", model(&models.encoder)),
        ("evaluator", model(&models.evaluator)),
        ("generator", model(&models.generator)),
        ("dataset", data::fingerprint(experiment)?[..12].to_owned()),
        ("candidates", format!("{:?} {:?}", experiment.candidates.rule, experiment.candidates.variant).to_lowercase()),
        ("reward formula", format!("{:?}", experiment.reward.formula).to_lowercase()),
        ("seed", experiment.seed.to_string()),
        ("retort", env!("CARGO_PKG_VERSION").to_owned()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into())
}

/// Returns what candidates were worth to the evaluator, under the best policy on the validation samples.
fn rewards(experiment: &RetrieverExperiment, validations: &[ValidationLine]) -> RewardSummary {
    let best = validations.iter().min_by(|a, b| a.first_choice_nll.total_cmp(&b.first_choice_nll));
    let measured_on = |line: &ValidationLine| format!("validation samples, policy after epoch {}", line.epoch);
    best.map(|line| line.choices.summary(&measured_on(line), experiment.retrieval.top_k)).unwrap_or_default()
}

fn curves_of(run: &RunDirectory) -> anyhow::Result<(Vec<StepLine>, Vec<ValidationLine>)> {
    let (mut steps, mut validations) = (Vec::new(), Vec::new());
    for line in metrics_log::read(&run.metrics())? {
        match line {
            Line::Step(line) => steps.push(line),
            Line::Validation(line) => validations.push(line),
        }
    }
    Ok((steps, validations))
}

fn curves(steps: &[StepLine], validations: &[ValidationLine]) -> Vec<Curve> {
    let of_steps = |name: &str, value: &dyn Fn(&StepLine) -> f64| Series {
        name: name.to_owned(),
        points: steps.iter().map(|line| (line.step as f64, value(line))).collect(),
    };
    let of_validations = |name: &str, value: &dyn Fn(&ValidationLine) -> f64| Series {
        name: name.to_owned(),
        points: validations.iter().map(|line| (line.epoch as f64, value(line))).collect(),
    };
    let curve = |name: &str, x: &str, unit: &str, series: Vec<Series>| Curve {
        name: name.to_owned(),
        x: x.to_owned(),
        unit: unit.to_owned(),
        series,
    };
    vec![
        curve(
            "Weighted perplexity on validation samples",
            "epoch",
            "per token",
            vec![
                of_validations("no candidate", &|line| line.choices.weighted_perplexity_none),
                of_validations("random candidate", &|line| line.choices.weighted_perplexity_random),
                of_validations("first choice", &|line| line.choices.weighted_perplexity_first),
                of_validations("best candidate", &|line| line.choices.weighted_perplexity_best),
            ],
        ),
        curve(
            "Choices on validation samples",
            "epoch",
            "share of samples",
            vec![
                of_validations("first choice is best", &|line| line.choices.first_choice_best_rate),
                of_validations("stop candidate first", &|line| line.choices.stop_rate),
            ],
        ),
        curve("Loss", "step", "nats", vec![of_steps("training batch", &|line| line.loss)]),
        curve("Mean reward", "step", "reward", vec![of_steps("training batch", &|line| line.mean_reward)]),
        curve("Gradient norm", "step", "L2 norm", vec![of_steps("before clipping", &|line| line.gradient_norm)]),
    ]
}

/// Says what was cut or left out, in sentences.
fn notes(experiment: &RetrieverExperiment, steps: &[StepLine]) -> Vec<String> {
    let mut notes = Vec::new();
    let cut: usize = steps.iter().map(|line| line.targets_cut).sum();
    if cut > 0 {
        let limit = experiment.reward.target_tokens_max;
        notes.push(format!("In training, targets were cut to {limit} tokens {cut} times."));
    }
    let planned = experiment.training.epochs;
    if let Some(last) = steps.last().filter(|line| line.epoch + 1 < planned) {
        notes.push(format!("Training stopped early, after {} of {planned} epochs.", last.epoch + 1));
    }
    notes
}
