//! Checks against the original implementations.

use serde::Deserialize;

use super::super::bleu::{BleuCounts, Smoothing};
use super::super::{edit_similarity, exact_match, toolgen};
use super::*;

/// The largest difference allowed: both sides count the same, and only round differently.
const TOLERANCE: f64 = 1e-12;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
    corpora: Vec<Corpus>,
    without_comments: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Case {
    language: String,
    prediction: String,
    target: String,
    cleaned: String,
    exact_match: f64,
    edit_similarity: f64,
    bleu4: Option<f64>,
    toolgen: [f64; 5],
    k4black: [f64; 5],
}

#[derive(Deserialize)]
struct Corpus {
    language: String,
    bleu4: Option<f64>,
    toolgen: [f64; 5],
    k4black: [f64; 5],
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../../../../../tests/golden/generation.json")).unwrap()
}

/// Cuts a cleaned text into words and signs, as the generating script does.
fn tokens(text: &str) -> Vec<String> {
    let cleaned = toolgen::clean(text);
    let is_word = |character: char| character == '_' || character.is_alphanumeric();
    let mut tokens: Vec<String> = Vec::new();
    let mut follows_word = false;
    for character in cleaned.chars() {
        match tokens.last_mut() {
            Some(last) if follows_word && is_word(character) => last.push(character),
            _ if character.is_whitespace() => {}
            _ => tokens.push(character.to_string()),
        }
        follows_word = is_word(character);
    }
    tokens
}

fn check(counts: &CodeBleuCounts, variant: Variant, expected: [f64; 5], text: &str) {
    let Parts { ngrams, weighted_ngrams, syntax, dataflow } = counts.parts();
    let found = [ngrams, weighted_ngrams, syntax, dataflow, counts.value(variant)];
    let is_close = found.iter().zip(&expected).all(|(found, expected)| (found - expected).abs() < TOLERANCE);
    assert!(is_close, "{variant:?}: {found:?} is not {expected:?} for {text}");
}

#[test]
fn every_function_scores_what_the_originals_say() {
    let cases = golden().cases;
    assert!(cases.len() >= 100, "only {} cases", cases.len());
    for case in cases {
        let language = case.language.parse().unwrap();
        let (prediction, target) = (&case.prediction, &case.target);
        for (variant, expected) in [(Variant::Toolgen, case.toolgen), (Variant::K4black, case.k4black)] {
            let counts = CodeBleuCounts::new(prediction, target, language, variant);
            assert_eq!(CodeBleuCounts::from_array(counts.to_array()), counts);
            check(&counts, variant, expected, prediction);
        }
        let cleaned = (toolgen::clean(prediction), toolgen::clean(target));
        assert_eq!(cleaned.0, case.cleaned);
        let is_exact = exact_match::toolgen(&cleaned.0, &cleaned.1);
        assert_eq!(is_exact, case.exact_match > 0.5, "{prediction}");
        let similarity = edit_similarity::toolgen(&cleaned.0, &cleaned.1);
        assert!((similarity - case.edit_similarity).abs() < TOLERANCE, "{prediction}");
        let bleu4 = BleuCounts::new(&tokens(prediction), &tokens(target)).value(Smoothing::AddOne);
        assert!(case.bleu4.is_none_or(|expected| (bleu4 - expected).abs() < TOLERANCE), "{prediction}");
    }
}

#[test]
fn a_corpus_scores_what_the_originals_say() {
    let golden = golden();
    for corpus in golden.corpora {
        let cases: Vec<&Case> = golden.cases.iter().filter(|case| case.language == corpus.language).collect();
        let language = corpus.language.parse().unwrap();
        for (variant, expected) in [(Variant::Toolgen, corpus.toolgen), (Variant::K4black, corpus.k4black)] {
            let sum = cases.iter().fold(CodeBleuCounts::default(), |sum, case| {
                sum + CodeBleuCounts::new(&case.prediction, &case.target, language, variant)
            });
            check(&sum, variant, expected, "the corpus");
        }
        let sum = cases.iter().fold(BleuCounts::default(), |sum, case| {
            sum + BleuCounts::new(&tokens(&case.prediction), &tokens(&case.target))
        });
        assert!((sum.value(Smoothing::AddOne) - corpus.bleu4.unwrap()).abs() < TOLERANCE);
    }
}

#[test]
fn comments_are_taken_out_as_python_does() {
    for (text, expected) in golden().without_comments {
        assert_eq!(comments::without_comments(&text, Language::Python), expected, "{text}");
    }
}

#[test]
fn a_corpus_without_data_flow_scores_by_variant() {
    let score = |variant| CodeBleuCounts::new("pass", "pass", Language::Python, variant).value(variant);
    // One word is its own unigram; the smoothed orders above count a tenth each.
    let ngrams = 1e-3_f64.powf(0.25);
    let weighted = ngrams * (-1.0_f64).exp();
    assert!((score(Variant::Toolgen) - 0.25 * (ngrams + weighted + 1.0)).abs() < TOLERANCE);
    assert!((score(Variant::K4black) - 0.25 * (ngrams + weighted + 2.0)).abs() < TOLERANCE);
}
