//! A linear look at a text before any parser sees it: what is open where, and how deep it can nest.

use std::borrow::Cow;

/// Something open that a later character closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    /// A bracket, by what closes it.
    Bracket(u8),
    /// A formatted string, in which braces hold code.
    Formatted { quote: u8, is_triple: bool },
}

/// What a scan stopped after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Opening,
    Closing,
    Comma,
    /// The end of a line outside of all brackets, or a semicolon there.
    End,
    /// A line feed within brackets.
    Fold,
    Other,
}

/// Reads a text token by token without a grammar.
#[derive(Debug, Clone)]
struct Scan<'text> {
    bytes: &'text [u8],
    at: usize,
    open: Vec<Open>,
}

impl<'text> Scan<'text> {
    fn new(text: &'text str) -> Self {
        Self { bytes: text.as_bytes(), at: 0, open: Vec::new() }
    }

    fn next(&mut self) -> Option<Token> {
        if let Some(Open::Formatted { quote, is_triple }) = self.open.last().copied() {
            return self.formatted(quote, is_triple);
        }
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | 0x0c)) {
            self.at += 1;
        }
        let byte = *self.bytes.get(self.at)?;
        let start = self.at;
        self.at += 1;
        Some(match byte {
            b'\n' | b';' if self.open.is_empty() => Token::End,
            b'\n' => Token::Fold,
            b',' => Token::Comma,
            b'(' | b'[' | b'{' => self.push(Open::Bracket(closing(byte))),
            b')' | b']' | b'}' => self.close(byte),
            // In a formatted string, a number sign can belong to the format.
            b'#' if !matches!(self.open[..], [.., Open::Formatted { .. }, Open::Bracket(_)]) => {
                self.skip_while(|byte| byte != b'\n');
                return self.next_after_comment();
            }
            b'\\' => {
                self.at += usize::from(self.bytes.get(self.at) == Some(&b'\n'));
                Token::Other
            }
            b'"' | b'\'' => self.quoted(start, byte),
            _ if is_word(byte) => {
                self.skip_while(is_word);
                self.prefixed(start)
            }
            _ => Token::Other,
        })
    }

    fn next_after_comment(&mut self) -> Option<Token> {
        self.at += usize::from(self.at < self.bytes.len());
        Some(if self.open.is_empty() { Token::End } else { Token::Fold })
    }

    fn skip_while(&mut self, accept: impl Fn(u8) -> bool) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| !accept(*byte)).unwrap_or(rest.len());
    }

    fn push(&mut self, open: Open) -> Token {
        self.open.push(open);
        Token::Opening
    }

    fn close(&mut self, byte: u8) -> Token {
        if self.open.last() == Some(&Open::Bracket(byte)) {
            self.open.pop();
            return Token::Closing;
        }
        Token::Other
    }

    /// Goes on after a word, which can be the prefix of a string.
    fn prefixed(&mut self, start: usize) -> Token {
        match self.bytes.get(self.at) {
            Some(quote @ (b'"' | b'\'')) if self.at - start <= 2 => {
                let quote = *quote;
                self.at += 1;
                self.quoted(start, quote)
            }
            _ => Token::Other,
        }
    }

    /// Goes on after the opening quote of a string whose prefix begins at `start`.
    fn quoted(&mut self, start: usize, quote: u8) -> Token {
        let is_formatted = self.bytes[start..self.at].iter().any(|byte| matches!(byte, b'f' | b'F' | b't' | b'T'));
        let is_triple = self.bytes[self.at..].starts_with(&[quote, quote]);
        self.at += if is_triple { 2 } else { 0 };
        if is_formatted {
            return self.push(Open::Formatted { quote, is_triple });
        }
        while let Some(&byte) = self.bytes.get(self.at) {
            if self.ends(quote, is_triple) || byte == b'\n' && !is_triple {
                break;
            }
            self.at += if byte == b'\\' { 2 } else { 1 };
        }
        self.at = self.bytes.len().min(self.at);
        if self.ends(quote, is_triple) {
            self.at += if is_triple { 3 } else { 1 };
        }
        Token::Other
    }

    fn ends(&self, quote: u8, is_triple: bool) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if is_triple { rest.starts_with(&[quote; 3]) } else { rest.first() == Some(&quote) }
    }

    /// Goes on within the text of a formatted string.
    fn formatted(&mut self, quote: u8, is_triple: bool) -> Option<Token> {
        while let Some(&byte) = self.bytes.get(self.at) {
            if self.ends(quote, is_triple) {
                self.at += if is_triple { 3 } else { 1 };
                self.open.pop();
                return Some(Token::Closing);
            }
            match byte {
                b'\n' if !is_triple => {
                    self.open.pop();
                    return Some(Token::Closing);
                }
                b'{' if self.bytes.get(self.at + 1) == Some(&b'{') => self.at += 2,
                b'{' => {
                    self.at += 1;
                    return Some(self.push(Open::Bracket(b'}')));
                }
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        None
    }
}

fn closing(byte: u8) -> u8 {
    match byte {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    }
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte >= 0x80 || byte.is_ascii_alphanumeric()
}

/// How much a text has of what ty's work grows with, by counting words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Size {
    /// A bound on how deep an expression can nest: the most tokens from the beginning of a statement, leaving out what
    /// a comma or a closing bracket has ended.
    pub(super) nesting: usize,
    pub(super) n_statements: usize,
    pub(super) n_functions: usize,
    pub(super) n_classes: usize,
    /// The most branches between the beginnings of two functions.
    pub(super) n_branches: usize,
}

