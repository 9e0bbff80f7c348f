//! Random spans: the training targets of RLCoder.

use rand::{Rng, RngExt};

use super::{Target, TargetKind, target_in};
use crate::source::SourceFile;

/// The numbers of the random-span rule. A piece is what lies between two single spaces; newlines stay inside.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanRule {
    /// Smallest start, as a share of the file's pieces.
    pub start_min: f64,
    /// Largest start, as a share of the file's pieces.
    pub start_max: f64,
    /// Fewest pieces of a target.
    pub pieces_min: usize,
    /// Most pieces of a target, inclusive.
    pub pieces_max: usize,
    /// A left context has more whitespace-separated words than this.
    pub left_words_min: usize,
    /// A target has more whitespace-separated words than this.
    pub target_words_min: usize,
    /// Spans tried before the cluster is given up.
    pub attempts_max: usize,
}

impl Default for SpanRule {
    /// The numbers of RLCoder.
    fn default() -> Self {
        Self {
            start_min: 0.2,
            start_max: 0.8,
            pieces_min: 32,
            pieces_max: 64,
            left_words_min: 80,
            target_words_min: 8,
            attempts_max: 10,
        }
    }
}

/// Draws a random span from the files of a cluster, or `None` if no attempt satisfies the rule.
///
/// One file is drawn uniformly from all but the first, which depends on nothing; every attempt draws a start and a
/// number of pieces within it. The span covers whole pieces and the spaces between them; the space before it belongs to
/// the left context.
///
/// # Panics
///
/// Panics if the rule's `pieces_min` exceeds its `pieces_max`.
///
/// # References
///
/// RLCoder (arXiv 2407.19487), its released sampling. There the two spaces around the target are lost.
#[must_use]
pub fn random_span(files: &[&SourceFile], rule: &SpanRule, rng: &mut impl Rng) -> Option<Target> {
    assert!(rule.pieces_min <= rule.pieces_max, "a target has at least `pieces_min` and at most `pieces_max` pieces");
    if files.len() < 2 {
        return None;
    }
    let file = files[rng.random_range(1..files.len())];
    let starts = piece_starts(&file.text);
    (0..rule.attempts_max).find_map(|_| attempt(file, &starts, rule, rng))
}

fn attempt(file: &SourceFile, starts: &[usize], rule: &SpanRule, rng: &mut impl Rng) -> Option<Target> {
    let share = rule.start_min + (rule.start_max - rule.start_min) * rng.random::<f64>();
    let first = (starts.len() as f64 * share) as usize;
    let end = first + rng.random_range(rule.pieces_min..=rule.pieces_max);
    let start = *starts.get(first)?;
    let end = starts.get(end).map_or(file.text.len(), |next| next - 1);
    let has_words = |text: &str, min: usize| text.split_whitespace().nth(min).is_some();
    let (left, target) = (&file.text[..start], file.text.get(start..end)?);
    let is_accepted = has_words(left, rule.left_words_min) && has_words(target, rule.target_words_min);
    is_accepted.then(|| target_in(file, start..end, TargetKind::Span))
}

fn piece_starts(text: &str) -> Vec<usize> {
    let after_spaces = text.bytes().enumerate().filter(|&(_, byte)| byte == b' ').map(|(index, _)| index + 1);
    std::iter::once(0).chain(after_spaces).collect()
}
