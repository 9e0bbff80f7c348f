//! Named random streams: one seed per experiment, one stream per use.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Returns the random stream called `name` of the experiment's `seed`.
///
/// The generator's key is the BLAKE3 hash of the seed's eight little-endian bytes followed by the name, so streams
/// with different names are independent, and adding one never shifts another.
#[must_use]
pub fn stream(seed: u64, name: &str) -> ChaCha8Rng {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(name.as_bytes());
    ChaCha8Rng::from_seed(*hasher.finalize().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn a_stream_depends_on_its_seed_and_its_name_only() {
        let first = |seed, name| stream(seed, name).next_u64();
        assert_eq!(first(1, "samples"), first(1, "samples"));
        assert_ne!(first(1, "samples"), first(2, "samples"));
        assert_ne!(first(1, "samples"), first(1, "dropout"));
    }
}
