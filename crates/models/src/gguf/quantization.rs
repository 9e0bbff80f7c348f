//! Element types of GGUF tensors, and their values as `f32`.

use half::f16;

/// Elements that share a scale.
const BLOCK: usize = 32;

/// How the elements of a tensor are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TensorType {
    /// 32-bit floating point.
    F32,
    /// 16-bit floating point.
    F16,
    /// Four bits and a scale per 32.
    Q4_0,
    /// Four bits, a scale and a minimum per 32.
    Q4_1,
    /// Eight bits and a scale per 32.
    Q8_0,
}

impl TensorType {
    /// Returns the type that the specification numbers `number`.
    pub(super) fn from_number(number: u32) -> Result<Self, String> {
        match number {
            0 => Ok(Self::F32),
            1 => Ok(Self::F16),
            2 => Ok(Self::Q4_0),
            3 => Ok(Self::Q4_1),
            8 => Ok(Self::Q8_0),
            _ => {
                let name = name(number).map_or_else(|| number.to_string(), |name| format!("{number} ({name})"));
                Err(format!("type {name} is not supported, only F32, F16, Q4_0, Q4_1 and Q8_0"))
            }
        }
    }

    /// Returns the number of elements and of bytes of a block.
    const fn block(self) -> (usize, usize) {
        match self {
            Self::F32 => (1, 4),
            Self::F16 => (1, 2),
            Self::Q4_0 => (BLOCK, 2 + BLOCK / 2),
            Self::Q4_1 => (BLOCK, 4 + BLOCK / 2),
            Self::Q8_0 => (BLOCK, 2 + BLOCK),
        }
    }

    /// Returns the bytes that a tensor takes, the fastest dimension first.
    pub(super) fn n_bytes(self, dimensions: &[u64]) -> Result<u64, String> {
        let (elements, bytes) = self.block();
        let elements = elements as u64;
        if !dimensions.first().copied().unwrap_or(1).is_multiple_of(elements) {
            return Err(format!("rows are not whole blocks of {elements}"));
        }
        let too_large = || format!("dimensions {dimensions:?} are too large");
        let count = dimensions.iter().try_fold(1_u64, |count, &size| count.checked_mul(size));
        let count = count.ok_or_else(too_large)?;
        (count / elements).checked_mul(bytes as u64).ok_or_else(too_large)
    }

    /// Returns the values of whole blocks.
    pub(super) fn dequantize(self, bytes: &[u8]) -> Vec<f32> {
        let (elements, block_bytes) = self.block();
        let blocks = bytes.chunks_exact(block_bytes);
        let mut values = Vec::with_capacity(blocks.len() * elements);
        match self {
            Self::F32 => {
                values.extend(blocks.map(|block| f32::from_le_bytes([block[0], block[1], block[2], block[3]])));
            }
            Self::F16 => values.extend(blocks.map(|block| half(block, 0))),
            Self::Q4_0 => blocks.for_each(|block| {
                let scale = half(block, 0);
                values.extend(nibbles(&block[2..]).map(|nibble| (f32::from(nibble) - 8.0) * scale));
            }),
            Self::Q4_1 => blocks.for_each(|block| {
                let (scale, minimum) = (half(block, 0), half(block, 2));
                values.extend(nibbles(&block[4..]).map(|nibble| f32::from(nibble) * scale + minimum));
            }),
            Self::Q8_0 => blocks.for_each(|block| {
                let scale = half(block, 0);
                values.extend(block[2..].iter().map(|&byte| f32::from(byte.cast_signed()) * scale));
            }),
        }
        values
    }
}

/// Reads a 16-bit floating-point number.
fn half(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// Returns the low halves of all bytes, then the high halves.
fn nibbles(bytes: &[u8]) -> impl Iterator<Item = u8> {
    let low = bytes.iter().map(|byte| byte & 0xF);
    low.chain(bytes.iter().map(|byte| byte >> 4))
}

/// Returns the name of a type that is known but not implemented.
fn name(number: u32) -> Option<&'static str> {
    const NAMES: [(u32, &str); 13] = [
        (6, "Q5_0"),
        (7, "Q5_1"),
        (9, "Q8_1"),
        (10, "Q2_K"),
        (11, "Q3_K"),
        (12, "Q4_K"),
        (13, "Q5_K"),
        (14, "Q6_K"),
        (15, "Q8_K"),
        (20, "IQ4_NL"),
        (23, "IQ4_XS"),
        (30, "BF16"),
        (39, "MXFP4"),
    ];
    NAMES.iter().find(|(known, _)| *known == number).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(halves: &[f32], bytes: &[u8]) -> Vec<u8> {
        let halves = halves.iter().flat_map(|&value| f16::from_f32(value).to_le_bytes());
        halves.chain(bytes.iter().copied()).collect()
    }

    #[test]
    fn four_bit_blocks_hold_low_halves_first() {
        let mut bytes = [0_u8; 16];
        bytes[0] = 0xF1;
        bytes[15] = 0x20;
        let values = TensorType::Q4_0.dequantize(&block(&[0.5], &bytes));
        assert_eq!((values[0], values[1], values[16], values[31]), (-3.5, -4.0, 3.5, -3.0));
        let values = TensorType::Q4_1.dequantize(&block(&[0.5, 10.0], &bytes));
        assert_eq!((values[0], values[1], values[16], values[31]), (10.5, 10.0, 17.5, 11.0));
    }

    #[test]
    fn eight_bit_blocks_hold_signed_bytes() {
        let mut bytes = [0_u8; 32];
        bytes[0] = 0x80;
        bytes[31] = 0x7F;
        let values = TensorType::Q8_0.dequantize(&block(&[0.25], &bytes));
        assert_eq!((values[0], values[31]), (-32.0, 31.75));
    }

    #[test]
    fn a_size_that_overflows_is_an_error() {
        assert!(TensorType::F32.n_bytes(&[u64::MAX, 2]).is_err());
        assert!(TensorType::F32.n_bytes(&[u64::MAX / 2]).is_err());
        assert!(TensorType::Q8_0.n_bytes(&[33, 2]).is_err());
        assert_eq!(TensorType::Q4_1.n_bytes(&[64, 3]), Ok(120));
    }

    #[test]
    fn an_unknown_type_is_refused_by_name() {
        let error = TensorType::from_number(14).unwrap_err();
        assert!(error.contains("Q6_K"), "{error}");
        assert!(TensorType::from_number(99).unwrap_err().contains("99"));
    }
}
