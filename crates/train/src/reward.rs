//! From weighted perplexities to rewards, and from rewards to the weights of the loss.

use rand::{Rng, RngExt};

use crate::experiment::{RewardConfig, RewardRule};

/// What the evaluator thinks of a target after a prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Mean NLL of a target token, in nats; its exponential is the perplexity.
    pub nll: f64,
    /// Weighted mean NLL, in nats; its exponential is the weighted perplexity.
    pub weighted_nll: f64,
}

/// Returns each candidate's reward, from the score of the target with that candidate alone in the prompt and with `none`.
///
/// Rewards of `best` and `softmax` add up to 1; those of `sampled` are nats gained over no candidate.
///
/// # References
///
/// RLCoder, section 3.4: only the candidate of the lowest weighted perplexity is rewarded (`best`). Of equal candidates
/// the first is, as with `argmin`; candidates come in the policy's order, so that a tie confirms the policy. The listwise
/// target of `softmax` is that of LSR (Shi et al., REPLUG, 2023) over weighted NLLs.
#[must_use]
pub fn rewards(scores: &[Score], none: Score, config: &RewardConfig) -> Vec<f32> {
    match config.rule {
        RewardRule::Best => {
            let best = best(scores);
            (0..scores.len()).map(|index| if Some(index) == best { 1.0 } else { 0.0 }).collect()
        }
        RewardRule::Softmax => {
            let logits: Vec<f64> = scores.iter().map(|score| -score.weighted_nll / config.softness).collect();
            softmax(&logits).into_iter().map(|share| share as f32).collect()
        }
        RewardRule::Sampled => scores.iter().map(|score| (none.weighted_nll - score.weighted_nll) as f32).collect(),
    }
}

/// Returns the index of the lowest weighted perplexity, the first of equals.
#[must_use]
pub fn best(scores: &[Score]) -> Option<usize> {
    (0..scores.len()).min_by(|&a, &b| scores[a].weighted_nll.total_cmp(&scores[b].weighted_nll))
}

/// Returns the weights of the candidates' log-probabilities whose gradient estimates that of the expected reward.
///
/// `probabilities` are the policy's; `draws` candidates are drawn from them, and each counts with its advantage: its
/// reward less the mean reward of the other draws. Candidates of equal reward so give no gradient, whatever is drawn.
///
/// # Panics
///
/// Panics if there are fewer than two draws, or no candidates.
///
/// # References
///
/// Williams (1992), REINFORCE; the leave-one-out baseline is that of Kool et al. (2019).
#[must_use]
pub fn advantages(rewards: &[f32], probabilities: &[f64], draws: usize, rng: &mut impl Rng) -> Vec<f32> {
    assert!(draws >= 2, "a draw needs others to be held against");
    let chosen: Vec<usize> = (0..draws).map(|_| draw(probabilities, rng)).collect();
    let total: f32 = chosen.iter().map(|&index| rewards[index]).sum();
    let mut weights = vec![0.0; rewards.len()];
    for index in chosen {
        let others = (total - rewards[index]) / (draws - 1) as f32;
        weights[index] += (rewards[index] - others) / draws as f32;
    }
    weights
}

/// Draws an index with the given probabilities.
fn draw(probabilities: &[f64], rng: &mut impl Rng) -> usize {
    let mut left = rng.random::<f64>() * probabilities.iter().sum::<f64>();
    let is_drawn = |probability: &f64| {
        left -= probability;
        left < 0.0
    };
    probabilities.iter().position(is_drawn).unwrap_or(probabilities.len() - 1)
}

/// Returns `exp(logit) / sum`, computed without overflow.
#[must_use]
pub fn softmax(logits: &[f64]) -> Vec<f64> {
    let max = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|logit| (logit - max).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Score = Score { nll: 0.0, weighted_nll: 2.0 };

    fn scores(weighted: &[f64]) -> Vec<Score> {
        weighted.iter().map(|&weighted_nll| Score { nll: 0.0, weighted_nll }).collect()
    }

    fn rewards_by(rule: RewardRule, weighted: &[f64]) -> Vec<f32> {
        rewards(&scores(weighted), NONE, &RewardConfig { rule, ..RewardConfig::default() })
    }

    #[test]
    fn only_the_best_candidate_is_rewarded_and_the_first_of_equals() {
        assert_eq!(rewards_by(RewardRule::Best, &[2.0, 1.0, 3.0]), [0.0, 1.0, 0.0]);
        assert_eq!(rewards_by(RewardRule::Best, &[1.0, 1.0]), [1.0, 0.0]);
        assert_eq!(rewards_by(RewardRule::Best, &[]), [0.0; 0]);
    }

    #[test]
    fn a_softness_of_difference_multiplies_a_share_by_e() {
        let shares = rewards_by(RewardRule::Softmax, &[1.0, 1.1, 1.0]);
        assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        assert!((shares[0] / shares[1] - std::f32::consts::E).abs() < 1e-4);
        assert!((shares[0] - shares[2]).abs() < 1e-7, "equal candidates share alike");
    }

    #[test]
    fn a_sampled_candidate_earns_the_nats_it_saves() {
        let earned = rewards_by(RewardRule::Sampled, &[1.5, 2.0, 2.5]);
        assert_eq!(earned, [0.5, 0.0, -0.5]);
    }

    #[test]
    fn a_score_that_is_not_a_number_is_never_best() {
        assert_eq!(best(&scores(&[f64::NAN, 2.0])), Some(1));
    }

    #[test]
    fn advantages_estimate_the_gradient_of_the_expected_reward() {
        let (rewards, probabilities) = ([0.5_f32, 0.0, -0.5], [0.2, 0.5, 0.3]);
        let mut rng = repo::random::stream(1, "draws");
        let n = 40_000;
        let mut mean = [0.0; 3];
        for _ in 0..n {
            for (mean, weight) in mean.iter_mut().zip(advantages(&rewards, &probabilities, 4, &mut rng)) {
                *mean += f64::from(weight) / f64::from(n);
            }
        }
        // The gradient of the expected reward in a log-probability, up to what the softmax takes back: p (r - E r).
        let expected: f64 = probabilities.iter().zip(rewards).map(|(p, r)| p * f64::from(r)).sum();
        for ((mean, p), r) in mean.iter().zip(probabilities).zip(rewards) {
            let exact = p * (f64::from(r) - expected);
            assert!((mean - exact).abs() < 5e-3, "{mean} instead of {exact}");
        }
    }

    #[test]
    fn equal_rewards_give_no_gradient() {
        let mut rng = repo::random::stream(1, "draws");
        assert_eq!(advantages(&[0.25; 3], &[0.2, 0.5, 0.3], 8, &mut rng), [0.0; 3]);
    }
}
