//! What a step and a validation of a retriever measure.

use eval::report::{RewardPerplexity, RewardSummary};
use serde::{Deserialize, Serialize};

use crate::metrics_log::{self, StepMetrics};
use crate::policy::Judged;
use crate::reward::Score;

/// What the policy's choices were worth, averaged over samples; perplexities are exponentials of mean weighted NLLs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Choices {
    /// Samples with at least one code candidate.
    pub n: usize,
    /// Share of samples whose first choice is the stop candidate.
    pub stop_rate: f64,
    /// Share of samples whose first choice is the best candidate.
    pub first_choice_best_rate: f64,
    /// Share of samples whose best code candidate has a lower weighted perplexity than no candidate.
    pub best_below_none_rate: f64,
    /// Share of samples on which no code candidate is better than none.
    pub stop_best_rate: f64,
    /// Weighted perplexity with the policy's first choice.
    pub weighted_perplexity_first: f64,
    /// Weighted perplexity with the best candidate.
    pub weighted_perplexity_best: f64,
    /// Weighted perplexity with a code candidate drawn uniformly from the policy's.
    pub weighted_perplexity_random: f64,
    /// Weighted perplexity with no candidate.
    pub weighted_perplexity_none: f64,
}

impl Choices {
    /// Averages over samples; those without a code candidate leave nothing to choose and are not counted.
    #[must_use]
    pub fn of(judged: &[Judged]) -> Self {
        let judged: Vec<&Judged> = judged.iter().filter(|judged| judged.code_scores().next().is_some()).collect();
        if judged.is_empty() {
            return Self::default();
        }
        let mean = |value: &dyn Fn(&Judged) -> f64| judged.iter().map(|j| value(j)).sum::<f64>() / judged.len() as f64;
        let rate = |holds: &dyn Fn(&Judged) -> bool| mean(&|judged| f64::from(u8::from(holds(judged))));
        let perplexity = |nll: &dyn Fn(&Judged) -> f64| mean(nll).exp();
        Self {
            n: judged.len(),
            stop_rate: rate(&|judged| first(judged).is_some_and(|i| judged.chosen.ranked[i].candidate.is_stop())),
            first_choice_best_rate: rate(&|judged| first(judged) == judged.best()),
            best_below_none_rate: rate(&|judged| best_code(judged) < judged.none.weighted_nll),
            stop_best_rate: rate(&|judged| best_code(judged) >= judged.none.weighted_nll),
            weighted_perplexity_first: perplexity(&first_choice_nll),
            weighted_perplexity_best: perplexity(&|judged| best_code(judged).min(judged.none.weighted_nll)),
            weighted_perplexity_random: perplexity(&|judged| mean_of(judged.code_scores())),
            weighted_perplexity_none: perplexity(&|judged| judged.none.weighted_nll),
        }
    }

    /// Returns these numbers as the report shows them.
    #[must_use]
    pub fn summary(&self, measured_on: &str, k: usize) -> RewardSummary {
        RewardSummary {
            measured_on: measured_on.to_owned(),
            n: self.n,
            k,
            best_of_k_below_none: (self.best_below_none_rate * self.n as f64).round() as usize,
            share: self.best_below_none_rate,
            stop_best_share: self.stop_best_rate,
            stop_first_share: self.stop_rate,
            first_choice_best_share: self.first_choice_best_rate,
            weighted_perplexity: RewardPerplexity {
                none: self.weighted_perplexity_none,
                random: self.weighted_perplexity_random,
                first_choice: self.weighted_perplexity_first,
                best: self.weighted_perplexity_best,
            },
        }
    }
}

fn first(judged: &Judged) -> Option<usize> {
    judged.first_choice()
}

/// Returns the weighted NLL with the policy's first choice in the prompt; with none if it has no choice.
#[must_use]
pub fn first_choice_nll(judged: &Judged) -> f64 {
    first(judged).map_or(judged.none, |index| judged.scores[index]).weighted_nll
}

fn best_code(judged: &Judged) -> f64 {
    judged.code_scores().map(|score| score.weighted_nll).fold(f64::INFINITY, f64::min)
}

fn mean_of(scores: impl Iterator<Item = Score>) -> f64 {
    let (sum, n) = scores.fold((0.0, 0.0), |(sum, n), score| (sum + score.weighted_nll, n + 1.0));
    sum / n
}

/// A line of `metrics.jsonl`; the first validation is that of the untrained policy.
pub type Line = metrics_log::Line<StepLine, ValidationLine>;

/// What one optimizer step measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepLine {
    /// Steps done, this one included.
    pub step: usize,
    /// Epoch, counted from 0.
    pub epoch: usize,
    /// Mean loss of the batch, in nats.
    pub loss: f64,
    /// Mean reward of a candidate drawn by the policy.
    pub mean_reward: f64,
    /// Global norm of the gradient before clipping.
    pub gradient_norm: f64,
    /// Learning rate.
    pub learning_rate: f64,
    /// What the policy's choices were worth.
    #[serde(flatten)]
    pub choices: Choices,
    /// Targets cut to the limit.
    pub targets_cut: usize,
    /// Share of scores found in the cache.
    pub cached_share: f64,
    /// Tokens that the evaluator read, per second of the step.
    pub tokens_per_second: f64,
    /// Wall time, in seconds.
    pub seconds: f64,
}

