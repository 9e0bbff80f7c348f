//! What `CrossCodeEval` does to a code text before it compares.

/// Returns the text without what follows `#` or `//` on each line.
///
/// This happens in every language and inside strings too: `"http://x"` becomes `"http:`, and Python's `a // b` becomes
/// `a `.
///
/// # References
///
/// `CrossCodeEval`, `remove_comments`.
#[must_use]
pub fn without_comments(code: &str) -> String {
    let lines: Vec<&str> = code.split('\n').map(before_comment).collect();
    lines.join("\n")
}

fn before_comment(line: &str) -> &str {
    let line = line.find('#').map_or(line, |hash| &line[..hash]);
    line.find("//").map_or(line, |slashes| &line[..slashes])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_end_with_their_line_and_start_anywhere() {
        assert_eq!(without_comments("a # b\n\"http://x\"\nc // d # e"), "a \n\"http:\nc ");
    }
}
