//! A cursor in, a completion out.

use models::cache::Cache;
use models::{Decoder, LanguageModel, Workers};
use repo::candidates::{CandidateRule, CodeCandidate, candidates_for};
use repo::source::{Repository, SourceFile};

use crate::batches::{self, Progress};
use crate::greedy::{Generated, Stop, greedy_over_seam};
use crate::perplexity::WeightedTarget;
use crate::prompt::{self, Prompt, PromptRule};
use crate::seam::SeamTokens;
use crate::strategies::{ChoiceRequest, Chosen, Stage, Strategy, choose};
use crate::{Cursor, Error, Result};

/// What turns cursors into completions.
#[derive(Debug, Clone, Copy)]
pub struct Completer<'a> {
    /// The generator.
    pub decoder: &'a Decoder,
    /// What completes cursors side by side.
    pub workers: &'a Workers,
    /// What chooses code from other files.
    pub strategy: Strategy<'a>,
    /// How much of what a prompt holds.
    pub prompt: PromptRule,
    /// Tokens of a completion.
    pub tokens_max: usize,
}

/// A cursor, the candidates to choose from and, in an evaluation, what should be written there.
#[derive(Debug, Clone, Copy)]
pub struct CompletionRequest<'a> {
    /// Where the completion is wanted.
    pub cursor: Cursor<'a>,
    /// Code from other files.
    pub candidates: &'a [CodeCandidate],
    /// When the completion ends before the limit on tokens.
    pub stop: Stop,
    /// A target whose NLL is asked for besides.
    pub target: Option<&'a WeightedTarget>,
}

impl<'a> CompletionRequest<'a> {
    /// Returns the part that says what to choose from.
    #[must_use]
    pub fn choice(&self) -> ChoiceRequest<'a> {
        ChoiceRequest { cursor: self.cursor, candidates: self.candidates }
    }
}

/// A completion and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// The text.
    pub text: String,
    /// Its tokens.
    pub generated: Generated,
    /// The candidates, with their similarities.
    pub chosen: Chosen,
    /// What the generator read; its `shown` goes with the kept candidates.
    pub prompt: Prompt,
    /// The NLL of the request's target tokens, in nats.
    pub target_nll: Vec<f32>,
}

