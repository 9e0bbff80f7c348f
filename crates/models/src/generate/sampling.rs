//! The choice of one token: the most probable, or a random one.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{Error, Result};

/// How a random token is drawn; the limits apply in the order temperature, top-k, top-p.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// What logits are divided by: below 1 sharpens, above 1 flattens; 0 takes the most probable token.
    pub temperature: f64,
    /// Draws from this many of the most probable tokens; of equally probable ones the lowest are taken.
    pub top_k: Option<usize>,
    /// Draws from the fewest of the most probable tokens that together reach this probability, at least one.
    pub top_p: Option<f64>,
}

impl Default for Sampling {
    fn default() -> Self {
        Self { temperature: 1.0, top_k: None, top_p: None }
    }
}

impl Sampling {
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |key, message| Err(Error::Generation { key, message });
        if !(self.temperature.is_finite() && self.temperature >= 0.0) {
            return wrong("temperature", format!("{} is not a number of at least 0", self.temperature));
        }
        if self.top_k == Some(0) {
            return wrong("top_k", "0 leaves no token".to_owned());
        }
        match self.top_p {
            Some(top_p) if !(0.0..=1.0).contains(&top_p) => wrong("top_p", format!("{top_p} is not in 0..=1")),
            _ => Ok(()),
        }
    }

    /// Returns the tokens that may be drawn with their weights, which need not add up to 1.
    fn weights(&self, logits: &[f32]) -> Vec<(u32, f64)> {
        let max = f64::from(logits[most_probable(logits) as usize]);
        let weight = |logit: f32| ((f64::from(logit) - max) / self.temperature).exp();
        let mut weights: Vec<(u32, f64)> = (0_u32..).zip(logits.iter().map(|&logit| weight(logit))).collect();
        weights.retain(|(_, weight)| *weight > 0.0);
        // The token breaks ties, so that the order is one whatever algorithm sorts.
        let order = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if let Some(top_k) = self.top_k.filter(|&top_k| top_k < weights.len()) {
            weights.select_nth_unstable_by(top_k, order);
            weights.truncate(top_k);
        }
        if let Some(top_p) = self.top_p.filter(|&top_p| top_p < 1.0) {
            weights.sort_unstable_by(order);
            let needed = top_p * weights.iter().map(|(_, weight)| weight).sum::<f64>();
            let mut sum = 0.0;
            let reached = weights.iter().position(|(_, weight)| {
                sum += weight;
                sum >= needed
            });
            weights.truncate(reached.map_or(weights.len(), |last| last + 1));
        }
        weights
    }
}

/// Draws the tokens of one sample from a random stream of its own.
pub(super) struct Sampler {
    sampling: Sampling,
    stream: ChaCha8Rng,
}

