//! Held-out evaluation of a generator: every arm writes the same functions into their files.

mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use analysis::Native;
use anyhow::Context;
use burn::train::Interrupter;
use corpus::functions::StoredFunction;
use inference::decode::{DecodingRule, Finish, Refusal, SuggestionSource, ToolDecoder};
use inference::function::{FunctionCompleter, OpenFunction};
use models::{Decoder, Workers};
use repo::{Repository, SourceFile};

use crate::evaluator::Interrupted;
use crate::examples::BareFunction;
use crate::experiment::GeneratorExperiment;
use crate::progress::Progress;

pub use store::{WritingStore, Written};

/// Plain decoding, which never asks the tool.
pub const PLAIN: &str = "plain";

/// Every arm by name.
pub const ARMS: [&str; 5] = [PLAIN, "toolgen_paper", "toolgen_released", "toolgen_beam", "toolgen_ranked"];

/// Functions that one worker writes with one completion tool.
const CHUNK: usize = 12;

/// What an evaluation works with.
pub struct Writing<'a> {
    /// The experiment.
    pub experiment: &'a GeneratorExperiment,
    /// The trained generator.
    pub generator: &'a Decoder,
    /// The repositories by name.
    pub repositories: &'a BTreeMap<&'a str, &'a Repository>,
    /// Threads.
    pub workers: &'a Workers,
    /// Set by SIGTERM and SIGINT.
    pub interrupter: &'a Interrupter,
}

impl Writing<'_> {
    /// Writes every function under every arm and keeps each text in `store` as soon as it is there; what is there already
    /// is not written again.
    ///
    /// # Errors
    ///
    /// Returns [`Interrupted`] after a signal, or an error if a function does not fit the repositories or a text cannot
    /// be kept.
    pub fn run(&self, functions: &[StoredFunction], store: WritingStore) -> anyhow::Result<Vec<Written>> {
        let arms = &self.experiment.evaluation.arms;
        let progress = Progress::new("writing", arms.len() * functions.len(), "functions");
        let store = Mutex::new(store);
        for arm in arms {
            let done = locked(&store).samples(arm);
            let chunks = chunks(functions, &done);
            progress.add(functions.len() - chunks.iter().map(Vec::len).sum::<usize>());
            let results = self.workers.map(chunks, |_, chunk| self.write_chunk(arm, &chunk, &store, &progress));
            results.into_iter().collect::<anyhow::Result<()>>()?;
        }
        let samples: Vec<String> = functions.iter().map(sample_id).collect();
        let store = store.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(store.finish(arms, &samples))
    }

    fn write_chunk(
        &self,
        arm: &str,
        functions: &[&StoredFunction],
        store: &Mutex<WritingStore>,
        progress: &Progress,
    ) -> anyhow::Result<()> {
        let mut native = Native::new(repository_of(functions[0], self.repositories)?);
        for function in functions {
            if self.interrupter.should_stop() {
                return Err(Interrupted.into());
            }
            let written = self.write(arm, function, &mut native)?;
            locked(store).add(written)?;
            progress.add(1);
        }
        Ok(())
    }

    /// Writes one function under one arm.
    fn write(&self, arm: &str, function: &StoredFunction, native: &mut Native) -> anyhow::Result<Written> {
        let file = file_of(function, self.repositories)?;
        let open = open_function(function, file);
        let completer = self.completer(arm);
        let started = Instant::now();
        let decoded = if arm == PLAIN {
            let prompt = completer.layout.prompt_tokens(&open.header(), self.generator.tokenizer());
            completer.decoder.decode(&prompt, &mut NoTool)?
        } else {
            completer.complete(&open, native)?.decoded
        };
        let seconds = started.elapsed().as_secs_f64();
        Ok(Written {
            sample: sample_id(function),
            arm: arm.to_owned(),
            is_whole: decoded.finish == Finish::EndOfSequence,
            tokens: counts(decoded.tokens.iter().map(|token| token.step.name())),
            outcomes: counts(decoded.questions.iter().map(|question| question.outcome.name())),
            seconds,
            tool_seconds: decoded.tool_seconds,
            text: decoded.text,
        })
    }

    /// Returns what writes under an arm.
    fn completer(&self, arm: &str) -> FunctionCompleter<'_, Decoder> {
        let tokenizer = self.generator.tokenizer();
        FunctionCompleter {
            decoder: ToolDecoder { model: self.generator, tokenizer, rule: rule(arm, self.experiment) },
            layout: self.experiment.layout.layout(),
            needs_other_than_builtins: arm == "toolgen_released",
        }
    }
}

