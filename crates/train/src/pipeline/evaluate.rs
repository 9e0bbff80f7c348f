//! The evaluation stage and its report.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context;
use corpus::manifest::Split;
use eval::metrics::{Formula, count_key};
use eval::pass_rate::{self, PassRate};
use eval::report::{
    Curve, Prediction, Report, RewardSummary, Series, VERSION, breakdown, compare, headline, summarize,
};
use models::Decoder;
use models::encoder::Encoder;

use super::benchmark::Benchmark;
use super::{Models, Options, StageSummary, data, train};
use crate::answers::AnswerStore;
use crate::evaluation::{Arm, Evaluation, TRAINED, UNTRAINED};
use crate::experiment::{EvaluationConfig, RetrieverExperiment};
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
    let read = |config| Benchmark::read(experiment, config);
    let benchmark = experiment.evaluation.benchmark.as_ref().map(read).transpose()?;
    let dataset = match &benchmark {
        Some(benchmark) => benchmark.fingerprint.clone(),
        None => data::fingerprint(experiment)?,
    };
    let rules = experiment.evaluation.tests.rules(|path| experiment.setting().path(path));
    let tests: Vec<String> = rules.values().map(pass_rate::fingerprint).collect::<eval::Result<_>>()?;
    let held = Held { experiment, options, run, models, benchmark, dataset, tests: tests.concat() };
    let stage = Stage::new(run.root(), "evaluate", held.fingerprint()?);
    let skipped = stage.is_done();
    if !skipped {
        let started = std::time::Instant::now();
        if !experiment.compares_trained() {
            train::record_run(experiment, run, models, &data::fingerprint(experiment)?)?;
        }
        let mut predictions = held.predict()?;
        add_gap_closed(&mut predictions);
        let mut timing: BTreeMap<String, f64> =
            earlier.iter().map(|stage| (format!("{}_seconds", stage.name), stage.seconds)).collect();
        timing.insert("evaluate_seconds".into(), started.elapsed().as_secs_f64());
        let mut report = report(experiment, run, models, &predictions, timing)?;
        let benchmark = held.benchmark.as_ref().map(|benchmark| ("benchmark".to_owned(), benchmark.identity.clone()));
        report.identity.extend(benchmark);
        eval::report::write_predictions(&run.path("predictions.jsonl"), &predictions)?;
        report.write(&run.path("report.json"))?;
        eval::report::write_html(&run.path("report.html"), &report, &predictions)?;
        stage.finish(&["predictions.jsonl", "report.json", "report.html"])?;
    }
    let report = Report::read(&run.path("report.json"))?;
    let result = headline(&report).first().cloned().unwrap_or_default();
    Ok(StageSummary { name: "evaluate", skipped, seconds: 0.0, result, path: run.path("report.html") })
}

/// What a held-out evaluation starts from.
struct Held<'a> {
    experiment: &'a RetrieverExperiment,
    options: &'a Options<'a>,
    run: &'a RunDirectory,
    models: &'a Models,
    benchmark: Option<Benchmark>,
    /// A hash of what is evaluated on.
    dataset: String,
    /// Hashes of the repositories' tests.
    tests: String,
}

