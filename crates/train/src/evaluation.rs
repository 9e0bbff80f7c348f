//! Held-out evaluation: every arm on the same samples, with the same generator and the same prompts.
//!
//! Each arm's first choice is also judged by the evaluator, alone in its prompt, as in training: what the policy is worth
//! by the measure that taught it, without the luck of decoding.

mod arm;
mod choices;
mod iterate;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use eval::pass_rate::{Change, End, PassRate};
use eval::report::{Prediction, ShownCandidate};
use inference::complete::{Completer, Completion, CompletionRequest};
use inference::greedy::Stop;
use inference::perplexity::{WeightRule, WeightedTarget, mean_nll, weighted_nll};
use inference::prompt::{self, Shown};
use inference::strategies::{Chosen, Ranked};
use models::encoder::Encoder;
use models::{Decoder, Workers};
use repo::candidates::Candidate;
use repo::targets::TargetKind;

pub use arm::{Arm, TRAINED, UNTRAINED};
use choices::Chooser;
use iterate::{Iterated, Iterations};

use crate::answers::{Answer, AnswerStore};
use crate::evaluator::{Evaluator, Interrupted};
use crate::experiment::{RetrieverExperiment, StopName};
use crate::policy;
use crate::progress::Progress;
use crate::reward::Score;
use crate::task::Task;

/// Lines of the left context that a report shows.
const TAIL_LINES: usize = 12;
/// Samples completed between two looks at the interrupter; their candidates share encoding batches.
const CHUNK: usize = 8;

impl Answer for Prediction {
    fn sample(&self) -> &str {
        &self.sample
    }

    fn arm(&self) -> &str {
        &self.arm
    }
}

/// What an evaluation works with.
#[derive(Clone, Copy)]
pub struct Evaluation<'a> {
    /// The experiment.
    pub experiment: &'a RetrieverExperiment,
    /// The language model that completes.
    pub generator: &'a Decoder,
    /// The dense retrievers by name.
    pub retrievers: &'a BTreeMap<String, Encoder>,
    /// The tests of repositories, for the pass rate.
    pub tests: &'a PassRate,
    /// Threads.
    pub workers: &'a Workers,
    /// Set by SIGTERM and SIGINT.
    pub interrupter: &'a burn::train::Interrupter,
}

/// What an arm made of a task so far.
struct Draft {
    arm: usize,
    task: usize,
    chosen: Chosen,
    /// The completion of an arm that writes while it chooses.
    written: Option<Iterated>,
}

impl<'a> Evaluation<'a> {
    /// Completes every task under every arm, and measures; what is in an arm's store already is not done again.
    ///
    /// `evaluator` judges what is chosen; `stores` are those of the arms, in their order.
    ///
    /// # Errors
    ///
    /// Returns [`Interrupted`] after a signal, or an error if the generator's context is too short or an answer cannot
    /// be kept.
    ///
    /// # Panics
    ///
    /// Panics if there is not one store for each arm.
    pub fn run(
        &self,
        evaluator: &mut Evaluator,
        arms: &'a [Arm],
        mut stores: Vec<AnswerStore<Prediction>>,
        tasks: &'a [Task],
    ) -> anyhow::Result<Vec<Prediction>> {
        assert_eq!(arms.len(), stores.len(), "every arm has a store");
        let progress = Progress::new("evaluating", arms.len() * tasks.len(), "completions");
        let names: Vec<String> = arms.iter().map(Arm::to_string).collect();
        let done: Vec<BTreeSet<String>> = stores.iter().zip(&names).map(|(store, name)| store.samples(name)).collect();
        let targets: Vec<WeightedTarget> = tasks.iter().map(|task| self.target(task)).collect();
        let mut iterations = Iterations::new(self.experiment, self.generator, self.retrievers, self.workers);
        for (tasks, targets) in tasks.chunks(CHUNK).zip(targets.chunks(CHUNK)) {
            let is_missing = |arm: usize, task: &Task| !done[arm].contains(&task.sample.id);
            let drafts = self.draft(evaluator, &mut iterations, arms, (tasks, targets), is_missing)?;
            progress.add(arms.len() * tasks.len() - drafts.len());
            for (arm, prediction) in self.finish(evaluator, &names, (tasks, targets), &drafts)? {
                stores[arm].add(prediction)?;
                progress.add(1);
            }
        }
        let samples: Vec<String> = tasks.iter().map(|task| task.sample.id.clone()).collect();
        Ok(stores.into_iter().flat_map(|store| store.finish(&names, &samples)).collect())
    }

