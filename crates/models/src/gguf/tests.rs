//! Tests of the module above.

use std::path::Path;

use proptest::prelude::*;

use super::sample::{Sample, write};
use super::{Gguf, Value, family};
use crate::Error;
use crate::llama::LlamaConfig;
use crate::tokenizer::Tokenizer;
use crate::weights::TensorSource;

fn small() -> Sample {
    Sample::default()
        .text("general.architecture", "llama")
        .integer("llama.block_count", 1)
        .float("scale", 0.5)
        .entry("flag", 7, &[1])
        .texts("tokens", &["a", "ä", ""])
        .integers("kinds", &[1, -3])
        .floats("plain", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        .tensor("half", &[2], 1, &[0x00, 0x3C, 0x00, 0xC0])
        .tensor("blocks", &[1, 32], 8, &[&[0x00_u8, 0x38][..], &[2; 32]].concat())
}

fn open(sample: &Sample) -> crate::Result<Gguf> {
    let (_guard, path) = sample.write();
    Gguf::open(&path)
}

fn message(sample: &Sample) -> String {
    open(sample).unwrap_err().to_string()
}

#[test]
fn metadata_and_tensors_are_read_as_written() {
    let (_guard, path) = small().write();
    let gguf = Gguf::open(&path).unwrap();
    assert_eq!(gguf.text("general.architecture").unwrap(), Some("llama"));
    assert_eq!(gguf.unsigned("llama.block_count").unwrap(), Some(1));
    assert_eq!(gguf.float("scale").unwrap(), Some(0.5));
    assert_eq!(gguf.get("flag"), Some(&Value::Integer(1)));
    assert_eq!(gguf.texts("tokens").unwrap().unwrap(), ["a", "ä", ""]);
    assert_eq!(gguf.integers("kinds").unwrap(), Some(&[1, -3][..]));
    assert_eq!(gguf.tensors()["plain"].shape, [2, 3]);
    assert_eq!(gguf.read("plain").unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(gguf.read("half").unwrap(), [1.0, -2.0]);
    assert_eq!(gguf.read("blocks").unwrap(), [1.0; 32]);
    assert!(gguf.read("absent").is_err());
    assert!(gguf.unsigned("scale").is_err());
}

#[test]
fn a_file_cut_anywhere_is_an_error() {
    let sample = small();
    let bytes = sample.bytes();
    for length in 0..bytes.len() {
        let (_guard, path) = write(&bytes[..length]);
        let opened = Gguf::open(&path);
        let is_whole = opened.is_ok_and(|gguf| gguf.tensors().keys().all(|name| gguf.read(name).is_ok()));
        // The padding after the last tensor belongs to nothing.
        let end = bytes.len() - (64 - 34);
        assert_eq!(is_whole, length >= end, "cut at {length}");
    }
}

#[test]
fn a_header_with_a_damaged_byte_is_an_error_or_another_header() {
    let sample = small();
    let bytes = sample.bytes();
    for position in 0..sample.header_bytes() {
        for flip in [0x01, 0x80, 0xFF] {
            let mut damaged = bytes.clone();
            damaged[position] ^= flip;
            let (_guard, path) = write(&damaged);
            if let Ok(gguf) = Gguf::open(&path) {
                let names = gguf.tensors().keys();
                assert!(names.map(|name| gguf.read(name)).all(|read| read.is_ok()), "{position} ^ {flip}");
            }
        }
    }
}

#[test]
fn a_huge_count_is_refused_before_anything_is_allocated() {
    for count_at in [8, 16] {
        let mut bytes = small().bytes();
        bytes[count_at..count_at + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        let (_guard, path) = write(&bytes);
        assert!(Gguf::open(&path).unwrap_err().to_string().contains("do not fit"));
    }
    let endless = [&8_u32.to_le_bytes()[..], &(1_u64 << 60).to_le_bytes()].concat();
    assert!(message(&Sample::default().entry("tokens", 9, &endless)).contains("do not fit"));
}

#[test]
fn what_is_not_supported_is_named() {
    assert!(message(&small().tensor("q", &[256], 10, &[0; 84])).contains("tensor q: type 10 (Q2_K)"));
    assert!(message(&small().floats("plain", &[1], &[0.0])).contains("tensor plain appears twice"));
    assert!(message(&small().integer("flag", 1)).contains("key flag appears twice"));
    assert!(message(&small().tensor("q", &[33], 2, &[0; 36])).contains("whole blocks"));
    assert!(message(&small().integer("general.alignment", 24)).contains("general.alignment"));
    let nested = [&9_u32.to_le_bytes()[..], &1_u64.to_le_bytes()].concat();
    assert!(message(&small().entry("nested", 9, &nested)).contains("array of arrays"));
    for version in [1, 4, 0x0300_0000_u32] {
        let mut bytes = small().bytes();
        bytes[4..8].copy_from_slice(&version.to_le_bytes());
        let (_guard, path) = write(&bytes);
        assert!(Gguf::open(&path).unwrap_err().to_string().contains("version"));
    }
    assert!(matches!(Gguf::open(Path::new("/absent.gguf")), Err(Error::Read { .. })));
}

#[test]
fn names_from_the_file_are_escaped_in_errors() {
    let key = "a\n\x1B[2J";
    for sample in [
        Sample::default().entry(key, 99, &[]),
        Sample::default().integer(key, 1).integer(key, 1),
        Sample::default().tensor(key, &[33], 2, &[0; 36]),
        Sample::default().floats(key, &[1], &[0.0]).floats(key, &[1], &[0.0]),
    ] {
        let message = message(&sample);
        assert!(message.contains(r"a\n\u{1b}[2J"), "{message}");
        assert!(!message.contains(char::is_control), "{message:?}");
    }
}

/// What a whole file gives; a damaged one may give less, or something else, but no panic.
fn read_all(path: &Path) -> crate::Result<()> {
    let gguf = Gguf::open(path)?;
    gguf.tensors().keys().try_for_each(|name| gguf.read(name).map(drop))?;
    let config = gguf.config()?;
    let tensors = gguf.decoder_tensors()?;
    tensors.shapes().keys().try_for_each(|name| tensors.read(name).map(drop))?;
    let tokenizer = crate::gguf_tokenizer::tokenizer(&gguf)?;
    Tokenizer::from_inner(tokenizer, path)?;
    LlamaConfig::from_value(config, path).map(drop)
}

/// A decoder with a tokenizer and a tensor of every type.
fn whole() -> Sample {
    let sample = family::tests::grouped_as_gguf()
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", "qwen2")
        .texts("tokenizer.ggml.tokens", &["<|endoftext|>", "a", "b", "ab"])
        .texts("tokenizer.ggml.merges", &["a b"])
        .integers("tokenizer.ggml.token_type", &[3, 1, 1, 1])
        .integer("tokenizer.ggml.eos_token_id", 0);
    let blocks = [(2, 32, 18), (3, 32, 20), (6, 32, 22), (7, 32, 24), (12, 256, 144), (13, 256, 176), (14, 256, 210)];
    blocks.into_iter().fold(sample, |sample, (kind, elements, bytes)| {
        sample.tensor(&format!("type.{kind}"), &[1, elements], kind, &vec![7; bytes])
    })
}

#[test]
fn every_prefix_of_a_decoder_is_an_error() {
    let bytes = whole().bytes();
    let (_guard, path) = write(&bytes);
    read_all(&path).unwrap();
    // What follows the 210 bytes of the last tensor belongs to nothing.
    let padding = 224 - 210;
    for length in (0..whole().header_bytes()).chain((whole().header_bytes()..bytes.len() - padding).step_by(97)) {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(Gguf::open(&path).is_err(), "cut at {length}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_damaged_decoder_never_panics(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        in_header in any::<bool>(),
    ) {
        let sample = whole();
        let mut bytes = sample.bytes();
        let end = if in_header { sample.header_bytes() } else { bytes.len() };
        for (index, value) in flips {
            bytes[index.index(end)] = value;
        }
        let (_guard, path) = write(&bytes);
        prop_assert!(read_all(&path).is_ok() || read_all(&path).is_err());
    }

    #[test]
    fn a_damaged_length_never_panics(
        index in any::<prop::sample::Index>(),
        value in prop_oneof![any::<u64>(), 0..300_u64, (0..64_u32).prop_map(|shift| 1 << shift)],
    ) {
        let sample = whole();
        let mut bytes = sample.bytes();
        let at = index.index(sample.header_bytes() - 8);
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let (_guard, path) = write(&bytes);
        prop_assert!(read_all(&path).is_ok() || read_all(&path).is_err());
    }

    #[test]
    fn bytes_after_the_magic_never_panic(rest in prop::collection::vec(any::<u8>(), 0..200)) {
        let (_guard, path) = write(&[b"GGUF\x03\0\0\0", &rest[..]].concat());
        prop_assert!(read_all(&path).is_err());
    }
}
