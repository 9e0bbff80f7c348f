//! Identifiers in a list of completions.

use repo::Language;
use repo::identifiers::is_word;
use serde_json::Value;

use super::span;
use crate::caret::Caret;
use crate::intelligence::{Origin, Suggestion};
use crate::position::{LineIndex, Unit};
use crate::server::is_suggestible;

/// The kind of an item that is more than a name.
const SNIPPET: u64 = 15;

/// Returns the identifiers of an answer, which is a list of items or an object that has one.
pub(super) fn suggestions(answer: &Value, caret: &Caret<'_>, language: Language, unit: Unit) -> Vec<Suggestion> {
    let items = answer.get("items").unwrap_or(answer).as_array().map(Vec::as_slice).unwrap_or_default();
    let prefix = caret.prefix();
    let lines = LineIndex::new(&caret.text);
    let start = caret.byte - prefix.len();
    let mut suggestions: Vec<Suggestion> = items
        .iter()
        .filter(|item| !has_more_to_edit(item) && !replaces_more(item, &caret.text, start, &lines, unit))
        .filter_map(|item| suggestion(text(item)?))
        .filter(|suggestion| is_suggestible(&suggestion.name, prefix, language))
        .collect();
    suggestions.sort();
    suggestions.dedup_by(|later, earlier| later.name == earlier.name);
    suggestions
}

/// Returns whether an item edits other places too, as a name does that needs an import, or is a whole piece of code.
fn has_more_to_edit(item: &Value) -> bool {
    let edits = item.get("additionalTextEdits").and_then(Value::as_array);
    edits.is_some_and(|edits| !edits.is_empty()) || item.get("kind").and_then(Value::as_u64) == Some(SNIPPET)
}

/// Returns whether an item replaces code before the identifier at the caret.
fn replaces_more(item: &Value, text: &str, start: usize, lines: &LineIndex, unit: Unit) -> bool {
    let edit = item.get("textEdit");
    let range = edit.and_then(|edit| edit.get("range").or_else(|| edit.get("insert")));
    range.and_then(|range| span(range, text, lines, unit)).is_some_and(|span| span.start < start)
}

/// Returns the text that an item inserts.
fn text(item: &Value) -> Option<&str> {
    let edited = item.get("textEdit").and_then(|edit| edit.get("newText"));
    edited.or_else(|| item.get("insertText")).or_else(|| item.get("label"))?.as_str()
}

/// Reads the identifier that an inserted text is or calls: arguments, `=` and placeholders of snippets are left out.
fn suggestion(text: &str) -> Option<Suggestion> {
    let end = text.find(|c| !is_word(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let rest = rest.trim_start();
    // The identifier of `a.b` is not what was meant, nor is that of `x -> ...`.
    if name.is_empty() || rest.starts_with('.') || rest.starts_with("->") {
        return None;
    }
    let origin = if rest == "=" { Origin::KeywordArgument } else { Origin::Unknown };
    Some(Suggestion { name: name.to_owned(), origin })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::borrow::Cow;

    fn names(answer: &Value, text: &str) -> Vec<String> {
        let caret = Caret::new("a.py", Cow::Borrowed(text), text.len());
        let suggestions = suggestions(answer, &caret, Language::Python, Unit::Utf16);
        suggestions.into_iter().map(|suggestion| suggestion.name).collect()
    }

    #[test]
    fn lists_come_in_two_shapes_and_items_in_three() {
        let range = json!({"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 9}});
        let items = json!([
            {"label": "c : int", "insertText": "c"},
            {"label": "b"},
            {"label": "a()", "insertText": "x", "textEdit": {"newText": "a(${1:n})$0", "range": range}},
            {"label": "b", "kind": 3},
        ]);
        assert_eq!(names(&items, "x = "), ["a", "b", "c"]);
        assert_eq!(names(&json!({"isIncomplete": true, "items": items}), "x = "), ["a", "b", "c"]);
        assert_eq!(names(&Value::Null, "x = "), Vec::<String>::new());
        assert_eq!(names(&json!({"items": 7}), "x = "), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_identifier_here_is_left_out() {
        let before = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 6}});
        let items = json!([
            {"label": "imported", "additionalTextEdits": [{}]},
            {"label": "kept", "additionalTextEdits": []},
            {"label": "key", "textEdit": {"newText": "key", "range": before}},
            {"label": "keyed", "kind": 15},
            {"label": "return"}, {"label": "kind.of"}, {"label": "k -> x"}, {"label": "'k'"}, {"label": "other"},
            {"label": "keyword="}, {"label": ""}, {}, 7,
        ]);
        assert_eq!(names(&items, "f(x.k"), ["kept", "keyword"]);
    }

    #[test]
    fn keyword_arguments_are_told_by_their_sign() {
        assert_eq!(suggestion("name="), Some(Suggestion { name: "name".into(), origin: Origin::KeywordArgument }));
        assert_eq!(suggestion("name == 1").map(|suggestion| suggestion.origin), Some(Origin::Unknown));
    }
}