    /// Lets each arm choose that misses any of these tasks, always for all of them, so that an interruption changes
    /// nothing about what is encoded together.
    fn draft(
        &self,
        evaluator: &mut Evaluator,
        iterations: &mut Iterations<'a>,
        arms: &'a [Arm],
        (tasks, targets): (&'a [Task], &[WeightedTarget]),
        is_missing: impl Fn(usize, &Task) -> bool,
    ) -> anyhow::Result<Vec<Draft>> {
        let completer = self.completer()?;
        let mut chooser = Chooser::new(self.experiment, self.retrievers, self.workers, tasks);
        let mut drafts = Vec::new();
        for (arm, kind) in arms.iter().enumerate() {
            if !tasks.iter().any(|task| is_missing(arm, task)) {
                continue;
            }
            if self.interrupter.should_stop() {
                return Err(Interrupted.into());
            }
            let requests = tasks.iter().zip(targets).map(|(task, target)| (task, self.request(task, target)));
            let answers: Vec<(Chosen, Option<Iterated>)> = if kind.iterates() {
                let iterated = iterations.complete(kind, &completer, &requests.collect::<Vec<_>>())?;
                iterated.into_iter().map(|written| (written.completion.chosen.clone(), Some(written))).collect()
            } else {
                chooser.choose(kind, evaluator)?.into_iter().map(|chosen| (chosen, None)).collect()
            };
            let missing = answers.into_iter().enumerate().filter(|(task, _)| is_missing(arm, &tasks[*task]));
            drafts.extend(missing.map(|(task, (chosen, written))| Draft { arm, task, chosen, written }));
        }
        Ok(drafts)
    }

    /// Completes what is not written yet, and measures.
    fn finish(
        &self,
        evaluator: &mut Evaluator,
        names: &[String],
        (tasks, targets): (&[Task], &[WeightedTarget]),
        drafts: &[Draft],
    ) -> anyhow::Result<Vec<(usize, Prediction)>> {
        let first_choices = first_choices(evaluator, tasks, drafts)?;
        let completions = self.complete((tasks, targets), drafts)?;
        let rows = drafts.iter().zip(&completions).zip(first_choices).collect();
        let predictions =
            self.workers.map(rows, |_, ((draft, completion), first_choice): ((&Draft, &Completion), Score)| {
                let (task, target) = (&tasks[draft.task], &targets[draft.task]);
                let mut prediction = self.prediction(&names[draft.arm], task, target, completion, first_choice);
                let iterations =
                    draft.written.as_ref().map(|written| ("iterations".to_owned(), written.iterations as f64));
                prediction.metrics.extend(iterations);
                let passes = self.pass_rate(task, &prediction.prediction)?.map(|rate| ("pass_rate".to_owned(), rate));
                prediction.metrics.extend(passes);
                Ok((draft.arm, prediction))
            });
        predictions.into_iter().collect()
    }

    /// Returns whether the tests of the task's repository pass with a prediction, if they can tell.
    fn pass_rate(&self, task: &Task, prediction: &str) -> anyhow::Result<Option<f64>> {
        let sample = &task.sample;
        let change = Change {
            path: &sample.path,
            left_context: &sample.left_context,
            target: &sample.target,
            right_context: &sample.right_context,
            prediction,
            end: if sample.kind == TargetKind::Function { End::Body } else { End::Lines },
        };
        Ok(self.tests.judge(&sample.repository, &change)?.pass_rate())
    }

    /// Returns the completion of each draft; equal prompts of one task are completed once.
    fn complete(
        &self,
        (tasks, targets): (&[Task], &[WeightedTarget]),
        drafts: &[Draft],
    ) -> anyhow::Result<Vec<Completion>> {
        if self.interrupter.should_stop() {
            return Err(Interrupted.into());
        }
        let completer = self.completer()?;
        let tokenizer = self.generator.tokenizer();
        let prompts = self.workers.map(drafts.iter().collect(), |_, draft| match &draft.written {
            Some(written) => written.completion.prompt.clone(),
            None => prompt::build(tokenizer, &completer.prompt, tasks[draft.task].cursor(), &draft.chosen.kept()),
        });
        let mut distinct: BTreeMap<(usize, &[u32]), usize> = BTreeMap::new();
        for (index, (draft, prompt)) in drafts.iter().zip(&prompts).enumerate() {
            if draft.written.is_none() {
                distinct.entry((draft.task, &prompt.tokens)).or_insert(index);
            }
        }
        let first: Vec<usize> = distinct.values().copied().collect();
        let of = |index: &usize| (drafts[*index].task, &drafts[*index].chosen, &prompts[*index]);
        let requests: Vec<_> =
            first.iter().map(of).map(|(task, ..)| self.request(&tasks[task], &targets[task])).collect();
        let chosen = first.iter().map(of).map(|(_, chosen, _)| chosen.clone()).collect();
        let own = first.iter().map(of).map(|(.., prompt)| prompt.clone()).collect();
        let completions = completer.write_after(&requests, chosen, own, &|_| {});
        let completions = completions.context("the evaluation's prompts do not fit")?;
        let by_index: BTreeMap<usize, &Completion> = first.iter().copied().zip(&completions).collect();
        let completion = |(draft, prompt): (&Draft, &prompt::Prompt)| {
            if let Some(written) = &draft.written {
                return written.completion.clone();
            }
            let same = by_index[&distinct[&(draft.task, prompt.tokens.as_slice())]];
            Completion { chosen: draft.chosen.clone(), prompt: prompt.clone(), ..same.clone() }
        };
        Ok(drafts.iter().zip(&prompts).map(completion).collect())
    }

    fn completer(&self) -> anyhow::Result<Completer<'a>> {
        let evaluation = &self.experiment.evaluation;
        Ok(Completer {
            decoder: self.generator,
            workers: self.workers,
            strategy: policy::base_strategy(self.experiment),
            prompt: evaluation.prompt.rule(self.generator)?,
            tokens_max: evaluation.generation_tokens_max,
        })
    }

