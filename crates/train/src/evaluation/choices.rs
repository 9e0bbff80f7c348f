//! What each arm chooses for some tasks, with the work that arms share done once.

use std::collections::BTreeMap;

use inference::strategies::{self, Chosen, Ranked, Stage, Strategy, choose};
use models::Workers;
use models::encoder::Encoder;
use rand::seq::SliceRandom;
use repo::candidates::Candidate;

use super::arm::Arm;
use crate::evaluator::Evaluator;
use crate::experiment::RetrieverExperiment;
use crate::policy;
use crate::reward::best;
use crate::task::Task;

/// Chooses for a few tasks under one arm after the other.
pub(super) struct Chooser<'a> {
    pub(super) experiment: &'a RetrieverExperiment,
    pub(super) retrievers: &'a BTreeMap<String, Encoder>,
    pub(super) workers: &'a Workers,
    pub(super) tasks: &'a [Task],
    /// What each retriever ranks, one more than an arm shows.
    ranked: BTreeMap<String, Vec<Chosen>>,
}

impl<'a> Chooser<'a> {
    pub(super) fn new(
        experiment: &'a RetrieverExperiment,
        retrievers: &'a BTreeMap<String, Encoder>,
        workers: &'a Workers,
        tasks: &'a [Task],
    ) -> Self {
        Self { experiment, retrievers, workers, tasks, ranked: BTreeMap::new() }
    }

    /// Returns what an arm chooses for each task; nothing if it chooses while it writes.
    pub(super) fn choose(&mut self, arm: &Arm, evaluator: &mut Evaluator) -> anyhow::Result<Vec<Chosen>> {
        let top_k = self.experiment.retrieval.top_k;
        Ok(match arm {
            Arm::None | Arm::Jaccard | Arm::RepoCoder { .. } => vec![Chosen::default(); self.tasks.len()],
            Arm::Given => self.tasks.iter().map(given).collect(),
            Arm::Random => self.random(1),
            Arm::Bm25 => {
                let arm = strategies::Arm::Bm25 { k: self.experiment.evaluation.bm25_top_k };
                self.by(&Strategy { arm, ..policy::base_strategy(self.experiment) })
            }
            Arm::Dense { retriever, with_stop } => {
                let cut = |chosen: &Chosen| first(chosen, top_k, *with_stop);
                self.rank(retriever).iter().map(cut).collect()
            }
            Arm::BestOf { retriever: None } => self.best(self.random(top_k), evaluator)?,
            Arm::BestOf { retriever: Some(retriever) } => {
                let code = self.rank(retriever).iter().map(|chosen| first(chosen, top_k, false)).collect();
                self.best(code, evaluator)?
            }
        })
    }

    fn by(&self, strategy: &Strategy<'_>) -> Vec<Chosen> {
        let requests: Vec<_> = self.tasks.iter().map(Task::request).collect();
        choose(strategy, &requests, Stage::Inference, self.workers, &|_| {})
    }

    /// Ranks by a retriever, once for all arms that use it.
    fn rank(&mut self, retriever: &str) -> &[Chosen] {
        if !self.ranked.contains_key(retriever) {
            let encoder = &self.retrievers[retriever];
            let mut strategy = policy::strategy(self.experiment, encoder, self.workers);
            if let strategies::Arm::Dense(dense) = &mut strategy.arm {
                dense.k += 1;
            }
            let ranked = self.by(&strategy);
            self.ranked.insert(retriever.to_owned(), ranked);
        }
        &self.ranked[retriever]
    }

    /// Draws candidates of each task's cluster; each sample has a random stream of its own.
    fn random(&self, k: usize) -> Vec<Chosen> {
        let draw = |task: &Task| {
            let stream = format!("evaluate/random/{}", task.sample.id);
            let mut order: Vec<usize> = (0..task.candidates.len()).collect();
            order.shuffle(&mut repo::random::stream(self.experiment.seed, &stream));
            let ranked = order.into_iter().take(k).map(|index| Ranked {
                candidate: Candidate::Code(task.candidates[index].clone()),
                similarity: 0.0,
                before_stop: true,
            });
            Chosen { query: String::new(), ranked: ranked.collect() }
        };
        self.tasks.iter().map(draw).collect()
    }

    /// Keeps of each task's candidates the one with the lowest weighted perplexity; the stop candidate if none helps.
    fn best(&self, proposed: Vec<Chosen>, evaluator: &mut Evaluator) -> anyhow::Result<Vec<Chosen>> {
        let stop = Candidate::Stop;
        let tasks: Vec<&Task> = self.tasks.iter().collect();
        let with_stop = |chosen: &Chosen| -> Vec<Candidate> {
            [&stop].into_iter().chain(chosen.ranked.iter().map(|ranked| &ranked.candidate)).cloned().collect()
        };
        let candidates: Vec<Vec<Candidate>> = proposed.iter().map(with_stop).collect();
        let candidates: Vec<Vec<&Candidate>> = candidates.iter().map(|list| list.iter().collect()).collect();
        let scores = evaluator.score_alone(&tasks, &candidates)?;
        let keep = |(chosen, scores): (Chosen, Vec<_>)| {
            let best = best(&scores).unwrap_or_default();
            let kept = match best.checked_sub(1) {
                None => Ranked { candidate: Candidate::Stop, similarity: 0.0, before_stop: false },
                Some(index) => chosen.ranked[index].clone(),
            };
            Chosen { ranked: vec![kept], ..chosen }
        };
        Ok(proposed.into_iter().zip(scores).map(keep).collect())
    }
}

/// Returns what a benchmark shows, in its order.
fn given(task: &Task) -> Chosen {
    let ranked = task.given.iter().map(|code| Ranked {
        candidate: Candidate::Code(code.clone()),
        similarity: 0.0,
        before_stop: true,
    });
    Chosen { query: String::new(), ranked: ranked.collect() }
}

/// Returns the first `k` of what was ranked, with the stop candidate where it stands or without it.
fn first(chosen: &Chosen, k: usize, with_stop: bool) -> Chosen {
    let ranked = chosen.ranked.iter().filter(|ranked| with_stop || !ranked.candidate.is_stop()).take(k);
    let ranked = ranked.map(|ranked| Ranked { before_stop: ranked.before_stop || !with_stop, ..ranked.clone() });
    Chosen { query: chosen.query.clone(), ranked: ranked.collect() }
}
