//! The code before a cursor: what the prompt shows of it, and the queries that it gives.

use models::Tokenizer;

use super::LeakGuard;
use crate::prompt::{PromptRule, last_tokens};
use crate::windows::{WindowRule, ends_line, lines};
use crate::{Cursor, Variant};

/// The code before a cursor.
#[derive(Debug, Clone)]
pub(super) struct Unfinished<'a> {
    /// Whole lines, as the file numbers them.
    lines: Vec<&'a str>,
    /// What is already written of the line that the cursor is in.
    begun: &'a str,
    /// What the prompt shows.
    pub(super) shown: &'a str,
    /// How many bytes before that it does not show.
    pub(super) bytes_dropped: usize,
    pub(super) guard: LeakGuard<'a>,
}

impl<'a> Unfinished<'a> {
    /// Keeps as many lines before the cursor as the prompt has room for beside code from the repository; the line of the
    /// cursor is cut where it alone is too long.
    pub(super) fn new(cursor: Cursor<'a>, rule: &PromptRule, tokenizer: &Tokenizer) -> Self {
        let (left_context, _) = rule.seam.split(cursor.left_context);
        let tokens_max = rule.context_tokens_max.saturating_sub(rule.cross_tokens_max);
        let tokens = last_tokens(tokenizer, left_context, tokens_max);
        let bytes_dropped = match tokens.first() {
            Some((_, first)) => next_line(left_context, *first),
            None => left_context.len(),
        };
        let context_start = n_ended(&left_context[..bytes_dropped]);
        let mut lines = lines(cursor.left_context);
        let begun = if cursor.left_context.ends_with(ends_line) { None } else { lines.pop() };
        Self {
            lines,
            begun: begun.unwrap_or_default(),
            shown: &left_context[bytes_dropped..],
            bytes_dropped,
            guard: LeakGuard { path: cursor.path, context_start },
        }
    }

    /// Returns the query of the first iteration: the last lines that the prompt shows, at most a window.
    pub(super) fn first_query(&self, rule: WindowRule) -> String {
        let begun = Some(self.begun).filter(|line| !line.trim().is_empty());
        let n_whole = rule.lines.saturating_sub(usize::from(begun.is_some()));
        self.last(n_whole).iter().copied().chain(begun).collect::<Vec<_>>().join("\n")
    }

    /// Returns the query of a later iteration: lines before the cursor, and the first lines of what was written there.
    ///
    /// The released code leaves blank lines out of both.
    pub(super) fn next_query(&self, written: &str, rule: WindowRule, variant: Variant) -> String {
        let written = [self.begun, written].concat();
        let is_kept = |line: &&str| variant == Variant::Paper || !line.trim().is_empty();
        let before = self.last(rule.lines.saturating_sub(rule.step)).iter().copied().filter(is_kept);
        let after = lines(&written).into_iter().filter(is_kept).take(rule.step);
        before.chain(after).collect::<Vec<_>>().join("\n")
    }

    /// Returns the last whole lines that the prompt shows, at most `n`.
    fn last(&self, n: usize) -> &[&'a str] {
        let start = self.lines.len().saturating_sub(n).max(self.guard.context_start).min(self.lines.len());
        &self.lines[start..]
    }
}

/// Returns the first byte of the first line that begins at or after `byte`; `byte` itself if none does.
fn next_line(text: &str, byte: usize) -> usize {
    let begins =
        |at: usize| at == 0 || text[..at].ends_with(ends_line) && !text.as_bytes()[at - 1..].starts_with(b"\r\n");
    let mut starts = (byte..text.len()).filter(|&at| text.is_char_boundary(at));
    starts.find(|&at| begins(at)).unwrap_or(byte)
}

/// Returns how many lines end in a text.
fn n_ended(text: &str) -> usize {
    let lines = lines(text).len();
    if text.is_empty() || text.ends_with(ends_line) { lines } else { lines - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_begins_with_a_line_be_it_blank() {
        let text = "ab\n\n\r\ncd\u{2028}e";
        let starts: Vec<usize> =
            (0..text.len()).filter(|&at| text.is_char_boundary(at)).map(|byte| next_line(text, byte)).collect();
        assert_eq!(starts, [0, 3, 3, 3, 4, 6, 6, 11, 11, 11]);
        assert_eq!(next_line("abc", 1), 1);
    }

    #[test]
    fn lines_are_counted_as_far_as_they_end() {
        assert_eq!(["", "a", "a\n", "a\nb", "a\n\n"].map(n_ended), [0, 0, 1, 1, 2]);
    }
}
