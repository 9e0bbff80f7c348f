//! What a written function scores against its target, for the report of a generator.
//!
//! A prediction holds, for each metric, its own value, and for a metric of the whole corpus also the counts that the
//! value of an arm is formed from: [`super::METRICS`] names the formula, [`count_key`] the keys.

use std::collections::BTreeMap;

use analysis::triggers::TRIGGER;
use repo::Language;

use super::bleu::{BleuCounts, Smoothing};
use super::codebleu::{CodeBleuCounts, Variant};
use super::{Formula, count_key, edit_similarity, exact_match, indicator, toolgen};

/// One side of a comparison.
#[derive(Debug)]
pub struct Side<'a, T> {
    /// The whole function, signature and body; triggers do not count.
    pub text: &'a str,
    /// The model's tokens of what [`toolgen::clean`] leaves of it.
    pub tokens: &'a [T],
}

impl<T> Clone for Side<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Side<'_, T> {}

/// Dependencies of a target function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dependencies {
    /// How many of them the prediction has.
    pub hits: usize,
    /// How many the target has.
    pub keys: usize,
}

/// What was found out about a prediction by other means than its text; what was not looked at is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checks {
    /// Dependencies by the marks of the target, as released.
    pub dependencies: Option<Dependencies>,
    /// Dependencies by their definitions, as the paper words it.
    pub dependencies_by_definitions: Option<Dependencies>,
    /// Whether the native engine finds no error.
    pub valid_native: Option<bool>,
    /// Whether pylint finds no error.
    pub valid_pylint: Option<bool>,
}

/// Returns every text metric of one written function, by name, and the counts of those that are formed over the corpus.
#[must_use]
pub fn score<T: Ord>(prediction: Side<'_, T>, target: Side<'_, T>, language: Language) -> BTreeMap<String, f64> {
    let cleaned = (toolgen::clean(prediction.text), toolgen::clean(target.text));
    let plain = (prediction.text.replace(TRIGGER, ""), target.text.replace(TRIGGER, ""));
    let bleu4 = BleuCounts::new(prediction.tokens, target.tokens);
    let toolgen = CodeBleuCounts::new(&cleaned.0, &cleaned.1, language, Variant::Toolgen);
    let k4black = CodeBleuCounts::new(&plain.0, &plain.1, language, Variant::K4black);
    let exact = indicator(exact_match::toolgen(&cleaned.0, &cleaned.1));
    let mut scores = BTreeMap::from([
        ("exact_match_toolgen".to_owned(), exact),
        ("edit_similarity_toolgen".to_owned(), edit_similarity::toolgen(&cleaned.0, &cleaned.1)),
    ]);
    add(&mut scores, "bleu4_toolgen", Formula::Bleu4(Smoothing::AddOne), &bleu4.to_array());
    add(&mut scores, "codebleu_toolgen", Formula::CodeBleu(Variant::Toolgen), &toolgen.to_array());
    add(&mut scores, "codebleu_k4black", Formula::CodeBleu(Variant::K4black), &k4black.to_array());
    scores
}

/// Returns the metrics that the checks give; those over functions with dependencies are absent for a function without.
#[must_use]
pub fn checked(checks: &Checks) -> BTreeMap<String, f64> {
    let mut scores = BTreeMap::new();
    for (metric, dependencies) in [
        ("dependency_coverage", checks.dependencies),
        ("dependency_coverage_definitions", checks.dependencies_by_definitions),
    ] {
        if let Some(Dependencies { hits, keys }) = dependencies {
            add(&mut scores, metric, Formula::Ratio, &[hits as f64, keys as f64]);
        }
    }
    let is_dependent = checks.dependencies.is_some_and(|dependencies| dependencies.keys > 0);
    for (metric, valid) in [("validity_native", checks.valid_native), ("validity_pylint", checks.valid_pylint)] {
        if let Some(valid) = valid.map(indicator) {
            scores.insert(metric.to_owned(), valid);
            scores.extend(is_dependent.then(|| (format!("{metric}_dependent"), valid)));
        }
    }
    scores
}

/// Adds counts, and the value of this one sample if it has one.
pub(super) fn add(scores: &mut BTreeMap<String, f64>, metric: &str, formula: Formula, counts: &[f64]) {
    let value = formula.value(counts);
    scores.extend(value.is_finite().then(|| (metric.to_owned(), value)));
    let names = formula.counts().iter();
    scores.extend(names.zip(counts).map(|(name, count)| (count_key(metric, name), *count)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{definition, is_count};
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn scores(prediction: &str, target: &str, language: Language) -> BTreeMap<String, f64> {
        let tokens = (words(prediction), words(target));
        let prediction = Side { text: prediction, tokens: tokens.0.as_slice() };
        score(prediction, Side { text: target, tokens: &tokens.1 }, language)
    }

    #[test]
    fn every_score_is_defined_and_every_count_is_named_by_its_formula() {
        let dependencies = Some(Dependencies { hits: 1, keys: 2 });
        let checks = Checks {
            dependencies,
            dependencies_by_definitions: dependencies,
            valid_native: Some(true),
            valid_pylint: Some(false),
        };
        let mut all = scores("x = 1", "x = 1", Language::Python);
        all.extend(checked(&checks));
        for key in all.keys() {
            let (name, count) = key.split_once('.').unwrap_or((key, ""));
            let formula = definition(name).unwrap_or_else(|| panic!("{key}")).formula;
            assert!(!is_count(key) || formula.counts().contains(&count), "{key}");
        }
        assert_eq!(all.keys().filter(|key| !is_count(key)).count(), 11);
    }

    #[test]
    fn the_target_itself_scores_full_marks_and_triggers_do_not_count() {
        let target = "def f(a):\n    x = a.b('c')\n    return x\n";
        let scores = scores(&target.replace("b(", "<COMP>b("), target, Language::Python);
        for (name, best) in [
            ("exact_match_toolgen", 1.0),
            ("edit_similarity_toolgen", 100.0),
            ("codebleu_toolgen", 1.0),
            ("codebleu_k4black", 1.0),
        ] {
            assert!((scores[name] - best).abs() < 1e-12, "{name} is {}", scores[name]);
        }
    }

    #[test]
    fn a_function_without_dependencies_has_no_coverage_and_is_not_dependent() {
        let checks =
            Checks { dependencies: Some(Dependencies::default()), valid_native: Some(true), ..Checks::default() };
        let scores = checked(&checks);
        let names: Vec<&str> = scores.keys().map(String::as_str).collect();
        assert_eq!(names, ["dependency_coverage.hits", "dependency_coverage.keys", "validity_native"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn any_text_is_scored_within_range(
            prediction in r"(?s)[a-c .;{}():=#/'\n\\]{0,40}|.{0,12}", target in r"(?s)[a-c .;{}():=#/'\n\\]{0,40}|.{0,12}",
        ) {
            for language in Language::ALL {
                for (name, value) in scores(&prediction, &target, language) {
                    let best = if name == "edit_similarity_toolgen" { 100.0 } else { 1.0 + 1e-12 };
                    prop_assert!(is_count(&name) || (0.0..=best).contains(&value), "{} is {}", name, value);
                }
            }
        }
    }
}