    fn target(&self, task: &Task) -> WeightedTarget {
        let sample = &task.sample;
        let reward = &self.experiment.reward;
        let (_, seam) = inference::Seam::from(self.experiment.evaluation.prompt.seam).split(&sample.left_context);
        let (tokens_max, rule) = (reward.target_tokens_max, WeightRule::from(reward));
        WeightedTarget::new(self.generator.tokenizer(), seam, &sample.target, sample.language, tokens_max, &rule)
    }

    fn request<'t>(&self, task: &'t Task, target: &'t WeightedTarget) -> CompletionRequest<'t> {
        let stop = match self.experiment.evaluation.stop {
            StopName::Never => Stop::Never,
            StopName::TargetLines => {
                let lines = task.sample.target.lines().filter(|line| !line.trim().is_empty()).count();
                Stop::Lines(lines.max(1))
            }
        };
        CompletionRequest { cursor: task.cursor(), candidates: &task.candidates, stop, target: Some(target) }
    }

    fn prediction(
        &self,
        arm: &str,
        task: &Task,
        target: &WeightedTarget,
        completion: &Completion,
        first_choice: Score,
    ) -> Prediction {
        let sample = &task.sample;
        let nll = &completion.target_nll;
        let variant = self.experiment.reward.formula.into();
        let likelihoods = [
            ("nll", mean_nll(nll)),
            ("weighted_nll", weighted_nll(nll, &target.weights, variant)),
            ("first_choice_nll", first_choice.nll),
            ("first_choice_weighted_nll", first_choice.weighted_nll),
        ];
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

/// Returns what the first choice of each draft is worth to the evaluator; no choice is no candidate.
fn first_choices(evaluator: &mut Evaluator, tasks: &[Task], drafts: &[Draft]) -> anyhow::Result<Vec<Score>> {
    let first = |draft: &Draft| draft.chosen.ranked.first().map_or(Candidate::Stop, |ranked| ranked.candidate.clone());
    let first: Vec<Candidate> = drafts.iter().map(first).collect();
    let candidates: Vec<Vec<&Candidate>> = first.iter().map(|candidate| vec![candidate]).collect();
    let asked: Vec<&Task> = drafts.iter().map(|draft| &tasks[draft.task]).collect();
    let scores = evaluator.score_alone(&asked, &candidates)?;
    Ok(scores.into_iter().map(|scores| scores[0]).collect())
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
