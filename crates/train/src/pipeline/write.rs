//! The evaluation stage of a generator and its report.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use corpus::crawl::CrawledRepository;
use corpus::functions::StoredFunction;
use corpus::manifest::Split;
use corpus::table;
use eval::report::{
    Curve, Figure, Prediction, Report, Series, VERSION, breakdown, compare, headline, read_predictions, summarize,
};
use models::{Decoder, LanguageModel};
use repo::Repository;

use super::data::{self, FILES};
use super::sources::Located;
use super::{Options, StageSummary, functions};
use crate::answers::AnswerStore;
use crate::examples::{BareFunction, Functions};
use crate::experiment::GeneratorExperiment;
use crate::generator::Line;
use crate::measuring::Measuring;
use crate::metrics_log;
use crate::run::RunDirectory;
use crate::stage::{Fingerprint, Stage, hash_file};
use crate::writing::{PLAIN, Writing, Written, sample_id};

/// Largest change of a logit when the adapter is folded into the weights.
const DRIFT_MAX: f32 = 1e-2;

/// The arm that another run's plain decoding becomes.
const BASELINE: &str = "baseline";

/// Writes the test functions under every arm, measures them, and writes `predictions.jsonl` and the reports.
pub(super) fn evaluate(
    experiment: &GeneratorExperiment,
    options: &Options,
    run: &RunDirectory,
    base: &Located,
    earlier: &[StageSummary],
) -> anyhow::Result<StageSummary> {
    let texts = texts_fingerprint(experiment, run, base)?;
    let baseline = experiment.evaluation.baseline.as_ref().map(|path| Baseline::read(&experiment.path(path)));
    let baseline = baseline.transpose()?;
    let stage = Stage::new(run.root(), "evaluate", fingerprint(experiment, run, &texts, baseline.as_ref())?);
    let skipped = stage.is_done();
    if !skipped {
        let started = std::time::Instant::now();
        let store = run.path(&format!("written-{}.jsonl", &texts.as_str()[..12]));
        let evaluated = Evaluated::new(experiment, options, run, base, AnswerStore::open(&store)?, baseline)?;
        let mut timing: BTreeMap<String, f64> =
            earlier.iter().map(|stage| (format!("{}_seconds", stage.name), stage.seconds)).collect();
        timing.insert("evaluate_seconds".into(), started.elapsed().as_secs_f64());
        let report = evaluated.report(experiment, run, base, timing)?;
        eval::report::write_predictions(&run.path("predictions.jsonl"), &evaluated.predictions)?;
        report.write(&run.path("report.json"))?;
        eval::report::write_html(&run.path("report.html"), &report, &evaluated.predictions)?;
        stage.finish(&["predictions.jsonl", "report.json", "report.html"])?;
    }
    let report = Report::read(&run.path("report.json"))?;
    let result = headline(&report).first().cloned().unwrap_or_default();
    Ok(StageSummary { name: "evaluate", skipped, seconds: 0.0, result, path: run.path("report.html") })
}

/// Returns what the texts of an arm depend on.
fn texts_fingerprint(
    experiment: &GeneratorExperiment,
    run: &RunDirectory,
    base: &Located,
) -> anyhow::Result<Fingerprint> {
    let evaluation = &experiment.evaluation;
    let decoding = (evaluation.tokens_max, evaluation.num_beams, evaluation.rank_weight);
    let sections = serde_json::to_vec(&(decoding, &experiment.layout, &experiment.dataset.functions, experiment.seed))?;
    let generator = models::fingerprint::fingerprint(&run.generator())?;
    Ok(Fingerprint::of(&[
        ("format", b"texts 1"),
        ("sections", &sections),
        ("functions", functions::fingerprint(experiment)?.as_bytes()),
        ("files", hash_file(&experiment.setting().dataset.join(FILES))?.as_bytes()),
        ("base", base.fingerprint.as_bytes()),
        ("generator", generator.as_bytes()),
    ]))
}

fn fingerprint(
    experiment: &GeneratorExperiment,
    run: &RunDirectory,
    texts: &Fingerprint,
    baseline: Option<&Baseline>,
) -> anyhow::Result<Fingerprint> {
    let sections = serde_json::to_vec(&(&experiment.evaluation.arms, &experiment.evaluation.pylint))?;
    Ok(Fingerprint::of(&[
        ("format", b"evaluation 1"),
        ("sections", &sections),
        ("texts", texts.as_str().as_bytes()),
        ("baseline", baseline.map_or("", |baseline| &baseline.hash).as_bytes()),
        ("metrics", hash_file(&run.metrics())?.as_bytes()),
    ]))
}

/// The predictions of a run without triggers.
struct Baseline {
    hash: String,
    texts: Vec<Written>,
    figures: Vec<Figure>,
}

