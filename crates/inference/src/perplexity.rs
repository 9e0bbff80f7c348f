//! How surprising a target is, with its telling tokens counted more.

use std::ops::Range;

use models::tokenizer::Tokenizer;
use repo::identifiers::identifier_spans;
use repo::language::Language;

use crate::Variant;

/// The weights of a target's tokens; any other token weighs 1.
///
/// # References
///
/// `RLCoder` §III-D. Where a token is both an identifier's and among the first, it has the first-token weight alone, the
/// order of the released code.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightRule {
    /// The weight of a token that is part of an identifier.
    pub identifier: f32,
    /// The weight of the first tokens.
    pub first: f32,
    /// How many tokens are the first ones.
    pub first_tokens: usize,
    /// The paper's definition or the released code's.
    ///
    /// In the paper's, an identifier is a word of the target's text, keywords excepted, and every token that overlaps
    /// one has the identifier weight; the sum is divided by the sum of the weights.
    ///
    /// The released code looks at one token at a time: it must itself begin with an identifier and be no keyword, so
    /// that a word written after a space (`Ġword`) never counts and `(word` does not, but `word(` does. Its test for
    /// the first tokens counts positions of the padded batch and never holds for a target, so that `first` is never
    /// applied. The sum is divided by the number of tokens.
    pub variant: Variant,
}

impl Default for WeightRule {
    /// Returns the paper's weights: 3 for identifiers, 5 for the first token.
    fn default() -> Self {
        Self { identifier: 3.0, first: 5.0, first_tokens: 1, variant: Variant::Paper }
    }
}

/// A target as the evaluator sees it: its first tokens and their weights.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedTarget {
    /// Tokens of the white space before the target, which are read and not scored.
    pub lead: Vec<u32>,
    /// The tokens that are scored.
    pub tokens: Vec<u32>,
    /// The weight of each of them.
    pub weights: Vec<f32>,
    /// How many further tokens the target has.
    pub tokens_dropped: usize,
}

impl WeightedTarget {
    /// Tokenizes a target, weighs its tokens and keeps the first `tokens_max`.
    ///
    /// `white_space` is what [`Seam::split`](crate::Seam::split) moved to the target's side. A token that holds some of it
    /// and some of the target is the target's.
    #[must_use]
    pub fn new(
        tokenizer: &Tokenizer,
        white_space: &str,
        target: &str,
        language: Language,
        tokens_max: usize,
        rule: &WeightRule,
    ) -> Self {
        let (mut lead, spans) = tokenizer.encode_with_offsets(&format!("{white_space}{target}"));
        let n_lead = spans.iter().take_while(|span| span.end <= white_space.len()).count();
        let mut tokens = lead.split_off(n_lead);
        let in_target = |byte: usize| byte.saturating_sub(white_space.len());
        let spans: Vec<Range<usize>> =
            spans[n_lead..].iter().map(|span| in_target(span.start)..in_target(span.end)).collect();
        let mut weights = weights(tokenizer, target, (&tokens, &spans), language, rule);
        let tokens_dropped = tokens.len().saturating_sub(tokens_max);
        tokens.truncate(tokens_max);
        weights.truncate(tokens_max);
        Self { lead, tokens, weights, tokens_dropped }
    }
}

/// Returns the weight of each of a target's tokens.
#[must_use]
pub fn token_weights(tokenizer: &Tokenizer, target: &str, language: Language, rule: &WeightRule) -> Vec<f32> {
    let (tokens, spans) = tokenizer.encode_with_offsets(target);
    weights(tokenizer, target, (&tokens, &spans), language, rule)
}

/// Returns the weight of each token, given with its span of bytes of the target.
fn weights(
    tokenizer: &Tokenizer,
    target: &str,
    (tokens, spans): (&[u32], &[Range<usize>]),
    language: Language,
    rule: &WeightRule,
) -> Vec<f32> {
    match rule.variant {
        Variant::Paper => weights_by_words(target, spans, language, rule),
        Variant::Released => {
            let piece = |token: &u32| tokenizer.spelling(*token).unwrap_or_default();
            tokens.iter().map(|token| weight_of_piece(&piece(token), language, rule)).collect()
        }
    }
}

