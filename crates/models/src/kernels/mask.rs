//! Dropout masks that are computed where they are used, forward and backward, from a seed.

/// A mask over rows of elements: which are kept, and the factor that keeps the mean.
///
/// An element's fate depends on the seed, its row and its column alone: not on threads, blocks or vector width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DropoutMask {
    seed: u64,
    threshold: u32,
    scale: f32,
}

impl DropoutMask {
    /// Creates the mask of `seed` that drops with `probability`.
    ///
    /// # Panics
    ///
    /// Panics if `probability` is not in `0.0..1.0`.
    #[must_use]
    pub fn new(seed: u64, probability: f64) -> Self {
        assert!((0.0..1.0).contains(&probability), "a dropout probability is in 0.0..1.0");
        let threshold = (probability * f64::from(u32::MAX)) as u32;
        Self { seed, threshold, scale: (1.0 / (1.0 - probability)) as f32 }
    }

    /// Returns the factors of a row.
    #[inline(always)]
    pub(crate) fn row(self, row: usize) -> MaskRow {
        // The finalizer of SplitMix64.
        let mut key = self.seed.wrapping_add((row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        key ^= key >> 31;
        MaskRow { before: key as u32, after: (key >> 32) as u32, threshold: self.threshold, scale: self.scale }
    }
}

/// The factors of one row.
#[derive(Clone, Copy)]
pub(crate) struct MaskRow {
    before: u32,
    after: u32,
    threshold: u32,
    scale: f32,
}

impl MaskRow {
    /// Returns the factor of a column: 0, or what keeps the mean.
    #[inline(always)]
    pub(crate) fn factor(self, column: usize) -> f32 {
        // The finalizer of MurmurHash3 between two halves of the row's key.
        let mut draw = (column as u32).wrapping_mul(0x9e37_79b9) ^ self.before;
        draw = (draw ^ (draw >> 16)).wrapping_mul(0x85eb_ca6b);
        draw = (draw ^ (draw >> 13)).wrapping_mul(0xc2b2_ae35).wrapping_add(self.after);
        draw ^= draw >> 16;
        if draw < self.threshold { 0.0 } else { self.scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_drop_the_asked_share() {
        for probability in [0.1, 0.5] {
            let mask = DropoutMask::new(3, probability);
            let dropped = |row, column| f64::from(u8::from(mask.row(row).factor(column) == 0.0));
            let by_row = (0..20_000).map(|column| dropped(5, column)).sum::<f64>() / 20_000.0;
            let by_column = (0..20_000).map(|row| dropped(row, 5)).sum::<f64>() / 20_000.0;
            assert!((by_row - probability).abs() < 0.015 && (by_column - probability).abs() < 0.015);
        }
    }

    #[test]
    fn neighbors_are_independent() {
        let mask = DropoutMask::new(9, 0.5);
        let kept = |row: usize, column: usize| mask.row(row).factor(column) > 0.0;
        let agree = |f: &dyn Fn(usize) -> bool| (0..20_000).filter(|&i| f(i)).count();
        for same in [
            agree(&|i| kept(0, i) == kept(0, i + 1)),
            agree(&|i| kept(i, 0) == kept(i + 1, 0)),
            agree(&|i| kept(i, i) == DropoutMask::new(10, 0.5).row(i).factor(i).gt(&0.0)),
        ] {
            assert!((9_700..10_300).contains(&same), "{same}");
        }
    }
}
