//! What a predicted text scores against its target.
//!
//! Benchmarks share names for measures that differ, so every measure here carries the name of the benchmark that
//! defines it. All take text. [`score`] computes all measures of a completion in one pass, [`generation::score`] those
//! of a written function; [`METRICS`] says what each number means and how that of an arm is formed.
//!
//! `CrossCodeEval` measures cut the prediction first (see [`truncate::cceval`]) and drop what looks like a comment
//! from both sides (see [`cceval::without_comments`]). `RepoEval` measures look at the first lines of the raw
//! prediction; `RLCoder`'s own `RepoEval` numbers are taken after the `CrossCodeEval` cut and have names of their own.
//! [`pairs`] scores any texts with everything there is.

pub mod exact_match;

pub mod edit_similarity;

pub mod bleu;

pub mod codebleu;

pub mod identifiers;

pub mod truncate;

pub mod cceval;

pub mod toolgen;

pub mod dependency_coverage;

pub mod static_validity;

pub mod generation;

pub mod pairs;

mod definitions;

mod python_text;

use std::collections::BTreeMap;

use repo::Language;

pub use definitions::{Definition, Formula, METRICS, count_key, definition, is_count};

/// Returns every text metric of one prediction, by name.
///
/// `left_context` is everything in the file before the target: `CrossCodeEval` parses it together with the prediction.
#[must_use]
pub fn score(left_context: &str, prediction: &str, target: &str, language: Language) -> BTreeMap<&'static str, f64> {
    let statement = truncate::cceval(left_context, prediction, language);
    let predicted_code = cceval::without_comments(statement);
    let target_code = cceval::without_comments(target);
    let predicted_names = identifiers::cceval(&predicted_code, language);
    let target_names = identifiers::cceval(&target_code, language);
    BTreeMap::from([
        ("exact_match_cceval", indicator(exact_match::cceval(&predicted_code, &target_code))),
        ("edit_similarity_cceval", edit_similarity::cceval(&predicted_code, &target_code)),
        ("identifier_exact_match_cceval", indicator(predicted_names == target_names)),
        ("identifier_precision_cceval", identifiers::share_cceval(&predicted_names, &target_names)),
        ("identifier_recall_cceval", identifiers::share_cceval(&target_names, &predicted_names)),
        ("identifier_f1_cceval", identifiers::f1_cceval(&predicted_names, &target_names)),
        ("exact_match_repoeval", indicator(exact_match::repoeval(prediction, target))),
        ("edit_similarity_repoeval", edit_similarity::repoeval(prediction, target)),
        ("exact_match_rlcoder_repoeval", indicator(exact_match::repoeval(&predicted_code, &target_code))),
        ("edit_similarity_rlcoder_repoeval", edit_similarity::repoeval(&predicted_code, &target_code)),
        ("exact_match_rlcoder_github", indicator(exact_match::rlcoder_github(prediction, target))),
    ])
}

fn indicator(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Golden {
        metrics: Vec<String>,
        cases: Vec<Case>,
    }

    #[derive(Debug, Deserialize)]
    struct Case {
        language: String,
        left_context: String,
        prediction: String,
        target: String,
        statement: String,
        scores: Vec<f64>,
    }

    #[test]
    fn scores_agree_with_the_reference_script() {
        let golden: Golden = serde_json::from_str(include_str!("../../../tests/golden/metrics.json")).unwrap();
        assert!(golden.cases.len() >= 200, "only {} cases", golden.cases.len());
        for case in golden.cases {
            let language = case.language.parse().unwrap();
            assert_eq!(truncate::cceval(&case.left_context, &case.prediction, language), case.statement, "{case:?}");
            let scores = score(&case.left_context, &case.prediction, &case.target, language);
            assert_eq!(scores.len(), golden.metrics.len());
            for (name, expected) in golden.metrics.iter().zip(&case.scores) {
                let difference = (scores[name.as_str()] - expected).abs();
                assert!(difference < 1e-12, "{name} {case:?}");
            }
        }
    }

    #[test]
    fn the_target_itself_scores_full_marks() {
        for (target, language) in
            [("value = other.call(1)\n", Language::Python), ("return this.size(a);", Language::Java)]
        {
            for (name, value) in score("", target, target, language) {
                let best = if name == "edit_similarity_cceval" { 100.0 } else { 1.0 };
                assert!((value - best).abs() < 1e-12, "{name} is {value}");
            }
        }
    }

    #[test]
    fn an_empty_prediction_scores_nothing_but_the_prefix_match() {
        for (name, value) in score("x = ", "", "call(1)\n", Language::Python) {
            let expected = f64::from(u8::from(name == "exact_match_rlcoder_github"));
            assert!((value - expected).abs() < 1e-12, "{name} is {value}");
        }
    }

    #[test]
    fn every_score_is_defined() {
        for name in score("", "", "", Language::Java).keys() {
            assert!(definition(name).is_some(), "{name}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_text_is_scored_within_range(
            context in r"(?s).{0,20}", prediction in r"(?s)[a-c .;{}#/'\n\\]{0,24}|.{0,12}", target in r"(?s).{0,12}",
        ) {
            for language in Language::ALL {
                for (name, value) in score(&context, &prediction, &target, language) {
                    let best = if name == "edit_similarity_cceval" { 100.0 } else { 1.0 };
                    prop_assert!((0.0..=best).contains(&value), "{} is {}", name, value);
                }
            }
        }
    }
}
