//! The query: the end of the left context, where the code to complete is about to be written.

/// How many lines of the left context a query holds.
///
/// # References
///
/// `RLCoder` §III and its released code; the same for BM25 and for the dense retriever.
pub const QUERY_LINES_MAX: usize = 20;

/// Returns the last `lines_max` non-blank lines of a left context, joined by newlines.
///
/// A line ends at `\n` alone, as in the released code, so that a `\r` stays in its line.
#[must_use]
pub fn query(left_context: &str, lines_max: usize) -> String {
    let from_the_end = left_context.rsplit('\n').filter(|line| !line.trim().is_empty());
    let mut lines: Vec<&str> = from_the_end.take(lines_max).collect();
    lines.reverse();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_query_is_the_last_lines_that_are_not_blank() {
        let text = "import os\n\ndef f(x):\n    \n\treturn os.path.join(\n  \n";
        expect!["import os|def f(x):|\treturn os.path.join("].assert_eq(&query(text, 20).replace('\n', "|"));
        expect!["def f(x):|\treturn os.path.join("].assert_eq(&query(text, 2).replace('\n', "|"));
    }

    #[test]
    fn the_unfinished_last_line_belongs_to_the_query() {
        assert_eq!(query("a = 1\nb = a.", 20), "a = 1\nb = a.");
        assert_eq!(query("a = 1\r\nb", 20), "a = 1\r\nb");
    }

    #[test]
    fn a_blank_left_context_gives_an_empty_query() {
        assert_eq!(query("", 20), "");
        assert_eq!(query(" \n\n\t", 20), "");
        assert_eq!(query("a\nb", 0), "");
    }

    #[test]
    fn more_lines_than_the_limit_are_dropped_from_the_start() {
        let text: Vec<String> = (0..30).map(|i| format!("line {i}")).collect();
        let query = query(&text.join("\n\n"), QUERY_LINES_MAX);
        assert_eq!(query.lines().count(), 20);
        assert!(query.starts_with("line 10\n") && query.ends_with("line 29"));
    }
}