impl Baseline {
    fn read(run: &std::path::Path) -> anyhow::Result<Self> {
        let read = || -> anyhow::Result<Self> {
            let path = run.join("predictions.jsonl");
            let predictions = read_predictions(&path)?.into_iter().filter(|prediction| prediction.arm == PLAIN);
            let text = |prediction: Prediction| Written {
                sample: prediction.sample,
                arm: BASELINE.into(),
                text: prediction.prediction,
                ..Written::default()
            };
            let texts = predictions.map(text).collect();
            Ok(Self { hash: hash_file(&path)?, texts, figures: Report::read(&run.join("report.json"))?.figures })
        };
        read().with_context(|| {
            let run = run.display();
            format!("evaluation.baseline: {run} holds no finished run of this experiment without triggers")
        })
    }
}

/// Everything that was written and measured.
struct Evaluated {
    arms: Vec<String>,
    written: Vec<Written>,
    predictions: Vec<Prediction>,
    functions: Functions,
    crawled: Vec<CrawledRepository>,
    baseline_figures: Vec<Figure>,
    described: String,
}

impl Evaluated {
    fn new(
        experiment: &GeneratorExperiment,
        options: &Options,
        run: &RunDirectory,
        base: &Located,
        store: AnswerStore<Written>,
        baseline: Option<Baseline>,
    ) -> anyhow::Result<Self> {
        let setting = experiment.setting();
        let mut generator = load(experiment, run, base)?;
        let chosen = functions::choose(experiment, generator.tokenizer())?;
        let functions = chosen.of(Split::Test);
        prepare(experiment, &mut generator, functions)?;
        let crawled = table::read_files(&setting.dataset.join(FILES))?;
        let repositories: BTreeMap<&str, &Repository> =
            crawled.iter().map(|crawled| (crawled.repository.name.as_str(), &crawled.repository)).collect();
        let (workers, interrupter) = (setting.workers(), options.interrupter);
        let (workers, repositories) = (&workers, &repositories);
        let writing = Writing { experiment, generator: &generator, repositories, workers, interrupter };
        let mut written = baseline.as_ref().map_or_else(Vec::new, |baseline| baseline.texts.clone());
        check_baseline(functions, &written)?;
        written.extend(writing.run(functions, store)?);
        let measuring = Measuring { experiment, tokenizer: generator.tokenizer(), repositories, workers, interrupter };
        let predictions = measuring.run(functions, &written)?;
        let own = experiment.evaluation.arms.iter().cloned();
        Ok(Self {
            arms: baseline.iter().map(|_| BASELINE.to_owned()).chain(own).collect(),
            written,
            predictions,
            described: functions::described(functions, generator.tokenizer()),
            crawled,
            baseline_figures: baseline.map(|baseline| baseline.figures).unwrap_or_default(),
            functions: chosen,
        })
    }

    fn report(
        &self,
        experiment: &GeneratorExperiment,
        run: &RunDirectory,
        base: &Located,
        timing: BTreeMap<String, f64>,
    ) -> anyhow::Result<Report> {
        let arms: Vec<&str> = self.arms.iter().map(String::as_str).collect();
        let seed = experiment.seed;
        // Every arm is held against the first one; then the others against each other.
        let pairs = (0..arms.len()).flat_map(|baseline| (baseline + 1..arms.len()).map(move |arm| (arm, baseline)));
        let difference = |(arm, baseline): (usize, usize)| compare(&self.predictions, arms[arm], arms[baseline], seed);
        let all = Split::ALL.into_iter().flat_map(|split| self.functions.of(split));
        let places: Vec<(&str, Split)> = all.map(|function| (function.repository.as_str(), function.split)).collect();
        Ok(Report {
            version: VERSION,
            experiment: experiment.name.clone(),
            identity: identity(experiment, base)?,
            rewards: None,
            arms: summarize(&self.predictions, &arms, seed),
            comparisons: pairs.flat_map(difference).collect(),
            breakdown: breakdown(&self.predictions, &arms, arms.last().copied().unwrap_or_default(), seed),
            figures: self.figures(),
            curves: curves(run)?,
            corpus: data::summary_of(&experiment.setting(), &self.crawled, &places)?,
            notes: self.notes(),
            timing,
        })
    }

