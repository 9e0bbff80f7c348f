//! Beam search, step by step as `transformers` does it.
//!
//! # References
//!
//! `GenerationMixin._beam_search` of `transformers` 4.57, without its `early_stopping="never"`.

use super::sampling::log_normalizer;
use super::{Finish, Generated, Limit};
use crate::decoder::BatchedLanguageModel;
use crate::pass::Padding;
use crate::{Error, Result};

/// The continuations followed side by side, and when the best of them is known.
#[derive(Debug, Clone, PartialEq)]
pub struct BeamSearch {
    /// How many continuations are followed.
    pub num_beams: usize,
    /// The power of the length that a sum of log-probabilities is divided by: above 0 favors long texts.
    pub length_penalty: f64,
    /// Ends the search as soon as `num_beams` texts have ended; otherwise it goes on while the best open one scores
    /// better than the worst of them.
    pub early_stopping: bool,
}

impl Default for BeamSearch {
    fn default() -> Self {
        Self { num_beams: 4, length_penalty: 1.0, early_stopping: false }
    }
}

impl BeamSearch {
    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// Returns an error that names the parameter that is out of its range.
    pub fn check(&self) -> Result<()> {
        let wrong = |key, message| Err(Error::Generation { key, message });
        if self.num_beams == 0 {
            return wrong("num_beams", "0 follows no continuation".to_owned());
        }
        if !self.length_penalty.is_finite() {
            return wrong("length_penalty", format!("{} is not a finite number", self.length_penalty));
        }
        Ok(())
    }

    /// Returns the score of a text: the sum of its log-probabilities, divided by the penalty on its length.
    #[must_use]
    pub fn penalized(&self, total: f64, length: usize) -> f64 {
        total / (length as f64).powf(self.length_penalty)
    }

    /// Returns how many candidates for the next token are looked at: enough for `num_beams` to go on where others end.
    #[must_use]
    pub fn candidates_max(&self, n_ends: usize) -> usize {
        self.num_beams * (1 + n_ends).max(2)
    }

    /// Tells whether no open continuation is to be followed any further: `open` is the score of the best of them, and
    /// `ended` that of the worst of `num_beams` that have ended, if so many have.
    #[must_use]
    pub fn is_over(&self, open: Option<f64>, ended: Option<f64>) -> bool {
        match (open, ended) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(best), Some(worst)) => self.early_stopping || best <= worst,
        }
    }
}

/// Continues every row of a cache; `logits` follow the last token of each.
pub(super) fn search<M: BatchedLanguageModel>(
    model: &M,
    mut cache: M::Cache,
    mut logits: Vec<Vec<f32>>,
    rule: &BeamSearch,
    limits: &[Limit],
) -> Vec<Generated> {
    let ends = model.eos();
    let mut searches: Vec<Search> =
        limits.iter().enumerate().map(|(row, &limit)| Search::new(rule, limit, row)).collect();
    loop {
        for search in &mut searches {
            search.advance(&logits, &ends);
        }
        let open: Vec<&mut Beam> = searches.iter_mut().flat_map(|search| &mut search.open).collect();
        if open.is_empty() {
            return searches.into_iter().map(Search::best).collect();
        }
        let rows: Vec<usize> = open.iter().map(|beam| beam.row).collect();
        let next: Vec<Vec<u32>> = open.iter().map(|beam| beam.tokens[beam.tokens.len() - 1..].to_vec()).collect();
        open.into_iter().enumerate().for_each(|(row, beam)| beam.row = row);
        if !rows.iter().copied().eq(0..logits.len()) {
            cache = model.select_rows(&cache, &rows);
        }
        logits = model.feed_rows(&mut cache, &next, Padding::Left);
    }
}

/// A continuation that has not ended.
struct Beam {
    /// Its row in the batch.
    row: usize,
    tokens: Vec<u32>,
    log_probabilities: Vec<f32>,
    total: f64,
}

/// One more token after a beam.
struct Candidate {
    beam: usize,
    token: u32,
    log_probability: f64,
    total: f64,
}

/// The search for the continuation of one prompt.
struct Search<'a> {
    rule: &'a BeamSearch,
    limit: Limit,
    /// The best first; none once the search is over.
    open: Vec<Beam>,
    /// The best first.
    ended: Vec<Generated>,
}

