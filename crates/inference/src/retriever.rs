//! The dense retriever: texts to vectors, vectors to a ranking.

use std::collections::BTreeMap;

use models::Workers;
use models::encoder::Encoder;

use crate::batches::{self, Progress};

/// How much of a text an encoder reads, special tokens included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrieverLimits {
    /// Tokens of a query, of which the last ones are kept.
    pub query_tokens_max: usize,
    /// Tokens of a candidate, of which the first ones are kept.
    pub candidate_tokens_max: usize,
    /// Padded tokens of one batch.
    pub batch_tokens_max: usize,
}

impl Default for RetrieverLimits {
    /// Returns `RLCoder`'s limits, and a batch that 64 of its longest candidates fill.
    fn default() -> Self {
        Self { query_tokens_max: 256, candidate_tokens_max: 512, batch_tokens_max: 64 * 512 }
    }
}

/// An encoder that embeds queries and candidates in batches.
#[derive(Debug, Clone, Copy)]
pub struct Retriever<'a> {
    /// The encoder.
    pub encoder: &'a Encoder,
    /// What computes batches side by side.
    pub workers: &'a Workers,
    /// How much of a text is read.
    pub limits: RetrieverLimits,
}

impl Retriever<'_> {
    /// Returns the tokens of a query: its last ones, within the template's special tokens.
    #[must_use]
    pub fn query_tokens(&self, text: &str) -> Vec<u32> {
        self.encoder.query_tokens(text, self.limits.query_tokens_max)
    }

    /// Returns the tokens of a candidate's text: its first ones, within the template's special tokens.
    #[must_use]
    pub fn candidate_tokens(&self, text: &str) -> Vec<u32> {
        self.encoder.candidate_tokens(text, self.limits.candidate_tokens_max)
    }

    /// Embeds queries.
    #[must_use]
    pub fn embed_queries(&self, texts: &[impl AsRef<str>], progress: &(dyn Fn(Progress) + Sync)) -> Embeddings {
        self.embed(texts, progress, |text| self.query_tokens(text))
    }

    /// Embeds candidates, as their text stands in a prompt.
    #[must_use]
    pub fn embed_candidates(&self, texts: &[impl AsRef<str>], progress: &(dyn Fn(Progress) + Sync)) -> Embeddings {
        self.embed(texts, progress, |text| self.candidate_tokens(text))
    }

    /// Embeds each distinct text once; texts of similar length share a batch.
    fn embed(
        &self,
        texts: &[impl AsRef<str>],
        progress: &(dyn Fn(Progress) + Sync),
        tokens: impl Fn(&str) -> Vec<u32> + Sync,
    ) -> Embeddings {
        let (rows, distinct) = distinct(texts);
        let sequences = self.workers.map(distinct, |_, text| tokens(text));
        let lengths: Vec<usize> = sequences.iter().map(Vec::len).collect();
        let compute = |batch: &[usize]| {
            let batch: Vec<Vec<u32>> = batch.iter().map(|&index| sequences[index].clone()).collect();
            self.vectors(&batch)
        };
        let vectors = batches::run(self.workers, &lengths, self.limits.batch_tokens_max, progress, compute);
        Embeddings { rows, vectors }
    }

    /// Returns the vectors of one batch.
    fn vectors(&self, sequences: &[Vec<u32>]) -> Vec<Vec<f32>> {
        let vectors = self.encoder.embed_batch(sequences, None);
        let [_batch, dim] = vectors.dims();
        let values: Vec<f32> = vectors.into_data().try_into_vec().expect("an encoder computes in f32");
        values.chunks(dim).map(<[f32]>::to_vec).collect()
    }
}

/// Numbers the distinct texts in the order of their first appearance: returns each text's number, and those texts.
fn distinct(texts: &[impl AsRef<str>]) -> (Vec<usize>, Vec<&str>) {
    let mut numbers = BTreeMap::new();
    let mut distinct = Vec::new();
    let mut rows = Vec::with_capacity(texts.len());
    for text in texts.iter().map(AsRef::as_ref) {
        let number = *numbers.entry(text).or_insert(distinct.len());
        if number == distinct.len() {
            distinct.push(text);
        }
        rows.push(number);
    }
    (rows, distinct)
}

