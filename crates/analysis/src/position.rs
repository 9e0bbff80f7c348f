//! Conversion between bytes and the positions that tools speak: lines and columns in UTF-16 units or in characters.
//!
//! Lines end at `\n`, `\r\n` or a lone `\r`, as the Language Server Protocol and Python count them.

/// Where the lines of a text begin.
#[derive(Debug, Clone)]
pub struct LineIndex {
    starts: Vec<usize>,
}

/// A zero-based line and a zero-based column in some unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column within the line.
    pub column: usize,
}

/// The unit in which columns are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// UTF-16 code units, the default of the Language Server Protocol.
    Utf16,
    /// Unicode characters, as Python counts.
    Character,
}

impl Unit {
    fn length(self, c: char) -> usize {
        match self {
            Self::Utf16 => c.len_utf16(),
            Self::Character => 1,
        }
    }
}

impl LineIndex {
    /// Finds the lines of `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let is_end = |&at: &usize| bytes[at] == b'\n' || bytes[at] == b'\r' && bytes.get(at + 1) != Some(&b'\n');
        Self { starts: std::iter::once(0).chain((0..bytes.len()).filter(is_end).map(|at| at + 1)).collect() }
    }

    /// Returns the line and column of a byte of the text that this index was made of.
    ///
    /// # Panics
    ///
    /// Panics if `byte` is not on a character boundary of `text`.
    #[must_use]
    pub fn position(&self, text: &str, byte: usize, unit: Unit) -> Position {
        let line = self.starts.partition_point(|start| *start <= byte) - 1;
        let column = text[self.starts[line]..byte].chars().map(|c| unit.length(c)).sum();
        Position { line, column }
    }

    /// Returns the byte of a line and column; one past the end of its line or of the text is clipped.
    #[must_use]
    pub fn byte(&self, text: &str, position: Position, unit: Unit) -> usize {
        let Some(&start) = self.starts.get(position.line) else { return text.len() };
        let end = self.starts.get(position.line + 1).copied().unwrap_or(text.len());
        let line = text[start..end].trim_end_matches(['\n', '\r']);
        let mut column = 0;
        for (offset, c) in line.char_indices() {
            if column >= position.column {
                return start + offset;
            }
            column += unit.length(c);
        }
        start + line.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_count_in_their_unit() {
        let text = "a\r\n😀é = x\rlast";
        let lines = LineIndex::new(text);
        let byte = text.find('=').unwrap();
        assert_eq!(lines.position(text, byte, Unit::Utf16), Position { line: 1, column: 4 });
        assert_eq!(lines.position(text, byte, Unit::Character), Position { line: 1, column: 3 });
        assert_eq!(lines.position(text, text.len(), Unit::Utf16), Position { line: 2, column: 4 });
    }

    #[test]
    fn positions_past_an_end_are_clipped() {
        let lines = LineIndex::new("ab\ncd");
        assert_eq!(lines.byte("ab\ncd", Position { line: 0, column: 9 }, Unit::Utf16), 2);
        assert_eq!(lines.byte("ab\ncd", Position { line: 9, column: 0 }, Unit::Utf16), 5);
    }

    proptest! {
        #[test]
        fn bytes_survive_the_conversion(text in "[a-zé😀\n\r ]{0,40}") {
            let lines = LineIndex::new(&text);
            for (byte, c) in text.char_indices() {
                for unit in [Unit::Utf16, Unit::Character] {
                    let within_line_ending = c == '\n' && text[..byte].ends_with('\r');
                    let back = lines.byte(&text, lines.position(&text, byte, unit), unit);
                    prop_assert_eq!(back, byte - usize::from(within_line_ending));
                }
            }
        }
    }
}
