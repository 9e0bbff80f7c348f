//! Candidates: the pieces of other files that a prompt may show.
//!
//! A file is cut into runs of whole lines. Blank lines (whitespace only) separate and are dropped, so the candidates of
//! a file hold exactly its non-blank lines in order, up to the rule's limit. Lines end at `\n` or `\r\n`.

mod split;
mod window;

use std::ops::Range;

use crate::language::Language;
use crate::source::SourceFile;

/// The text of the stop candidate: the one sentence that says the file alone is enough.
pub const STOP_TEXT: &str = "the code above is enough, nothing from other files is needed here";

/// T of Split-Aggregate in the paper's setup, in non-blank lines.
pub const SPLIT_LINES_MAX: usize = 15;

/// Length of a fixed window in the paper's ablation, in non-blank lines.
pub const WINDOW_LINES: usize = 12;

/// Non-blank lines after which the released rules leave the rest of a file out.
pub const FILE_LINES_MAX: usize = 5_000;

/// What a retriever ranks: a piece of code, or the decision to stop there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Candidate {
    /// A piece of code of another file.
    Code(CodeCandidate),
    /// The stop candidate: what ranks below it is not shown.
    Stop,
}

impl Candidate {
    /// Returns the candidate as commented text of `language`, the same for the encoder and for the prompt.
    ///
    /// Code comes under two header lines, `file path: P` and `lines: a-b`; the stop candidate is [`STOP_TEXT`] alone.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        match self {
            Self::Code(candidate) => {
                let CodeCandidate { path, listed: (first, last), code, .. } = candidate;
                commented(&format!("file path: {path}\nlines: {first}-{last}\n{code}"), language)
            }
            Self::Stop => commented(STOP_TEXT, language),
        }
    }

    /// Returns whether this is the stop candidate.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Stop)
    }
}

/// A piece of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeCandidate {
    /// Path of the file.
    pub path: String,
    /// Language of the file.
    pub language: Language,
    /// Lines of the file from the first to the last of the code, 0-based and half-open, blank ones in between included.
    pub lines: Range<usize>,
    /// The two numbers of the header's `lines: a-b`, counted as the rule does.
    pub listed: (usize, usize),
    /// The non-blank lines, joined by a newline.
    pub code: String,
}

/// How a file is cut into candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CandidateRule {
    /// Mini-blocks, the runs of lines between blank lines, merged in file order.
    SplitAggregate {
        /// T, in non-blank lines; 0 counts as 1.
        lines_max: usize,
        /// Which account of the rule.
        variant: SplitVariant,
    },
    /// Windows of non-blank lines, without overlap, over the first [`FILE_LINES_MAX`] of a file.
    ///
    /// The last window to start within the limit is whole. The header counts non-blank lines from 0 and lists the last.
    FixedWindow {
        /// Length of a window, in non-blank lines; 0 counts as 1.
        lines: usize,
    },
}

impl Default for CandidateRule {
    fn default() -> Self {
        Self::SplitAggregate { lines_max: SPLIT_LINES_MAX, variant: SplitVariant::Paper }
    }
}

/// The two accounts of Split-Aggregate, which differ in four points.
///
/// | | `Paper` | `Released` |
/// |---|---|---|
/// | merging | while shorter than T, the candidate takes the next mini-block | as long as it stays within T |
/// | a mini-block longer than T | kept whole | cut into slices of T lines first |
/// | long files | read to the end | no mini-block that starts after [`FILE_LINES_MAX`] non-blank lines |
/// | header `lines: a-b` | line numbers of the file | non-blank lines, counted from the file's start |
///
/// Both count from 1 and list the last line. `Paper` follows the pseudo-code to the letter (`while length < T`): a
/// candidate may end longer than T, and no mini-block is torn; the encoder and the prompt cut what is too long for
/// them. `Released` is what the published numbers were made with.
///
/// # References
///
/// RLCoder (arXiv 2407.19487), candidate construction by Split-Aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitVariant {
    /// The paper's pseudo-code.
    Paper,
    /// The released implementation.
    Released,
}

/// Cuts `file` into candidates, in file order.
#[must_use]
pub fn candidates(file: &SourceFile, rule: &CandidateRule) -> Vec<CodeCandidate> {
    let lines = non_blank_lines(&file.text);
    let pieces = match *rule {
        CandidateRule::SplitAggregate { lines_max, variant: SplitVariant::Paper } => split::paper(&lines, lines_max),
        CandidateRule::SplitAggregate { lines_max, variant: SplitVariant::Released } => {
            split::released(&lines, lines_max)
        }
        CandidateRule::FixedWindow { lines: length } => window::fixed(&lines, length),
    };
    pieces.into_iter().map(|piece| piece.into_candidate(file, &lines)).collect()
}

/// Cuts every file but the one at `target_path` into candidates, in the order of `files`.
#[must_use]
pub fn candidates_for(files: &[&SourceFile], target_path: &str, rule: &CandidateRule) -> Vec<CodeCandidate> {
    files.iter().filter(|file| file.path != target_path).flat_map(|file| candidates(file, rule)).collect()
}

/// A non-blank line and its 0-based number in the file.
struct Line<'text> {
    number: usize,
    text: &'text str,
}

/// A run of non-blank lines, as positions among them, with its header numbers.
struct Piece {
    range: Range<usize>,
    listed: (usize, usize),
}

impl Piece {
    fn into_candidate(self, file: &SourceFile, lines: &[Line<'_>]) -> CodeCandidate {
        let lines = &lines[self.range];
        let code: Vec<&str> = lines.iter().map(|line| line.text).collect();
        CodeCandidate {
            path: file.path.clone(),
            language: file.language,
            lines: lines[0].number..lines[lines.len() - 1].number + 1,
            listed: self.listed,
            code: code.join("\n"),
        }
    }
}

fn non_blank_lines(text: &str) -> Vec<Line<'_>> {
    let lines = text.lines().enumerate().map(|(number, text)| Line { number, text });
    lines.filter(|line| !line.text.trim().is_empty()).collect()
}

fn commented(text: &str, language: Language) -> String {
    let prefix = language.comment_prefix();
    let lines: Vec<String> = text.lines().map(|line| format!("{prefix}{line}")).collect();
    lines.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests;
