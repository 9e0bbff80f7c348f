//! A simple order of suggestions that any tool's list can be put in: what was used last stands first.

use std::collections::BTreeMap;

use repo::Language;
use repo::identifiers::{identifier_spans, last_word_start};

use crate::caret::Caret;
use crate::intelligence::Suggestion;

/// Orders `suggestions` by how near before the caret their name stands last in the file; names that do not stand there
/// come after all others, nearest origin first and then by name.
///
/// # References
///
/// Locality of identifiers as in Tu, Su and Devanbu, "On the Localness of Software" (2014), without counts.
pub fn order(suggestions: &mut [Suggestion], caret: &Caret<'_>, language: Language) {
    LastUses::new("", language).order(suggestions, caret);
}

/// Where the names of a text stand last: the beginning of a file that stays as it is while carets move behind it.
#[derive(Debug, Clone)]
pub struct LastUses<'text> {
    language: Language,
    n_bytes: usize,
    starts: BTreeMap<&'text str, usize>,
}

impl<'text> LastUses<'text> {
    /// Reads the whole lines of `text`.
    #[must_use]
    pub fn new(text: &'text str, language: Language) -> Self {
        let n_bytes = text.rfind('\n').map_or(0, |line_end| line_end + 1);
        Self { language, n_bytes, starts: last_starts(&text[..n_bytes], language) }
    }

    /// Orders `suggestions` as [`order`] does, reading only what comes between these lines and the caret.
    ///
    /// # Panics
    ///
    /// Panics if the caret is not behind these lines; its text begins with them.
    pub fn order(&self, suggestions: &mut [Suggestion], caret: &Caret<'_>) {
        let between = &caret.text[self.n_bytes..caret.byte];
        let between = &between[..last_word_start(between)];
        let near = last_starts(between, self.language);
        let start = |name: &str| near.get(name).map(|start| self.n_bytes + start).or(self.starts.get(name).copied());
        suggestions.sort_by_cached_key(|suggestion| {
            let distance = start(&suggestion.name).map_or(usize::MAX, |start| caret.byte - start);
            (distance, suggestion.origin, suggestion.name.clone())
        });
    }
}

/// Returns where each identifier of a text begins last.
fn last_starts(text: &str, language: Language) -> BTreeMap<&str, usize> {
    let spans = identifier_spans(text, language).into_iter();
    spans.map(|span| (&text[span.clone()], span.start)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intelligence::Origin;
    use proptest::prelude::*;
    use std::borrow::Cow;

    #[test]
    fn what_was_used_last_stands_first() {
        let suggest = |name: &str, origin| Suggestion { name: name.into(), origin };
        let mut suggestions = vec![
            suggest("abs", Origin::Builtin),
            suggest("beta", Origin::Local),
            suggest("alpha", Origin::Local),
            suggest("gamma", Origin::Global),
        ];
        let text = "alpha = beta\nalpha + ";
        order(&mut suggestions, &Caret::new("a.py", Cow::Borrowed(text), text.len()), Language::Python);
        let names: Vec<&str> = suggestions.iter().map(|suggestion| suggestion.name.as_str()).collect();
        assert_eq!(names, ["alpha", "beta", "gamma", "abs"]);
    }

    proptest! {
        #[test]
        fn lines_that_are_read_once_order_as_the_whole_text_does(
            lines in "([ab_]{1,2}|0x[ab]|1\\.|[ .(\n]){0,30}",
            rest in "([abc_]{1,2}|[ .(\n]){0,12}",
        ) {
            let text = [lines.as_str(), rest.as_str()].concat();
            let caret = Caret::new("a.py", Cow::Borrowed(&text), text.len());
            let names = ["a", "ab", "b", "_a", "c", "aa", "other"];
            let suggest = |name: &&str| Suggestion { name: (*name).into(), origin: Origin::Local };
            let mut whole: Vec<Suggestion> = names.iter().map(suggest).collect();
            let mut apart = whole.clone();
            order(&mut whole, &caret, Language::Python);
            LastUses::new(&lines, Language::Python).order(&mut apart, &caret);
            prop_assert_eq!(whole, apart);
        }
    }
}