/// Measures a text.
pub(super) fn size(text: &str) -> Size {
    let mut scan = Scan::new(text);
    let mut size = Size::default();
    let mut ended = vec![0_usize];
    let (mut depth, mut n_branches) = (0, 0);
    let mut start = 0;
    while let Some(token) = scan.next() {
        // A token can drop what is open: the end of a line closes a formatted string, for one.
        while ended.len() > scan.open.len() + 1 {
            depth -= ended.pop().unwrap_or(0);
        }
        match (token, ended.last_mut()) {
            (Token::Comma | Token::End, Some(last)) => depth -= std::mem::take(last),
            (Token::Fold, _) | (_, None) => {}
            (_, Some(last)) => {
                *last += 1;
                depth += 1;
            }
        }
        match token {
            Token::Opening => ended.push(0),
            Token::End => size.n_statements += 1,
            _ => {}
        }
        match text.as_bytes()[start..scan.at].trim_ascii_start() {
            b"def" => {
                size.n_functions += 1;
                n_branches = 0;
            }
            b"class" => size.n_classes += 1,
            b"if" | b"elif" | b"while" | b"for" | b"except" | b"with" | b"case" | b"and" | b"or" => n_branches += 1,
            _ => {}
        }
        start = scan.at;
        size.nesting = size.nesting.max(depth);
        size.n_branches = size.n_branches.max(n_branches);
    }
    size
}

/// Returns how many blocks stand within each other at most, by indentation.
pub(super) fn blocks(text: &str) -> usize {
    let mut columns: Vec<usize> = Vec::new();
    let mut deepest = 0;
    for line in text.lines().filter(|line| !line.trim_start().is_empty()) {
        let column = line.len() - line.trim_start_matches([' ', '\t', '\x0c']).len();
        while columns.last().is_some_and(|last| *last >= column) {
            columns.pop();
        }
        columns.push(column);
        deepest = deepest.max(columns.len());
    }
    deepest
}

/// Returns what closes the brackets and formatted strings that are open at `byte` and that the text behind leaves open:
/// those of a statement that is not finished.
pub(super) fn closers(text: &str, byte: usize) -> Cow<'static, str> {
    let line = text[byte..].split('\n').next().unwrap_or_default();
    if !line.trim().is_empty() {
        return Cow::Borrowed("");
    }
    let mut scan = Scan::new(&text[..byte]);
    while scan.next().is_some() {}
    let open = scan.open;
    if open.is_empty() || is_closed(text, byte, open.len()) {
        return Cow::Borrowed("");
    }
    let mut closers = String::new();
    for open in open.iter().rev() {
        match *open {
            Open::Bracket(byte) => closers.push(char::from(byte)),
            Open::Formatted { quote, is_triple } => {
                closers.extend(std::iter::repeat_n(char::from(quote), if is_triple { 3 } else { 1 }));
            }
        }
    }
    Cow::Owned(closers)
}

/// Returns whether one of the `n_open` brackets open at `byte` is closed before the next definition begins.
fn is_closed(text: &str, byte: usize, n_open: usize) -> bool {
    let mut scan = Scan::new(&text[byte..]);
    let mut n_closed = 0;
    loop {
        let rest = text[byte + scan.at..].trim_start_matches([' ', '\t']);
        let begins_line = scan.at > 0 && scan.bytes[scan.at - 1] == b'\n';
        if begins_line
            && ["def ", "class ", "async def ", "@", "import ", "from "].iter().any(|word| rest.starts_with(word))
        {
            return false;
        }
        let at = scan.at;
        match scan.next() {
            None => return false,
            Some(Token::Other) if matches!(scan.bytes[at..scan.at].last(), Some(b')' | b']' | b'}')) => n_closed += 1,
            Some(_) => {}
        }
        if n_closed > 0 && n_open > 0 {
            return true;
        }
    }
}

#[cfg(test)]
mod tests;
