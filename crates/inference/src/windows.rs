//! The overlapping windows of a repository's files that `RepoCoder` retrieves.

use std::collections::BTreeMap;
use std::ops::Range;

use repo::source::SourceFile;

/// How files are cut into windows.
///
/// # References
///
/// `RepoCoder` (arXiv 2303.12570) §3.1 and its released code: windows of 20 lines at every 10th line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowRule {
    /// Length of a window, in lines, blank ones included.
    pub lines: usize,
    /// Distance of the middles of two windows, in lines; 0 counts as 1.
    pub step: usize,
}

impl Default for WindowRule {
    fn default() -> Self {
        Self { lines: 20, step: 10 }
    }
}

/// A place that has a window's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file's path.
    pub path: String,
    /// Lines of the file, 0-based and half-open.
    pub lines: Range<usize>,
}

/// A text and every place that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// The lines, joined by a newline.
    pub code: String,
    /// The places, in the order of the files; at least one.
    pub locations: Vec<Location>,
}

/// Returns the windows of files, in their order; windows of equal text are one.
///
/// Around every `step`th line lies a window: half of its lines before that line, and clipped to the file, so that the
/// first window of a file is a half.
#[must_use]
pub fn windows(files: &[&SourceFile], rule: WindowRule) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    let mut by_code: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        let lines = lines(&file.text);
        for range in ranges(lines.len(), rule) {
            let code = lines[range.clone()].join("\n");
            let location = Location { path: file.path.clone(), lines: range };
            let index = *by_code.entry(code.clone()).or_insert(windows.len());
            match windows.get_mut(index) {
                Some(window) => window.locations.push(location),
                None => windows.push(Window { code, locations: vec![location] }),
            }
        }
    }
    windows
}

fn ranges(n_lines: usize, rule: WindowRule) -> impl Iterator<Item = Range<usize>> {
    let before = rule.lines / 2;
    let range = move |line: usize| line.saturating_sub(before)..(line + rule.lines - before).min(n_lines);
    (0..n_lines).step_by(rule.step.max(1)).map(range).filter(|range| !range.is_empty())
}

/// Returns the lines of a text without their ends, where Python's `str.splitlines` ends them.
///
/// Editors end lines at fewer characters; what matters is that windows, queries and the cursor count alike.
#[must_use]
pub fn lines(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (at, end) in text.char_indices().filter(|(_, character)| ends_line(*character)) {
        let is_second_half = end == '\n' && text[..at].ends_with('\r');
        if !is_second_half {
            lines.push(&text[start..at]);
        }
        start = at + end.len_utf8();
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

/// Returns whether Python's `str.splitlines` ends a line at this character.
pub(crate) fn ends_line(character: char) -> bool {
    matches!(character, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::file;

    fn numbered(n_lines: usize) -> String {
        (0..n_lines).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat()
    }

    #[test]
    fn windows_lie_around_every_tenth_line_and_are_clipped() {
        let file = file("a.py", &numbered(34));
        let windows = windows(&[&file], WindowRule::default());
        let ranges: Vec<Range<usize>> = windows.iter().map(|window| window.locations[0].lines.clone()).collect();
        assert_eq!(ranges, [0..10, 0..20, 10..30, 20..34]);
        assert!(windows[3].code.starts_with("line 20\n") && windows[3].code.ends_with("line 33"));
    }

    #[test]
    fn blank_lines_are_kept_and_an_empty_file_has_no_window() {
        let (blank, empty) = (file("a.py", "x\n\n  \ny\n"), file("b.py", ""));
        let windows = windows(&[&blank, &empty], WindowRule::default());
        assert_eq!(windows.len(), 1);
        assert_eq!(windows[0].code, "x\n\n  \ny");
    }

    #[test]
    fn windows_of_equal_text_are_one_with_every_place() {
        let (first, second) = (file("a.py", &numbered(20)), file("b.py", &(numbered(20) + "more\n")));
        let windows = windows(&[&first, &second], WindowRule::default());
        let paths = |window: &Window| window.locations.iter().map(|location| location.path.clone()).collect::<Vec<_>>();
        assert_eq!(
            windows.iter().map(paths).collect::<Vec<_>>(),
            [vec!["a.py", "b.py"], vec!["a.py", "b.py"], vec!["b.py"]]
        );
    }

    #[test]
    fn lines_end_where_python_ends_them() {
        assert_eq!(
            lines("a\nb\r\nc\rd\x0be\x0cf\u{1c}g\u{85}h\u{2028}i"),
            ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
        );
        assert_eq!(lines("\n\r\n\n\r"), ["", "", "", ""]);
        assert_eq!(lines("\ra\n"), ["", "a"]);
        assert!(lines("").is_empty());
    }
}
