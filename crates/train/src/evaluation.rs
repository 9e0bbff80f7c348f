//! Held-out evaluation: every arm on the same samples, with the same generator and the same prompts.

use anyhow::Context;
use eval::report::{Prediction, ShownCandidate};
use inference::complete::{Completer, Completion, CompletionRequest};
use inference::greedy::Stop;
use inference::perplexity::{WeightRule, WeightedTarget, mean_nll, weighted_nll};
use inference::prompt::Shown;
use inference::strategies::{Arm, Ranked, Strategy};
use models::encoder::Encoder;
use models::{Decoder, Workers};
use repo::candidates::Candidate;

use crate::evaluator::Interrupted;
use crate::experiment::RetrieverExperiment;
use crate::policy;
use crate::progress::Progress;
use crate::task::Task;

/// The arms that an experiment can compare.
pub const ARMS: [&str; 4] = ["none", "bm25", "untrained", "trained"];

/// Lines of the left context that a report shows.
const TAIL_LINES: usize = 12;
/// Samples completed between two looks at the interrupter.
const CHUNK: usize = 4;

/// What an evaluation works with.
pub struct Evaluation<'a> {
    /// The experiment.
    pub experiment: &'a RetrieverExperiment,
    /// The language model that completes.
    pub generator: &'a Decoder,
    /// The encoder before training.
    pub untrained: &'a Encoder,
    /// The encoder after training.
    pub trained: &'a Encoder,
    /// Threads.
    pub workers: &'a Workers,
    /// Set by SIGTERM and SIGINT.
    pub interrupter: &'a burn::train::Interrupter,
}

impl Evaluation<'_> {
    /// Completes every task under every arm, and measures.
    ///
    /// # Errors
    ///
    /// Returns [`Interrupted`] after a signal, or an error if the generator's context is too short.
    pub fn run(&self, tasks: &[Task]) -> anyhow::Result<Vec<Prediction>> {
        let arms = &self.experiment.evaluation.arms;
        let progress = Progress::new("evaluating", arms.len() * tasks.len(), "completions");
        let mut predictions = Vec::new();
        for arm in arms {
            let completer = self.completer(arm);
            for tasks in tasks.chunks(CHUNK) {
                if self.interrupter.should_stop() {
                    return Err(Interrupted.into());
                }
                predictions.extend(self.complete(arm, &completer, tasks)?);
                progress.add(tasks.len());
            }
        }
        Ok(predictions)
    }

    fn completer(&self, arm: &str) -> Completer<'_> {
        let experiment = self.experiment;
        let strategy = match arm {
            "bm25" => {
                let arm = Arm::Bm25 { k: experiment.evaluation.bm25_top_k };
                Strategy { arm, ..policy::base_strategy(experiment) }
            }
            "untrained" => policy::strategy(experiment, self.untrained, self.workers),
            "trained" => policy::strategy(experiment, self.trained, self.workers),
            _ => policy::base_strategy(experiment),
        };
        let evaluation = &experiment.evaluation;
        Completer {
            decoder: self.generator,
            workers: self.workers,
            strategy,
            prompt: evaluation.prompt.rule(self.generator),
            tokens_max: evaluation.generation_tokens_max,
            stop: Stop::Never,
        }
    }

    fn complete(&self, arm: &str, completer: &Completer, tasks: &[Task]) -> anyhow::Result<Vec<Prediction>> {
        let targets: Vec<WeightedTarget> = tasks.iter().map(|task| self.target(task)).collect();
        let requests: Vec<CompletionRequest> = tasks.iter().zip(&targets).map(request).collect();
        let completions = completer.complete(&requests, &|_| {}).context("the evaluation's prompts do not fit")?;
        let rows = tasks.iter().zip(&targets).zip(&completions).collect();
        Ok(self.workers.map(rows, |_, ((task, target), completion)| self.prediction(arm, task, target, completion)))
    }

    fn target(&self, task: &Task) -> WeightedTarget {
        let sample = &task.sample;
        let reward = &self.experiment.reward;
        let (_, seam) = inference::Seam::from(self.experiment.evaluation.prompt.seam).split(&sample.left_context);
        let (tokens_max, rule) = (reward.target_tokens_max, WeightRule::from(reward));
        WeightedTarget::new(self.generator.tokenizer(), seam, &sample.target, sample.language, tokens_max, &rule)
    }

    fn prediction(&self, arm: &str, task: &Task, target: &WeightedTarget, completion: &Completion) -> Prediction {
        let sample = &task.sample;
        let nll = &completion.target_nll;
        let variant = self.experiment.reward.formula.into();
        let likelihoods = [("nll", mean_nll(nll)), ("weighted_nll", weighted_nll(nll, &target.weights, variant))];
        let scores = eval::metrics::score(&sample.left_context, &completion.text, &sample.target, sample.language);
        let metrics = scores.into_iter().chain(likelihoods).map(|(name, value)| (name.to_owned(), value)).collect();
        Prediction {
            sample: sample.id.clone(),
            arm: arm.to_owned(),
            repository: sample.repository.clone(),
            path: sample.path.clone(),
            language: sample.language.to_string(),
            kind: sample.kind.to_string(),
            left_context_tail: tail(&sample.left_context),
            target: sample.target.clone(),
            prediction: completion.text.clone(),
            context: context(completion),
            metrics,
        }
    }
}

fn request<'a>((task, target): (&'a Task, &'a WeightedTarget)) -> CompletionRequest<'a> {
    CompletionRequest { cursor: task.cursor(), candidates: &task.candidates, target: Some(target) }
}

/// Returns everything the arm ranked, best first, with what became of it.
fn context(completion: &Completion) -> Vec<ShownCandidate> {
    let mut shown = completion.prompt.shown.iter();
    let candidate = |ranked: &Ranked| {
        let similarity = f64::from(ranked.similarity);
        let is_shown = ranked.before_stop && shown.next().is_some_and(|shown| *shown != Shown::Not);
        match &ranked.candidate {
            Candidate::Stop => ShownCandidate { similarity, stop: true, ..ShownCandidate::default() },
            Candidate::Code(code) => ShownCandidate {
                path: code.path.clone(),
                lines: (code.lines.start, code.lines.end),
                similarity,
                text: code.code.clone(),
                stop: false,
                shown: is_shown,
            },
        }
    };
    completion.chosen.ranked.iter().map(candidate).collect()
}

fn tail(left_context: &str) -> String {
    let lines: Vec<&str> = left_context.split('\n').collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}
