//! The end of a left context, tokenized alone.

use models::tokenizer::Tokenizer;

/// Bytes per token assumed when a text is cut; a wrong guess only costs time.
const BYTES_PER_TOKEN: usize = 8;

/// Returns the last tokens of a text, each with its first byte, without tokenizing all of it.
///
/// The text is cut before a line that begins with something else than white space. No pre-tokenizer of a code model
/// joins a line break to such a line, so that the tokens after the cut are those of the whole text.
pub(crate) fn last_tokens(tokenizer: &Tokenizer, text: &str, tokens_max: usize) -> Vec<(u32, usize)> {
    let mut bytes = tokens_max.max(1) * BYTES_PER_TOKEN;
    loop {
        let start = line_start(text, text.len().saturating_sub(bytes));
        let (tokens, spans) = tokenizer.encode_with_offsets(&text[start..]);
        if start == 0 || tokens.len() >= tokens_max {
            let kept = tokens.len() - tokens_max.min(tokens.len());
            return tokens.into_iter().zip(spans).skip(kept).map(|(token, span)| (token, start + span.start)).collect();
        }
        bytes *= 2;
    }
}

/// Returns the last byte up to `byte` at which a line begins with something else than white space; 0 if there is none.
fn line_start(text: &str, byte: usize) -> usize {
    let begins =
        |&at: &usize| text.as_bytes()[at - 1] == b'\n' && text[at..].starts_with(|first: char| !first.is_whitespace());
    (1..=byte).rev().find(begins).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use proptest::prelude::*;

    #[test]
    fn a_cut_is_before_a_line_that_begins_with_something_else_than_white_space() {
        let text = "ab\n  c\n\nde\r\né";
        let starts: Vec<usize> = (0..=text.len()).map(|byte| line_start(text, byte)).collect();
        assert_eq!(starts, [0, 0, 0, 0, 0, 0, 0, 0, 8, 8, 8, 8, 12, 12, 12]);
    }

    proptest! {
        #[test]
        fn the_last_tokens_are_those_of_the_whole_text(
            lines in prop::collection::vec("[ \t]{0,5}[a-e_()é ]{0,12}\r?", 0..60),
            tokens_max in 0_usize..40,
        ) {
            let tokenizer = fixtures::tokenizer();
            let text = lines.join("\n");
            let (tokens, spans) = tokenizer.encode_with_offsets(&text);
            let kept = tokens.len().saturating_sub(tokens_max);
            let expected: Vec<_> = tokens.into_iter().zip(spans.iter().map(|span| span.start)).skip(kept).collect();
            prop_assert_eq!(last_tokens(&tokenizer, &text, tokens_max), expected);
        }
    }
}
