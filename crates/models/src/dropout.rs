//! Dropout whose masks come from a named random stream.
//!
//! burn draws its dropout masks from one generator per process, so that results depend on how threads interleave. Here
//! the caller owns the stream: the same stream gives the same masks on any number of threads.

use burn::tensor::Tensor;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::kernels::{self, DropoutMask};

/// The source of the dropout masks of one forward pass.
#[derive(Debug, Clone)]
pub struct Dropout {
    stream: ChaCha8Rng,
    probability: Option<f64>,
}

impl Dropout {
    /// Creates dropout with the probabilities of the model's configuration.
    #[must_use]
    pub fn new(stream: ChaCha8Rng) -> Self {
        Self { stream, probability: None }
    }

    /// Returns dropout that uses `probability` in place of every probability of the configuration.
    ///
    /// # Panics
    ///
    /// Panics if `probability` is not in `0.0..1.0`.
    #[must_use]
    pub fn with_probability(self, probability: f64) -> Self {
        assert!((0.0..1.0).contains(&probability), "a dropout probability is in 0.0..1.0");
        Self { probability: Some(probability), ..self }
    }

    /// Draws the next mask that drops with `probability`; none if nothing is to be dropped.
    pub fn mask(&mut self, probability: f64) -> Option<DropoutMask> {
        let probability = self.probability.unwrap_or(probability);
        (probability > 0.0).then(|| DropoutMask::new(self.stream.next_u64(), probability))
    }

    /// Sets each element to 0 with `probability` and scales the others so that the mean is kept.
    ///
    /// # Shapes
    ///
    /// - `tensor`, returns: any, equal
    #[must_use]
    pub fn apply<const D: usize>(&mut self, tensor: Tensor<D>, probability: f64) -> Tensor<D> {
        match self.mask(probability) {
            Some(mask) => kernels::drop_out(tensor, mask),
            None => tensor,
        }
    }
}

/// Applies `dropout`, if there is any.
pub(crate) fn drop_out<const D: usize>(
    tensor: Tensor<D>,
    probability: f64,
    dropout: Option<&mut Dropout>,
) -> Tensor<D> {
    match dropout {
        Some(dropout) => dropout.apply(tensor, probability),
        None => tensor,
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::DeviceSpec;

    fn dropped(seed: u64, probability: f64) -> Vec<f32> {
        let device = crate::device::resolve(&DeviceSpec::Cpu).unwrap();
        let mut dropout = Dropout::new(ChaCha8Rng::seed_from_u64(seed));
        dropout.apply(Tensor::<2>::ones([100, 100], &device), probability).into_data().iter().collect()
    }

    #[test]
    fn the_mean_is_kept() {
        let values = dropped(1, 0.1);
        let n_zeros = values.iter().filter(|value| **value == 0.0).count();
        assert!((900..1100).contains(&n_zeros), "{n_zeros}");
        assert!(values.iter().all(|value| *value == 0.0 || (value - 1.0 / 0.9).abs() < 1e-4));
    }

    #[test]
    fn the_same_stream_gives_the_same_mask() {
        assert_eq!(dropped(1, 0.5), dropped(1, 0.5));
        assert_ne!(dropped(1, 0.5), dropped(2, 0.5));
    }

    #[test]
    fn probability_zero_changes_nothing() {
        assert_eq!(dropped(1, 0.0), vec![1.0; 10_000]);
    }
}