/// Returns the weights of tokens by the identifiers that their byte spans of the target overlap.
fn weights_by_words(target: &str, spans: &[Range<usize>], language: Language, rule: &WeightRule) -> Vec<f32> {
    let identifiers = identifier_spans(target, language);
    let overlaps = |span: &Range<usize>| identifiers.iter().any(|word| word.start < span.end && span.start < word.end);
    let weight = |(index, span)| match index {
        index if index < rule.first_tokens => rule.first,
        _ if overlaps(span) => rule.identifier,
        _ => 1.0,
    };
    spans.iter().enumerate().map(weight).collect()
}

/// Returns the weight the released code gives to a token that is spelled so in the vocabulary.
fn weight_of_piece(piece: &str, language: Language, rule: &WeightRule) -> f32 {
    let is_word = piece.starts_with(|first: char| first == '_' || first.is_ascii_alphabetic());
    if is_word && !language.keywords().contains(&piece) { rule.identifier } else { 1.0 }
}

/// Returns the weighted NLL of a target, in nats per unit of weight (paper) or per token (released code).
///
/// # Panics
///
/// Panics if there are no tokens, or not as many weights as tokens.
#[must_use]
pub fn weighted_nll(nll: &[f32], weights: &[f32], variant: Variant) -> f64 {
    assert!(!nll.is_empty(), "a target has tokens");
    assert_eq!(nll.len(), weights.len(), "every token has a weight");
    let sum: f64 = nll.iter().zip(weights).map(|(nll, weight)| f64::from(*nll) * f64::from(*weight)).sum();
    match variant {
        Variant::Paper => sum / weights.iter().copied().map(f64::from).sum::<f64>(),
        Variant::Released => sum / nll.len() as f64,
    }
}

/// Returns the weighted perplexity of a target: the exponential of its [`weighted_nll`].
///
/// # Panics
///
/// Panics if there are no tokens, or not as many weights as tokens.
#[must_use]
pub fn weighted_perplexity(nll: &[f32], weights: &[f32], variant: Variant) -> f64 {
    weighted_nll(nll, weights, variant).exp()
}

/// Returns the mean NLL of a target, in nats per token.
///
/// # Panics
///
/// Panics if there are no tokens.
#[must_use]
pub fn mean_nll(nll: &[f32]) -> f64 {
    weighted_nll(nll, &vec![1.0; nll.len()], Variant::Paper)
}

