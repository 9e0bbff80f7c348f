//! When things happen: which samples a step takes, and at what learning rate.

use rand::seq::SliceRandom;

/// What a schedule is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduleRule {
    /// Draws the order of the samples.
    pub seed: u64,
    /// Epochs.
    pub epochs: usize,
    /// Samples of an epoch, taken in turn from the training split; 0 for all of them.
    pub samples_per_epoch: usize,
    /// Samples of a step.
    pub batch_size: usize,
    /// Learning rate at the end of the warm-up.
    pub learning_rate: f64,
    /// When that is.
    pub warmup: Warmup,
}

/// How long the learning rate rises.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warmup {
    /// A share of all steps.
    Fraction(f64),
    /// A number of steps.
    Steps(usize),
}

/// The order of samples and the learning rate, as functions of the step alone, so that a resumed run follows them
/// without state.
#[derive(Clone, Debug)]
pub struct Schedule {
    n_samples: usize,
    rule: ScheduleRule,
}

impl Schedule {
    /// Plans a run over `n_samples` training samples.
    ///
    /// # Panics
    ///
    /// Panics if there are no samples.
    #[must_use]
    pub fn new(rule: ScheduleRule, n_samples: usize) -> Self {
        assert!(n_samples > 0, "a schedule needs samples");
        let samples_per_epoch = match rule.samples_per_epoch {
            0 => n_samples,
            n => n.min(n_samples),
        };
        Self { n_samples, rule: ScheduleRule { samples_per_epoch, ..rule } }
    }

    /// Returns the number of steps in an epoch.
    #[must_use]
    pub fn steps_per_epoch(&self) -> usize {
        self.rule.samples_per_epoch.div_ceil(self.rule.batch_size)
    }

    /// Returns the number of steps in the run if it is not stopped early.
    #[must_use]
    pub fn steps_total(&self) -> usize {
        self.rule.epochs * self.steps_per_epoch()
    }

    /// Returns the epoch that a step belongs to, counted from 0.
    #[must_use]
    pub fn epoch(&self, step: usize) -> usize {
        step / self.steps_per_epoch()
    }

    /// Returns whether an epoch ends with this step.
    #[must_use]
    pub fn ends_epoch(&self, step: usize) -> bool {
        (step + 1).is_multiple_of(self.steps_per_epoch())
    }

    /// Returns the indices of the samples of a step.
    ///
    /// Samples are taken in turn from shuffled passes over the training split, so that an epoch smaller than the split
    /// sees new samples and no sample comes again before all others have come.
    #[must_use]
    pub fn batch(&self, step: usize) -> Vec<usize> {
        let epoch = self.epoch(step);
        let first = step % self.steps_per_epoch() * self.rule.batch_size;
        let last = (first + self.rule.batch_size).min(self.rule.samples_per_epoch);
        let positions = (first..last).map(|position| epoch * self.rule.samples_per_epoch + position);
        let mut pass = (usize::MAX, Vec::new());
        positions
            .map(|position| {
                let wanted = position / self.n_samples;
                if pass.0 != wanted {
                    pass = (wanted, self.order(wanted));
                }
                pass.1[position % self.n_samples]
            })
            .collect()
    }

    fn order(&self, pass: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.n_samples).collect();
        order.shuffle(&mut repo::random::stream(self.rule.seed, &format!("train/order/{pass}")));
        order
    }

    /// Returns the learning rate of a step: a linear rise over the warm-up, then a linear fall to zero.
    ///
    /// Unlike `get_linear_schedule_with_warmup` of `transformers`, the rise counts from 1: the first step learns.
    #[must_use]
    pub fn learning_rate(&self, step: usize) -> f64 {
        let total = self.steps_total() as f64;
        let warmup = match self.rule.warmup {
            Warmup::Fraction(fraction) => (total * fraction).round(),
            Warmup::Steps(steps) => (steps as f64).min(total),
        };
        let step = step as f64;
        let factor = if step < warmup { (step + 1.0) / warmup } else { (total - step) / (total - warmup).max(1.0) };
        self.rule.learning_rate * factor.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(n_samples: usize, samples_per_epoch: usize, batch_size: usize, epochs: usize) -> Schedule {
        let warmup = Warmup::Fraction(0.2);
        let rule = ScheduleRule { seed: 1, epochs, samples_per_epoch, batch_size, learning_rate: 1.0, warmup };
        Schedule::new(rule, n_samples)
    }

    #[test]
    fn an_epoch_takes_every_sample_once() {
        let schedule = schedule(10, 0, 4, 2);
        assert_eq!((schedule.steps_per_epoch(), schedule.steps_total()), (3, 6));
        for epoch in 0..2 {
            let mut seen: Vec<usize> = (0..3).flat_map(|step| schedule.batch(epoch * 3 + step)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..10).collect::<Vec<_>>());
        }
        assert_ne!(schedule.batch(0), schedule.batch(3));
    }

    #[test]
    fn a_short_epoch_takes_new_samples_before_old_ones() {
        let schedule = schedule(10, 4, 4, 5);
        let seen: Vec<usize> = (0..5).flat_map(|step| schedule.batch(step)).collect();
        for pass in seen.chunks(10) {
            let mut pass = pass.to_vec();
            pass.sort_unstable();
            assert_eq!(pass, (0..10).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_learning_rate_rises_then_falls_to_zero() {
        let schedule = schedule(10, 0, 1, 1);
        let rates: Vec<f64> = (0..10).map(|step| schedule.learning_rate(step)).collect();
        assert_eq!(rates[..3], [0.5, 1.0, 1.0]);
        assert!(rates[2..].windows(2).all(|pair| pair[1] < pair[0]));
        assert!((rates[9] - 0.125).abs() < 1e-12);
        let rule = ScheduleRule { warmup: Warmup::Steps(4), ..schedule.rule };
        assert_eq!(Schedule::new(rule, 10).learning_rate(0), 0.25);
    }
}
