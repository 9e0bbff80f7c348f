//! How a GGUF file scales rotary positions, and what `config.json` says for it.
//!
//! Linear scaling is a factor in the metadata. The scaling of Llama 3 is not described at all: the file holds the
//! factor of every pair of components, from which the constants are recovered if they are among those in use.

use serde_json::{Value as Json, json};

use super::Gguf;
use super::family::Keys;
use crate::Result;

/// The tensor of what every rotary frequency is divided by.
pub(super) const FACTORS: &str = "rope_freqs.weight";

/// The constants of the scaling of Llama 3, named as in `config.json`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Llama3 {
    pub(super) factor: f64,
    pub(super) low_freq_factor: f64,
    pub(super) high_freq_factor: f64,
    pub(super) original_max_position_embeddings: f64,
}

impl Llama3 {
    /// Returns what the frequency of every pair of components is divided by.
    pub(super) fn factors(&self, theta: f64, head_dim: usize) -> Vec<f32> {
        let pairs = (0..head_dim / 2).map(|pair| (2 * pair) as f64 / head_dim as f64);
        pairs.map(|exponent| self.factor_at(theta.powf(exponent) * std::f64::consts::TAU) as f32).collect()
    }

    fn factor_at(&self, wavelength: f64) -> f64 {
        let turns = self.original_max_position_embeddings / wavelength;
        if turns > self.high_freq_factor {
            return 1.0;
        }
        if turns < self.low_freq_factor {
            return self.factor;
        }
        let smooth = (turns - self.low_freq_factor) / (self.high_freq_factor - self.low_freq_factor);
        ((1.0 - smooth) / self.factor + smooth).recip()
    }

    fn json(&self) -> Json {
        json!({
            "rope_type": "llama3",
            "factor": self.factor,
            "low_freq_factor": self.low_freq_factor,
            "high_freq_factor": self.high_freq_factor,
            "original_max_position_embeddings": self.original_max_position_embeddings as u64,
        })
    }
}

/// Returns `rope_scaling` of `config.json`.
pub(super) fn scaling(gguf: &Gguf, keys: &Keys<'_>, theta: f64, head_dim: usize) -> Result<Json> {
    let kind = keys.text("rope.scaling.type")?;
    let factor = match keys.float("rope.scaling.factor")? {
        Some(factor) => Some(factor),
        None => keys.float("rope.scale_linear")?,
    };
    let has_factors = gguf.tensors().contains_key(FACTORS);
    match (kind, factor) {
        (None | Some("none"), None) | (Some("none"), Some(_)) if has_factors => llama3(gguf, theta, head_dim),
        (None | Some("none"), None) | (Some("none"), Some(_)) => Ok(Json::Null),
        (None | Some("linear"), Some(_)) if has_factors => {
            Err(gguf.error(format!("{FACTORS} together with linear scaling is not supported")))
        }
        (None | Some("linear"), Some(factor)) => Ok(json!({"rope_type": "linear", "factor": factor})),
        (Some("linear"), None) => Err(gguf.error(format!("{} is missing", keys.name("rope.scaling.factor")))),
        (Some(other), _) => {
            let key = keys.name("rope.scaling.type");
            Err(gguf.error(format!("{key} `{other}` is not supported, only `linear`")))
        }
    }
}

/// Finds the constants whose factors are those of the file.
fn llama3(gguf: &Gguf, theta: f64, head_dim: usize) -> Result<Json> {
    let stored = gguf.read(FACTORS)?;
    if stored.iter().all(|&factor| is_close(factor, 1.0)) {
        return Ok(Json::Null);
    }
    let largest = stored.iter().copied().fold(1.0, f32::max);
    let fits = |candidate: &Llama3| {
        let factors = candidate.factors(theta, head_dim);
        factors.len() == stored.len() && factors.iter().zip(&stored).all(|(&left, &right)| is_close(left, right))
    };
    let found = candidates(f64::from(largest)).find(fits);
    let refused = || gguf.error(format!("{FACTORS}: no known scaling of rotary positions has these factors"));
    found.map(|found| found.json()).ok_or_else(refused)
}

fn is_close(left: f32, right: f32) -> bool {
    (left - right).abs() <= 1e-4 * left.abs().max(right.abs())
}

/// Returns the constants in use: only the factor and the length of the original context vary. The longest wavelengths
/// have the whole factor, unless a head is too small to have them.
fn candidates(largest: f64) -> impl Iterator<Item = Llama3> {
    let lengths = (9..=17).map(|exponent| f64::from(1 << exponent));
    let factors = [largest, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
    factors.into_iter().flat_map(move |factor| {
        lengths.clone().map(move |original_max_position_embeddings| Llama3 {
            factor,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_kept_mixed_or_divided_by_the_factor() {
        let constants = Llama3 {
            factor: 8.0,
            low_freq_factor: 1.0,
            high_freq_factor: 4.0,
            original_max_position_embeddings: 8192.0,
        };
        let factors = constants.factors(500_000.0, 128);
        assert_eq!((factors.len(), factors[0], factors[63]), (64, 1.0, 8.0));
        // `convert_hf_to_gguf.py` of llama.cpp gives these for Llama 3.1.
        assert!((factors[29] - 1.207_483_9).abs() < 1e-6 && (factors[34] - 5.257_327).abs() < 1e-5, "{factors:?}");
        assert!(factors.is_sorted());
    }
}
