//! Tests of the module above: `tests/golden/gguf_quants.py` made `gguf_quants.json` with the Python package `gguf`.

use serde::Deserialize;

use super::{TYPES, TensorType, f16_bytes, q8_0_bytes};
use crate::golden::directory;

#[derive(Deserialize)]
struct Golden {
    dequantize: Vec<Dequantize>,
    quantize: Vec<Quantize>,
}

/// Blocks as hexadecimal digits, and the bits of their values.
#[derive(Deserialize)]
struct Dequantize {
    name: String,
    bytes: String,
    values: Vec<u32>,
}

#[derive(Deserialize)]
struct Quantize {
    name: String,
    values: Vec<u32>,
    bytes: String,
}

fn golden() -> Golden {
    let text = std::fs::read_to_string(directory("gguf_quants.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn bytes(digits: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

#[test]
fn every_type_is_read_bit_for_bit_as_ggml_does() {
    let golden = golden().dequantize;
    assert_eq!(golden.len(), TYPES.len());
    for Dequantize { name, bytes: digits, values } in golden {
        let (kind, ..) = TYPES.iter().find(|(_, _, known, ..)| **known == *name).unwrap();
        let found: Vec<u32> = kind.dequantize(&bytes(&digits)).into_iter().map(f32::to_bits).collect();
        assert_eq!(found, values, "{name}");
    }
}

#[test]
fn values_are_written_byte_for_byte_as_ggml_does() {
    for Quantize { name, values, bytes: digits } in golden().quantize {
        let values: Vec<f32> = values.into_iter().map(f32::from_bits).collect();
        let found = if name == "F16" { f16_bytes(&values) } else { q8_0_bytes(&values) };
        assert_eq!(found.unwrap(), bytes(&digits), "{name}");
    }
}

#[test]
fn values_beyond_the_range_are_not_written() {
    for value in [70_000.0, f32::NAN, f32::NEG_INFINITY] {
        assert_eq!(f16_bytes(&[1.0, value]).unwrap_err().to_bits(), value.to_bits());
    }
    for value in [1e8, f32::NAN, f32::INFINITY] {
        let mut block = [1.0; 32];
        block[7] = value;
        assert_eq!(q8_0_bytes(&block).unwrap_err().to_bits(), value.to_bits());
    }
}

#[test]
fn a_size_that_overflows_is_an_error() {
    assert!(TensorType::F32.n_bytes(&[u64::MAX, 2]).is_err());
    assert!(TensorType::F32.n_bytes(&[u64::MAX / 2]).is_err());
    assert!(TensorType::Q8_0.n_bytes(&[33, 2]).is_err());
    assert!(TensorType::Q4_K.n_bytes(&[128, 2]).is_err());
    assert_eq!(TensorType::Q4_1.n_bytes(&[64, 3]), Ok(120));
    assert_eq!(TensorType::Q6_K.n_bytes(&[512]), Ok(420));
}

#[test]
fn an_unknown_type_is_refused_by_name() {
    let error = TensorType::from_number(10).unwrap_err();
    assert!(error.contains("10 (Q2_K)") && error.contains("Q4_1") && error.contains("BF16"), "{error}");
    assert!(TensorType::from_number(99).unwrap_err().contains("99"));
    for (kind, number, ..) in TYPES {
        assert_eq!(TensorType::from_number(number), Ok(kind));
    }
}
