//! A simple order of suggestions that any tool's list can be put in: what was used last stands first.

use std::collections::BTreeMap;

use repo::Language;
use repo::identifiers::identifier_spans;

use crate::caret::Caret;
use crate::intelligence::Suggestion;

/// Orders `suggestions` by how near before the caret their name stands last in the file; names that do not stand there
/// come after all others, nearest origin first and then by name.
///
/// # References
///
/// Locality of identifiers as in Tu, Su and Devanbu, "On the Localness of Software" (2014), without counts.
pub fn order(suggestions: &mut [Suggestion], caret: &Caret<'_>, language: Language) {
    let before = &caret.text[..caret.byte - caret.prefix().len()];
    let spans = identifier_spans(before, language);
    let last: BTreeMap<&str, usize> = spans.into_iter().map(|span| (&before[span.clone()], span.start)).collect();
    suggestions.sort_by_cached_key(|suggestion| {
        let distance = last.get(suggestion.name.as_str()).map_or(usize::MAX, |start| before.len() - start);
        (distance, suggestion.origin, suggestion.name.clone())
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intelligence::Origin;
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
}