/// Returns a stored function as one that is to be written.
fn open_function<'f>(function: &StoredFunction, file: &'f SourceFile) -> OpenFunction<'f> {
    let bare = BareFunction::new(function);
    OpenFunction {
        file,
        span: function.span.clone(),
        indentation: bare.header().indentation.to_owned(),
        signature: bare.signature,
        docstring: bare.docstring,
        docstring_raw: String::new(),
    }
}

fn counts(names: impl Iterator<Item = &'static str>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    counts
}

fn locked(store: &Mutex<WritingStore>) -> MutexGuard<'_, WritingStore> {
    store.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the repository of a function.
pub(crate) fn repository_of<'r>(
    function: &StoredFunction,
    repositories: &BTreeMap<&str, &'r Repository>,
) -> anyhow::Result<&'r Repository> {
    let name = function.repository.as_str();
    repositories.get(name).copied().with_context(|| format!("{name} is not in the dataset"))
}

/// Returns the file of a function.
pub(crate) fn file_of<'r>(
    function: &StoredFunction,
    repositories: &BTreeMap<&str, &'r Repository>,
) -> anyhow::Result<&'r SourceFile> {
    let file = repository_of(function, repositories)?.file(&function.path);
    let file = file.filter(|file| file.text.get(function.span.clone()).is_some());
    file.with_context(|| format!("{} of {} is not in the dataset", function.path, function.repository))
}

/// Never suggests anything.
struct NoTool;

impl SuggestionSource for NoTool {
    fn suggest(&mut self, _written: &str) -> Result<Vec<String>, Refusal> {
        Ok(Vec::new())
    }
}

/// Returns how an arm decodes.
fn rule(arm: &str, experiment: &GeneratorExperiment) -> DecodingRule {
    let evaluation = &experiment.evaluation;
    let rule = if arm == "toolgen_released" { DecodingRule::released() } else { DecodingRule::paper() };
    DecodingRule {
        tokens_max: evaluation.tokens_max,
        num_beams: if arm == "toolgen_beam" { evaluation.num_beams } else { 1 },
        rank_weight: if arm == "toolgen_ranked" { evaluation.rank_weight } else { 0.0 },
        ..rule
    }
}

/// Returns the id of a function's sample.
#[must_use]
pub fn sample_id(function: &StoredFunction) -> String {
    format!("{}/{}:{}@{}", function.repository, function.path, function.name, function.span.start)
}

/// Returns the functions that are still to be written, some of one repository at a time.
fn chunks<'f>(functions: &'f [StoredFunction], done: &BTreeSet<String>) -> Vec<Vec<&'f StoredFunction>> {
    let mut chunks: Vec<Vec<&StoredFunction>> = Vec::new();
    for function in functions.iter().filter(|function| !done.contains(&sample_id(function))) {
        match chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK && chunk[0].repository == function.repository => chunk.push(function),
            _ => chunks.push(vec![function]),
        }
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::examples::tests::function;
    use corpus::manifest::Split;

    #[test]
    fn functions_of_one_repository_are_written_together_and_those_that_are_there_are_not() {
        let named = |repository: &str, name: &str| {
            let mut function = function(Split::Test, name);
            function.repository = repository.into();
            function
        };
        let many = (0..=CHUNK).map(|index| named("a", &format!("f{index}")));
        let functions: Vec<StoredFunction> = many.chain([named("b", "g"), named("b", "h")]).collect();
        let done = BTreeSet::from([sample_id(&functions[0]), sample_id(&functions[CHUNK + 1])]);
        let sizes: Vec<usize> = chunks(&functions, &done).iter().map(Vec::len).collect();
        assert_eq!(sizes, [CHUNK, 1]);
        assert_eq!(chunks(&functions, &BTreeSet::new()).iter().map(Vec::len).collect::<Vec<_>>(), [CHUNK, 1, 2]);
    }
}
