//! From weighted perplexities to rewards.

use crate::experiment::RewardRule;

/// What the evaluator thinks of a target after a prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Mean NLL of a target token, in nats; its exponential is the perplexity.
    pub nll: f64,
    /// Weighted mean NLL, in nats; its exponential is the weighted perplexity.
    pub weighted_nll: f64,
}

/// Returns each candidate's reward, from the score of the target with that candidate alone in the prompt.
///
/// # References
///
/// RLCoder, section 3.4: only the candidate of the lowest weighted perplexity is rewarded. Of equal candidates the
/// first is, as with `argmin`; candidates come in the policy's order, so that a tie confirms the policy.
#[must_use]
pub fn rewards(scores: &[Score], rule: RewardRule) -> Vec<f32> {
    let best = best(scores);
    match rule {
        RewardRule::Best => (0..scores.len()).map(|index| if Some(index) == best { 1.0 } else { 0.0 }).collect(),
    }
}

/// Returns the index of the lowest weighted perplexity, the first of equals.
#[must_use]
pub fn best(scores: &[Score]) -> Option<usize> {
    (0..scores.len()).min_by(|&a, &b| scores[a].weighted_nll.total_cmp(&scores[b].weighted_nll))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(weighted: &[f64]) -> Vec<Score> {
        weighted.iter().map(|&weighted_nll| Score { nll: 0.0, weighted_nll }).collect()
    }

    #[test]
    fn only_the_best_candidate_is_rewarded_and_the_first_of_equals() {
        assert_eq!(rewards(&scores(&[2.0, 1.0, 3.0]), RewardRule::Best), [0.0, 1.0, 0.0]);
        assert_eq!(rewards(&scores(&[1.0, 1.0]), RewardRule::Best), [1.0, 0.0]);
        assert_eq!(rewards(&[], RewardRule::Best), [0.0; 0]);
    }

    #[test]
    fn a_score_that_is_not_a_number_is_never_best() {
        assert_eq!(best(&scores(&[f64::NAN, 2.0])), Some(1));
    }
}
