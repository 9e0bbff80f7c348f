//! `RepoCoder`: retrieve, write, retrieve again with what was written.
//!
//! The windows of a repository ([`WindowIndex`]) are ranked by their similarity to the code before the cursor, or from
//! the second iteration on to that code with what was written after it, and the best are shown as comments above the
//! unfinished code. No window shows lines of the cursor's file that the prompt itself shows, or any after them.
//!
//! # References
//!
//! `RepoCoder` (arXiv 2303.12570) and its released code, whose defect of showing extended windows that reach into the
//! target (issue 45) is left out in both variants. Cursors within a line are our addition: the begun line counts as one
//! of the query's.

mod index;
mod prompt;
mod unfinished;

#[cfg(test)]
mod tests;

use models::{Tokenizer, Workers};

use crate::complete::{Completer, Completion, CompletionRequest};
use crate::prompt::{Prompt, PromptRule};
use crate::strategies::Chosen;
use crate::windows::WindowRule;
use crate::{Result, Variant};
use prompt::Built;
use unfinished::Unfinished;

pub use index::{LeakGuard, Similarity, WindowIndex};

/// How often is retrieved and written, and what is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepoCoderRule {
    /// The windows, by which queries are measured too.
    pub windows: WindowRule,
    /// The most iterations, each of which writes a completion.
    pub iterations_max: usize,
    /// Whether it ends before that where an iteration shows the windows or writes the text of the one before.
    pub is_adaptive: bool,
    /// How many windows are retrieved.
    pub top_k: usize,
    /// How many of them are shown at most.
    pub blocks_max: usize,
    /// The paper's definition or the released code's.
    ///
    /// The released code leaves blank lines out of later queries, prefers the later of equally similar windows, and lists
    /// the paths of places that the leak guard refuses.
    pub variant: Variant,
}

impl Default for RepoCoderRule {
    /// Returns what the paper recommends.
    fn default() -> Self {
        Self {
            windows: WindowRule::default(),
            iterations_max: 2,
            is_adaptive: false,
            top_k: 20,
            blocks_max: 10,
            variant: Variant::Paper,
        }
    }
}

/// What writes after prompts: a [`Completer`], whose strategy is not asked.
pub trait Writer {
    /// Returns the tokenizer of the generator.
    fn tokenizer(&self) -> &Tokenizer;

    /// Returns how much of what a prompt holds: `cross_tokens_max` for retrieved code, the rest for unfinished code. An
    /// infill is not used: the prompt ends at the cursor.
    fn prompt_rule(&self) -> PromptRule;

    /// Writes after prompts, one for each request.
    ///
    /// # Errors
    ///
    /// Returns an error if the generator cannot read the prompts.
    fn write(
        &self,
        requests: &[CompletionRequest<'_>],
        chosen: Vec<Chosen>,
        prompts: Vec<Prompt>,
    ) -> Result<Vec<Completion>>;
}

impl Writer for Completer<'_> {
    fn tokenizer(&self) -> &Tokenizer {
        self.decoder.tokenizer()
    }

    fn prompt_rule(&self) -> PromptRule {
        self.prompt
    }

    fn write(
        &self,
        requests: &[CompletionRequest<'_>],
        chosen: Vec<Chosen>,
        prompts: Vec<Prompt>,
    ) -> Result<Vec<Completion>> {
        self.write_after(requests, chosen, prompts, &|_| ())
    }
}

/// Why no further iteration followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The rule allows no more.
    Limit,
    /// A further one would have shown the same windows.
    SameWindows,
    /// The last one wrote the same text as the one before.
    SameText,
}

/// What came of the iterations at one cursor.
#[derive(Debug, Clone, PartialEq)]
pub struct Iterated {
    /// The completion of each iteration with what it was shown; the last is the answer.
    pub iterations: Vec<Completion>,
    /// Why there are no more.
    pub end: End,
}

/// Which windows an iteration shows: shifted ones in the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Iteration {
    First,
    Later,
}