impl StepMetrics for StepLine {
    fn step(&self) -> usize {
        self.step
    }
}

/// What one validation measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidationLine {
    /// Steps done.
    pub step: usize,
    /// Epochs done.
    pub epoch: usize,
    /// Mean weighted NLL of the policy's first choice, in nats: what chooses the best checkpoint.
    pub first_choice_nll: f64,
    /// Whether it is the lowest so far.
    pub is_best: bool,
    /// What the policy's choices were worth.
    #[serde(flatten)]
    pub choices: Choices,
    /// Wall time, in seconds.
    pub seconds: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Position;
    use crate::metrics_log::{MetricsLog, covers, read};
    use inference::strategies::{Chosen, Ranked};
    use repo::candidates::{Candidate, CodeCandidate};
    use repo::language::Language;

    fn judged(similarities: &[f32], weighted: &[f64], none: f64) -> Judged {
        let code = |i: usize| CodeCandidate {
            path: format!("{i}.py"),
            language: Language::Python,
            lines: 0..1,
            listed: (0, 1),
            code: "pass".into(),
        };
        let candidate = |i: usize| if i + 1 == weighted.len() { Candidate::Stop } else { Candidate::Code(code(i)) };
        let ranked = similarities.iter().enumerate().map(|(i, &similarity)| Ranked {
            candidate: candidate(i),
            similarity,
            before_stop: i + 1 < weighted.len(),
        });
        let score = |weighted_nll: f64| Score { nll: 0.0, weighted_nll };
        Judged {
            chosen: Chosen { query: String::new(), ranked: ranked.collect() },
            scores: weighted.iter().copied().map(score).collect(),
            none: score(none),
        }
    }

    #[test]
    fn choices_are_averaged_over_samples_that_had_a_choice() {
        let samples = [
            judged(&[0.9, 0.5, 0.1], &[1.0, 3.0, 2.0], 2.0), // the first choice is the best
            judged(&[0.2, 0.1, 0.7], &[4.0, 5.0, 3.0], 3.0), // the stop candidate is first and best
            judged(&[0.3], &[2.0], 2.0),                     // only the stop candidate: no choice
        ];
        let choices = Choices::of(&samples);
        assert_eq!((choices.n, choices.stop_rate, choices.first_choice_best_rate), (2, 0.5, 1.0));
        assert_eq!((choices.best_below_none_rate, choices.stop_best_rate), (0.5, 0.5));
        let close = |perplexity: f64, nll: f64| (perplexity.ln() - nll).abs() < 1e-12;
        assert!(close(choices.weighted_perplexity_first, 2.0));
        assert!(close(choices.weighted_perplexity_best, 2.0));
        assert!(close(choices.weighted_perplexity_none, 2.5));
        assert!(close(choices.weighted_perplexity_random, 3.25));
    }

    fn validation(step: usize) -> Line {
        Line::Validation(ValidationLine {
            step,
            epoch: step / 2,
            first_choice_nll: 1.5,
            is_best: true,
            choices: Choices::default(),
            seconds: 0.25,
        })
    }

    fn step(step: usize) -> Line {
        Line::Step(StepLine {
            step,
            epoch: 0,
            loss: 1.0,
            mean_reward: 0.1,
            gradient_norm: 2.0,
            learning_rate: 1e-3,
            choices: Choices::default(),
            targets_cut: 0,
            cached_share: 0.0,
            tokens_per_second: 10.0,
            seconds: 1.0,
        })
    }

    #[test]
    fn a_resumed_log_holds_each_step_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("metrics.jsonl");
        let start = Position::default();
        let mut log = MetricsLog::<Line>::resume(&path, &start).unwrap();
        for line in [validation(0), step(1), step(2), validation(2), step(3)] {
            log.write(&line).unwrap();
        }
        drop(log);
        // A crash cut the last line short; the checkpoint is that of step 2, before its validation.
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 5]).unwrap();
        let position = Position { step: 2, validations: vec![1.5], ..Position::default() };
        let mut log = MetricsLog::<Line>::resume(&path, &position).unwrap();
        log.write(&validation(2)).unwrap();
        assert_eq!(read::<Line>(&path).unwrap(), [validation(0), step(1), step(2), validation(2)]);
    }

    #[test]
    fn a_log_with_a_hole_does_not_cover_its_position() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("metrics.jsonl");
        let position = Position { step: 2, validations: vec![1.5], ..Position::default() };
        let mut log = MetricsLog::<Line>::resume(&path, &Position::default()).unwrap();
        for line in [validation(0), step(1), step(2)] {
            log.write(&line).unwrap();
        }
        assert!(covers::<Line>(&path, &position).unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen("\"step\":1", "damage", 1)).unwrap();
        assert!(!covers::<Line>(&path, &position).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(!covers::<Line>(&path, &position).unwrap());
    }

    #[test]
    fn a_number_reads_back_to_the_bit() {
        let written = 0.929_738_719_248_913_7_f64;
        let text = serde_json::to_string(&written).unwrap();
        assert_eq!(serde_json::from_str::<f64>(&text).unwrap().to_bits(), written.to_bits());
    }
}
