//! `CodeBLEU`: n-grams, weighted n-grams, syntax and data flow, from counts that add up over samples.
//!
//! ```text
//! text -> words -----------------------> n-grams, keyword-weighted n-grams
//!     \-> (comments out) -> flat tree -> subtrees
//!                                    \-> data flow, variables numbered
//! ```
//!
//! Three implementations are in use, and differ: [`Variant`] names them. The original recurses over syntax trees and
//! runs loop bodies twice at every level; here nothing recurses, and [`dataflow`] has limits. The original also orders
//! some lists of variable names by Python's string hashes, which change from run to run; here they keep the order of
//! their first mention.

pub mod comments;

mod tree;

mod syntax;

pub mod dataflow;

use std::collections::BTreeMap;
use std::ops::Add;

use repo::Language;
use repo::syntax::Preorder;

use super::bleu::{BleuCounts, ORDERS, Smoothing, added, brevity_penalty, ngrams, with_epsilon};
use super::python_text::{strip, words};
use tree::FlatTree;

/// A published implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// `ToolGen`'s copy of `CodeXGLUE`'s: comments count, and a corpus without data flow scores 0 for it.
    Toolgen,
    /// `CodeXGLUE`'s own, in the version of its code-to-code translation: what looks like a Java comment is taken out of
    /// every language before parsing, and a corpus without data flow scores 0 for it.
    Codexglue,
    /// `codebleu` 0.7.0 of the Python Package Index: comments and docstrings are taken out before parsing, and a
    /// data-flow score of 0 counts as 1. Its Python keywords include `match`, `case` and `type`.
    K4black,
}

/// The weight of a word that is no keyword.
const WORD_WEIGHT: f64 = 0.2;

/// The four parts of a score, each from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parts {
    /// BLEU-4 over words.
    pub ngrams: f64,
    /// Recall of the n-grams of the target, keywords weighing five times as much as other words.
    pub weighted_ngrams: f64,
    /// The share of the subtrees of the target that the prediction has.
    pub syntax: f64,
    /// The share of the data flow of the target that the prediction has.
    pub dataflow: f64,
}

/// What `CodeBLEU` needs to know of a sample, or, added up, of a corpus.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CodeBleuCounts {
    /// N-grams over words; a sample without n-grams of an order counts as having one.
    pub words: BleuCounts,
    /// The weight of the n-grams of the target that the prediction has, by order.
    pub recalled: [f64; ORDERS],
    /// The weight of the n-grams of the target, by order.
    pub wanted: [f64; ORDERS],
    /// The subtrees of the target that the prediction has.
    pub subtree_matches: f64,
    /// The subtrees of the target.
    pub subtrees: f64,
    /// The data-flow items of the target that the prediction has.
    pub flow_matches: f64,
    /// The data-flow items of the target.
    pub flows: f64,
    /// The number of samples.
    pub samples: f64,
}

impl CodeBleuCounts {
    /// The names of the numbers of [`Self::to_array`].
    pub const NAMES: [&'static str; 23] = [
        "matches_1",
        "matches_2",
        "matches_3",
        "matches_4",
        "totals_1",
        "totals_2",
        "totals_3",
        "totals_4",
        "prediction_words",
        "target_words",
        "recalled_1",
        "recalled_2",
        "recalled_3",
        "recalled_4",
        "wanted_1",
        "wanted_2",
        "wanted_3",
        "wanted_4",
        "subtree_matches",
        "subtrees",
        "flow_matches",
        "flows",
        "samples",
    ];

    /// Counts what one prediction and its target have in common.
    ///
    /// Words are what whitespace separates. A text that [`Language::parse`] refuses has neither subtrees nor data flow.
    #[must_use]
    pub fn new(prediction: &str, target: &str, language: Language, variant: Variant) -> Self {
        let (prediction, target) = (strip(prediction), strip(target));
        let mut counts = Self::of_words(prediction, target, language, variant);
        let parsed = |text: &str| match variant {
            Variant::Toolgen => text.to_owned(),
            Variant::Codexglue => comments::without_comments(text, Language::Java),
            Variant::K4black => comments::without_comments(text, language),
        };
        let (prediction, target) = (parsed(prediction), parsed(target));
        let trees = (language.parse(&prediction), language.parse(&target));
        let prediction = FlatTree::new(&prediction, trees.0.as_ref().map(Preorder::new));
        let target = FlatTree::new(&target, trees.1.as_ref().map(Preorder::new));
        let (matches, total) = syntax::matches(&prediction, &target);
        (counts.subtree_matches, counts.subtrees) = (matches as f64, total as f64);
        let (matches, total) = dataflow::matches(&prediction, &target, language);
        (counts.flow_matches, counts.flows) = (matches as f64, total as f64);
        counts
    }

