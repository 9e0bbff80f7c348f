//! Blocks of 256 elements whose parts have scales that are quantized themselves.

use super::blocks::half;

/// Elements that share a scale and a minimum.
const PART: usize = 32;

/// Reads `d`, `dmin`, 12 bytes of scales and 128 bytes of nibbles.
pub(super) fn q4_k(block: &[u8], values: &mut [f32]) {
    let nibbles = &block[16..144];
    for (part, values) in values.chunks_exact_mut(PART).enumerate() {
        let (scale, minimum) = part_scale(block, part);
        for (index, value) in values.iter_mut().enumerate() {
            *value = scale * f32::from(nibble(nibbles, part, index)) - minimum;
        }
    }
}

/// Reads `d`, `dmin`, 12 bytes of scales, 32 bytes of fifth bits and 128 bytes of nibbles.
pub(super) fn q5_k(block: &[u8], values: &mut [f32]) {
    let (high, nibbles) = (&block[16..48], &block[48..176]);
    for (part, values) in values.chunks_exact_mut(PART).enumerate() {
        let (scale, minimum) = part_scale(block, part);
        for (index, value) in values.iter_mut().enumerate() {
            let fifth = (high[index] >> part) & 1;
            *value = scale * f32::from(nibble(nibbles, part, index) | fifth << 4) - minimum;
        }
    }
}

/// Reads 128 bytes of nibbles, 64 bytes of upper bit pairs, 16 scales and `d`.
pub(super) fn q6_k(block: &[u8], values: &mut [f32]) {
    let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
    let d = half(block, 208);
    for (index, value) in values.iter_mut().enumerate() {
        let (half, within) = (index / 128, index % 128);
        let nibble = (low[half * 64 + within % 64] >> (within / 64 * 4)) & 0xF;
        let pair = (high[half * 32 + within % 32] >> (within / 32 * 2)) & 3;
        let scale = d * f32::from(scales[index / 16].cast_signed());
        *value = scale * (f32::from(nibble | pair << 4) - 32.0);
    }
}

/// Returns an element of a part: two parts share 32 bytes, the first in the low nibbles.
fn nibble(nibbles: &[u8], part: usize, index: usize) -> u8 {
    (nibbles[part / 2 * PART + index] >> (part % 2 * 4)) & 0xF
}

/// Returns the scale and the minimum of a part, six bits each: the last four parts have their upper two bits in the
/// bytes of the first four.
fn part_scale(block: &[u8], part: usize) -> (f32, f32) {
    let (d, dmin, packed) = (half(block, 0), half(block, 2), &block[4..16]);
    let (scale, minimum) = if part < 4 {
        (packed[part] & 63, packed[part + 4] & 63)
    } else {
        let low = packed[part + 4];
        ((low & 0xF) | (packed[part - 4] >> 6) << 4, (low >> 4) | (packed[part] >> 6) << 4)
    };
    (d * f32::from(scale), dmin * f32::from(minimum))
}
