//! What a well-formed experiment file must also satisfy.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::evaluation::Arm;

use super::{EXPERIMENT_VERSION, GeneratorExperiment, PromptConfig, RetrieverExperiment, RewardRule, Setting};

/// Most samples of one kind in a split.
const SAMPLES_MAX: usize = 100_000_000;

/// A key whose value cannot be used.
pub(super) struct Problem {
    /// The dotted key.
    pub(super) key: String,
    /// What is wrong with its value.
    pub(super) reason: String,
}

/// Checks what experiments of every kind have.
fn setting(version: u32, setting: &Setting) -> Result<(), Problem> {
    require(
        "version",
        version == EXPERIMENT_VERSION,
        format!("must be {EXPERIMENT_VERSION}, the version this build reads"),
    )?;
    let name_is_safe = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    require(
        "name",
        setting.name.chars().all(name_is_safe) && !setting.name.starts_with('.'),
        "may hold only letters, digits, `-`, `_` and `.`",
    )?;
    let hardware = &setting.hardware;
    require(
        "hardware.device",
        models::device::DeviceSpec::from_str(&hardware.device).is_ok(),
        "must be auto, cpu or cuda:N",
    )?;
    require("hardware.threads", hardware.threads <= 1024, "must be at most 1024")?;
    require(
        "dataset.manifest",
        setting.directory.as_os_str().is_empty() || setting.manifest.extension().is_some(),
        format!("must name a TOML file, not {}", setting.manifest.display()),
    )
}

/// Checks every value of a retriever's experiment that its type leaves open.
pub(super) fn retriever(experiment: &RetrieverExperiment) -> Result<(), Problem> {
    setting(experiment.version, &experiment.setting())?;
    dataset(experiment)?;
    models(experiment)?;
    loops(experiment)?;
    evaluation(experiment)
}

/// Checks every value of a generator's experiment that its type leaves open.
pub(super) fn generator(experiment: &GeneratorExperiment) -> Result<(), Problem> {
    setting(experiment.version, &experiment.setting())?;
    experiment.check()
}

pub(super) fn require(key: &str, holds: bool, reason: impl Into<String>) -> Result<(), Problem> {
    if holds { Ok(()) } else { Err(Problem { key: key.to_owned(), reason: reason.into() }) }
}

pub(super) fn positive(key: &str, value: f64) -> Result<(), Problem> {
    require(key, value.is_finite() && value > 0.0, "must be positive")
}

pub(super) fn at_least_one(key: &str, value: usize) -> Result<(), Problem> {
    require(key, value > 0, "must be at least 1")
}

pub(super) fn share(key: &str, value: f64) -> Result<(), Problem> {
    require(key, (0.0..=1.0).contains(&value), "must lie between 0 and 1")
}

pub(super) fn decay(key: &str, value: f32) -> Result<(), Problem> {
    require(key, (0.0..1.0).contains(&value), "must be at least 0 and below 1")
}

fn weight(key: &str, value: f64) -> Result<(), Problem> {
    require(key, value > 0.0 && value <= 1e6, "must be positive and at most 1000000")
}

fn dataset(experiment: &RetrieverExperiment) -> Result<(), Problem> {
    let samples = &experiment.dataset.samples;
    for (split, kinds) in [("train", &samples.train), ("validation", &samples.validation), ("test", &samples.test)] {
        let key = format!("dataset.samples.{split}");
        for kind in kinds.keys() {
            require(
                &key,
                repo::targets::TargetKind::from_str(kind).is_ok(),
                format!("has the unknown target kind `{kind}`; the kinds are span, line and api_call"),
            )?;
        }
        let few = kinds.values().all(|&n| n <= SAMPLES_MAX);
        require(&key, few, format!("must ask for at most {SAMPLES_MAX} samples of a kind"))?;
        require(&key, total(kinds) > 0, "must ask for at least one sample")?;
    }
    let span = &experiment.dataset.span;
    share("dataset.span.start_min", span.start_min)?;
    share("dataset.span.start_max", span.start_max)?;
    require("dataset.span.start_min", span.start_min <= span.start_max, "must not exceed dataset.span.start_max")?;
    at_least_one("dataset.span.pieces_min", span.pieces_min)?;
    require(
        "dataset.span.pieces_max",
        span.pieces_max >= span.pieces_min,
        "must not be below dataset.span.pieces_min",
    )?;
    at_least_one("dataset.span.attempts_max", span.attempts_max)?;
    at_least_one("candidates.lines_max", experiment.candidates.lines_max)
}