/// L2-normalized vectors of texts, equal texts stored once.
#[derive(Debug, Clone, PartialEq)]
pub struct Embeddings {
    rows: Vec<usize>,
    vectors: Vec<Vec<f32>>,
}

impl Embeddings {
    /// Returns the number of texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there are no texts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the vector of a text.
    ///
    /// # Panics
    ///
    /// Panics if there is no such text.
    #[must_use]
    pub fn vector(&self, text: usize) -> &[f32] {
        &self.vectors[self.rows[text]]
    }
}

/// Returns the similarity of two L2-normalized vectors, their cosine.
///
/// # Panics
///
/// Panics if the vectors differ in length.
#[must_use]
pub fn similarity(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len(), "vectors of one encoder");
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}

/// Returns the indices of similarities with them, the largest first; of equal ones the earlier index comes first.
#[must_use]
pub fn rank(similarities: &[f32]) -> Vec<(usize, f32)> {
    let mut ranked: Vec<(usize, f32)> = similarities.iter().copied().enumerate().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;

    const TEXTS: [&str; 5] = ["def f(x):", "class Config: pass", "def f(x):", "", "import os\nimport json\nimport re"];

    fn embed(encoder: &Encoder, workers: &Workers, batch_tokens_max: usize) -> Embeddings {
        let limits = RetrieverLimits { batch_tokens_max, ..RetrieverLimits::default() };
        Retriever { encoder, workers, limits }.embed_candidates(&TEXTS, &|_| ())
    }

    #[test]
    fn vectors_have_unit_length_and_equal_texts_share_one() {
        let embeddings = embed(&fixtures::encoder(), &Workers::new(2), 64);
        assert_eq!((embeddings.len(), embeddings.vectors.len()), (5, 4));
        for text in 0..embeddings.len() {
            let vector = embeddings.vector(text);
            assert!((similarity(vector, vector) - 1.0).abs() < 1e-5);
        }
        assert_eq!(embeddings.vector(0), embeddings.vector(2));
        assert_ne!(embeddings.vector(0), embeddings.vector(1));
    }

    #[test]
    fn vectors_do_not_depend_on_workers_and_on_the_batch_by_rounding_only() {
        let encoder = fixtures::encoder();
        let expected = embed(&encoder, &Workers::inline(), 64);
        assert_eq!(embed(&encoder, &Workers::new(3), 64), expected);
        for batch_tokens_max in [0, 10_000] {
            let other = embed(&encoder, &Workers::new(2), batch_tokens_max);
            assert!((0..TEXTS.len()).all(|i| similarity(other.vector(i), expected.vector(i)) > 0.99999));
        }
    }

    #[test]
    fn a_query_keeps_its_end_and_a_candidate_its_start() {
        let (encoder, workers) = (fixtures::encoder(), Workers::inline());
        let limits = RetrieverLimits { query_tokens_max: 6, candidate_tokens_max: 7, batch_tokens_max: 64 };
        let retriever = Retriever { encoder: &encoder, workers: &workers, limits };
        let (query, candidate) = (retriever.query_tokens("qxqxqxqx"), retriever.candidate_tokens("qxqxqxqz"));
        assert_eq!((query.len(), candidate.len()), (6, 7));
        assert_eq!(query, retriever.query_tokens("zzzqxqx"));
        assert_eq!(candidate, retriever.candidate_tokens("qxqxqww"));
    }

    #[test]
    fn no_texts_have_no_vectors() {
        let (encoder, workers) = (fixtures::encoder(), Workers::new(2));
        let retriever = Retriever { encoder: &encoder, workers: &workers, limits: RetrieverLimits::default() };
        assert!(retriever.embed_queries(&[] as &[&str], &|_| ()).is_empty());
    }

    #[test]
    fn equally_similar_candidates_keep_their_order() {
        assert_eq!(rank(&[0.5, 0.9, 0.5, -1.0, 0.9]), [(1, 0.9), (4, 0.9), (0, 0.5), (2, 0.5), (3, -1.0)]);
        assert!(rank(&[]).is_empty());
    }

    #[test]
    fn similarity_is_the_dot_product() {
        assert!((similarity(&[0.6, 0.8], &[0.8, 0.6]) - 0.96).abs() < 1e-6);
    }
}
