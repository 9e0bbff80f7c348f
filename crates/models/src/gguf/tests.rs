//! Tests of the module above.

use std::path::Path;

use super::sample::{Sample, write};
use super::{Gguf, Value};
use crate::Error;

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
