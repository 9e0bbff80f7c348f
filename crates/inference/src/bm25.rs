//! BM25 over one repository's candidates: the words two pieces of code share, without a model.

use std::collections::HashMap;

/// The free parameters of BM25.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25Rule {
    /// How fast repeated occurrences of a word saturate.
    pub k1: f64,
    /// How much the length of a document counts, from 0 (not at all) to 1.
    pub b: f64,
    /// The share of the mean inverse document frequency given to a word that is in more than half of the documents.
    pub epsilon: f64,
}

impl Default for Bm25Rule {
    /// Returns the values `rank_bm25` 0.2.2 uses, which are the ones `RLCoder` runs with.
    fn default() -> Self {
        Self { k1: 1.5, b: 0.75, epsilon: 0.25 }
    }
}

/// An Okapi BM25 index.
///
/// # References
///
/// The arithmetic, the order of its sums included, is that of `rank_bm25.BM25Okapi` 0.2.2: a word's inverse document
/// frequency is `ln(n - df + 0.5) - ln(df + 0.5)`, and where that is negative it becomes `epsilon` times the mean over
/// all words. Where `rank_bm25` divides by zero (no documents, or only empty ones) every score here is 0.
#[derive(Debug, Clone)]
pub struct Bm25 {
    rule: Bm25Rule,
    word_ids: HashMap<String, usize>,
    words: Vec<Word>,
    /// The number of words of each document.
    lengths: Vec<f64>,
    mean_length: f64,
}

#[derive(Debug, Clone, Default)]
struct Word {
    inverse_document_frequency: f64,
    /// Documents holding the word, ascending, with the number of occurrences.
    postings: Vec<(usize, u32)>,
}

impl Bm25 {
    /// Indexes documents, each a list of words, with the default rule.
    #[must_use]
    pub fn new(documents: &[Vec<String>]) -> Self {
        Self::with_rule(documents, Bm25Rule::default())
    }

    /// Indexes documents, each a list of words.
    #[must_use]
    pub fn with_rule(documents: &[Vec<String>], rule: Bm25Rule) -> Self {
        let lengths = documents.iter().map(|words| words.len() as f64).collect();
        let mean_length = mean_length(documents);
        let mut index = Self { rule, word_ids: HashMap::new(), words: Vec::new(), lengths, mean_length };
        for (document, words) in documents.iter().enumerate() {
            for word in words {
                index.count(document, word);
            }
        }
        weigh(&mut index.words, documents.len(), rule.epsilon);
        index
    }

    fn count(&mut self, document: usize, word: &str) {
        let id = self.word_ids.get(word).copied().unwrap_or_else(|| {
            self.words.push(Word::default());
            self.word_ids.insert(word.to_owned(), self.words.len() - 1);
            self.words.len() - 1
        });
        match self.words[id].postings.last_mut() {
            Some((last, occurrences)) if *last == document => *occurrences += 1,
            _ => self.words[id].postings.push((document, 1)),
        }
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Returns whether there are no documents.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lengths.is_empty()
    }

    /// Returns every document's score for a query; a word the query repeats counts each time.
    #[must_use]
    pub fn scores(&self, query: &[String]) -> Vec<f64> {
        let Bm25Rule { k1, b, .. } = self.rule;
        let mut scores = vec![0.0; self.len()];
        for word in query.iter().filter_map(|word| self.word_ids.get(word)) {
            let word = &self.words[*word];
            for &(document, occurrences) in &word.postings {
                let occurrences = f64::from(occurrences);
                let saturation = occurrences + k1 * (1.0 - b + b * self.lengths[document] / self.mean_length);
                scores[document] += word.inverse_document_frequency * (occurrences * (k1 + 1.0) / saturation);
            }
        }
        scores
    }

    /// Returns the `n` best documents with their scores, best first; of equal ones the earlier document comes first.
    #[must_use]
    pub fn top(&self, query: &[String], n: usize) -> Vec<(usize, f64)> {
        let mut ranked: Vec<(usize, f64)> = self.scores(query).into_iter().enumerate().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranked.truncate(n);
        ranked
    }
}

/// Returns the words of a text: what white space separates (as Python's `str.split`), in lower case if asked.
#[must_use]
pub fn words(text: &str, lowercase: bool) -> Vec<String> {
    text.split(is_separator)
        .filter(|word| !word.is_empty())
        .map(|word| if lowercase { word.to_lowercase() } else { word.to_owned() })
        .collect()
}