    /// Returns what decoding did and cost, by arm.
    fn figures(&self) -> Vec<Figure> {
        let mut figures = Vec::new();
        let mut figure = |name: &str, unit: &str, value: &dyn Fn(&[&Written]) -> f64| {
            let own = |arm: &String| {
                let texts: Vec<&Written> = self.written.iter().filter(|text| text.arm == *arm).collect();
                (arm.clone(), value(&texts))
            };
            let mut arms: BTreeMap<String, f64> = self.arms.iter().filter(|arm| *arm != BASELINE).map(own).collect();
            let of_baseline = self.baseline_figures.iter().find(|figure| figure.name == name);
            let of_baseline = of_baseline.and_then(|figure| figure.arms.get(PLAIN));
            arms.extend(of_baseline.map(|value| (BASELINE.to_owned(), *value)));
            figures.push(Figure { name: name.to_owned(), unit: unit.to_owned(), arms });
        };
        let sum =
            |texts: &[&Written], value: &dyn Fn(&Written) -> f64| texts.iter().map(|text| value(text)).sum::<f64>();
        let tokens = |text: &Written| text.tokens.values().sum::<usize>() as f64;
        figure("texts that end by themselves", "share", &|texts| {
            sum(texts, &|text| f64::from(u8::from(text.is_whole))) / texts.len() as f64
        });
        for step in ["sampled", "trigger", "chosen", "forced"] {
            figure(&format!("tokens: {step}"), "", &|texts| {
                sum(texts, &|text| text.tokens.get(step).copied().unwrap_or_default() as f64)
            });
        }
        for outcome in ["inserted", "nothing", "unsure", "deadline", "failed", "cut_short"] {
            figure(&format!("triggers: {outcome}"), "", &|texts| {
                sum(texts, &|text| text.outcomes.get(outcome).copied().unwrap_or_default() as f64)
            });
        }
        figure("time per token", "ms", &|texts| 1e3 * sum(texts, &|text| text.seconds) / sum(texts, &tokens));
        figure("completion tool", "share of the time", &|texts| {
            sum(texts, &|text| text.tool_seconds) / sum(texts, &|text| text.seconds)
        });
        figures
    }

    fn notes(&self) -> Vec<String> {
        let dropped = self.functions.dropped.iter();
        let dropped = dropped.map(|((split, reason), n)| format!("{split}: {n} functions were left out: {reason}."));
        [format!("Test: {}.", self.described)].into_iter().chain(dropped).collect()
    }
}

/// Refuses the predictions of a run on other functions.
fn check_baseline(functions: &[StoredFunction], baseline: &[Written]) -> anyhow::Result<()> {
    let own: Vec<String> = functions.iter().map(sample_id).collect();
    ensure!(
        baseline.is_empty() || baseline.iter().map(|text| &text.sample).eq(&own),
        "evaluation.baseline was run on other functions: give both runs the same [dataset], [generator] and seed"
    );
    Ok(())
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

/// Sees to it that every text fits the context, and folds an adapter into the weights.
fn prepare(
    experiment: &GeneratorExperiment,
    generator: &mut Decoder,
    functions: &[StoredFunction],
) -> anyhow::Result<()> {
    let layout = experiment.layout.layout();
    let prompt = |function| layout.prompt_tokens(&BareFunction::new(function).header(), generator.tokenizer());
    let prompts: Vec<Vec<u32>> = functions.iter().map(prompt).collect();
    let longest = prompts.iter().map(Vec::len).max().unwrap_or(0);
    let (room, wanted) = (generator.new_tokens_max(longest), experiment.evaluation.tokens_max);
    ensure!(
        room >= wanted,
        "evaluation.tokens_max is {wanted}, and after the longest prompt the generator can write {room}"
    );
    if experiment.adapter.is_some() {
        generator.merge(&prompts[..1], DRIFT_MAX)?;
    }
    Ok(())
}

fn identity(experiment: &GeneratorExperiment, base: &Located) -> anyhow::Result<BTreeMap<String, String>> {
    let adapter = experiment.adapter.as_ref().map_or_else(
        || "none, all weights trained".to_owned(),
        |adapter| format!("rank {}, alpha {} on {}", adapter.rank, adapter.alpha, adapter.targets.join(", ")),
    );
    let triggers = &experiment.dataset.triggers;
    Ok([
        ("generator", format!("{} ({})", base.name, &base.fingerprint[..12])),
        ("adapter", adapter),
        ("dataset", functions::fingerprint(experiment)?[..12].to_owned()),
        ("triggers", format!("{:?} eligibility, {:?} context", triggers.eligibility, triggers.context).to_lowercase()),
        ("layout", format!("{}, loss on the {:?}", experiment.layout.form, experiment.loss()).to_lowercase()),
        ("seed", experiment.seed.to_string()),
        ("retort", env!("CARGO_PKG_VERSION").to_owned()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into())
}

fn curves(run: &RunDirectory) -> anyhow::Result<Vec<Curve>> {
    let (mut training, mut validation, mut norms) = (Vec::new(), Vec::new(), Vec::new());
    for line in metrics_log::read::<Line>(&run.metrics())? {
        match line {
            Line::Step(line) => {
                training.push((line.step as f64, line.loss));
                norms.push((line.step as f64, line.gradient_norm));
            }
            Line::Validation(line) => validation.push((line.step as f64, line.loss)),
        }
    }
    let series = |name: &str, points| Series { name: name.to_owned(), points };
    let curve = |name: &str, unit: &str, series| Curve {
        name: name.to_owned(),
        x: "step".to_owned(),
        unit: unit.to_owned(),
        series,
    };
    let losses = vec![series("training batch", training), series("validation functions", validation)];
    Ok(vec![
        curve("Loss", "nats per token", losses),
        curve("Gradient norm", "L2 norm", vec![series("before clipping", norms)]),
    ])
}
