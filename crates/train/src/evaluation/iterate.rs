//! The arms that retrieve windows and write by turns.

use std::collections::BTreeMap;

use inference::complete::{Completer, Completion, CompletionRequest};
use inference::repocoder::{self, RepoCoderRule, Similarity, WindowIndex};
use inference::retriever::Retriever;
use models::encoder::Encoder;
use models::{Decoder, Workers};

use super::arm::Arm;
use crate::experiment::RetrieverExperiment;
use crate::policy;
use crate::task::Task;

/// What one task's iterations gave: the last completion, and how many there were.
pub(super) struct Iterated {
    pub(super) completion: Completion,
    pub(super) iterations: usize,
}

/// Completes by `RepoCoder`'s rules, and keeps what was indexed: a cluster serves many tasks.
pub(super) struct Iterations<'t> {
    experiment: &'t RetrieverExperiment,
    generator: &'t Decoder,
    retrievers: &'t BTreeMap<String, Encoder>,
    workers: &'t Workers,
    /// By retriever and cluster.
    indexes: BTreeMap<(Option<&'t str>, &'t str), WindowIndex<'t>>,
}

impl<'t> Iterations<'t> {
    pub(super) fn new(
        experiment: &'t RetrieverExperiment,
        generator: &'t Decoder,
        retrievers: &'t BTreeMap<String, Encoder>,
        workers: &'t Workers,
    ) -> Self {
        Self { experiment, generator, retrievers, workers, indexes: BTreeMap::new() }
    }

    /// Completes tasks under an arm that iterates.
    pub(super) fn complete(
        &mut self,
        arm: &'t Arm,
        completer: &Completer<'_>,
        tasks: &[(&'t Task, CompletionRequest<'_>)],
    ) -> anyhow::Result<Vec<Iterated>> {
        let config = &self.experiment.evaluation.repocoder;
        let rule = match arm {
            Arm::RepoCoder { is_adaptive, .. } => config.rule(*is_adaptive),
            _ => RepoCoderRule { iterations_max: 1, ..config.rule(false) },
        };
        let mut iterated: Vec<Option<Iterated>> = tasks.iter().map(|_| None).collect();
        let mut by_cluster: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, (task, _)) in tasks.iter().enumerate() {
            by_cluster.entry(&task.cluster.name).or_default().push(index);
        }
        for members in by_cluster.into_values() {
            let requests: Vec<CompletionRequest<'_>> = members.iter().map(|&member| tasks[member].1).collect();
            self.index(arm, tasks[members[0]].0, rule);
            let index = &self.indexes[&(arm.retriever(), tasks[members[0]].0.cluster.name.as_str())];
            let results = repocoder::complete(completer, &rule, index, &requests, self.workers)?;
            for (member, mut result) in members.into_iter().zip(results) {
                let iterations = result.iterations.len();
                let last = result.iterations.pop();
                iterated[member] = last.map(|completion| Iterated { completion, iterations });
            }
        }
        Ok(iterated.into_iter().flatten().collect())
    }

    /// Indexes a task's cluster, unless that is done.
    fn index(&mut self, arm: &'t Arm, task: &'t Task, rule: RepoCoderRule) {
        let key = (arm.retriever(), task.cluster.name.as_str());
        if self.indexes.contains_key(&key) {
            return;
        }
        let similarity = match key.0 {
            None => Similarity::Jaccard(self.generator.tokenizer()),
            Some(name) => {
                let limits = policy::limits(self.experiment);
                let encoder = &self.retrievers[name];
                Similarity::Dense(Retriever { encoder, workers: self.workers, limits })
            }
        };
        let files: Vec<_> = task.cluster.files.iter().collect();
        self.indexes.insert(key, WindowIndex::new(&files, rule.windows, similarity, self.workers));
    }
}
