//! Values as the bytes of the types that are written.

use half::f16;

/// Elements that share a scale.
const BLOCK: usize = 32;

/// Returns the nearest 16-bit numbers, or the first value that has none.
pub(in crate::gguf) fn f16_bytes(values: &[f32]) -> Result<Vec<u8>, f32> {
    let mut bytes = Vec::with_capacity(2 * values.len());
    for &value in values {
        bytes.extend_from_slice(&finite(f16::from_f32(value), value)?.to_le_bytes());
    }
    Ok(bytes)
}

/// Returns whole blocks of 32 as ggml quantizes them, or the first value that cannot be.
pub(in crate::gguf) fn q8_0_bytes(values: &[f32]) -> Result<Vec<u8>, f32> {
    let mut bytes = Vec::with_capacity(values.len() / BLOCK * (BLOCK + 2));
    for block in values.chunks_exact(BLOCK) {
        if let Some(&value) = block.iter().find(|value| !value.is_finite()) {
            return Err(value);
        }
        let largest = block.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
        let scale = largest / 127.0;
        let inverse = if scale == 0.0 { 0.0 } else { scale.recip() };
        bytes.extend_from_slice(&finite(f16::from_f32(scale), largest)?.to_le_bytes());
        bytes.extend(block.iter().map(|value| ((value * inverse).round() as i8).cast_unsigned()));
    }
    Ok(bytes)
}

fn finite(half: f16, value: f32) -> Result<f16, f32> {
    if half.is_finite() { Ok(half) } else { Err(value) }
}
