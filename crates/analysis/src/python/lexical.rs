//! Names without a parser, for texts that ty must not see.

use std::collections::BTreeSet;

use repo::Language;
use repo::identifiers::identifier_spans;

use crate::caret::Caret;
use crate::intelligence::{Origin, Suggestion};

/// How far before the caret words are looked for, in bytes.
const BYTES_MAX: usize = 1 << 16;

/// Returns the words near before the caret.
pub(super) fn completions(caret: &Caret<'_>) -> Vec<Suggestion> {
    let end = caret.byte - caret.prefix().len();
    let start = caret.text.ceil_char_boundary(end.saturating_sub(BYTES_MAX));
    let before = &caret.text[start..end];
    let spans = identifier_spans(before, Language::Python);
    let words: BTreeSet<&str> = spans.into_iter().map(|span| &before[span]).collect();
    words.into_iter().map(|name| Suggestion { name: name.to_owned(), origin: Origin::Unknown }).collect()
}
