//! Docstrings: cleaned to one sentence, and refused where they describe nothing.

use repo::Language;

use super::reason::DropReason;

/// Fewest and most words of a docstring.
const WORDS_MIN: usize = 3;
const WORDS_MAX: usize = 256;

/// Most characters of a word.
const WORD_CHARS_MAX: usize = 25;

/// Beginnings of docstrings that do not say what the function does.
const OPENINGS: [&str; 8] = ["deprecated", "todo", "note", "test", "overrides", "we ", "you ", "this "];

/// Returns what a docstring, given with its quotes or comment signs, says in its first sentence, on one line.
///
/// The first paragraph, up to `:param` or `:return`, without a last line that begins with a capital, up to the first
/// period that a space follows.
///
/// # Errors
///
/// Returns the reason why the docstring describes nothing.
///
/// # References
///
/// `ToolGen` (arXiv 2401.06391), the released `generate_dataset.py`. There the first and last three characters of the
/// literal are cut whatever they are; here its prefix and its quotes are. For Java, ours: block tags end the
/// text, `{@code x}` is read as `x`, and tags without attributes are left out.
pub fn clean(raw: &str, language: Language) -> Result<String, DropReason> {
    let docstring = summary(raw, language);
    check(&docstring).map_or(Ok(docstring), Err)
}

/// Returns what [`clean`] does, of any docstring: also of one that describes nothing.
#[must_use]
pub fn summary(raw: &str, language: Language) -> String {
    let text = match language {
        Language::Python => unquoted(raw).replace("\r\n", "\n"),
        Language::Java => uncommented(raw),
    };
    first_sentence(&text)
}

fn unquoted(literal: &str) -> &str {
    let literal = literal.trim().trim_start_matches(['r', 'R', 'u', 'U']);
    literal.trim_matches(['"', '\'']).trim()
}

/// Returns the text of a Javadoc comment before its block tags.
fn uncommented(comment: &str) -> String {
    let inner = comment.trim().trim_start_matches("/**").trim_end_matches('/').trim_end_matches('*');
    let lines = inner.lines().map(|line| line.trim().trim_start_matches('*').trim());
    let described: Vec<&str> = lines.take_while(|line| !line.starts_with('@')).collect();
    let text = described.join("\n").replace("<p>", "\n\n").replace("<P>", "\n\n");
    without_tags(&without_inline_tags(&text)).trim().to_owned()
}

/// Replaces `{@link Type}` by `Type`; text that is not closed stays as it is.
fn without_inline_tags(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{@") {
        let Some((tag, behind)) = after.split_once('}') else { break };
        plain.push_str(before);
        plain.push_str(tag.split_once(char::is_whitespace).map_or("", |(_, content)| content.trim()));
        rest = behind;
    }
    plain + rest
}

/// Leaves out HTML tags without attributes; `List<String>` is none.
fn without_tags(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at(start);
        plain.push_str(before);
        let name = tag[1..].trim_start_matches('/');
        let end = name.find(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit()).unwrap_or(name.len());
        let (name, behind) = name.split_at(end);
        match behind.strip_prefix("/>").or(behind.strip_prefix('>')) {
            Some(behind) if name.starts_with(|c: char| c.is_ascii_lowercase()) => rest = behind,
            _ => {
                plain.push('<');
                rest = &tag[1..];
            }
        }
    }
    plain + rest
}