impl Held<'_> {
    fn fingerprint(&self) -> anyhow::Result<Fingerprint> {
        let arms = self.experiment.arms();
        let arms = arms.iter().map(|arm| Ok(self.arm_fingerprint(arm)?.as_str().to_owned()));
        let arms: Vec<String> = arms.collect::<anyhow::Result<_>>()?;
        let metrics = if self.experiment.compares_trained() { hash_file(&self.run.metrics())? } else { String::new() };
        Ok(Fingerprint::of(&[
            ("format", b"evaluation 3"),
            ("arms", arms.join(" ").as_bytes()),
            ("dataset", self.dataset.as_bytes()),
            ("samples", self.experiment.evaluation.samples_max.to_string().as_bytes()),
            ("metrics", metrics.as_bytes()),
        ]))
    }

    /// Returns what the answers of one arm depend on, so that another arm, or another retriever, leaves them as they are.
    fn arm_fingerprint(&self, arm: &Arm) -> anyhow::Result<Fingerprint> {
        let Self { experiment, models, .. } = self;
        let evaluation = EvaluationConfig {
            arms: vec![arm.to_string()],
            retrievers: BTreeMap::new(),
            benchmark: None,
            samples_max: 0,
            ..experiment.evaluation.clone()
        };
        let sections = serde_json::to_vec(&(
            (&experiment.candidates, &experiment.encoder, &experiment.retrieval),
            (&experiment.prompt, &experiment.reward.without_cache()),
            (&evaluation, experiment.seed),
        ))?;
        let retriever = match arm.retriever() {
            Some(name) => models::fingerprint::fingerprint(&self.retriever(name))?,
            None => String::new(),
        };
        Ok(Fingerprint::of(&[
            ("format", b"arm 1"),
            ("sections", &sections),
            ("tests", self.tests.as_bytes()),
            ("dataset", self.dataset.as_bytes()),
            ("retriever", retriever.as_bytes()),
            ("evaluator", models.evaluator.fingerprint.as_bytes()),
            ("generator", models.generator.fingerprint.as_bytes()),
        ]))
    }

    /// Returns the directory of a retriever.
    fn retriever(&self, name: &str) -> PathBuf {
        match (name, self.experiment.evaluation.retrievers.get(name)) {
            (_, Some(path)) => self.experiment.setting().path(path),
            (UNTRAINED, None) => self.models.encoder.path.clone(),
            _ => self.run.retriever(),
        }
    }

    fn predict(&self) -> anyhow::Result<Vec<Prediction>> {
        let Self { experiment, options, run, models, .. } = self;
        let device = models::device::resolve(&experiment.hardware.device.parse()?)?;
        let workers = experiment.setting().workers();
        let arms = experiment.arms();
        let mut retrievers = BTreeMap::new();
        for name in arms.iter().filter_map(Arm::retriever) {
            let encoder = Encoder::load(&self.retriever(name), &device);
            retrievers.insert(name.to_owned(), encoder.with_context(|| format!("cannot load the retriever `{name}`"))?);
        }
        let generator = Decoder::load(&models.generator.path, &device)?;
        let other = (models.evaluator.path != models.generator.path)
            .then(|| Decoder::load(&models.evaluator.path, &device))
            .transpose()?;
        let decoder = other.as_ref().unwrap_or(&generator);
        let mut evaluator = train::evaluator(experiment, (options, run), models, decoder, &workers)?;
        let stores = arms.iter().map(|arm| self.store(arm)).collect::<anyhow::Result<_>>()?;
        let rules = experiment.evaluation.tests.rules(|path| experiment.setting().path(path));
        let tests = PassRate::open(&rules, &run.path("trials.jsonl"))?;
        for (repository, protection) in tests.protection() {
            tracing::info!("tests of {repository}: {protection}");
        }
        let evaluation = Evaluation {
            experiment,
            generator: &generator,
            retrievers: &retrievers,
            tests: &tests,
            workers: &workers,
            interrupter: options.interrupter,
        };
        let tasks = match &self.benchmark {
            Some(benchmark) => benchmark.tasks(experiment)?,
            None => data::tasks(experiment, Split::Test)?,
        };
        let tasks = spread(tasks, experiment.evaluation.samples_max);
        evaluation.run(&mut evaluator, &arms, stores, &tasks)
    }

    /// Opens the file that keeps an arm's answers.
    fn store(&self, arm: &Arm) -> anyhow::Result<AnswerStore<Prediction>> {
        let name = format!("answers/{arm}-{}.jsonl", &self.arm_fingerprint(arm)?.as_str()[..12]);
        std::fs::create_dir_all(self.run.path("answers")).context("cannot create the folder of answers")?;
        AnswerStore::open(&self.run.path(&name))
    }
}

