//! Distances between a query and a key, in buckets: near ones each in its own, far ones together.

use super::T5Config;

/// How distances fall into buckets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buckets {
    n: u32,
    distance_max: u32,
    is_bidirectional: bool,
}

impl Buckets {
    /// Returns the buckets of an encoder: half of them for keys that follow.
    pub(super) fn bidirectional(config: &T5Config) -> Self {
        Self { is_bidirectional: true, ..Self::causal(config) }
    }

    /// Returns the buckets of a decoder, which sees no key that follows.
    pub(super) fn causal(config: &T5Config) -> Self {
        Self {
            n: config.relative_attention_num_buckets as u32,
            distance_max: config.relative_attention_max_distance as u32,
            is_bidirectional: false,
        }
    }

    /// Returns the bucket of the distance between two positions, 0 if either is padding.
    pub(super) fn bucket(self, query: Option<u32>, key: Option<u32>) -> u32 {
        let Some((query, key)) = query.zip(key) else {
            return 0;
        };
        if !self.is_bidirectional {
            return scaled(query.saturating_sub(key), self.n, self.distance_max);
        }
        let half = self.n / 2;
        let offset = if key > query { half } else { 0 };
        offset + scaled(query.abs_diff(key), half, self.distance_max)
    }
}

/// Returns the bucket among `n`: half of them for one distance each, the others for ever more up to `distance_max`.
///
/// The boundaries come from `f32` arithmetic, as in the reference implementation.
fn scaled(distance: u32, n: u32, distance_max: u32) -> u32 {
    let exact = n / 2;
    if distance < exact {
        return distance;
    }
    let share = (distance as f32 / exact as f32).ln() / (f64::from(distance_max) / f64::from(exact)).ln() as f32;
    (exact + (share * (n - exact) as f32) as u32).min(n - 1)
}

#[cfg(test)]
mod tests {
    use super::Buckets;

    fn buckets(is_bidirectional: bool, keys: &[u32]) -> Vec<u32> {
        let buckets = Buckets { n: 32, distance_max: 128, is_bidirectional };
        keys.iter().map(|&key| buckets.bucket(Some(200), Some(key))).collect()
    }

    #[test]
    fn a_decoder_has_all_its_buckets_for_what_precedes() {
        let keys = [200, 199, 185, 184, 183, 181, 180, 168, 136, 73, 72, 0, 300];
        assert_eq!(buckets(false, &keys), [0, 1, 15, 16, 16, 17, 17, 21, 26, 31, 31, 31, 0]);
    }

    #[test]
    fn an_encoder_has_half_of_its_buckets_for_what_follows() {
        // Buckets begin at the distances 8, 12 (11.3), 16, 23 (22.6), 32, 46 (45.3), 64 and 91 (90.5).
        let before = [200, 199, 193, 192, 189, 188, 185, 184, 178, 177, 169, 168, 155, 154, 137, 136, 110, 109, 0];
        assert_eq!(buckets(true, &before), [0, 1, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15]);
        assert_eq!(buckets(true, &[201, 207, 208, 216, 264, 1000]), [17, 23, 24, 26, 30, 31]);
    }

    #[test]
    fn padding_falls_into_any_bucket() {
        let buckets = Buckets { n: 32, distance_max: 128, is_bidirectional: true };
        assert_eq!([buckets.bucket(None, Some(3)), buckets.bucket(Some(3), None)], [0, 0]);
    }
}