fn total(kinds: &BTreeMap<String, usize>) -> usize {
    kinds.values().sum()
}

fn models(experiment: &RetrieverExperiment) -> Result<(), Problem> {
    let generator = experiment.generator.as_ref().map(|generator| ("generator.model", &generator.model));
    let named = [("encoder.model", &experiment.encoder.model), ("evaluator.model", &experiment.evaluator.model)];
    named.into_iter().chain(generator).try_for_each(|(key, name)| model(key, name))?;
    let encoder = &experiment.encoder;
    at_least_one("encoder.query_lines_max", encoder.query_lines_max)?;
    require("encoder.query_tokens_max", encoder.query_tokens_max >= 8, "must be at least 8")?;
    require("encoder.candidate_tokens_max", encoder.candidate_tokens_max >= 8, "must be at least 8")?;
    require(
        "encoder.batch_tokens_max",
        encoder.batch_tokens_max >= encoder.candidate_tokens_max.max(encoder.query_tokens_max),
        "must hold at least one query and one candidate",
    )?;
    prompt("prompt", &experiment.prompt)?;
    prompt("evaluation.prompt", &experiment.evaluation.prompt)
}

/// Checks the name of a model.
pub(super) fn model(key: &str, name: &str) -> Result<(), Problem> {
    crate::weights::ModelSource::parse(name)
        .map(drop)
        .map_err(|reason| Problem { key: key.to_owned(), reason: format!("cannot be `{name}`: {reason}") })
}

fn prompt(section: &str, prompt: &PromptConfig) -> Result<(), Problem> {
    require(
        &format!("{section}.context_tokens_max"),
        prompt.context_tokens_max >= prompt.cross_tokens_max.saturating_add(prompt.right_tokens_max).saturating_add(32),
        format!(
            "must leave at least 32 tokens beside {section}.cross_tokens_max and {section}.right_tokens_max for the left context"
        ),
    )
}

fn loops(experiment: &RetrieverExperiment) -> Result<(), Problem> {
    let retrieval = &experiment.retrieval;
    at_least_one("retrieval.prefilter", retrieval.prefilter)?;
    require("retrieval.top_k", retrieval.top_k >= 2, "must be at least 2: one candidate is no choice")?;
    require(
        "retrieval.prefilter",
        retrieval.prefilter + 1 >= retrieval.top_k,
        "must not be below retrieval.top_k - 1",
    )?;
    let reward = &experiment.reward;
    weight("reward.identifier_weight", reward.identifier_weight)?;
    weight("reward.first_token_weight", reward.first_token_weight)?;
    at_least_one("reward.target_tokens_max", reward.target_tokens_max)?;
    positive("reward.softness", reward.softness)?;
    require("reward.draws", reward.draws >= 2, "must be at least 2: each draw is held against the others")?;
    let optimizer = &experiment.optimizer;
    positive("optimizer.learning_rate", optimizer.learning_rate)?;
    decay("optimizer.beta_1", optimizer.beta_1)?;
    decay("optimizer.beta_2", optimizer.beta_2)?;
    positive("optimizer.epsilon", f64::from(optimizer.epsilon))?;
    require("optimizer.weight_decay", optimizer.weight_decay >= 0.0, "must not be negative")?;
    share("optimizer.warmup_fraction", optimizer.warmup_fraction)?;
    positive("optimizer.gradient_norm_max", optimizer.gradient_norm_max)?;
    let training = &experiment.training;
    at_least_one("training.epochs", training.epochs)?;
    at_least_one("training.batch_size", training.batch_size)?;
    at_least_one("training.micro_batch_size", training.micro_batch_size)?;
    at_least_one("training.checkpoints_max", training.checkpoints_max)?;
    require(
        "training.in_batch_negatives",
        !(training.in_batch_negatives && reward.rule == RewardRule::Sampled),
        "must be off with `reward.rule = \"sampled\"`, whose draws come from a sample's own candidates",
    )?;
    positive("training.temperature", training.temperature)
}

