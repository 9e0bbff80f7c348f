//! `--dry-run`: the resolved experiment and what it would do, before it does anything.

use std::io::Write;
use std::time::Instant;

use burn::module::Module;
use burn::tensor::{Distribution, Tensor};
use corpus::manifest::Manifest;
use models::Decoder;
use models::encoder::Encoder;

use crate::experiment::{Experiment, GeneratorExperiment, ModelConfig, RetrieverExperiment};
use crate::pipeline::{Options, Store};

/// Bytes of a number.
const F32: f64 = 4.0;
/// Copies of the encoder's weights that training holds: weights, gradient, two moments, and the sum of gradients.
const TRAINING_COPIES: f64 = 5.0;

/// What an experiment would do.
struct Plan {
    repositories: usize,
    samples: [usize; 3],
    steps: usize,
    scored_tokens: f64,
    encoded_tokens: f64,
    generated_tokens: f64,
    evaluated_tokens: f64,
}

impl Plan {
    fn of(experiment: &RetrieverExperiment) -> anyhow::Result<Self> {
        let manifest = Manifest::load(&experiment.setting().manifest)?;
        let samples = &experiment.dataset.samples;
        let samples = [&samples.train, &samples.validation, &samples.test].map(|kinds| kinds.values().sum::<usize>());
        let schedule = experiment.schedule(samples[0]);
        let epochs = experiment.training.epochs as f64;
        let per_epoch = match experiment.training.samples_per_epoch {
            0 => samples[0],
            n => n.min(samples[0]),
        };
        // Fresh samples are scored once; a sample that comes again finds most of its scores in the cache.
        let distinct = (per_epoch as f64 * epochs).min(samples[0] as f64);
        let chosen = experiment.retrieval.top_k as f64 + 1.0;
        let read = (experiment.prompt.context_tokens_max + experiment.reward.target_tokens_max) as f64;
        let visits = per_epoch as f64 * epochs + samples[1] as f64 * (epochs + 1.0);
        let ranked = experiment.retrieval.prefilter as f64 + 1.0;
        let candidate = experiment.encoder.candidate_tokens_max as f64;
        let arms = experiment.evaluation.arms.len() as f64 * samples[2] as f64;
        Ok(Self {
            repositories: manifest.sources.len(),
            samples,
            steps: schedule.steps_total(),
            scored_tokens: (distinct + samples[1] as f64) * chosen * read,
            encoded_tokens: visits * ranked * candidate + 3.0 * per_epoch as f64 * epochs * chosen * candidate,
            generated_tokens: arms * experiment.evaluation.generation_tokens_max as f64,
            evaluated_tokens: arms * experiment.evaluation.prompt.context_tokens_max as f64,
        })
    }
}

/// Prints the resolved experiment and its plan.
///
/// # Errors
///
/// Returns an error if the manifest or a model that lies on this machine cannot be read.
pub fn print(experiment: &Experiment, options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    match experiment {
        Experiment::Retriever(experiment) => retriever(experiment, options, out),
        Experiment::Generator(experiment) => generator(experiment, options, out),
    }
}

/// Prints a generator's experiment; how many functions there are is known once they are marked.
fn generator(experiment: &GeneratorExperiment, options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let setting = experiment.setting();
    let manifest = Manifest::load(&setting.manifest)?;
    writeln!(out, "{}", toml::to_string(experiment)?)?;
    writeln!(out, "# Plan")?;
    writeln!(out, "run directory     {}", options.run_directory.display())?;
    writeln!(out, "dataset           {}", setting.dataset.display())?;
    writeln!(out, "sources           {}", manifest.sources.len())?;
    let n_functions = experiment.dataset.functions.train_max;
    if n_functions == 0 {
        writeln!(out, "functions         all that the repositories have: see `--until samples`")?;
        return Ok(());
    }
    let schedule = experiment.schedule(n_functions);
    let tokens = (n_functions * experiment.training.epochs * experiment.layout.tokens_max) as f64;
    writeln!(out, "functions         {n_functions} to learn from, at most")?;
    writeln!(out, "optimizer steps   {}", schedule.steps_total())?;
    writeln!(out, "tokens, at most   {} through the generator", millions(tokens))?;
    Ok(())
}

