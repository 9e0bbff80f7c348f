//! What a prediction has that its target lacks, and the other way round.

use serde::Serialize;
use similar::{Algorithm, ChangeTag, TextDiff, TextDiffConfig};

/// A piece of a merged view of target and prediction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Segment {
    /// Where the text occurs.
    pub(super) side: Side,
    /// The text; a newline that only one side has is preceded by a visible sign.
    pub(super) text: String,
}

/// Where the text of a segment occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Side {
    /// In both.
    Both,
    /// In the target only.
    Target,
    /// In the prediction only.
    Prediction,
}

/// Returns target and prediction merged, word by word and sign by sign.
pub(super) fn merge(target: &str, prediction: &str) -> Vec<Segment> {
    let (old, new) = (words(target), words(prediction));
    let diff: TextDiff<'_, '_, str> = TextDiffConfig::default().algorithm(Algorithm::Myers).diff_slices(&old, &new);
    let mut segments: Vec<Segment> = Vec::new();
    for change in diff.iter_all_changes() {
        let side = match change.tag() {
            ChangeTag::Equal => Side::Both,
            ChangeTag::Delete => Side::Target,
            ChangeTag::Insert => Side::Prediction,
        };
        push(&mut segments, side, change.value());
    }
    segments
}

fn push(segments: &mut Vec<Segment>, side: Side, text: &str) {
    let text = if side == Side::Both { text.to_owned() } else { text.replace('\n', "↵\n") };
    match segments.last_mut() {
        Some(last) if last.side == side => last.text.push_str(&text),
        _ => segments.push(Segment { side, text }),
    }
}

/// Cuts a text into identifiers or numbers, runs of blanks, newlines and single signs.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut kinds = text.char_indices().map(|(index, character)| (index, kind(character))).peekable();
    while let Some((index, current)) = kinds.next() {
        let end = kinds.peek().map_or(text.len(), |next| next.0);
        let continues = kinds.peek().is_some_and(|next| next.1 == current && current != Kind::Sign);
        if !continues {
            words.push(&text[start..end]);
            start = end;
        }
        debug_assert!(index < end);
    }
    words
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Word,
    Blank,
    Sign,
}

fn kind(character: char) -> Kind {
    if character == '_' || character.is_alphanumeric() {
        Kind::Word
    } else if character != '\n' && character.is_whitespace() {
        Kind::Blank
    } else {
        Kind::Sign
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use proptest::prelude::*;

    use super::*;

    fn check(target: &str, prediction: &str, expected: &expect_test::Expect) {
        let text: String = merge(target, prediction)
            .into_iter()
            .map(|segment| match segment.side {
                Side::Both => segment.text,
                Side::Target => format!("[-{}-]", segment.text),
                Side::Prediction => format!("{{+{}+}}", segment.text),
            })
            .collect();
        expected.assert_eq(&text);
    }

    #[test]
    fn words_and_signs_are_compared() {
        check("shape.width(True) * 2", "shape.height(True)", &expect!["shape.[-width-]{+height+}(True)[- * 2-]"]);
    }

    #[test]
    fn newlines_on_one_side_are_visible() {
        check(
            "a",
            "a\nb",
            &expect![[r#"
            a{+↵
            b+}"#]],
        );
    }

    proptest! {
        #[test]
        fn each_side_can_be_read_off(target in "[a-c_ .(]{0,12}", prediction in "[a-c_ .(]{0,12}") {
            let segments = merge(&target, &prediction);
            let side = |other: Side| -> String {
                segments.iter().filter(|segment| segment.side != other).map(|segment| segment.text.as_str()).collect()
            };
            prop_assert_eq!(side(Side::Prediction), target);
            prop_assert_eq!(side(Side::Target), prediction);
        }
    }
}
