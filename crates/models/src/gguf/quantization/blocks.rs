//! Plain numbers, and blocks of 32 elements with one scale.

use half::{bf16, f16};

/// Reads a 16-bit floating-point number.
pub(super) fn half(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

pub(super) fn f32(block: &[u8], values: &mut [f32]) {
    values[0] = f32::from_le_bytes([block[0], block[1], block[2], block[3]]);
}

pub(super) fn f16(block: &[u8], values: &mut [f32]) {
    values[0] = half(block, 0);
}

pub(super) fn bf16(block: &[u8], values: &mut [f32]) {
    values[0] = bf16::from_le_bytes([block[0], block[1]]).to_f32();
}

pub(super) fn q4_0(block: &[u8], values: &mut [f32]) {
    let scale = half(block, 0);
    let nibbles = nibbles(&block[2..]);
    values.iter_mut().zip(nibbles).for_each(|(value, nibble)| *value = (f32::from(nibble) - 8.0) * scale);
}

pub(super) fn q4_1(block: &[u8], values: &mut [f32]) {
    let (scale, minimum) = (half(block, 0), half(block, 2));
    let nibbles = nibbles(&block[4..]);
    values.iter_mut().zip(nibbles).for_each(|(value, nibble)| *value = f32::from(nibble) * scale + minimum);
}

pub(super) fn q5_0(block: &[u8], values: &mut [f32]) {
    let scale = half(block, 0);
    let fives = fives(&block[2..6], &block[6..]);
    values.iter_mut().zip(fives).for_each(|(value, five)| *value = (f32::from(five) - 16.0) * scale);
}

pub(super) fn q5_1(block: &[u8], values: &mut [f32]) {
    let (scale, minimum) = (half(block, 0), half(block, 2));
    let fives = fives(&block[4..8], &block[8..]);
    values.iter_mut().zip(fives).for_each(|(value, five)| *value = f32::from(five) * scale + minimum);
}

pub(super) fn q8_0(block: &[u8], values: &mut [f32]) {
    let scale = half(block, 0);
    values.iter_mut().zip(&block[2..]).for_each(|(value, byte)| *value = f32::from(byte.cast_signed()) * scale);
}

/// Returns the low halves of all bytes, then the high halves.
fn nibbles(bytes: &[u8]) -> impl Iterator<Item = u8> {
    let low = bytes.iter().map(|byte| byte & 0xF);
    low.chain(bytes.iter().map(|byte| byte >> 4))
}

/// Returns the nibbles of `low`, each under its bit of `high`.
fn fives(high: &[u8], low: &[u8]) -> impl Iterator<Item = u8> {
    let high = u32::from_le_bytes([high[0], high[1], high[2], high[3]]);
    nibbles(low).enumerate().map(move |(index, nibble)| nibble | (((high >> index) & 1) as u8) << 4)
}
