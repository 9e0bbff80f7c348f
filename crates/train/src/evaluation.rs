//! Held-out evaluation: every arm on the same samples, with the same generator and the same prompts.
//!
//! Each arm's first choice is also judged by the evaluator, alone in its prompt, as in training: what the policy is worth
//! by the measure that taught it, without the luck of decoding.

mod arm;
mod choices;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use eval::report::{Prediction, ShownCandidate};
use inference::complete::{Completer, Completion, CompletionRequest};
use inference::greedy::Stop;
use inference::perplexity::{WeightRule, WeightedTarget, mean_nll, weighted_nll};
use inference::prompt::{self, Shown};
use inference::strategies::{Chosen, Ranked};
use models::encoder::Encoder;
use models::{Decoder, Workers};
use repo::candidates::Candidate;

pub use arm::{Arm, TRAINED, UNTRAINED};
use choices::Chooser;

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
pub struct Evaluation<'a> {
    /// The experiment.
    pub experiment: &'a RetrieverExperiment,
    /// The language model that completes.
    pub generator: &'a Decoder,
    /// The dense retrievers by name.
    pub retrievers: &'a BTreeMap<String, Encoder>,
    /// The frozen language model that judges choices.
    pub evaluator: Evaluator<'a>,
    /// Threads.
    pub workers: &'a Workers,
    /// Set by SIGTERM and SIGINT.
    pub interrupter: &'a burn::train::Interrupter,
}

/// What an arm is to make of a task.
struct Question {
    arm: usize,
    task: usize,
    chosen: Chosen,
}

impl Evaluation<'_> {
    /// Completes every task under every arm, and measures; what is in an arm's store already is not done again.
    ///
    /// `stores` are those of the arms, in their order.
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
        mut self,
        arms: &[Arm],
        mut stores: Vec<AnswerStore<Prediction>>,
        tasks: &[Task],
    ) -> anyhow::Result<Vec<Prediction>> {
        assert_eq!(arms.len(), stores.len(), "every arm has a store");
        let progress = Progress::new("evaluating", arms.len() * tasks.len(), "completions");
        let names: Vec<String> = arms.iter().map(Arm::to_string).collect();
        let done: Vec<BTreeSet<String>> = stores.iter().zip(&names).map(|(store, name)| store.samples(name)).collect();
        for tasks in tasks.chunks(CHUNK) {
            let is_missing = |arm: usize, task: &Task| !done[arm].contains(&task.sample.id);
            let questions = self.choose(arms, tasks, is_missing)?;
            progress.add(arms.len() * tasks.len() - questions.len());
            for prediction in self.answer(&names, tasks, &questions)? {
                let arm = names.iter().position(|name| *name == prediction.arm).context("an arm has a name")?;
                stores[arm].add(prediction)?;
                progress.add(1);
            }
        }
        let samples: Vec<String> = tasks.iter().map(|task| task.sample.id.clone()).collect();
        Ok(stores.into_iter().flat_map(|store| store.finish(&names, &samples)).collect())
    }

    /// Lets each arm choose that misses any of these tasks, always for all of them, so that an interruption changes
    /// nothing about what is encoded together.
    fn choose(
        &mut self,
        arms: &[Arm],
        tasks: &[Task],
        is_missing: impl Fn(usize, &Task) -> bool,
    ) -> anyhow::Result<Vec<Question>> {
        let mut chooser = Chooser::new(self.experiment, self.retrievers, self.workers, tasks);
        let mut questions = Vec::new();
        for (arm, kind) in arms.iter().enumerate() {
            if !tasks.iter().any(|task| is_missing(arm, task)) {
                continue;
            }
            if self.interrupter.should_stop() {
                return Err(Interrupted.into());
            }
            let chosen = chooser.choose(kind, &mut self.evaluator)?.into_iter().enumerate();
            let missing = chosen.filter(|(task, _)| is_missing(arm, &tasks[*task]));
            questions.extend(missing.map(|(task, chosen)| Question { arm, task, chosen }));
        }
        Ok(questions)
    }

    /// Completes and measures; equal prompts of one task are completed once.
    fn answer(&mut self, names: &[String], tasks: &[Task], questions: &[Question]) -> anyhow::Result<Vec<Prediction>> {
        let first_choices = self.first_choices(tasks, questions)?;
        let completer = self.completer()?;
        let targets: Vec<WeightedTarget> = tasks.iter().map(|task| self.target(task)).collect();
        let tokenizer = self.generator.tokenizer();
        let prompts = self.workers.map(questions.iter().collect(), |_, question| {
            prompt::build(tokenizer, &completer.prompt, tasks[question.task].cursor(), &question.chosen.kept())
        });
        let mut distinct = BTreeMap::new();
        for (index, (question, prompt)) in questions.iter().zip(&prompts).enumerate() {
            distinct.entry((question.task, &prompt.tokens)).or_insert(index);
        }
        let written: Vec<usize> = distinct.values().copied().collect();
        let requests: Vec<CompletionRequest> = written
            .iter()
            .map(|&index| self.request(&tasks[questions[index].task], &targets[questions[index].task]))
            .collect();
        let chosen = written.iter().map(|&index| questions[index].chosen.clone()).collect();
        if self.interrupter.should_stop() {
            return Err(Interrupted.into());
        }
        let completions = completer.write(&requests, chosen, &|_| {});
        let completions = completions.context("the evaluation's prompts do not fit")?;
        let by_index: BTreeMap<usize, Completion> = written.into_iter().zip(completions).collect();
        let rows = questions.iter().zip(prompts.iter()).zip(first_choices).collect();
        Ok(self.workers.map(rows, |_, ((question, prompt), first_choice): ((&Question, &prompt::Prompt), Score)| {
            let written = &by_index[&distinct[&(question.task, &prompt.tokens)]];
            let (chosen, prompt) = (question.chosen.clone(), prompt.clone());
            let completion = Completion { chosen, prompt, ..written.clone() };
            let (arm, task) = (&names[question.arm], &tasks[question.task]);
            self.prediction(arm, task, &targets[question.task], &completion, first_choice)
        }))
    }

    /// Returns what the first choice of each question is worth to the evaluator; no choice is no candidate.
    fn first_choices(&mut self, tasks: &[Task], questions: &[Question]) -> anyhow::Result<Vec<Score>> {
        let stop = Candidate::Stop;
        let first = |question: &Question| question.chosen.ranked.first().map(|ranked| ranked.candidate.clone());
        let first: Vec<Candidate> = questions.iter().map(|question| first(question).unwrap_or(stop.clone())).collect();
        let candidates: Vec<Vec<&Candidate>> = first.iter().map(|candidate| vec![candidate]).collect();
        let asked: Vec<&Task> = questions.iter().map(|question| &tasks[question.task]).collect();
        let scores = self.evaluator.score_alone(&asked, &candidates)?;
        Ok(scores.into_iter().map(|scores| scores[0]).collect())
    }

    fn completer(&self) -> anyhow::Result<Completer<'_>> {
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
