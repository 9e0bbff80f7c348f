//! Rotary positions: pairs of components of each head are rotated by angles that grow with the position.
//!
//! # References
//!
//! Su et al., "`RoFormer`: Enhanced Transformer with Rotary Position Embedding", 2021. Scalings as in Hugging Face
//! `transformers`: `linear` (Chen et al., 2023) and `llama3`.

use burn::tensor::{Device, Tensor, TensorData};

/// Which components of a head rotate together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// Each of the first half with its counterpart in the second (Llama).
    Halves,
    /// Neighbors (GPT-J, `CodeGen`).
    Neighbors,
}

/// How positions are stretched to a longer context than the model was first trained for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RopeScaling {
    /// Not at all.
    None,
    /// Positions are divided by `factor`.
    Linear {
        /// What positions are divided by.
        factor: f64,
    },
    /// Slow rotations are divided by `factor`, fast ones kept, those between interpolated.
    Llama3 {
        /// What slow rotations are divided by.
        factor: f64,
        /// Wavelengths above the first context over this are slow.
        low_freq_factor: f64,
        /// Wavelengths below the first context over this are fast.
        high_freq_factor: f64,
        /// The context that the model was first trained for.
        original_max_position_embeddings: usize,
    },
}

impl RopeScaling {
    fn scale(self, frequency: f32) -> f32 {
        match self {
            Self::None => frequency,
            Self::Linear { factor } => frequency / factor as f32,
            Self::Llama3 { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } => {
                let context = original_max_position_embeddings as f64;
                let wavelength = std::f64::consts::TAU / f64::from(frequency);
                if wavelength > context / low_freq_factor {
                    return (f64::from(frequency) / factor) as f32;
                }
                if wavelength < context / high_freq_factor {
                    return frequency;
                }
                let smooth = (context / wavelength - low_freq_factor) / (high_freq_factor - low_freq_factor);
                ((1.0 - smooth) * f64::from(frequency) / factor + smooth * f64::from(frequency)) as f32
            }
        }
    }
}

/// The rotary positions of an architecture.
#[derive(Debug, Clone, PartialEq)]
pub struct Rope {
    /// The angle per position of every pair, in radians.
    pub frequencies: Vec<f32>,
    /// Which components make a pair.
    pub pairing: Pairing,
}

impl Rope {
    /// Returns the rotary positions of the first `components` of each head.
    #[must_use]
    pub fn new(components: usize, theta: f64, scaling: RopeScaling, pairing: Pairing) -> Self {
        let exponent = |pair: usize| (2 * pair) as f32 / components as f32;
        let frequency = |pair: usize| scaling.scale((theta as f32).powf(exponent(pair)).recip());
        Self { frequencies: (0..components / 2).map(frequency).collect(), pairing }
    }
}

/// Cosines and sines of the positions of one forward pass.
#[derive(Debug, Clone)]
pub struct Rotary {
    /// `[batch or 1, 1, length, pairs]`.
    cosines: Tensor<4>,
    sines: Tensor<4>,
    pairing: Pairing,
}

impl Rotary {
    /// Returns the rotations of `positions`, `length` for each row; one row stands for all that equal it.
    ///
    /// # Panics
    ///
    /// Panics if `positions` is not a whole number of rows.
    #[must_use]
    pub fn new(rope: &Rope, positions: &[u32], length: usize, device: &Device) -> Self {
        let rows = positions.chunks_exact(length);
        assert!(rows.remainder().is_empty(), "positions come in whole rows");
        let first = &positions[..length.min(positions.len())];
        let positions = if rows.clone().all(|row| row == first) { first } else { positions };
        let [n_rows, pairs] = [positions.len() / length, rope.frequencies.len()];
        let angles = positions
            .iter()
            .flat_map(|&position| rope.frequencies.iter().map(move |frequency| position as f32 * frequency));
        let angles: Vec<f32> = angles.collect();
        let table = |function: fn(f32) -> f32| {
            let values: Vec<f32> = angles.iter().map(|&angle| function(angle)).collect();
            Tensor::from_data(TensorData::new(values, [n_rows, 1, length, pairs]), device)
        };
        Self { cosines: table(f32::cos), sines: table(f32::sin), pairing: rope.pairing }
    }

    /// Returns the number of positions of a row.
    #[must_use]
    pub fn length(&self) -> usize {
        self.cosines.dims()[2]
    }

    /// Rotates the first components of each head, as many as there are angles for; the others stay.
    ///
    /// # Shapes
    ///
    /// - `heads`, returns: `[batch, heads, length, head_dim]`
    #[must_use]
    pub fn rotate(&self, heads: Tensor<4>) -> Tensor<4> {
        let [batch, n_heads, length, head_dim] = heads.dims();
        let pairs = self.cosines.dims()[3];
        let part = |start, n| heads.clone().narrow(3, start, n);
        let mut parts = match self.pairing {
            Pairing::Halves => Vec::from(self.turn(part(0, pairs), part(pairs, pairs))),
            Pairing::Neighbors => {
                let paired = part(0, 2 * pairs).reshape([batch, n_heads, length, pairs, 2]);
                let of = |index| paired.clone().narrow(4, index, 1).squeeze_dim::<4>(4);
                let turned = self.turn(of(0), of(1)).map(|part| part.unsqueeze_dim::<5>(4));
                vec![Tensor::cat(turned.into(), 4).reshape([batch, n_heads, length, 2 * pairs])]
            }
        };
        if 2 * pairs < head_dim {
            parts.push(heads.narrow(3, 2 * pairs, head_dim - 2 * pairs));
        }
        Tensor::cat(parts, 3)
    }

    fn turn(&self, first: Tensor<4>, second: Tensor<4>) -> [Tensor<4>; 2] {
        let [cosines, sines] = [&self.cosines, &self.sines];
        let turned_first = first.clone() * cosines.clone() - second.clone() * sines.clone();
        [turned_first, second * cosines.clone() + first * sines.clone()]
    }
}
