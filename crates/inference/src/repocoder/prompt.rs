//! `RepoCoder`'s prompt: retrieved code as comments, the most similar last, and the unfinished code.

use models::Tokenizer;
use repo::candidates::{Candidate, CodeCandidate};
use repo::language::Language;

use super::index::{WindowIndex, candidate};
use super::unfinished::Unfinished;
use super::{Iteration, RepoCoderRule};
use crate::Variant;
use crate::prompt::{Prompt, PromptRule, Shown};
use crate::strategies::{Chosen, Ranked};
use crate::windows::Location;

/// The tokens that the line above all blocks counts for, whatever the tokenizer makes of it.
const HEADER_TOKENS: usize = 20;

/// A retrieved window as a prompt shows it.
struct Block {
    text: String,
    candidate: CodeCandidate,
}

/// What one iteration shows.
pub(super) struct Built {
    pub(super) prompt: Prompt,
    pub(super) chosen: Chosen,
    /// The windows shown, in the order of the index.
    pub(super) windows: Vec<usize>,
}

/// Builds the prompt of one iteration from the retrieved windows, best first.
///
/// Blocks are taken in that order while there are fewer than the rule's; one that does not fit is passed over.
pub(super) fn build(
    unfinished: &Unfinished<'_>,
    (query, retrieved): (String, Vec<(usize, f64)>),
    index: &WindowIndex<'_>,
    rule: &RepoCoderRule,
    prompt_rule: &PromptRule,
    (tokenizer, language, iteration): (&Tokenizer, Language, Iteration),
) -> Built {
    let (mut blocks, mut windows, mut shown, mut ranked) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut n_tokens = HEADER_TOKENS;
    for (window, similarity) in retrieved {
        let Some(block) = block(unfinished, index, window, rule, language, iteration) else { continue };
        let needed = tokenizer.encode(&block.text).len();
        let fits = windows.len() < rule.blocks_max && n_tokens + needed < prompt_rule.cross_tokens_max;
        if fits {
            n_tokens += needed;
            windows.push(window);
            blocks.push(block.text);
        }
        shown.push(if fits { Shown::Whole } else { Shown::Not });
        let candidate = Candidate::Code(block.candidate);
        ranked.push(Ranked { candidate, similarity: similarity as f32, before_stop: true });
    }
    blocks.reverse();
    windows.sort_unstable();
    let cross = cross(&blocks, language);
    Built {
        prompt: prompt(&cross, unfinished, shown, prompt_rule, tokenizer),
        chosen: Chosen { query, ranked },
        windows,
    }
}

/// Returns the blocks under their header, which stands there without blocks too.
fn cross(blocks: &[String], language: Language) -> String {
    let comment = language.comment_prefix();
    let header = "Here are some relevant code fragments from other files of the repo:";
    format!("{comment}{header}\n{}\n{}\n", separator(language), blocks.concat())
}

/// Returns a window as commented lines under the paths that have it, or nothing if no place of it may be shown.
///
/// The first iteration shows what follows the window's first half, for the code to write is similar to what follows
/// code that is similar to what precedes it. Of a window's places the first is extended whose extension the guard admits.
fn block(
    unfinished: &Unfinished<'_>,
    index: &WindowIndex<'_>,
    window: usize,
    rule: &RepoCoderRule,
    language: Language,
    iteration: Iteration,
) -> Option<Block> {
    let window = index.window(window);
    let shift = if iteration == Iteration::First { rule.windows.step } else { 0 };
    let guard = unfinished.guard;
    let (location, lines, file_language, span) = window.locations.iter().find_map(|location| {
        let (lines, language) = index.file(&location.path);
        let end = (location.lines.end + shift).min(lines.len());
        let start = if shift == 0 { location.lines.start } else { end.saturating_sub(rule.windows.lines) };
        guard.admits(&location.path, end).then_some((location, lines, language, start..end))
    })?;
    let is_listed =
        |location: &&Location| rule.variant == Variant::Released || guard.admits(&location.path, location.lines.end);
    let comment = language.comment_prefix();
    let commented = |line: &str| format!("{comment}{line}\n");
    let paths = window.locations.iter().filter(is_listed).map(|location| commented(&location.path));
    let border = || [format!("{}\n", separator(language))];
    let code = lines[span.clone()].iter().copied().map(commented);
    let mut text = commented("the below code fragment can be found in:");
    text.extend(paths.chain(border()).chain(code).chain(border()));
    let code = lines[span.clone()].join("\n");
    Some(Block { text, candidate: candidate(&location.path, file_language, span, code) })
}

fn separator(language: Language) -> String {
    format!("{}{}", language.comment_prefix(), "-".repeat(50))
}

/// Joins both parts as tokens (paper) or as text (released code).
fn prompt(
    cross: &str,
    unfinished: &Unfinished<'_>,
    shown: Vec<Shown>,
    rule: &PromptRule,
    tokenizer: &Tokenizer,
) -> Prompt {
    let (cross_tokens, left) = (tokenizer.encode(cross), tokenizer.encode(unfinished.shown));
    let (n_cross, n_left) = (cross_tokens.len(), left.len());
    let joined = match rule.variant {
        Variant::Paper => [cross_tokens, left].concat(),
        Variant::Released => tokenizer.encode(&[cross, unfinished.shown].concat()),
    };
    let mut tokens: Vec<u32> = rule.begin_token.into_iter().chain(joined).collect();
    let start_tokens_dropped = tokens.len().saturating_sub(rule.context_tokens_max);
    tokens.drain(..start_tokens_dropped);
    Prompt {
        tokens,
        cross_tokens: n_cross,
        cross_bytes_dropped: 0,
        path_tokens: 0,
        left_tokens: n_left,
        left_bytes_dropped: unfinished.bytes_dropped,
        start_tokens_dropped,
        shown,
    }
}
