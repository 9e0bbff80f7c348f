//! The evaluator: a frozen language model that says what a candidate is worth.

use std::collections::BTreeSet;

use burn::train::Interrupter;
use inference::perplexity::{WeightRule, WeightedTarget, mean_nll, weighted_nll};
use inference::prompt::{PromptFrame, PromptRule};
use inference::score::score;
use models::{Decoder, ScoredSequence, Workers};
use repo::candidates::Candidate;

use crate::cache::{ScoreCache, ScoreKey};
use crate::experiment::RewardConfig;
use crate::progress::Progress;
use crate::reward::Score;
use crate::task::Task;

/// Scores targets after prompts, and remembers.
pub struct Evaluator<'a> {
    decoder: &'a Decoder,
    fingerprint: String,
    prompt: PromptRule,
    weights: WeightRule,
    target_tokens_max: usize,
    batch_tokens_max: usize,
    workers: &'a Workers,
    interrupter: &'a Interrupter,
    cache: ScoreCache,
    counts: Counts,
}

/// Sequences scored between two looks at the interrupter.
const CHUNK: usize = 32;

/// A signal came while there was work to do; what was computed is in the cache.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("interrupted by a signal; run again to resume")]
pub struct Interrupted;

/// What an evaluator has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Scores asked for.
    pub asked: usize,
    /// Scores that had to be computed.
    pub computed: usize,
    /// Tokens that the network read for them.
    pub tokens: usize,
    /// Tasks whose target was cut to the limit.
    pub targets_cut: usize,
}

impl std::ops::Sub for Counts {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            asked: self.asked - earlier.asked,
            computed: self.computed - earlier.computed,
            tokens: self.tokens - earlier.tokens,
            targets_cut: self.targets_cut - earlier.targets_cut,
        }
    }
}

impl<'a> Evaluator<'a> {
    /// Makes an evaluator of a decoder; `fingerprint` names its weights in the cache.
    #[must_use]
    pub fn new(
        decoder: &'a Decoder,
        fingerprint: String,
        prompt: PromptRule,
        reward: &RewardConfig,
        workers: &'a Workers,
        interrupter: &'a Interrupter,
        cache: ScoreCache,
    ) -> Self {
        Self {
            decoder,
            fingerprint,
            prompt,
            weights: WeightRule::from(reward),
            target_tokens_max: reward.target_tokens_max,
            batch_tokens_max: reward.batch_tokens_max,
            workers,
            interrupter,
            cache,
            counts: Counts::default(),
        }
    }

    /// Returns what the evaluator has done so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Scores each task's target after each of its candidates, alone in the prompt; the stop candidate stands for no
    /// candidate at all.
    ///
    /// # Errors
    ///
    /// Returns [`Interrupted`] after a signal, or an error if the cache cannot be written.
    ///
    /// # Panics
    ///
    /// Panics if there is not one list of candidates for each task.
    pub fn score_alone(&mut self, tasks: &[&Task], candidates: &[Vec<&Candidate>]) -> anyhow::Result<Vec<Vec<Score>>> {
        assert_eq!(tasks.len(), candidates.len(), "every task has its candidates");
        let pairs: Vec<_> = tasks.iter().copied().zip(candidates).collect();
        let questions = self.workers.map(pairs, |_, (task, candidates)| self.ask(task, candidates));
        self.answer(&questions)?;
        Ok(questions.iter().map(|questions| self.scores(questions)).collect())
    }

    /// Writes one prompt for each candidate.
    fn ask(&self, task: &Task, candidates: &[&Candidate]) -> Questions {
        let tokenizer = self.decoder.tokenizer();
        let frame = PromptFrame::new(tokenizer, &self.prompt, task.cursor());
        let sample = &task.sample;
        let (_, seam) = self.prompt.seam.split(&sample.left_context);
        let (tokens_max, weights) = (self.target_tokens_max, &self.weights);
        let target = WeightedTarget::new(tokenizer, seam, &sample.target, sample.language, tokens_max, weights);
        let question = |candidate: &&Candidate| {
            let prompt = [frame.build(&[candidate]).tokens, target.lead.clone()].concat();
            let key = ScoreKey::new(&self.fingerprint, &prompt, &target.tokens);
            Question { key, sequence: ScoredSequence { prompt, target: target.tokens.clone() } }
        };
        Questions { prompts: candidates.iter().map(question).collect(), target }
    }

    /// Computes the scores that the cache lacks.
    fn answer(&mut self, questions: &[Questions]) -> anyhow::Result<()> {
        let mut missing: Vec<&Question> = Vec::new();
        let mut seen = BTreeSet::new();
        for questions in questions {
            self.counts.targets_cut += usize::from(questions.target.tokens_dropped > 0);
            self.counts.asked += questions.prompts.len();
            missing.extend(questions.prompts.iter().filter(|q| self.cache.get(&q.key).is_none() && seen.insert(q.key)));
        }
        let read = |question: &&Question| question.sequence.read_tokens();
        let progress = Progress::new("scoring", missing.iter().map(read).sum(), "tokens");
        for chunk in missing.chunks(CHUNK) {
            if self.interrupter.should_stop() {
                return Err(Interrupted.into());
            }
            let sequences: Vec<ScoredSequence> = chunk.iter().map(|question| question.sequence.clone()).collect();
            let nll = score(self.decoder, self.workers, &sequences, self.batch_tokens_max, &|_| {});
            self.cache.extend(chunk.iter().map(|question| question.key).zip(nll))?;
            let tokens = chunk.iter().map(read).sum();
            self.counts.computed += chunk.len();
            self.counts.tokens += tokens;
            progress.add(tokens);
        }
        Ok(())
    }

    fn scores(&self, questions: &Questions) -> Vec<Score> {
        let weights = &questions.target.weights;
        let score = |question: &Question| {
            let nll = self.cache.get(&question.key).expect("every question was answered");
            Score { nll: mean_nll(nll), weighted_nll: weighted_nll(nll, weights, self.weights.variant) }
        };
        questions.prompts.iter().map(score).collect()
    }
}

/// One target after several prompts.
struct Questions {
    prompts: Vec<Question>,
    target: WeightedTarget,
}

/// A target after a prompt.
struct Question {
    key: ScoreKey,
    sequence: ScoredSequence,
}