fn retriever(experiment: &RetrieverExperiment, options: &Options, out: &mut dyn Write) -> anyhow::Result<()> {
    let plan = Plan::of(experiment)?;
    writeln!(out, "{}", toml::to_string(experiment)?)?;
    writeln!(out, "# Plan")?;
    writeln!(out, "run directory     {}", options.run_directory.display())?;
    writeln!(out, "dataset           {}", experiment.setting().dataset.display())?;
    writeln!(out, "sources           {}", plan.repositories)?;
    let [train, validation, test] = plan.samples;
    writeln!(out, "samples           {train} train, {validation} validation, {test} test")?;
    writeln!(out, "optimizer steps   {}", plan.steps)?;
    writeln!(out, "tokens, at most   {} scored by the evaluator", millions(plan.scored_tokens))?;
    writeln!(out, "                  {} through the encoder", millions(plan.encoded_tokens))?;
    let (read, written) = (millions(plan.evaluated_tokens), millions(plan.generated_tokens));
    writeln!(out, "                  {read} read and {written} written by the generator")?;
    match Sizes::of(experiment, options)? {
        None => writeln!(out, "memory and time   unknown until the models are in the cache (`train fetch`)")?,
        Some(sizes) => {
            let bytes = F32 * (TRAINING_COPIES * sizes.encoder + sizes.evaluator.max(sizes.generator));
            writeln!(out, "weights           {:.1} GB", bytes / 1e9)?;
            let seconds = sizes.operations(&plan) / operations_per_second(experiment)?;
            writeln!(out, "time, at most     about {:.0} min on this machine's device", seconds / 60.0)?;
        }
    }
    Ok(())
}

fn millions(n: f64) -> String {
    format!("{:.2} M", n / 1e6)
}

/// Numbers of parameters.
struct Sizes {
    encoder: f64,
    evaluator: f64,
    generator: f64,
}

impl Sizes {
    /// Counts the parameters of the models that lie on this machine; `None` if one does not.
    fn of(experiment: &RetrieverExperiment, options: &Options) -> anyhow::Result<Option<Self>> {
        let offline = Options {
            run_directory: options.run_directory.clone(),
            cache: options.cache.clone(),
            offline: true,
            ..*options
        };
        let store = Store::new(&experiment.setting(), &offline);
        let find =
            |config: &ModelConfig| if config.model.starts_with("random:") { None } else { store.locate(config).ok() };
        let device = models::device::resolve(&"auto".parse()?)?;
        let decoder = |config: &ModelConfig| -> anyhow::Result<Option<f64>> {
            let Some(path) = find(config) else { return Ok(None) };
            Ok(Some(Decoder::load(&path, &device)?.model().num_params() as f64))
        };
        let (Some(encoder), Some(evaluator)) = (find(&experiment.encoder.source()), decoder(&experiment.evaluator)?)
        else {
            return Ok(None);
        };
        let generator = if experiment.generator() == &experiment.evaluator {
            Some(evaluator)
        } else {
            decoder(experiment.generator())?
        };
        let encoder = Encoder::load(&encoder, &device)?.model.num_params() as f64;
        Ok(generator.map(|generator| Self { encoder, evaluator, generator }))
    }

    /// Counts multiplications and additions: two for each parameter and token.
    fn operations(&self, plan: &Plan) -> f64 {
        let generated = plan.evaluated_tokens + plan.generated_tokens;
        2.0 * (self.evaluator * plan.scored_tokens + self.encoder * plan.encoded_tokens + self.generator * generated)
    }
}

/// Measures the device on a matrix product of the size that the models compute.
fn operations_per_second(experiment: &RetrieverExperiment) -> anyhow::Result<f64> {
    const SIDE: usize = 768;
    const PRODUCTS: u32 = 20;
    let device = models::device::resolve(&experiment.hardware.device.parse()?)?;
    let matrix = Tensor::<2>::random([SIDE, SIDE], Distribution::Default, &device);
    let mut product = matrix.clone().matmul(matrix.clone());
    let started = Instant::now();
    for _ in 0..PRODUCTS {
        product = matrix.clone().matmul(product).div_scalar(SIDE as f64);
    }
    drop(product.sum().into_data());
    Ok(2.0 * (SIDE as f64).powi(3) * f64::from(PRODUCTS) / started.elapsed().as_secs_f64())
}
