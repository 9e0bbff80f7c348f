//! Reading a line with brackets and quotes.

/// Splits at `separator` outside brackets and quotes.
pub(super) fn split<'text>(text: &'text str, separator: &str) -> Vec<&'text str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, depth) in depths(text) {
        if depth == 0 && at >= start && text[at..].starts_with(separator) {
            parts.push(&text[start..at]);
            start = at + separator.len();
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Yields the bytes outside quotes at which a character begins, with the depth of brackets before it.
pub(super) fn depths(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let (mut depth, mut quoted_until) = (0_usize, 0);
    text.char_indices().filter_map(move |(at, c)| {
        if at < quoted_until {
            return None;
        }
        let before = depth;
        match c {
            '"' | '\'' => quoted_until = at + quoted(&text[at..]),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        Some((at, before))
    })
}

/// Returns the length of the quotation that `text` begins with, backslashes observed.
pub(super) fn quoted(text: &str) -> usize {
    let quote = text.chars().next();
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if Some(c) == quote {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// Returns the length of the bracketed text that `text` begins with.
pub(super) fn closing(text: &str) -> usize {
    let (open, close) = if text.starts_with('<') { ('<', '>') } else { ('(', ')') };
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close && !text[..at].ends_with('-') {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at + c.len_utf8();
            }
        }
    }
    text.len()
}
