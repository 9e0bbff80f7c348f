//! The candidates chosen for one cursor.

use repo::candidates::Candidate;

/// A candidate with its place in the ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The candidate.
    pub candidate: Candidate,
    /// Its similarity to the query: a BM25 score, or a cosine.
    pub similarity: f32,
    /// Whether it precedes the stop candidate, so that a prompt may show it.
    pub before_stop: bool,
}

/// The candidates chosen for one cursor.
///
/// There are fewer than `k` where the other files have fewer.
///
/// # References
///
/// `RLCoder` §III-C. The released code fills a short list with copies of the stop candidate. In a prompt they make no
/// difference; in training each copy is a further candidate with the stop candidate's reward, which this crate leaves
/// out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chosen {
    /// The query; empty where none was needed.
    pub query: String,
    /// The candidates, best first; in training the stop candidate is last.
    pub ranked: Vec<Ranked>,
}

impl Chosen {
    /// Notes which of the candidates precede the stop candidate.
    pub(super) fn new(query: String, candidates: impl IntoIterator<Item = (Candidate, f32)>) -> Self {
        let mut before_stop = true;
        let rank = |(candidate, similarity): (Candidate, f32)| {
            before_stop &= !candidate.is_stop();
            Ranked { candidate, similarity, before_stop }
        };
        Self { query, ranked: candidates.into_iter().map(rank).collect() }
    }

    /// Returns the candidates that precede the stop candidate, best first.
    #[must_use]
    pub fn kept(&self) -> Vec<&Candidate> {
        self.ranked.iter().filter(|ranked| ranked.before_stop).map(|ranked| &ranked.candidate).collect()
    }

    /// Returns the position of the stop candidate, if it is among those ranked.
    #[must_use]
    pub fn stopped_at(&self) -> Option<usize> {
        self.ranked.iter().position(|ranked| ranked.candidate.is_stop())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::code;

    #[test]
    fn what_precedes_the_stop_candidate_is_kept() {
        let candidates = [(code("a.py", "x"), 0.9), (Candidate::Stop, 0.5), (code("b.py", "y"), 0.1)];
        let chosen = Chosen::new(String::new(), candidates.clone());
        assert_eq!(chosen.kept(), [&candidates[0].0]);
        assert_eq!(chosen.stopped_at(), Some(1));
        assert_eq!(chosen.ranked.iter().map(|ranked| ranked.before_stop).collect::<Vec<_>>(), [true, false, false]);
    }

    #[test]
    fn a_stop_candidate_in_front_keeps_nothing_and_none_keeps_everything() {
        assert!(Chosen::new(String::new(), [(Candidate::Stop, 1.0), (code("a.py", "x"), 0.9)]).kept().is_empty());
        let chosen = Chosen::new(String::new(), [(code("a.py", "x"), 0.9), (code("b.py", "y"), 0.1)]);
        assert_eq!((chosen.kept().len(), chosen.stopped_at()), (2, None));
        assert!(Chosen::default().kept().is_empty());
    }
}
