//! Python's `tokenize` as far as comments, strings, line ends and indentation go; everything else is copied.

/// What a token is to the rule that finds docstrings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Indentation,
    LineEnd,
    Comment,
    String,
    Other,
}

/// A line, counted from 0, and a character within it.
type Place = (usize, usize);

/// A string that goes on in the next line.
struct Open {
    quote: char,
    is_triple: bool,
    text: String,
    start: Place,
}

/// Returns the text without comments and docstrings, or nothing where Python's `tokenize` fails.
///
/// A docstring is a string that follows an indentation or a line end, or that stands in the first column. White space
/// between tokens becomes as many spaces.
pub(super) fn without_comments(code: &str) -> Option<String> {
    let mut tokenizer = Tokenizer::default();
    for line in code.split_inclusive('\n') {
        let line: Vec<char> = line.chars().collect();
        if !tokenizer.line(&line)? {
            return Some(tokenizer.written.text);
        }
        tokenizer.row += 1;
    }
    let is_done = tokenizer.open.is_none() && tokenizer.depth == 0 && !tokenizer.is_continued;
    is_done.then_some(tokenizer.written.text)
}

/// The text as the tokens so far leave it.
struct Written {
    text: String,
    previous: Kind,
    /// Where the previous token ended.
    end: Option<Place>,
}

impl Default for Written {
    fn default() -> Self {
        Self { text: String::new(), previous: Kind::Indentation, end: None }
    }
}

impl Written {
    fn push(&mut self, kind: Kind, text: &str, start: Place, end: Place) {
        let column = self.end.filter(|end| start.0 <= end.0).map_or(0, |end| end.1);
        self.text.extend(std::iter::repeat_n(' ', start.1.saturating_sub(column)));
        let is_docstring = matches!(self.previous, Kind::Indentation | Kind::LineEnd) || start.1 == 0;
        if !(kind == Kind::Comment || kind == Kind::String && is_docstring) {
            self.text.push_str(text);
        }
        (self.previous, self.end) = (kind, Some(end));
    }
}

#[derive(Default)]
struct Tokenizer {
    written: Written,
    row: usize,
    /// How many brackets are open; below 0 after one too many was closed.
    depth: isize,
    is_continued: bool,
    open: Option<Open>,
    /// The widths of the open indentations, without the outermost, which is 0.
    indentations: Vec<usize>,
}

impl Tokenizer {
    /// Reads a line; `false` if it ends the text, nothing if its indentation fits no other.
    fn line(&mut self, line: &[char]) -> Option<bool> {
        let mut at = 0;
        if let Some(open) = self.open.take() {
            match self.continue_string(open, line) {
                Some(end) => at = end,
                None => return Some(true),
            }
        } else if self.depth == 0 && !self.is_continued {
            let (column, first) = indentation(line);
            if first == line.len() {
                return Some(false);
            }
            if matches!(line[first], '#' | '\r' | '\n') {
                self.blank_line(line, first);
                return Some(true);
            }
            self.indent(line, column, first)?;
            at = first;
        }
        self.is_continued = false;
        self.tokens(line, at);
        Some(true)
    }

    fn push(&mut self, kind: Kind, line: &[char], start: usize, end: usize) {
        let text: String = line[start..end].iter().collect();
        self.written.push(kind, &text, (self.row, start), (self.row, end));
    }

    /// Returns where the string ends, or nothing if the line is used up.
    fn continue_string(&mut self, mut open: Open, line: &[char]) -> Option<usize> {
        let end = string_end(line, 0, open.quote, open.is_triple);
        open.text.extend(&line[..end.unwrap_or(line.len())]);
        let place = (self.row, end.unwrap_or(line.len()));
        if end.is_some() {
            self.written.push(Kind::String, &open.text, open.start, place);
        } else if open.is_triple || line.ends_with(&['\\', '\n']) || line.ends_with(&['\\', '\r', '\n']) {
            self.open = Some(open);
        } else {
            self.written.push(Kind::Other, &open.text, open.start, place);
        }
        end
    }

    fn blank_line(&mut self, line: &[char], first: usize) {
        let mut end = first;
        if line[first] == '#' {
            end = line.iter().rposition(|c| !matches!(c, '\r' | '\n')).map_or(first, |last| last + 1);
            self.push(Kind::Comment, line, first, end);
        }
        self.push(Kind::Other, line, end, line.len());
    }

    fn indent(&mut self, line: &[char], column: usize, first: usize) -> Option<()> {
        let width = |indentations: &[usize]| indentations.last().copied().unwrap_or(0);
        if column > width(&self.indentations) {
            self.indentations.push(column);
            self.push(Kind::Indentation, line, 0, first);
        }
        while column < width(&self.indentations) {
            if column != 0 && !self.indentations.contains(&column) {
                return None;
            }
            self.indentations.pop();
            self.push(Kind::Other, line, first, first);
        }
        Some(())
    }

