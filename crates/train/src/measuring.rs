//! What the functions that a generator wrote are worth.

use std::collections::BTreeMap;

use analysis::Native;
use analysis::server::{Limits, Pylint, PylintOptions};
use anyhow::Context;
use corpus::functions::StoredFunction;
use eval::metrics::dependency_coverage::{Coverage, by_definitions, by_marks};
use eval::metrics::static_validity::Substitution;
use eval::report::Prediction;
use models::{Tokenizer, Workers};
use repo::Repository;

use crate::evaluator::Interrupted;
use crate::examples::BareFunction;
use crate::experiment::GeneratorExperiment;
use crate::progress::Progress;
use crate::writing::{Written, file_of, repository_of, sample_id};

/// What measuring works with.
pub struct Measuring<'a> {
    /// The experiment.
    pub experiment: &'a GeneratorExperiment,
    /// The generator's tokenizer, whose tokens BLEU counts.
    pub tokenizer: &'a Tokenizer,
    /// The repositories by name.
    pub repositories: &'a BTreeMap<&'a str, &'a Repository>,
    /// Threads.
    pub workers: &'a Workers,
    /// Set by SIGTERM and SIGINT.
    pub interrupter: &'a burn::train::Interrupter,
}

impl Measuring<'_> {
    /// Measures every text; the predictions come in the order of the texts.
    ///
    /// # Errors
    ///
    /// Returns [`Interrupted`] after a signal, or an error if a text belongs to no function, or if pylint cannot be
    /// started or gives no answer.
    pub fn run(&self, functions: &[StoredFunction], written: &[Written]) -> anyhow::Result<Vec<Prediction>> {
        let by_id: BTreeMap<String, &StoredFunction> = functions.iter().map(|f| (sample_id(f), f)).collect();
        let mut groups: BTreeMap<&str, Vec<(usize, &StoredFunction, &Written)>> = BTreeMap::new();
        for (index, text) in written.iter().enumerate() {
            let function = by_id.get(&text.sample).with_context(|| format!("{} is no function", text.sample))?;
            groups.entry(function.repository.as_str()).or_default().push((index, function, text));
        }
        let progress = Progress::new("measuring", written.len(), "functions");
        let results = self.workers.map(groups.into_values().collect(), |_, group| self.measure_group(&group, &progress));
        let mut measured: Vec<(usize, Prediction)> = results.into_iter().collect::<anyhow::Result<Vec<_>>>()?.concat();
        measured.sort_by_key(|(index, _)| *index);
        Ok(measured.into_iter().map(|(_, prediction)| prediction).collect())
    }

    /// Measures the texts of one repository.
    fn measure_group(
        &self,
        group: &[(usize, &StoredFunction, &Written)],
        progress: &Progress,
    ) -> anyhow::Result<Vec<(usize, Prediction)>> {
        let (_, first, _) = group[0];
        let mut tools = Tools::open(repository_of(first, self.repositories)?, self.experiment)?;
        let mut measured = Vec::new();
        for (index, function, written) in group {
            if self.interrupter.should_stop() {
                return Err(Interrupted.into());
            }
            measured.push((*index, self.prediction(function, written, &mut tools)?));
            progress.add(1);
        }
        Ok(measured)
    }

    fn prediction(
        &self,
        function: &StoredFunction,
        written: &Written,
        tools: &mut Tools,
    ) -> anyhow::Result<Prediction> {
        let bare = BareFunction::new(function);
        let layout = self.experiment.layout.layout();
        Ok(Prediction {
            sample: written.sample.clone(),
            arm: written.arm.clone(),
            repository: function.repository.clone(),
            path: function.path.clone(),
            language: function.language.to_string(),
            kind: "function".into(),
            left_context_tail: layout.prompt(&bare.header()),
            target: bare.body.clone(),
            prediction: written.text.clone(),
            context: Vec::new(),
            metrics: self.metrics(function, &bare, written, tools)?,
        })
    }
}
