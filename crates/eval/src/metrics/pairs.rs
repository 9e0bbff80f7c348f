//! Any prediction against any reference, with every text metric there is.

use std::collections::BTreeMap;
use std::path::Path;

use repo::Language;
use serde::Deserialize;

use super::bleu::{BleuCounts, Smoothing, tokenize_13a};
use super::codebleu::{CodeBleuCounts, Variant};
use super::generation::add;
use super::python_text::words;
use super::{Formula, METRICS, edit_similarity, exact_match, indicator, score, toolgen};
use crate::report::{ArmSummary, Prediction, summarize};
use crate::{Error, Result};

/// The one arm of a file of pairs.
const ARM: &str = "pairs";

/// A prediction and what it is held against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// What was predicted, as the model wrote it.
    pub prediction: String,
    /// What should have been.
    pub reference: String,
    /// The file before the prediction, for metrics that parse both together.
    pub prompt: String,
    /// The language of all three.
    pub language: Language,
}

/// A line of a file of pairs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    prediction: String,
    reference: String,
    #[serde(default)]
    prompt: String,
    language: String,
}

/// Reads a file of JSON lines.
///
/// # Errors
///
/// Returns an error that names the line if one is no pair, or if the file cannot be read or has none.
pub fn read(path: &Path) -> Result<Vec<Pair>> {
    let bytes = std::fs::read(path).map_err(|source| Error::Io { path: path.to_owned(), action: "reading", source })?;
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes));
    let lines = text.split('\n').enumerate().filter(|(_, line)| !line.trim().is_empty());
    let problem = |index: usize, problem: String| Error::Line { path: path.to_owned(), line: index + 1, problem };
    let pair = |(index, line): (usize, &str)| {
        let line: Line = serde_json::from_str(line).map_err(|error| problem(index, error.to_string()))?;
        let Line { prediction, reference, prompt, language } = line;
        let language = language
            .parse()
            .map_err(|_| problem(index, format!("`language` must be python or java, not {language:?}")))?;
        Ok(Pair { prediction, reference, prompt, language })
    };
    let pairs: Vec<Pair> = lines.map(pair).collect::<Result<_>>()?;
    if pairs.is_empty() {
        return Err(problem(0, "the file has no pair".into()));
    }
    Ok(pairs)
}

/// Returns every metric of one pair, and the counts of those that are formed over many.
///
/// Metrics over the tokens of a model are left out; BLEU counts words between white space, or the tokens of
/// `sacrebleu`.
#[must_use]
pub fn score_pair(pair: &Pair) -> BTreeMap<String, f64> {
    let Pair { prediction, reference, prompt, language } = pair;
    let scores = score(prompt, prediction, reference, *language);
    let mut scores: BTreeMap<String, f64> = scores.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    let cleaned = (toolgen::clean(prediction), toolgen::clean(reference));
    scores.insert("exact_match_toolgen".into(), indicator(exact_match::toolgen(&cleaned.0, &cleaned.1)));
    scores.insert("edit_similarity_toolgen".into(), edit_similarity::toolgen(&cleaned.0, &cleaned.1));
    let of_words = |text: &str| words(text).map(str::to_owned).collect::<Vec<_>>();
    let counts = BleuCounts::new(&of_words(prediction), &of_words(reference));
    add(&mut scores, "bleu4_codexglue", Formula::Bleu4(Smoothing::AddOne), &counts.to_array());
    add(&mut scores, "bleu4_nltk", Formula::Bleu4(Smoothing::Epsilon), &counts.at_least_one().to_array());
    let counts = BleuCounts::new(&tokenize_13a(prediction), &tokenize_13a(reference));
    add(&mut scores, "bleu4_sacrebleu", Formula::Bleu4Percent(Smoothing::Exponential), &counts.to_array());
    for (name, variant, texts) in [
        ("codebleu_toolgen", Variant::Toolgen, (&cleaned.0, &cleaned.1)),
        ("codebleu_codexglue", Variant::Codexglue, (prediction, reference)),
        ("codebleu_k4black", Variant::K4black, (prediction, reference)),
    ] {
        let counts = CodeBleuCounts::new(texts.0, texts.1, *language, variant);
        add(&mut scores, name, Formula::CodeBleu(variant), &counts.to_array());
    }
    scores
}

/// Returns what all pairs score together, with 95 % bootstrap intervals.
#[must_use]
pub fn summary(pairs: &[Pair], seed: u64) -> ArmSummary {
    let prediction = |(index, pair): (usize, &Pair)| Prediction {
        sample: index.to_string(),
        arm: ARM.into(),
        metrics: score_pair(pair),
        ..Prediction::default()
    };
    let predictions: Vec<Prediction> = pairs.iter().enumerate().map(prediction).collect();
    summarize(&predictions, &[ARM], seed).remove(0)
}