impl Completer<'_> {
    /// Completes at one cursor of a repository, with code from all its other files.
    ///
    /// # Errors
    ///
    /// Returns an error if the generator's context is too short for a full prompt and its completion.
    pub fn complete_at(
        &self,
        repository: &Repository,
        rule: &CandidateRule,
        cursor: Cursor<'_>,
        stop: Stop,
    ) -> Result<Completion> {
        let files: Vec<&SourceFile> = repository.files().iter().collect();
        let candidates = candidates_for(&files, cursor.path, rule);
        let request = CompletionRequest { cursor, candidates: &candidates, stop, target: None };
        Ok(self.complete(&[request], &|_| ())?.remove(0))
    }

    /// Chooses candidates for many cursors and completes them.
    ///
    /// # Errors
    ///
    /// Returns an error if the generator's context is too short for a full prompt with its completion or target.
    pub fn complete(
        &self,
        requests: &[CompletionRequest<'_>],
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Vec<Completion>> {
        let choices: Vec<_> = requests.iter().map(CompletionRequest::choice).collect();
        let chosen = choose(&self.strategy, &choices, Stage::Inference, self.workers, &|_| ());
        self.write(requests, chosen, progress)
    }

    /// Completes cursors whose candidates have been chosen; one prompt at a time on each worker.
    ///
    /// The generator reads a prompt once, for the completion and for the target. `progress` counts the prompts' tokens.
    ///
    /// # Errors
    ///
    /// Returns an error if the generator's context is too short for a full prompt with its completion or target.
    ///
    /// # Panics
    ///
    /// Panics if there are not as many lists of candidates as requests.
    pub fn write(
        &self,
        requests: &[CompletionRequest<'_>],
        chosen: Vec<Chosen>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Vec<Completion>> {
        assert_eq!(requests.len(), chosen.len(), "every request has its candidates");
        let prompts = self.workers.map(requests.iter().zip(&chosen).collect(), |_, (request, chosen)| {
            prompt::build(self.decoder.tokenizer(), &self.prompt, request.cursor, &chosen.kept())
        });
        self.write_after(requests, chosen, prompts, progress)
    }

    /// Completes cursors whose prompts have been built.
    ///
    /// # Errors
    ///
    /// Returns an error if the generator's context is too short for a full prompt with its completion or target.
    ///
    /// # Panics
    ///
    /// Panics if there are not as many lists of candidates and prompts as requests.
    pub fn write_after(
        &self,
        requests: &[CompletionRequest<'_>],
        chosen: Vec<Chosen>,
        prompts: Vec<Prompt>,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Vec<Completion>> {
        assert!(requests.len() == chosen.len() && chosen.len() == prompts.len(), "every request has its prompt");
        self.check_context(requests)?;
        let lengths: Vec<usize> = prompts.iter().map(|prompt| prompt.tokens.len()).collect();
        let seam = SeamTokens::new(self.decoder.tokenizer());
        let written = batches::run(self.workers, &lengths, 0, progress, |batch| {
            batch.iter().map(|&index| self.read(&prompts[index].tokens, &requests[index], &seam)).collect()
        });
        let completion = |((chosen, prompt), Written { text, generated, target_nll }): (_, Written)| Completion {
            text,
            generated,
            chosen,
            prompt,
            target_nll,
        };
        Ok(chosen.into_iter().zip(prompts).zip(written).map(completion).collect())
    }

    /// Reads a prompt; returns what the generator writes after it and the NLL of the target after it.
    ///
    /// White space that the seam moved out of the prompt is written first, and is no part of the completion.
    fn read(&self, prompt: &[u32], request: &CompletionRequest<'_>, seam: &SeamTokens) -> Written {
        let tokenizer = self.decoder.tokenizer();
        let mut cache = self.decoder.new_cache();
        let logits = self.decoder.feed(&mut cache, prompt);
        let target_nll = request.target.map(|target| self.target_nll(&cache, &logits, target)).unwrap_or_default();
        let (_, white_space) = self.prompt.seam.split(request.cursor.left_context);
        let text = |tokens: &[u32]| tokenizer.decode(tokens).get(white_space.len()..).unwrap_or_default().to_owned();
        let stop = |tokens: &[u32]| request.stop.reached(&text(tokens));
        let generated = greedy_over_seam(self.decoder, &mut cache, logits, (white_space, seam), self.tokens_max, stop);
        Written { text: text(&generated.tokens), generated, target_nll }
    }

    fn target_nll(&self, cache: &Cache, logits: &[f32], target: &WeightedTarget) -> Vec<f32> {
        if target.lead.is_empty() {
            return self.decoder.score_from(cache, logits, &target.tokens);
        }
        let mut cache = cache.clone();
        let logits = self.decoder.feed(&mut cache, &target.lead);
        self.decoder.score_from(&cache, &logits, &target.tokens)
    }

    fn check_context(&self, requests: &[CompletionRequest<'_>]) -> Result<()> {
        let after = |request: &CompletionRequest<'_>| {
            let (_, white_space) = self.prompt.seam.split(request.cursor.left_context);
            white_space.len() + self.tokens_max.max(request.target.map_or(0, |target| target.tokens.len()))
        };
        let needed = self.prompt.context_tokens_max + requests.iter().map(after).max().unwrap_or(self.tokens_max);
        let context = self.decoder.context_tokens_max();
        if needed > context { Err(Error::ContextTooShort { needed, context }) } else { Ok(()) }
    }
}

/// What came after a prompt.
struct Written {
    text: String,
    generated: Generated,
    target_nll: Vec<f32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seam;
    use crate::Variant;
    use crate::fixtures::{self, code_candidate};
    use crate::greedy::Finish;
    use crate::perplexity::WeightRule;
    use crate::prompt::Shown;
    use crate::retriever::{Retriever, RetrieverLimits};
    use crate::score::score;
    use crate::strategies::{Arm, Dense};
    use models::encoder::Encoder;
    use models::{GenerationRule, ScoredSequence, generate};
    use repo::candidates::SplitVariant;
    use repo::language::Language;

    const CURSOR: Cursor<'_> = Cursor {
        path: "app/main.py",
        language: Language::Python,
        left_context: "import config\n\nvalue = config.re",
        right_context: "",
    };

    fn rule() -> PromptRule {
        PromptRule { cross_tokens_max: 48, context_tokens_max: 112, ..PromptRule::default() }
    }

    fn completer<'a>(decoder: &'a Decoder, workers: &'a Workers, arm: Arm<'a>) -> Completer<'a> {
        Completer { decoder, workers, strategy: Strategy::new(arm), prompt: rule(), tokens_max: 8 }
    }

    fn dense<'a>(encoder: &'a Encoder, workers: &'a Workers) -> Arm<'a> {
        let limits = RetrieverLimits { query_tokens_max: 24, candidate_tokens_max: 24, batch_tokens_max: 96 };
        Arm::Dense(Dense { retriever: Retriever { encoder, workers, limits }, prefilter_k: 3, k: 2, with_stop: true })
    }

    fn candidates() -> Vec<CodeCandidate> {
        let paths = ["a.py", "b.py", "c.py", "d.py"];
        let texts = ["def read(value): pass", "value = 1", "class Config: pass", "import config"];
        paths.iter().zip(texts).map(|(path, text)| code_candidate(path, text)).collect()
    }

    #[test]
    fn a_completion_is_greedy_decoding_after_the_prompt_and_the_target_is_scored_there_too() {
        let (decoder, workers) = (fixtures::decoder(), Workers::new(2));
        let candidates = candidates();
        let target =
            WeightedTarget::new(decoder.tokenizer(), "", "ad(value)\n", CURSOR.language, 6, &WeightRule::default());
        let request =
            CompletionRequest { cursor: CURSOR, candidates: &candidates, stop: Stop::Never, target: Some(&target) };
        let completion =
            completer(&decoder, &workers, Arm::Bm25 { k: 2 }).complete(&[request], &|_| ()).unwrap().remove(0);
        let prompt = completion.prompt.tokens.clone();
        let rule = GenerationRule { tokens_max: 8, strategy: models::generate::Strategy::Greedy };
        assert_eq!(vec![completion.generated], generate(&decoder, &[prompt.clone().into()], &rule).unwrap());
        assert_eq!(completion.chosen.kept().len(), 2);
        assert_eq!(completion.prompt.shown.len(), 2);
        let request = ScoredSequence { prompt, target: target.tokens };
        let expected = score(&decoder, &workers, &[request], 1000, &|_| ()).remove(0);
        assert_eq!(expected.len(), completion.target_nll.len());
        assert!(expected.iter().zip(&completion.target_nll).all(|(a, b)| (a - b).abs() < 1e-4));
    }

    #[test]
    fn completions_do_not_depend_on_the_number_of_workers_or_on_other_requests() {
        let (decoder, encoder) = (fixtures::decoder(), fixtures::encoder());
        let candidates = candidates();
        let other = Cursor { path: "other.py", left_context: "class Config:\n    def __init__", ..CURSOR };
        let request = |cursor| CompletionRequest { cursor, candidates: &candidates, stop: Stop::Never, target: None };
        let requests = [request(CURSOR), request(other), request(CURSOR)];
        let complete = |workers: &Workers, requests: &[CompletionRequest<'_>]| {
            completer(&decoder, workers, dense(&encoder, workers)).complete(requests, &|_| ()).unwrap()
        };
        let expected = complete(&Workers::inline(), &requests);
        assert_eq!(expected[0], expected[2]);
        assert_eq!(complete(&Workers::new(3), &requests), expected);
        assert_eq!(complete(&Workers::new(1), &requests[1..2])[0].text, expected[1].text);
    }

    #[test]
    fn white_space_moved_over_the_seam_is_written_first_and_is_no_part_of_the_completion() {
        let (decoder, workers) = (fixtures::decoder(), Workers::inline());
        let tokenizer = decoder.tokenizer();
        let cursor = Cursor { left_context: "def f():\n    ", ..CURSOR };
        let target = WeightedTarget::new(tokenizer, "\n    ", "return 1", CURSOR.language, 9, &WeightRule::default());
        let request = CompletionRequest { cursor, candidates: &[], stop: Stop::Never, target: Some(&target) };
        let prompt = PromptRule { seam: Seam::Moved, ..rule() };
        let completer = Completer { prompt, ..completer(&decoder, &workers, Arm::None) };
        let completion = completer.complete(&[request], &|_| ()).unwrap().remove(0);
        assert!(tokenizer.decode(&completion.prompt.tokens).ends_with("def f():"));
        let written = tokenizer.decode(&completion.generated.tokens);
        assert_eq!(written, format!("\n    {}", completion.text));
        let prompt = [&completion.prompt.tokens[..], &target.lead[..]].concat();
        let expected = score(&decoder, &workers, &[ScoredSequence { prompt, target: target.tokens }], 0, &|_| ());
        assert!(expected[0].iter().zip(&completion.target_nll).all(|(a, b)| (a - b).abs() < 1e-4));
    }

    #[test]
    fn an_editor_gets_a_completion_from_a_repository_and_a_cursor() {
        let (decoder, encoder, workers) = (fixtures::decoder(), fixtures::encoder(), Workers::new(2));
        let file = |path: &str, text: &str| SourceFile {
            path: path.to_owned(),
            language: Language::Python,
            text: text.to_owned(),
        };
        let files = vec![file("config.py", "def read():\n    return 1\n"), file(CURSOR.path, "import config\n")];
        let repository = Repository::new("app", files);
        let rule = CandidateRule::SplitAggregate { lines_max: 15, variant: SplitVariant::Paper };
        let completer = completer(&decoder, &workers, dense(&encoder, &workers));
        let completion = completer.complete_at(&repository, &rule, CURSOR, Stop::Never).unwrap();
        assert_eq!(completion.chosen.ranked.len(), 2);
        assert!(completion.chosen.stopped_at().is_some());
        assert_eq!(completion.text, decoder.tokenizer().decode(&completion.generated.tokens));
        let empty = Repository::new("empty", Vec::new());
        assert!(completer.complete_at(&empty, &rule, CURSOR, Stop::Never).unwrap().chosen.kept().is_empty());
    }

    #[test]
    fn no_arm_shows_no_code_from_other_files() {
        let (decoder, workers) = (fixtures::decoder(), Workers::inline());
        let candidates = candidates();
        let request = CompletionRequest { cursor: CURSOR, candidates: &candidates, stop: Stop::Never, target: None };
        let completion = completer(&decoder, &workers, Arm::None).complete(&[request], &|_| ()).unwrap().remove(0);
        assert_eq!((completion.prompt.cross_tokens, completion.prompt.shown.len()), (0, 0));
        assert!(!completion.prompt.shown.contains(&Shown::Whole));
        assert!(completion.target_nll.is_empty());
        assert!(completion.generated.finish != Finish::Stopped);
    }

    #[test]
    fn a_context_too_short_for_the_rule_is_an_error() {
        let (decoder, workers) = (fixtures::decoder(), Workers::inline());
        let context_tokens_max = decoder.context_tokens_max();
        let prompt = PromptRule { context_tokens_max, variant: Variant::Released, ..rule() };
        let completer = Completer { prompt, ..completer(&decoder, &workers, Arm::None) };
        let error = completer.complete(&[], &|_| ()).unwrap_err();
        assert!(matches!(error, Error::ContextTooShort { context, .. } if context == context_tokens_max));
    }
}