/// One cursor on its way through the iterations.
struct Run<'a> {
    request: CompletionRequest<'a>,
    unfinished: Unfinished<'a>,
    iterations: Vec<Completion>,
    windows: Vec<usize>,
    end: Option<End>,
}

/// Completes at cursors of the indexed repository, all of them one iteration after the other.
///
/// # Errors
///
/// Returns the writer's error.
pub fn complete<W: Writer>(
    writer: &W,
    rule: &RepoCoderRule,
    index: &WindowIndex<'_>,
    requests: &[CompletionRequest<'_>],
    workers: &Workers,
) -> Result<Vec<Iterated>> {
    let (prompt_rule, tokenizer) = (writer.prompt_rule(), writer.tokenizer());
    let mut runs: Vec<Run<'_>> = workers.map(requests.to_vec(), |_, request| Run {
        request,
        unfinished: Unfinished::new(request.cursor, &prompt_rule, tokenizer),
        iterations: Vec::new(),
        windows: Vec::new(),
        end: None,
    });
    for _ in 0..rule.iterations_max {
        let open: Vec<&mut Run<'_>> = runs.iter_mut().filter(|run| run.end.is_none()).collect();
        let built = retrieve(&open, rule, index, (&prompt_rule, tokenizer), workers);
        let mut going = Vec::new();
        for (run, built) in open.into_iter().zip(built) {
            if rule.is_adaptive && !run.iterations.is_empty() && run.windows == built.windows {
                run.end = Some(End::SameWindows);
            } else {
                run.windows = built.windows;
                going.push((run, built.chosen, built.prompt));
            }
        }
        write(writer, rule, going)?;
    }
    let iterated = |run: Run<'_>| Iterated { iterations: run.iterations, end: run.end.unwrap_or(End::Limit) };
    Ok(runs.into_iter().map(iterated).collect())
}

/// Retrieves for the next iteration of each run, and builds its prompt.
fn retrieve(
    runs: &[&mut Run<'_>],
    rule: &RepoCoderRule,
    index: &WindowIndex<'_>,
    (prompt_rule, tokenizer): (&PromptRule, &Tokenizer),
    workers: &Workers,
) -> Vec<Built> {
    let query = |run: &&mut Run<'_>| match run.iterations.last() {
        None => run.unfinished.first_query(rule.windows),
        Some(last) => run.unfinished.next_query(&last.text, rule.windows, rule.variant),
    };
    let queries: Vec<_> = runs.iter().map(|run| (query(run), run.unfinished.guard)).collect();
    let retrieved = index.top(&queries, rule.top_k, rule.variant, workers);
    let rows = runs.iter().zip(queries).zip(retrieved).map(|((run, (query, _)), retrieved)| {
        let iteration = if run.iterations.is_empty() { Iteration::First } else { Iteration::Later };
        (&run.unfinished, run.request.cursor.language, iteration, (query, retrieved))
    });
    workers.map(rows.collect(), |_, (unfinished, language, iteration, retrieved)| {
        prompt::build(unfinished, retrieved, index, rule, prompt_rule, (tokenizer, language, iteration))
    })
}

/// Writes the completions of one iteration, and ends the runs that gain nothing any more.
fn write<W: Writer>(writer: &W, rule: &RepoCoderRule, going: Vec<(&mut Run<'_>, Chosen, Prompt)>) -> Result<()> {
    let requests: Vec<CompletionRequest<'_>> = going.iter().map(|(run, ..)| run.request).collect();
    let (mut runs, mut chosen, mut prompts) = (Vec::new(), Vec::new(), Vec::new());
    for (run, run_chosen, prompt) in going {
        runs.push(run);
        chosen.push(run_chosen);
        prompts.push(prompt);
    }
    for (run, completion) in runs.into_iter().zip(writer.write(&requests, chosen, prompts)?) {
        let is_same = run.iterations.last().is_some_and(|last| last.text == completion.text);
        run.iterations.push(completion);
        if rule.is_adaptive && is_same {
            run.end = Some(End::SameText);
        }
    }
    Ok(())
}