    fn tokens(&mut self, line: &[char], mut at: usize) {
        while at < line.len() {
            let start = at + line[at..].iter().take_while(|c| matches!(c, ' ' | '\t' | '\u{c}')).count();
            if start == line.len() {
                return;
            }
            at = self.token(line, at, start);
        }
    }

    /// Reads the token at `start`, before which there may be white space since `at`, and returns where the next begins.
    fn token(&mut self, line: &[char], at: usize, start: usize) -> usize {
        match &line[start..] {
            ['\\', '\n'] | ['\\', '\r', '\n'] => {
                self.is_continued = true;
                return line.len();
            }
            ['\n'] | ['\r', '\n'] => {
                let kind = if self.depth > 0 { Kind::Other } else { Kind::LineEnd };
                self.push(kind, line, start, line.len());
                return line.len();
            }
            ['#', ..] => {
                let length = line[start..].iter().take_while(|c| !matches!(c, '\r' | '\n')).count();
                self.push(Kind::Comment, line, start, start + length);
                return start + length;
            }
            _ => {}
        }
        let end = word_end(line, start);
        let is_prefixed = end == start || is_string_prefix(&line[start..end]);
        if let Some(end) = is_prefixed.then(|| self.string(line, start, end)).flatten() {
            return end;
        }
        self.word_or_sign(line, at, start, end)
    }

    /// Reads a string with its prefix, or nothing if there is no quote, or if a plain string has no end.
    fn string(&mut self, line: &[char], start: usize, at: usize) -> Option<usize> {
        let quote = *line.get(at).filter(|c| matches!(c, '\'' | '"'))?;
        let is_triple = line[at..].starts_with(&[quote; 3]);
        let first = at + if is_triple { 3 } else { 1 };
        if let Some(end) = string_end(line, first, quote, is_triple) {
            self.push(Kind::String, line, start, end);
            return Some(end);
        }
        if is_triple || continues(line) {
            let text = line[start..].iter().collect();
            self.open = Some(Open { quote, is_triple, text, start: (self.row, start) });
            return Some(line.len());
        }
        None
    }

    fn word_or_sign(&mut self, line: &[char], at: usize, start: usize, end: usize) -> usize {
        if end > start {
            self.push(Kind::Other, line, start, end);
            return end;
        }
        match line[start] {
            '(' | '[' | '{' => self.depth += 1,
            ')' | ']' | '}' => self.depth -= 1,
            // What begins no token is copied with the white space before it, one character at a time.
            ' '..='~' if !matches!(line[start], '\'' | '"' | '$' | '?' | '`' | '!' | '\\') => {}
            '!' if line.get(start + 1) == Some(&'=') => {}
            _ => {
                self.push(Kind::Other, line, at, at + 1);
                return at + 1;
            }
        }
        self.push(Kind::Other, line, start, start + 1);
        start + 1
    }
}

/// Returns the width of the white space at the start of a line, tabs reaching to the next multiple of eight, and its
/// length.
fn indentation(line: &[char]) -> (usize, usize) {
    let mut column = 0;
    for (index, character) in line.iter().enumerate() {
        match character {
            ' ' => column += 1,
            '\t' => column = (column / 8 + 1) * 8,
            '\u{c}' => column = 0,
            _ => return (column, index),
        }
    }
    (column, line.len())
}

/// Returns where the string ends, after its quotes; a plain one ends in its line, and no backslash escapes a line end.
fn string_end(line: &[char], first: usize, quote: char, is_triple: bool) -> Option<usize> {
    let mut at = first;
    while at < line.len() {
        match line[at] {
            '\\' if line.get(at + 1).is_none_or(|next| *next == '\n') => return None,
            '\\' => at += 2,
            character if character == quote && !is_triple => return Some(at + 1),
            character if character == quote && line[at..].starts_with(&[quote; 3]) => return Some(at + 3),
            _ => at += 1,
        }
    }
    None
}

/// Says whether a plain string that does not end in its line goes on in the next.
fn continues(line: &[char]) -> bool {
    let Some(line) = line.strip_suffix(&['\n']) else { return false };
    let line = line.strip_suffix(&['\r']).unwrap_or(line);
    let n_backslashes = line.iter().rev().take_while(|c| **c == '\\').count();
    n_backslashes % 2 == 1
}

fn word_end(line: &[char], start: usize) -> usize {
    start + line[start..].iter().take_while(|c| **c == '_' || c.is_alphanumeric()).count()
}

fn is_string_prefix(word: &[char]) -> bool {
    let word: String = word.iter().map(char::to_ascii_lowercase).collect();
    matches!(word.as_str(), "b" | "r" | "u" | "f" | "br" | "rb" | "fr" | "rf")
}