impl<'a> Search<'a> {
    fn new(rule: &'a BeamSearch, limit: Limit, row: usize) -> Self {
        let start = Beam { row, tokens: Vec::new(), log_probabilities: Vec::new(), total: 0.0 };
        if limit.tokens == 0 {
            return Self { rule, limit, open: Vec::new(), ended: vec![limit.nothing()] };
        }
        Self { rule, limit, open: vec![start], ended: Vec::new() }
    }

    /// Adds a token to every open continuation and keeps the best.
    ///
    /// Of more candidates than beams only the best `num_beams` may end, while the others are there to go on in place of
    /// those that end.
    fn advance(&mut self, logits: &[Vec<f32>], ends: &[u32]) {
        let Some(beam) = self.open.first() else {
            return;
        };
        let length = beam.tokens.len() + 1;
        let num_beams = self.rule.num_beams;
        let mut open = Vec::new();
        for (rank, candidate) in self.candidates(logits, self.rule.candidates_max(ends.len())).iter().enumerate() {
            let is_end = ends.contains(&candidate.token);
            if !is_end && length < self.limit.tokens {
                open.push(self.extended(candidate));
            } else if rank < num_beams {
                self.ended.push(self.end(candidate, is_end));
            }
        }
        open.truncate(num_beams);
        // A stable sort: of equal scores the text that ended first stays first.
        self.ended.sort_by(|a, b| b.score.total_cmp(&a.score));
        self.ended.truncate(num_beams);
        self.open = open;
        let best = self.open.first().map(|beam| self.rule.penalized(beam.total, length));
        let worst = self.ended.get(num_beams - 1).map(|ended| ended.score);
        if self.rule.is_over(best, worst) {
            self.open.clear();
        }
    }

    /// Returns the best continuations by one token, the best first.
    fn candidates(&self, logits: &[Vec<f32>], n: usize) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for (beam, open) in self.open.iter().enumerate() {
            let logits = &logits[open.row];
            let normalizer = log_normalizer(logits);
            candidates.extend(largest(logits, n).into_iter().map(|token| {
                let log_probability = f64::from(logits[token as usize]) - normalizer;
                Candidate { beam, token, log_probability, total: open.total + log_probability }
            }));
        }
        candidates.sort_by(|a, b| b.total.total_cmp(&a.total));
        candidates.truncate(n);
        candidates
    }

    fn extended(&self, candidate: &Candidate) -> Beam {
        let beam = &self.open[candidate.beam];
        Beam {
            row: beam.row,
            tokens: [&beam.tokens[..], &[candidate.token]].concat(),
            log_probabilities: [&beam.log_probabilities[..], &[candidate.log_probability as f32]].concat(),
            total: candidate.total,
        }
    }

    /// Returns the text that ends with a candidate; the token that ends a sequence counts in its score and length.
    fn end(&self, candidate: &Candidate, is_end: bool) -> Generated {
        let beam = self.extended(candidate);
        let score = self.rule.penalized(beam.total, beam.tokens.len());
        let n = beam.tokens.len() - usize::from(is_end);
        Generated {
            tokens: beam.tokens[..n].to_vec(),
            log_probabilities: beam.log_probabilities[..n].to_vec(),
            score,
            finish: if is_end { Finish::EndOfSequence } else { self.limit.finish },
        }
    }

    fn best(self) -> Generated {
        let nothing = self.limit.nothing();
        self.ended.into_iter().next().unwrap_or(nothing)
    }
}

/// Returns the tokens of the `n` largest logits, the largest first; of equally large ones the lowest first.
#[must_use]
pub fn largest(logits: &[f32], n: usize) -> Vec<u32> {
    let order = |a: &u32, b: &u32| logits[*b as usize].total_cmp(&logits[*a as usize]).then(a.cmp(b));
    let mut tokens: Vec<u32> = (0..logits.len() as u32).collect();
    if n < tokens.len() {
        tokens.select_nth_unstable_by(n, order);
        tokens.truncate(n);
    }
    tokens.sort_unstable_by(order);
    tokens
}
