//! Places in an answer: locations, links and symbols.

use std::ops::Range;
use std::path::Path;

use repo::Repository;
use repo::identifiers::is_word;
use serde_json::Value;

use super::{span, uri};
use crate::caret::Caret;
use crate::intelligence::{Definition, Place};
use crate::position::{LineIndex, Unit};

/// The most places of one answer that are looked at.
const LOCATIONS_MAX: usize = 1000;

/// Knows the texts that places are in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places<'a> {
    pub(super) repository: &'a Repository,
    /// The folder of the repository's copy.
    pub(super) root: &'a Path,
    /// The path and text of the document that was asked about.
    pub(super) open: (&'a str, &'a str),
    pub(super) unit: Unit,
}

impl Places<'_> {
    /// Returns the definitions of an answer: a location, a list of them, or of links.
    pub(super) fn definitions(&self, answer: &Value, caret: &Caret<'_>) -> Vec<Definition> {
        let one = std::slice::from_ref(answer);
        let locations = answer.as_array().map_or(one, Vec::as_slice);
        let word = caret.word().map_or("", |word| &caret.text[word]);
        let mut definitions = Vec::new();
        for definition in locations.iter().take(LOCATIONS_MAX).filter_map(|location| self.definition(location, word)) {
            if !definitions.contains(&definition) {
                definitions.push(definition);
            }
        }
        definitions
    }

    fn definition(&self, location: &Value, word: &str) -> Option<Definition> {
        let uri = location.get("targetUri").or_else(|| location.get("uri"))?.as_str()?;
        let range = location.get("targetSelectionRange").or_else(|| location.get("range"))?;
        let Some(path) = self.inside(uri) else {
            return Some(Definition { name: word.to_owned(), place: Place::Outside { module: uri::module(uri) } });
        };
        let text = self.text(&path)?;
        let found = span(range, text, &LineIndex::new(text), self.unit)?;
        let (name, span) = named(text, found, word);
        Some(Definition { name, place: Place::Repository { path, span } })
    }

    /// Returns the symbols of an answer, which is a list of trees, or flat.
    pub(super) fn symbols(&self, answer: &Value, path: &str) -> Vec<Definition> {
        let (_, text) = self.open;
        let lines = LineIndex::new(text);
        let mut symbols = Vec::new();
        let mut waiting: Vec<&Value> = answer.as_array().into_iter().flatten().rev().collect();
        while let Some(symbol) = waiting.pop() {
            waiting.extend(symbol.get("children").and_then(Value::as_array).into_iter().flatten().rev());
            let location = symbol.get("location").unwrap_or(symbol);
            let range = location.get("selectionRange").or_else(|| location.get("range"));
            let found = range.and_then(|range| span(range, text, &lines, self.unit));
            let (Some(found), Some(label)) = (found, symbol.get("name").and_then(Value::as_str)) else { continue };
            // jdtls writes parameters behind the name.
            let word = label.split(|c| !is_word(c)).next().unwrap_or_default();
            let (name, span) = named(text, found, word);
            symbols.push(Definition { name, place: Place::Repository { path: path.to_owned(), span } });
        }
        symbols
    }

    /// Returns the repository's path of an address within.
    fn inside(&self, uri: &str) -> Option<String> {
        let path = uri::path(uri)?;
        Some(path.strip_prefix(self.root).ok()?.to_str()?.to_owned())
    }

    fn text(&self, path: &str) -> Option<&str> {
        if path == self.open.0 {
            return Some(self.open.1);
        }
        Some(&self.repository.file(path)?.text)
    }
}

/// Returns the defined name and its bytes, given the range that a server found and the word that was asked about.
///
/// Some servers tell the whole definition; a module's range is empty.
fn named(text: &str, found: Range<usize>, word: &str) -> (String, Range<usize>) {
    let code = &text[found.clone()];
    if !code.is_empty() && code.chars().all(is_word) {
        return (code.to_owned(), found);
    }
    let is_whole = |at: usize| {
        let (before, after) = (&code[..at], &code[at + word.len()..]);
        !before.ends_with(is_word) && !after.starts_with(is_word)
    };
    let first = if word.is_empty() { None } else { code.match_indices(word).find(|(at, _)| is_whole(*at)) };
    let start = found.start + first.map_or(0, |(at, _)| at);
    (word.to_owned(), start..start + first.map_or(0, |(_, word)| word.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use repo::{Language, SourceFile};
    use serde_json::json;
    use std::borrow::Cow;

    fn check(answer: &Value, expected: &[&str]) {
        let file =
            |path: &str, text: &str| SourceFile { path: path.into(), language: Language::Python, text: text.into() };
        let repository = Repository::new("r", vec![file("a.py", ""), file("b c.py", "😀 = 1\ndef f(x):\n  g\n")]);
        let open = ("a.py", "import f\n");
        let places = Places { repository: &repository, root: Path::new("/r"), open, unit: Unit::Utf16 };
        let definitions = places.definitions(answer, &Caret::new("a.py", Cow::Borrowed(open.1), 8));
        let lines: Vec<String> =
            definitions.into_iter().map(|found| format!("{} {:?}", found.name, found.place)).collect();
        assert_eq!(lines, expected);
    }

    fn range(lines: [u64; 4]) -> Value {
        let [start, column, end, last] = lines;
        json!({"start": {"line": start, "character": column}, "end": {"line": end, "character": last}})
    }

    #[test]
    fn places_come_in_three_shapes() {
        let expected = ["f Repository { path: \"b c.py\", span: 13..14 }"];
        let name = json!({"uri": "file:///r/b%20c.py", "range": range([1, 4, 1, 5])});
        check(&name, &expected);
        check(&json!([name, name]), &expected);
        let whole = json!({"uri": "file:///r/b%20c.py", "range": range([1, 0, 2, 3])});
        check(&whole, &expected);
        let link = json!([{
            "targetUri": "file:///r/b c.py", "targetRange": range([1, 0, 2, 3]),
            "targetSelectionRange": range([1, 4, 1, 5]),
        }]);
        check(&link, &expected);
        check(
            &json!({"uri": "file:///r/a.py", "range": range([0, 7, 0, 8])}),
            &["f Repository { path: \"a.py\", span: 7..8 }"],
        );
        check(
            &json!({"uri": "file:///r/b%20c.py", "range": range([0, 0, 0, 0])}),
            &["f Repository { path: \"b c.py\", span: 0..0 }"],
        );
    }

    #[test]
    fn places_elsewhere_are_modules_and_odd_ones_are_left_out() {
        let outside = json!({"uri": "file:///x/stdlib/os/path.pyi", "range": range([9, 4, 9, 5])});
        check(&outside, &["f Outside { module: \"os.path\" }"]);
        for odd in [json!(null), json!([7, {}, "x"]), json!({"uri": "file:///r/gone.py", "range": range([0; 4])})] {
            check(&odd, &[]);
        }
        check(&json!({"uri": "file:///r/a.py", "range": {"start": {"line": -1}}}), &[]);
    }
}
