//! The texts that have ended, of those that are followed side by side.

use models::generate::{BeamSearch, Finish, Limit};

use super::hypothesis::{Choice, Hypothesis};

/// A text that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) text: Hypothesis,
    pub(super) score: f64,
    pub(super) finish: Finish,
}

/// The best texts that have ended, as beam search keeps them.
#[derive(Debug)]
pub(super) struct Endings {
    search: BeamSearch,
    limit: Limit,
    /// The best first; of equal scores the one that ended first.
    texts: Vec<Ended>,
}

impl Endings {
    pub(super) fn new(search: BeamSearch, limit: Limit) -> Self {
        Self { search, limit, texts: Vec::new() }
    }

    /// Takes the candidates that end, and returns the best of the others.
    ///
    /// Of more candidates than beams only the best `num_beams` may end, while the others are there to go on in place of
    /// those that end.
    pub(super) fn take_from(&mut self, candidates: Vec<(&Hypothesis, Choice)>, ends: &[u32]) -> Vec<Hypothesis> {
        let mut open = Vec::new();
        for (rank, (text, choice)) in candidates.into_iter().enumerate() {
            let is_end = ends.contains(&choice.token);
            let goes_on = !is_end && text.tokens.len() + 1 < self.limit.tokens;
            if goes_on && open.len() < self.search.num_beams {
                open.push(text.extended(choice));
            } else if !goes_on && rank < self.search.num_beams {
                self.take(text.extended(choice), if is_end { Finish::EndOfSequence } else { self.limit.finish });
            }
        }
        open
    }

    /// Takes the texts that have reached the limit.
    pub(super) fn take_full(&mut self, open: &mut Vec<Hypothesis>) {
        let Limit { tokens, finish } = self.limit;
        for text in open.extract_if(.., |text| text.tokens.len() >= tokens) {
            self.take(text, finish);
        }
    }

    /// Tells whether no open text is to be followed any further.
    pub(super) fn are_best(&self, open: &[Hypothesis]) -> bool {
        let best = open.iter().map(|text| text.score(&self.search)).max_by(f64::total_cmp);
        let worst = self.texts.get(self.search.num_beams - 1).map(|ended| ended.score);
        self.search.is_over(best, worst)
    }

    /// Returns the best text, an empty one if none has begun.
    pub(super) fn best(self) -> Ended {
        let nothing = Ended { text: Hypothesis::default(), score: 0.0, finish: self.limit.finish };
        self.texts.into_iter().next().unwrap_or(nothing)
    }

    /// The token that ends a sequence counts in the score of its text and is no part of it.
    fn take(&mut self, mut text: Hypothesis, finish: Finish) {
        let score = text.score(&self.search);
        if finish == Finish::EndOfSequence {
            text.tokens.pop();
        }
        self.texts.push(Ended { text, score, finish });
        // A stable sort keeps the order of equal scores.
        self.texts.sort_by(|a, b| b.score.total_cmp(&a.score));
        self.texts.truncate(self.search.num_beams);
    }
}
