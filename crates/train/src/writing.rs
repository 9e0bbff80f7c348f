//! Held-out evaluation of a generator: every arm writes the same functions into their files.

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
use serde::{Deserialize, Serialize};

use crate::answers::{Answer, AnswerStore};
use crate::evaluator::Interrupted;
use crate::examples::BareFunction;
use crate::experiment::GeneratorExperiment;
use crate::progress::Progress;

/// Plain decoding, which never asks the tool.
pub const PLAIN: &str = "plain";

/// Every arm by name.
pub const ARMS: [&str; 5] = [PLAIN, "toolgen_paper", "toolgen_released", "toolgen_beam", "toolgen_ranked"];

/// Functions that one worker writes with one completion tool.
const CHUNK: usize = 12;

/// What one arm wrote for one sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Written {
    /// The id of the sample.
    pub sample: String,
    /// The arm.
    pub arm: String,
    /// The text, triggers included.
    pub text: String,
    /// Whether the text ended before the limit on tokens.
    pub is_whole: bool,
    /// Tokens by how they came: `sampled`, `trigger`, `chosen`, `forced`.
    pub tokens: BTreeMap<String, usize>,
    /// Triggers of the text by what became of them: `inserted`, `nothing`, ...
    pub outcomes: BTreeMap<String, usize>,
    /// Wall time, in seconds.
    pub seconds: f64,
    /// The completion tool's share of it.
    pub tool_seconds: f64,
}

impl Answer for Written {
    fn sample(&self) -> &str {
        &self.sample
    }

    fn arm(&self) -> &str {
        &self.arm
    }
}

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
    pub fn run(&self, functions: &[StoredFunction], store: AnswerStore<Written>) -> anyhow::Result<Vec<Written>> {
        let arms = &self.experiment.evaluation.arms;
        let progress = Progress::new("writing", arms.len() * functions.len(), "functions");
        // A function is written under every arm before the next one, so that the arms' times are taken side by side.
        let done: BTreeMap<&str, BTreeSet<String>> =
            arms.iter().map(|arm| (arm.as_str(), store.samples(arm))).collect();
        let missing = |function: &StoredFunction| {
            let is_missing = |(_, done): &(&&str, &BTreeSet<String>)| !done.contains(&sample_id(function));
            done.iter().filter(is_missing).count()
        };
        let chunks = chunks(functions, |function| missing(function) > 0);
        let n_missing: usize = chunks.iter().flatten().map(|function| missing(function)).sum();
        progress.add(arms.len() * functions.len() - n_missing);
        let store = Mutex::new(store);
        let results = self.workers.map(chunks, |_, chunk| self.write_chunk(&chunk, &done, &store, &progress));
        results.into_iter().collect::<anyhow::Result<()>>()?;
        let samples: Vec<String> = functions.iter().map(sample_id).collect();
        let store = store.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(store.finish(arms, &samples))
    }

    fn write_chunk(
        &self,
        functions: &[&StoredFunction],
        done: &BTreeMap<&str, BTreeSet<String>>,
        store: &Mutex<AnswerStore<Written>>,
        progress: &Progress,
    ) -> anyhow::Result<()> {
        let mut native = Native::new(repository_of(functions[0], self.repositories)?);
        for function in functions {
            let arms = self.experiment.evaluation.arms.iter();
            for arm in arms.filter(|arm| !done[arm.as_str()].contains(&sample_id(function))) {
                if self.interrupter.should_stop() {
                    return Err(Interrupted.into());
                }
                let written = self.write(arm, function, &mut native)?;
                locked(store).add(written)?;
                progress.add(1);
            }
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

fn locked(store: &Mutex<AnswerStore<Written>>) -> MutexGuard<'_, AnswerStore<Written>> {
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
fn chunks(functions: &[StoredFunction], is_missing: impl Fn(&StoredFunction) -> bool) -> Vec<Vec<&StoredFunction>> {
    let mut chunks: Vec<Vec<&StoredFunction>> = Vec::new();
    for function in functions.iter().filter(|function| is_missing(function)) {
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
        let is_missing = |function: &StoredFunction| !done.contains(&sample_id(function));
        let sizes: Vec<usize> = chunks(&functions, is_missing).iter().map(Vec::len).collect();
        assert_eq!(sizes, [CHUNK, 1]);
        assert_eq!(chunks(&functions, |_| true).iter().map(Vec::len).collect::<Vec<_>>(), [CHUNK, 1, 2]);
    }
}