fn evaluation(experiment: &RetrieverExperiment) -> Result<(), Problem> {
    let evaluation = &experiment.evaluation;
    let retrievers = experiment.retrievers();
    for (position, name) in retrievers.iter().enumerate() {
        let is_new = !retrievers[..position].contains(name) && Arm::parse(name, &[]).is_none();
        require("evaluation.retrievers", is_new, format!("uses the name `{name}`, which means something else"))?;
    }
    arms(&evaluation.arms, &Arm::names(&retrievers), |name| Arm::parse(name, &retrievers).is_some())?;
    let benchmark = evaluation.benchmark.as_ref();
    if let Some(format) = benchmark.and_then(|benchmark| benchmark.format.as_ref()) {
        let parsed = format.parse::<eval::benchmark::Format>();
        require("evaluation.benchmark.format", parsed.is_ok(), parsed.err().unwrap_or_default())?;
    }
    let is_given = !evaluation.arms.iter().any(|arm| arm == "given") || benchmark.is_some();
    require("evaluation.arms", is_given, "has the arm `given`, which shows what `evaluation.benchmark` gives")?;
    let has_files = benchmark.is_none_or(|benchmark| benchmark.repositories.is_some());
    let needs_files = experiment.arms().iter().any(Arm::retrieves);
    require(
        "evaluation.benchmark.repositories",
        has_files || !needs_files,
        "must name a folder for arms other than none and given",
    )?;
    at_least_one("evaluation.bm25_top_k", evaluation.bm25_top_k)?;
    let repocoder = &evaluation.repocoder;
    require("evaluation.repocoder.window_lines", repocoder.window_lines >= 2, "must be at least 2")?;
    at_least_one("evaluation.repocoder.window_step", repocoder.window_step)?;
    at_least_one("evaluation.repocoder.iterations", repocoder.iterations)?;
    at_least_one("evaluation.repocoder.adaptive_iterations_max", repocoder.adaptive_iterations_max)?;
    let tests = &evaluation.tests;
    at_least_one("evaluation.tests.processes_max", tests.processes_max)?;
    for (key, value) in [
        ("seconds_max", tests.seconds_max),
        ("memory_mib_max", tests.memory_mib_max),
        ("files_mib_max", tests.files_mib_max),
    ] {
        let is_possible = (1..1 << 30).contains(&value);
        require(&format!("evaluation.tests.{key}"), is_possible, "must be at least 1 and below 2^30")?;
    }
    for (name, suite) in &tests.suites {
        let key = format!("evaluation.tests.suites.{name}.command");
        require(&key, !suite.command.trim().is_empty(), "must name a program")?;
    }
    at_least_one("evaluation.generation_tokens_max", evaluation.generation_tokens_max)
}

/// Checks that there are arms, each of them known and named once.
pub(super) fn arms(arms: &[String], names: &str, is_known: impl Fn(&str) -> bool) -> Result<(), Problem> {
    require("evaluation.arms", !arms.is_empty(), "must name at least one arm")?;
    for (position, arm) in arms.iter().enumerate() {
        let reason = format!("has the unknown arm `{arm}`; the arms are {names}");
        require("evaluation.arms", is_known(arm), reason)?;
        require("evaluation.arms", !arms[..position].contains(arm), format!("names `{arm}` twice"))?;
    }
    Ok(())
}