fn first_sentence(text: &str) -> String {
    let before = |text: &'_ str, end: &str| text.split(end).next().unwrap_or_default().trim().to_owned();
    let text = before(&before(&before(text, "\n\n"), ":param"), ":return");
    let text = match text.rsplit_once('\n') {
        Some((first, last)) if last.trim_start().starts_with(|c: char| c.is_ascii_uppercase()) => first,
        _ => &text,
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").split(". ").next().unwrap_or_default().to_owned()
}

fn check(docstring: &str) -> Option<DropReason> {
    let lower = docstring.to_lowercase();
    let words: Vec<&str> = lower.split(' ').collect();
    let has = |marks: &[&str]| marks.iter().any(|mark| lower.contains(mark));
    let is_label = || {
        let label = lower.trim_start_matches(repo::identifiers::is_word);
        label.len() < lower.len() && label.starts_with(':')
    };
    let reasons = [
        (lower.is_empty(), DropReason::DocstringEmpty),
        (!lower.starts_with(|c: char| c.is_ascii_lowercase()), DropReason::DocstringStart),
        (words.len() < WORDS_MIN, DropReason::DocstringShort),
        (words.len() > WORDS_MAX, DropReason::DocstringLong),
        (words.iter().any(|word| word.chars().count() > WORD_CHARS_MAX), DropReason::DocstringLongWord),
        (OPENINGS.iter().any(|opening| lower.starts_with(opening)), DropReason::DocstringOpening),
        (lower.ends_with(['?', '!']), DropReason::DocstringEnding),
        (is_label(), DropReason::DocstringLabel),
        (has(&["<img ", "https://"]), DropReason::DocstringLink),
        (has(&["---", " -- ", "="]), DropReason::DocstringMarkup),
    ];
    reasons.into_iter().find(|(applies, _)| *applies).map(|(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn check_all(language: Language, docstrings: &[&str], expected: &Expect) {
        let lines = docstrings.iter().map(|docstring| match clean(docstring, language) {
            Ok(text) => text,
            Err(reason) => format!("({reason})"),
        });
        expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn the_first_sentence_of_the_first_paragraph_is_kept() {
        check_all(
            Language::Python,
            &[
                "\"\"\"Return the value.\"\"\"",
                "r'''\n    Return the\n    value.  Or not. \n\n    More.\n    '''",
                "\"Send it now :param x: what\"",
                "\"\"\"Send it\n  now\n  :returns: that\"\"\"",
                "\"\"\"Open a file.\n    Returns it.\"\"\"",
                "\"\"\"\"Quoted\" words are kept\"\"\"",
            ],
            &expect![[r#"
                Return the value.
                Return the value
                Send it now
                Send it now
                Open a file.
                Quoted" words are kept"#]],
        );
    }

    #[test]
    fn docstrings_that_describe_nothing_have_a_reason() {
        check_all(
            Language::Python,
            &[
                "\"\"\" \"\"\"",
                "\"\"\"(internal) do not use\"\"\"",
                "\"\"\"Do it.\"\"\"",
                &format!("'''{}'''", "word ".repeat(257)),
                "\"\"\"Call self.connection.send_all_the_bytes now\"\"\"",
                "\"\"\"This method does it\"\"\"",
                "\"\"\"Test whether it works\"\"\"",
                "\"\"\"Is it a file?\"\"\"",
                "\"\"\"Args: the arguments given\"\"\"",
                "\"\"\"See https://example.org for more\"\"\"",
                "\"\"\"Set a=b in it\"\"\"",
                "\"\"\"Read it -- and write\"\"\"",
            ],
            &expect![[r"
                (docstring_empty)
                (docstring_start)
                (docstring_short)
                (docstring_long)
                (docstring_long_word)
                (docstring_opening)
                (docstring_opening)
                (docstring_ending)
                (docstring_label)
                (docstring_link)
                (docstring_markup)
                (docstring_markup)"]],
        );
    }

    #[test]
    fn javadoc_is_read_without_its_signs_and_tags() {
        check_all(
            Language::Java,
            &[
                "/** Returns the {@code size} of a List<String>. Or so. */",
                "/**\n     * Finds the <b>first</b> {@link Node node}\n     * of it.\n     *\n     * @param x what\n     */",
                "/** Adds it to the map.\n * <p>More of it. */",
                "/** @return the size of it */",
                "/** Opens {@code never closed */",
            ],
            &expect![[r"
                Returns the size of a List<String>
                Finds the first Node node of it.
                Adds it to the map.
                (docstring_empty)
                Opens {@code never closed"]],
        );
    }

    proptest! {
        #[test]
        fn any_docstring_is_cleaned_to_one_line(text in "(\"\"\"|'|/\\*\\*|\\*/|<p>|</b>|\\{@a |\\}|[A-Za-z. \n\té<*@:-]){0,30}") {
            for language in Language::ALL {
                if let Ok(docstring) = clean(&text, language) {
                    prop_assert!(!docstring.contains(['\n', '\t']) && docstring.split(' ').count() >= WORDS_MIN);
                }
            }
        }
    }
}