impl Sampler {
    pub(super) fn new(sampling: Sampling, seed: u64) -> Self {
        Self { sampling, stream: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// Draws the next token.
    pub(super) fn choose(&mut self, logits: &[f32]) -> u32 {
        if self.sampling.temperature == 0.0 {
            return most_probable(logits);
        }
        let mut weights = self.sampling.weights(logits);
        // A stream meets the same tokens in the same order however they were selected.
        weights.sort_unstable_by_key(|(token, _)| *token);
        let mut left = self.stream.random::<f64>() * weights.iter().map(|(_, weight)| weight).sum::<f64>();
        let drawn = weights.iter().find(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        drawn.or(weights.last()).map_or_else(|| most_probable(logits), |(token, _)| *token)
    }
}

/// Returns the token with the largest logit; of equally large ones the lowest.
#[must_use]
pub fn most_probable(logits: &[f32]) -> u32 {
    let mut best = (0, f32::NEG_INFINITY);
    for (token, &logit) in logits.iter().enumerate() {
        if logit > best.1 {
            best = (token, logit);
        }
    }
    best.0 as u32
}

/// Returns what is subtracted from a logit to give the log-probability of its token in nats.
#[must_use]
pub fn log_normalizer(logits: &[f32]) -> f64 {
    let max = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    max + logits.iter().map(|&logit| (f64::from(logit) - max).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOGITS: [f32; 6] = [0.5, 2.0, -1.0, 2.0, 0.0, 1.0];

    /// Returns how often each token is drawn, each time with another seed.
    fn counts(sampling: &Sampling, n: u64) -> Vec<f64> {
        let mut counts = vec![0.0; LOGITS.len()];
        for seed in 0..n {
            counts[Sampler::new(sampling.clone(), seed).choose(&LOGITS) as usize] += 1.0;
        }
        counts
    }

    fn softmax(temperature: f64) -> Vec<f64> {
        let weights: Vec<f64> = LOGITS.iter().map(|&logit| (f64::from(logit) / temperature).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }

    /// Checks drawn counts against probabilities: the statistic stays below the 0.001 quantile of five degrees of
    /// freedom.
    fn check_distribution(sampling: &Sampling, probabilities: &[f64]) {
        let n = 20_000_u32;
        let mut statistic = 0.0;
        for (count, probability) in counts(sampling, u64::from(n)).into_iter().zip(probabilities) {
            let expected = probability * f64::from(n);
            if expected == 0.0 {
                assert!(count == 0.0, "{sampling:?}: a token without probability was drawn");
            } else {
                statistic += (count - expected).powi(2) / expected;
            }
        }
        assert!(statistic < 20.5, "{sampling:?}: {statistic}");
    }

    fn among(tokens: &[usize], probabilities: &[f64]) -> Vec<f64> {
        let sum: f64 = tokens.iter().map(|&token| probabilities[token]).sum();
        (0..LOGITS.len()).map(|t| if tokens.contains(&t) { probabilities[t] / sum } else { 0.0 }).collect()
    }

    #[test]
    fn tokens_are_drawn_with_the_probabilities_of_the_softmax_at_a_temperature() {
        for temperature in [0.5, 1.0, 2.0] {
            check_distribution(&Sampling { temperature, ..Sampling::default() }, &softmax(temperature));
        }
    }

    #[test]
    fn top_k_draws_from_the_most_probable_tokens_alone() {
        let top = |k| Sampling { temperature: 2.0, top_k: Some(k), top_p: None };
        check_distribution(&top(3), &among(&[1, 3, 5], &softmax(2.0)));
        check_distribution(&top(100), &softmax(2.0));
    }

    #[test]
    fn top_p_draws_from_the_fewest_tokens_that_reach_it() {
        let all = softmax(1.0);
        let two = all[1] + all[3];
        let top = |p| Sampling { temperature: 1.0, top_k: None, top_p: Some(p) };
        check_distribution(&top(two - 1e-9), &among(&[1, 3], &all));
        check_distribution(&top(two + 1e-9), &among(&[1, 3, 5], &all));
        check_distribution(&top(1.0), &all);
        assert_eq!(top(0.0).weights(&LOGITS), [(1, 1.0)]);
    }

    #[test]
    fn top_p_counts_probability_after_temperature_and_top_k() {
        // Of the three most probable at temperature 2, the first two hold 77 %: one does not reach a half.
        let kept = softmax(2.0);
        let share = |n: usize| [1, 3, 5][..n].iter().map(|&t| kept[t]).sum::<f64>() / (kept[1] + kept[3] + kept[5]);
        assert!(share(1) < 0.5 && share(2) > 0.7 && softmax(2.0)[1] + softmax(2.0)[3] < 0.7);
        let sampling = Sampling { temperature: 2.0, top_k: Some(3), top_p: Some(0.7) };
        check_distribution(&sampling, &among(&[1, 3], &kept));
    }

    #[test]
    fn top_k_of_one_and_a_temperature_of_zero_are_greedy_even_where_tokens_tie() {
        for sampling in [
            Sampling { top_k: Some(1), ..Sampling::default() },
            Sampling { temperature: 0.0, ..Sampling::default() },
            Sampling { temperature: 1e-300, top_k: Some(1), top_p: Some(0.5) },
        ] {
            assert!((counts(&sampling, 50)[1] - 50.0).abs() < 0.5);
        }
    }

    #[test]
    fn the_lowest_of_equally_probable_tokens_is_taken() {
        assert_eq!(most_probable(&[0.0, 1.0, 1.0]), 1);
        assert_eq!(most_probable(&[f32::NAN, -3.0, f32::NEG_INFINITY]), 1);
    }

    #[test]
    fn what_cannot_be_drawn_from_is_refused_by_name() {
        let plain = Sampling::default;
        for (sampling, key) in [
            (Sampling { temperature: -1.0, ..plain() }, "temperature"),
            (Sampling { temperature: f64::NAN, ..plain() }, "temperature"),
            (Sampling { temperature: f64::INFINITY, ..plain() }, "temperature"),
            (Sampling { top_k: Some(0), ..plain() }, "top_k"),
            (Sampling { top_p: Some(1.5), ..plain() }, "top_p"),
            (Sampling { top_p: Some(f64::NAN), ..plain() }, "top_p"),
        ] {
            assert!(sampling.check().unwrap_err().to_string().starts_with(key), "{sampling:?}");
        }
        assert!(Sampling { temperature: 0.0, top_k: Some(1), top_p: Some(0.0) }.check().is_ok());
    }

    proptest! {
        #[test]
        fn a_drawn_token_is_among_those_that_the_limits_leave(
            logits in prop::collection::vec(-4.0_f32..4.0, 1..40),
            top_k in 1_usize..50,
            top_p in 0.0_f64..=1.0,
            temperature in 0.1_f64..3.0,
            seed: u64,
        ) {
            let sampling = Sampling { temperature, top_k: Some(top_k), top_p: Some(top_p) };
            let token = Sampler::new(sampling.clone(), seed).choose(&logits);
            prop_assert!(sampling.weights(&logits).iter().any(|(kept, _)| *kept == token));
            let n_above = logits.iter().filter(|&&logit| logit > logits[token as usize]).count();
            prop_assert!(n_above < top_k);
        }

        #[test]
        fn log_probabilities_add_up_to_one(logits in prop::collection::vec(-80.0_f32..80.0, 1..40)) {
            let normalizer = log_normalizer(&logits);
            let sum: f64 = logits.iter().map(|&logit| (f64::from(logit) - normalizer).exp()).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9);
        }
    }
}