    fn of_words(prediction: &str, target: &str, language: Language, variant: Variant) -> Self {
        let prediction: Vec<&str> = words(prediction).collect();
        let target: Vec<&str> = words(target).collect();
        let words = BleuCounts::new(&prediction, &target).at_least_one();
        let mut counts = Self { words, samples: 1.0, ..Self::default() };
        for order in 1..=ORDERS {
            let (predicted, wanted) = (ngrams(&prediction, order), ngrams(&target, order));
            let weigh = |word: &str| if is_keyword(word, language, variant) { 1.0 } else { WORD_WEIGHT };
            let weight = |ngram: &[&str]| if order == 1 { weigh(ngram[0]) } else { 1.0 };
            let weighted = |ngrams: &BTreeMap<&[&str], usize>| {
                ngrams.iter().map(|(ngram, count)| weight(ngram) * *count as f64).sum::<f64>()
            };
            let recalled: BTreeMap<&[&str], usize> = wanted
                .iter()
                .map(|(ngram, count)| (*ngram, predicted.get(ngram).map_or(0, |other| *count.min(other))))
                .collect();
            counts.recalled[order - 1] = weighted(&recalled);
            counts.wanted[order - 1] = weighted(&wanted).max(1.0);
        }
        counts
    }

    /// Returns the four parts.
    ///
    /// The weighted n-grams hardly know a brevity penalty: both implementations measure the pair of words and weights
    /// in place of the target, so that every target is two words long.
    #[must_use]
    pub fn parts(&self) -> Parts {
        let predicted = self.words.prediction_tokens;
        let weighted_brevity = brevity_penalty(predicted, 2.0 * self.samples);
        Parts {
            ngrams: self.words.value(Smoothing::Epsilon),
            weighted_ngrams: weighted_brevity * with_epsilon(&self.recalled, &self.wanted),
            syntax: share(self.subtree_matches, self.subtrees),
            dataflow: share(self.flow_matches, self.flows),
        }
    }

    /// Returns the mean of the four parts, from 0 to 1.
    ///
    /// # References
    ///
    /// Ren et al., "`CodeBLEU`", 2020; [`Variant`] says where the implementations differ.
    #[must_use]
    pub fn value(&self, variant: Variant) -> f64 {
        let Parts { ngrams, weighted_ngrams, syntax, dataflow } = self.parts();
        let is_forgiven = variant == Variant::K4black && dataflow <= 0.0;
        let dataflow = if is_forgiven { 1.0 } else { dataflow };
        0.25 * (ngrams + weighted_ngrams + syntax + dataflow)
    }

    /// Returns the counts in the order of [`Self::NAMES`].
    #[must_use]
    pub fn to_array(self) -> [f64; 23] {
        let mut array = [0.0; 23];
        array[..10].copy_from_slice(&self.words.to_array());
        array[10..14].copy_from_slice(&self.recalled);
        array[14..18].copy_from_slice(&self.wanted);
        array[18..].copy_from_slice(&[
            self.subtree_matches,
            self.subtrees,
            self.flow_matches,
            self.flows,
            self.samples,
        ]);
        array
    }

    /// Reads the counts in the order of [`Self::NAMES`].
    #[must_use]
    pub fn from_array(array: [f64; 23]) -> Self {
        Self {
            words: BleuCounts::from_array(std::array::from_fn(|index| array[index])),
            recalled: std::array::from_fn(|index| array[10 + index]),
            wanted: std::array::from_fn(|index| array[14 + index]),
            subtree_matches: array[18],
            subtrees: array[19],
            flow_matches: array[20],
            flows: array[21],
            samples: array[22],
        }
    }
}

impl Add for CodeBleuCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::from_array(added(self.to_array(), other.to_array()))
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// The Java list of both implementations knows neither the literals nor `_`.
fn is_keyword(word: &str, language: Language, variant: Variant) -> bool {
    let is_missing = language == Language::Java && matches!(word, "_" | "true" | "false" | "null");
    let is_soft = language == Language::Python && matches!(word, "match" | "case" | "type");
    (language.keywords().contains(&word) && !is_missing) || (is_soft && variant == Variant::K4black)
}
#[cfg(test)]
mod tests;