/// Returns the metrics of a pair without their counts, in the order of [`METRICS`].
#[must_use]
pub fn values(scores: &BTreeMap<String, f64>) -> Vec<(&'static str, f64)> {
    METRICS.iter().filter_map(|metric| Some((metric.name, *scores.get(metric.name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::is_count;
    use proptest::prelude::*;

    fn pair(prediction: &str, reference: &str, language: Language) -> Pair {
        Pair { prediction: prediction.into(), reference: reference.into(), prompt: String::new(), language }
    }

    #[derive(Deserialize)]
    struct Golden {
        metrics: Vec<String>,
        cases: Vec<(String, String, String, String, Vec<f64>)>,
    }

    #[test]
    fn every_metric_scores_what_the_originals_say() {
        let golden: Golden = serde_json::from_str(include_str!("../../../../tests/golden/metric_pairs.json")).unwrap();
        assert!(golden.cases.len() >= 200, "only {} cases", golden.cases.len());
        for (prediction, reference, prompt, language, expected) in golden.cases {
            let pair = Pair { prompt, ..pair(&prediction, &reference, language.parse().unwrap()) };
            let scores = score_pair(&pair);
            for (name, expected) in golden.metrics.iter().zip(expected) {
                let found = scores.get(name).copied().unwrap_or_default();
                assert!((found - expected).abs() < 1e-9, "{name} is {found}, not {expected}: {pair:?}");
            }
        }
    }

    fn best(name: &str) -> f64 {
        let unit = crate::metrics::definition(name).unwrap().unit;
        if unit == "0–100" { 100.0 } else { 1.0 }
    }

    #[test]
    fn the_reference_itself_scores_full_marks() {
        let text = "total = price * count + 1";
        for (name, value) in values(&score_pair(&pair(text, text, Language::Python))) {
            assert!((value - best(name)).abs() < 1e-12, "{name} is {value}");
        }
    }

    #[test]
    fn nothing_scores_nothing_but_a_prefix_and_what_forgives() {
        let scores = score_pair(&pair("", "total = price * count + 1", Language::Python));
        let scoring: Vec<&str> =
            values(&scores).into_iter().filter(|(_, value)| *value > 0.0).map(|(name, _)| name).collect();
        // A data flow that shares nothing counts as one that shares everything there.
        assert_eq!(scoring, ["exact_match_rlcoder_github", "codebleu_k4black"]);
    }

    #[test]
    fn a_corpus_is_formed_from_counts() {
        let pairs = [pair("a b c d", "a b c d", Language::Python), pair("a x", "a b", Language::Python)];
        let summary = summary(&pairs, 0);
        let expected: f64 = [6.0 / 7.0, 4.0 / 5.0, 3.0 / 3.0, 2.0 / 2.0_f64].iter().product();
        assert!((summary.metrics["bleu4_codexglue"].mean - expected.powf(0.25)).abs() < 1e-12);
        assert_eq!(summary.n, 2);
    }

    #[test]
    fn a_line_that_is_no_pair_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pairs.jsonl");
        let good = r#"{"prediction": "a", "reference": "b", "language": "java"}"#;
        for (text, expected) in [
            (format!("{good}\n\n{{\"prediction\": 1}}\n"), ":3: invalid type"),
            (good.replace("java", "perl"), ":1: `language` must be python or java, not \"perl\""),
            (String::new(), ":1: the file has no pair"),
        ] {
            std::fs::write(&path, text).unwrap();
            let message = read(&path).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        }
        std::fs::write(&path, format!("\u{feff}{good}\n")).unwrap();
        assert_eq!(read(&path).unwrap(), [pair("a", "b", Language::Java)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn any_pair_is_scored_within_range(
            prediction in r"(?s)[a-c .;{}():=#/'\n\\]{0,40}|.{0,12}", reference in r"(?s)[a-c .;{}():=#/'\n\\]{0,40}|.{0,12}",
        ) {
            for language in Language::ALL {
                let scores = score_pair(&pair(&prediction, &reference, language));
                for (name, value) in values(&scores) {
                    prop_assert!((0.0..=best(name) + 1e-9).contains(&value), "{} is {}", name, value);
                }
                prop_assert!(scores.keys().filter(|name| !is_count(name)).all(|name| crate::metrics::definition(name).is_some()));
            }
        }
    }
}