/// Returns whether Python takes a character for white space: Unicode's, and the four information separators.
fn is_separator(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1c}'..='\u{1f}')
}

/// Returns the mean number of words; 1 where there are none, so that it divides nothing by zero.
fn mean_length(documents: &[Vec<String>]) -> f64 {
    let n_words: usize = documents.iter().map(Vec::len).sum();
    if n_words == 0 { 1.0 } else { n_words as f64 / documents.len() as f64 }
}

/// Sets every word's inverse document frequency, replacing the negative ones.
fn weigh(words: &mut [Word], n_documents: usize, epsilon: f64) {
    let mut sum = 0.0;
    for word in words.iter_mut() {
        let holding = word.postings.len() as f64;
        word.inverse_document_frequency = (n_documents as f64 - holding + 0.5).ln() - (holding + 0.5).ln();
        sum += word.inverse_document_frequency;
    }
    let floor = epsilon * (sum / words.len() as f64);
    for word in words.iter_mut().filter(|word| word.inverse_document_frequency < 0.0) {
        word.inverse_document_frequency = floor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    const GOLDEN: &str = include_str!("../../../tests/golden/bm25.json");

    fn texts(value: &Value) -> Vec<String> {
        let items = value.as_array().unwrap();
        items.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
    }

    fn split(text: &str) -> Vec<String> {
        words(text, false)
    }

    #[test]
    fn scores_equal_those_of_rank_bm25() {
        let golden: Value = serde_json::from_str(GOLDEN).unwrap();
        let cases = golden["cases"].as_array().unwrap();
        assert!(cases.len() >= 8);
        for case in cases {
            let documents: Vec<_> = texts(&case["documents"]).iter().map(|text| words(text, true)).collect();
            let index = Bm25::new(&documents);
            for query in case["queries"].as_array().unwrap() {
                let words = words(query["text"].as_str().unwrap(), query["lowercase"].as_bool().unwrap());
                let scores = index.scores(&words);
                let expected = query["scores"].as_array().unwrap();
                assert_eq!(scores.len(), expected.len());
                for (score, expected) in scores.iter().zip(expected) {
                    let expected = expected.as_f64().unwrap();
                    assert!((score - expected).abs() <= 1e-12, "{}: {score} {expected}", case["name"]);
                }
                let order: Vec<u64> = index.top(&words, usize::MAX).iter().map(|(i, _)| *i as u64).collect();
                let expected: Vec<u64> =
                    query["order"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap()).collect();
                assert_eq!(order, expected, "{}", case["name"]);
            }
        }
    }

    #[test]
    fn words_split_where_python_splits() {
        let golden: Value = serde_json::from_str(GOLDEN).unwrap();
        for case in golden["words"].as_array().unwrap() {
            let text = case["text"].as_str().unwrap();
            assert_eq!(words(text, false), texts(&case["as_is"]));
            assert_eq!(words(text, true), texts(&case["lower"]));
        }
    }

    #[test]
    fn no_documents_and_no_words_score_nothing() {
        assert!(Bm25::new(&[]).scores(&split("a")).is_empty());
        assert!(Bm25::new(&[]).top(&split("a"), 3).is_empty());
        assert_eq!(Bm25::new(&[vec![], vec![]]).scores(&split("a")), [0.0, 0.0]);
        assert_eq!(Bm25::new(&[split("a"), split("b")]).top(&[], 9), [(0, 0.0), (1, 0.0)]);
    }

    proptest! {
        #[test]
        fn the_top_is_a_prefix_of_the_order_and_never_misses_a_better_document(
            documents in prop::collection::vec(prop::collection::vec("[a-e]", 0..6), 0..12),
            query in prop::collection::vec("[a-f]", 0..5),
            n in 0_usize..14,
        ) {
            let index = Bm25::new(&documents);
            let all = index.top(&query, usize::MAX);
            prop_assert_eq!(all.len(), documents.len());
            prop_assert_eq!(&index.top(&query, n)[..], &all[..n.min(all.len())]);
            for pair in all.windows(2) {
                prop_assert!(pair[0].1 > pair[1].1 || (pair[0].1.total_cmp(&pair[1].1).is_eq() && pair[0].0 < pair[1].0));
            }
        }
    }
}