/// Keeps at most `max` of the items, spread evenly; 0 keeps all.
fn spread<T>(items: Vec<T>, max: usize) -> Vec<T> {
    let n = items.len();
    if max == 0 || max >= n {
        return items;
    }
    items
        .into_iter()
        .enumerate()
        .filter(|(index, _)| index * max / n != (index + 1) * max / n)
        .map(|(_, item)| item)
        .collect()
}

fn report(
    experiment: &RetrieverExperiment,
    run: &RunDirectory,
    models: &Models,
    predictions: &[Prediction],
    timing: BTreeMap<String, f64>,
) -> anyhow::Result<Report> {
    let arms: Vec<&str> = experiment.evaluation.arms.iter().map(String::as_str).collect();
    let difference = |(arm, baseline)| compare(predictions, arm, baseline, experiment.seed);
    let comparisons = pairs(&arms).into_iter().flat_map(difference).collect();
    let (steps, validations) = if experiment.compares_trained() { curves_of(run)? } else { Default::default() };
    Ok(Report {
        version: VERSION,
        experiment: experiment.name.clone(),
        identity: identity(experiment, models)?,
        rewards: rewards(experiment, &validations),
        arms: summarize(predictions, &arms, experiment.seed),
        comparisons,
        breakdown: breakdown(predictions, &arms, focus(&arms), experiment.seed),
        figures: Vec::new(),
        curves: if steps.is_empty() { Vec::new() } else { curves(&steps, &validations) },
        corpus: data::summary(experiment)?,
        notes: notes(experiment, &steps),
        timing,
    })
}

/// Returns the arm in question: the retriever that was trained, or else the last one.
fn focus<'a>(arms: &[&'a str]) -> &'a str {
    arms.iter().find(|arm| **arm == TRAINED).or(arms.last()).copied().unwrap_or_default()
}

/// Returns the arms that are held against each other: the one in question against every other, then every other against
/// the encoder before training.
fn pairs<'a>(arms: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    let focus = focus(arms);
    let others = || arms.iter().rev().copied().filter(|arm| *arm != focus);
    let untrained = others().filter(|arm| *arm != UNTRAINED && arms.contains(&UNTRAINED));
    others().map(|other| (focus, other)).chain(untrained.map(|other| (other, UNTRAINED))).collect()
}

/// Adds to each prediction how far its first choice lies on the way from the untrained encoder's to the oracle's.
fn add_gap_closed(predictions: &mut [Prediction]) {
    let oracle = Arm::BestOf { retriever: Some(UNTRAINED.to_owned()) }.to_string();
    let first_choice = |arm: &str| -> BTreeMap<String, f64> {
        let of_arm = predictions.iter().filter(|prediction| prediction.arm == arm);
        of_arm.filter_map(|p| Some((p.sample.clone(), *p.metrics.get("first_choice_weighted_nll")?))).collect()
    };
    let (from, to) = (first_choice(UNTRAINED), first_choice(&oracle));
    for prediction in predictions {
        let own = prediction.metrics.get("first_choice_weighted_nll");
        if let (Some(from), Some(to), Some(own)) = (from.get(&prediction.sample), to.get(&prediction.sample), own) {
            let counts = [from - own, from - to];
            let names = Formula::Ratio.counts().iter();
            prediction.metrics.extend(names.map(|name| count_key("oracle_gap_closed", name)).zip(counts));
        }
    }
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
fn rewards(experiment: &RetrieverExperiment, validations: &[ValidationLine]) -> Option<RewardSummary> {
    let best = validations.iter().min_by(|a, b| a.first_choice_nll.total_cmp(&b.first_choice_nll));
    let measured_on = |line: &ValidationLine| format!("validation samples, policy after epoch {}", line.epoch);
    best.map(|line| line.choices.summary(&measured_on(line), experiment.retrieval.top_k))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_spread_evenly() {
        let items: Vec<usize> = (0..10).collect();
        assert_eq!(spread(items.clone(), 0), items);
        assert_eq!(spread(items.clone(), 10), items);
        assert_eq!(spread(items.clone(), 3), [3, 6, 9]);
        assert!((1..12).all(|max| spread(items.clone(), max).len() == max.min(10)));
    }
}
