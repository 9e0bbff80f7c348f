//! Element types of GGUF tensors, and their values as `f32`.

mod blocks;
mod encode;
mod superblocks;

pub(super) use encode::{f16_bytes, q8_0_bytes};

/// How the elements of a tensor are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the names of the specification")]
pub enum TensorType {
    /// 32-bit floating point.
    F32,
    /// 16-bit floating point.
    F16,
    /// The upper half of a 32-bit floating-point number.
    BF16,
    /// Four bits and a scale per 32.
    Q4_0,
    /// Four bits, a scale and a minimum per 32.
    Q4_1,
    /// Five bits and a scale per 32.
    Q5_0,
    /// Five bits, a scale and a minimum per 32.
    Q5_1,
    /// Eight bits and a scale per 32.
    Q8_0,
    /// Four bits, with a scale and a minimum of six bits per 32, which are scaled per 256.
    Q4_K,
    /// Five bits, with a scale and a minimum of six bits per 32, which are scaled per 256.
    Q5_K,
    /// Six bits, with a scale of eight bits per 16, which is scaled per 256.
    Q6_K,
}

/// The types that are implemented: the number of the specification, the name, elements and bytes of a block.
const TYPES: [(TensorType, u32, &str, usize, usize); 11] = [
    (TensorType::F32, 0, "F32", 1, 4),
    (TensorType::F16, 1, "F16", 1, 2),
    (TensorType::Q4_0, 2, "Q4_0", 32, 18),
    (TensorType::Q4_1, 3, "Q4_1", 32, 20),
    (TensorType::Q5_0, 6, "Q5_0", 32, 22),
    (TensorType::Q5_1, 7, "Q5_1", 32, 24),
    (TensorType::Q8_0, 8, "Q8_0", 32, 34),
    (TensorType::Q4_K, 12, "Q4_K", 256, 144),
    (TensorType::Q5_K, 13, "Q5_K", 256, 176),
    (TensorType::Q6_K, 14, "Q6_K", 256, 210),
    (TensorType::BF16, 30, "BF16", 1, 2),
];

/// Types that are known but not implemented.
const OTHERS: [(u32, &str); 7] =
    [(9, "Q8_1"), (10, "Q2_K"), (11, "Q3_K"), (15, "Q8_K"), (20, "IQ4_NL"), (23, "IQ4_XS"), (39, "MXFP4")];

impl TensorType {
    /// Returns the type that the specification numbers `number`.
    pub(super) fn from_number(number: u32) -> Result<Self, String> {
        if let Some((kind, ..)) = TYPES.iter().find(|(_, known, ..)| *known == number) {
            return Ok(*kind);
        }
        let other = OTHERS.iter().find(|(known, _)| *known == number);
        let name = other.map_or_else(|| number.to_string(), |(_, name)| format!("{number} ({name})"));
        let names = TYPES.map(|(_, _, name, ..)| name).join(", ");
        Err(format!("type {name} is not supported, only {names}"))
    }

    /// Returns the number of the specification.
    pub(super) fn number(self) -> u32 {
        self.row().1
    }

    /// Returns the number of elements and of bytes of a block.
    pub(super) fn block(self) -> (usize, usize) {
        let (.., elements, bytes) = self.row();
        (*elements, *bytes)
    }

    fn row(self) -> &'static (Self, u32, &'static str, usize, usize) {
        TYPES.iter().find(|(kind, ..)| *kind == self).expect("the table lists every type")
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
        let read: fn(&[u8], &mut [f32]) = match self {
            Self::F32 => blocks::f32,
            Self::F16 => blocks::f16,
            Self::BF16 => blocks::bf16,
            Self::Q4_0 => blocks::q4_0,
            Self::Q4_1 => blocks::q4_1,
            Self::Q5_0 => blocks::q5_0,
            Self::Q5_1 => blocks::q5_1,
            Self::Q8_0 => blocks::q8_0,
            Self::Q4_K => superblocks::q4_k,
            Self::Q5_K => superblocks::q5_k,
            Self::Q6_K => superblocks::q6_k,
        };
        let mut values = vec![0.0; bytes.len() / block_bytes * elements];
        let blocks = bytes.chunks_exact(block_bytes).zip(values.chunks_exact_mut(elements));
        blocks.for_each(|(block, values)| read(block, values));
        values
    }
}

#[cfg(test)]
mod tests;
