//! The policy: the encoder in training, as it chooses candidates and as they are rewarded.

use inference::retriever::{Retriever, RetrieverLimits};
use inference::strategies::{Arm, ChoiceRequest, Chosen, Dense, Stage, Strategy, choose};
use models::Workers;
use models::encoder::Encoder;
use repo::candidates::Candidate;

use crate::evaluator::Evaluator;
use crate::experiment::RetrieverExperiment;
use crate::reward::{self, Score};
use crate::task::Task;

/// What the policy chose for one task, and what the evaluator thinks of it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The candidates, best first; the stop candidate last.
    pub chosen: Chosen,
    /// The score with each candidate alone in the prompt.
    pub scores: Vec<Score>,
    /// The score with no candidate.
    pub none: Score,
}

impl Judged {
    /// Returns the candidates' similarities to the query, in their order.
    #[must_use]
    pub fn similarities(&self) -> Vec<f32> {
        self.chosen.ranked.iter().map(|ranked| ranked.similarity).collect()
    }

    /// Returns the index of the policy's first choice: the highest similarity, the stop candidate's included.
    #[must_use]
    pub fn first_choice(&self) -> Option<usize> {
        let similarity = |index: usize| self.chosen.ranked[index].similarity;
        (0..self.scores.len()).reduce(|best, index| if similarity(index) > similarity(best) { index } else { best })
    }

    /// Returns the index of the candidate with the lowest weighted perplexity.
    #[must_use]
    pub fn best(&self) -> Option<usize> {
        reward::best(&self.scores)
    }

    /// Returns the scores of the candidates that are code.
    pub fn code_scores(&self) -> impl Iterator<Item = Score> {
        let code =
            |(ranked, score): (&inference::strategies::Ranked, &Score)| (!ranked.candidate.is_stop()).then_some(*score);
        self.chosen.ranked.iter().zip(&self.scores).filter_map(code)
    }
}

/// Returns the strategy by which an encoder chooses, from an experiment's numbers.
#[must_use]
pub fn strategy<'a>(experiment: &RetrieverExperiment, encoder: &'a Encoder, workers: &'a Workers) -> Strategy<'a> {
    let dense = Dense {
        retriever: Retriever { encoder, workers, limits: limits(experiment) },
        prefilter_k: experiment.retrieval.prefilter,
        k: experiment.retrieval.top_k,
        with_stop: experiment.retrieval.stop_candidate,
    };
    Strategy { arm: Arm::Dense(dense), ..base_strategy(experiment) }
}

/// Returns how much of a text the encoder reads.
#[must_use]
pub fn limits(experiment: &RetrieverExperiment) -> RetrieverLimits {
    RetrieverLimits {
        query_tokens_max: experiment.encoder.query_tokens_max,
        candidate_tokens_max: experiment.encoder.candidate_tokens_max,
        batch_tokens_max: experiment.encoder.batch_tokens_max,
    }
}

/// Returns the parts of a strategy that do not depend on the arm.
#[must_use]
pub fn base_strategy(experiment: &RetrieverExperiment) -> Strategy<'static> {
    Strategy {
        arm: Arm::None,
        query_lines_max: experiment.encoder.query_lines_max,
        bm25_variant: experiment.retrieval.bm25.into(),
    }
}

/// Lets the policy choose for each task and the evaluator score every choice, alone in the prompt.
///
/// `encoder` holds no gradients: choosing is not part of the graph.
///
/// # Errors
///
/// Returns an error if the score cache cannot be written, or after a signal.
///
/// # Panics
///
/// Panics if the evaluator leaves a task without scores, which it never does.
pub fn choose_and_score(
    experiment: &RetrieverExperiment,
    encoder: &Encoder,
    evaluator: &mut Evaluator,
    tasks: &[&Task],
    workers: &Workers,
) -> anyhow::Result<Vec<Judged>> {
    let requests: Vec<ChoiceRequest> = tasks.iter().map(|task| task.request()).collect();
    let choices = choose(&strategy(experiment, encoder, workers), &requests, Stage::Training, workers, &|_| {});
    let with_none = |chosen: &Chosen| {
        chosen.ranked.iter().map(|ranked| ranked.candidate.clone()).chain([Candidate::Stop]).collect::<Vec<_>>()
    };
    let candidates: Vec<Vec<Candidate>> = choices.iter().map(with_none).collect();
    let candidates: Vec<Vec<&Candidate>> = candidates.iter().map(|list| list.iter().collect()).collect();
    let scores = evaluator.score_alone(tasks, &candidates)?;
    let judged = |(chosen, mut scores): (Chosen, Vec<Score>)| {
        let none = scores.pop().expect("the prompt without candidates is always scored");
        Judged { chosen, scores, none }
    };
    Ok(choices.into_iter().zip(scores).map(judged).collect())
}