/// Returns the perplexity of a target: the exponential of its [`mean_nll`].
///
/// # Panics
///
/// Panics if there are no tokens.
#[must_use]
pub fn perplexity(nll: &[f32]) -> f64 {
    mean_nll(nll).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    const GOLDEN: &str = include_str!("../../../tests/golden/weighted_perplexity.json");

    fn floats(value: &Value) -> Vec<f32> {
        value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap() as f32).collect()
    }

    fn rule(value: &Value) -> WeightRule {
        WeightRule {
            identifier: value["identifier"].as_f64().unwrap() as f32,
            first: value["first"].as_f64().unwrap() as f32,
            first_tokens: value["first_tokens"].as_u64().unwrap() as usize,
            variant: Variant::Paper,
        }
    }

    fn spans(pieces: &[&str]) -> Vec<Range<usize>> {
        let mut at = 0;
        let span = |piece: &&str| {
            at += piece.len();
            at - piece.len()..at
        };
        pieces.iter().map(span).collect()
    }

    fn close(value: f64, expected: &Value) -> bool {
        let expected = expected.as_f64().unwrap();
        (value - expected).abs() <= 1e-6 * expected.abs()
    }

    #[test]
    fn weights_and_perplexities_equal_the_reference() {
        let golden: Value = serde_json::from_str(GOLDEN).unwrap();
        for case in golden["cases"].as_array().unwrap() {
            let pieces: Vec<&str> = case["pieces"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect();
            let language: Language = case["language"].as_str().unwrap().parse().unwrap();
            let nll = floats(&case["nll"]);
            assert!(close(perplexity(&nll), &case["perplexity"]), "{pieces:?}");
            for expected in case["rules"].as_array().unwrap() {
                let rule = rule(expected);
                let paper = weights_by_words(&pieces.concat(), &spans(&pieces), language, &rule);
                let released: Vec<f32> = pieces.iter().map(|piece| weight_of_piece(piece, language, &rule)).collect();
                assert_eq!(paper, floats(&expected["paper_weights"]), "{pieces:?}");
                assert_eq!(released, floats(&expected["released_weights"]), "{pieces:?}");
                assert!(close(weighted_perplexity(&nll, &paper, Variant::Paper), &expected["paper"]));
                assert!(close(weighted_nll(&nll, &released, Variant::Released), &expected["released"]));
            }
        }
    }

    #[test]
    fn tokens_are_weighed_where_the_tokenizer_cuts() {
        let tokenizer = crate::fixtures::tokenizer();
        let text = "return self.name";
        let pieces: Vec<String> = tokenizer.encode(text).iter().map(|token| tokenizer.decode(&[*token])).collect();
        assert_eq!((pieces[0].as_str(), pieces.concat().as_str()), ("return", text));
        let weights = |variant| {
            let rule = WeightRule { first: 5.0, identifier: 3.0, first_tokens: 1, variant };
            token_weights(&tokenizer, text, Language::Python, &rule)
        };
        let expected = |piece: &String| if piece.starts_with(char::is_alphabetic) { 3.0 } else { 1.0 };
        let after_the_first: Vec<f32> = pieces[1..].iter().map(expected).collect();
        assert_eq!(weights(Variant::Paper), [&[5.0], &after_the_first[..]].concat());
        assert_eq!(weights(Variant::Released), [&[1.0], &after_the_first[..]].concat());
    }

    #[test]
    fn a_long_target_is_cut_after_it_is_weighed() {
        let tokenizer = crate::fixtures::tokenizer();
        let target = |tokens_max| {
            WeightedTarget::new(&tokenizer, "", "x = name", Language::Python, tokens_max, &WeightRule::default())
        };
        let whole = target(64);
        assert_eq!((whole.tokens.len(), whole.tokens_dropped), (whole.weights.len(), 0));
        let cut = target(2);
        assert_eq!((&cut.tokens[..], &cut.weights[..]), (&whole.tokens[..2], &whole.weights[..2]));
        assert_eq!(cut.tokens_dropped, whole.tokens.len() - 2);
    }

    #[test]
    #[should_panic(expected = "a target has tokens")]
    fn a_target_without_tokens_has_no_perplexity() {
        let _ = perplexity(&[]);
    }

    proptest! {
        #[test]
        fn weights_of_one_give_the_perplexity_and_a_common_factor_changes_nothing(
            nll in prop::collection::vec(0.0_f32..20.0, 1..64),
            factor in 0.5_f32..8.0,
        ) {
            let ones = vec![1.0; nll.len()];
            let expected = perplexity(&nll);
            for variant in [Variant::Paper, Variant::Released] {
                prop_assert!((weighted_perplexity(&nll, &ones, variant) / expected - 1.0).abs() < 1e-9);
            }
            let scaled = vec![factor; nll.len()];
            prop_assert!((weighted_perplexity(&nll, &scaled, Variant::Paper) / expected - 1.0).abs() < 1e-9);
        }

        #[test]
        fn the_order_of_prompts_is_the_same_in_both_denominators(
            tokens in prop::collection::vec((0.0_f32..9.0, 0.0_f32..9.0, 1.0_f32..5.0), 1..40),
        ) {
            let first: Vec<f32> = tokens.iter().map(|t| t.0).collect();
            let second: Vec<f32> = tokens.iter().map(|t| t.1).collect();
            let weights: Vec<f32> = tokens.iter().map(|t| t.2).collect();
            let difference = |variant| weighted_nll(&first, &weights, variant) - weighted_nll(&second, &weights, variant);
            prop_assert!(difference(Variant::Paper) * difference(Variant::Released) >= 0.0);
        }
    }
}
