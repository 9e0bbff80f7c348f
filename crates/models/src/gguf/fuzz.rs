//! Damaged files of every kind: an error or another file, never a panic.

use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;

use super::Gguf;
use super::family::tests::grouped_as_gguf;
use super::sample::{Sample, write};
use crate::config::Fields;
use crate::gguf_tokenizer;
use crate::llama::LlamaConfig;
use crate::tokenizer::Tokenizer;
use crate::weights::TensorSource;

/// What a whole file gives; a damaged one may give less, or something else, but no panic.
fn read_all(path: &Path) -> crate::Result<()> {
    let gguf = Gguf::open(path)?;
    gguf.tensors().keys().try_for_each(|name| gguf.read(name).map(drop))?;
    let config = gguf.config()?;
    let tensors = gguf.decoder_tensors()?;
    tensors.shapes().keys().try_for_each(|name| tensors.read(name).map(drop))?;
    let tokenizer = gguf_tokenizer::tokenizer(&gguf)?;
    Tokenizer::from_inner(tokenizer, path)?;
    LlamaConfig::read(Fields::new(config, path)?).map(drop)
}

/// A decoder with byte-level BPE and a tensor of every type.
static BYTE_PAIRS: LazyLock<Sample> = LazyLock::new(|| {
    let sample = grouped_as_gguf()
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
});

/// A decoder with pieces and their scores.
static PIECES: LazyLock<Sample> = LazyLock::new(|| grouped_as_gguf().and(&gguf_tokenizer::tests::pieces()));

#[test]
fn every_prefix_of_a_decoder_is_an_error() {
    let (bytes, header_bytes) = (BYTE_PAIRS.bytes(), BYTE_PAIRS.header_bytes());
    let (_guard, path) = write(&bytes);
    read_all(&path).unwrap();
    // What follows the 210 bytes of the last tensor belongs to nothing.
    let padding = 224 - 210;
    for length in (0..header_bytes).chain((header_bytes..bytes.len() - padding).step_by(97)) {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert!(Gguf::open(&path).is_err(), "cut at {length}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_damaged_decoder_never_panics(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        in_header in any::<bool>(),
        has_pieces in any::<bool>(),
    ) {
        let sample = if has_pieces { &*PIECES } else { &*BYTE_PAIRS };
        let mut bytes = sample.bytes();
        let end = if in_header { sample.header_bytes() } else { bytes.len() };
        for (index, value) in flips {
            bytes[index.index(end)] = value;
        }
        let (_guard, path) = write(&bytes);
        drop(read_all(&path));
    }

    #[test]
    fn a_damaged_length_never_panics(
        index in any::<prop::sample::Index>(),
        value in prop_oneof![any::<u64>(), 0..300_u64, (0..64_u32).prop_map(|shift| 1 << shift)],
    ) {
        let mut bytes = BYTE_PAIRS.bytes();
        let at = index.index(BYTE_PAIRS.header_bytes() - 8);
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let (_guard, path) = write(&bytes);
        drop(read_all(&path));
    }

    #[test]
    fn bytes_after_the_magic_never_panic(rest in prop::collection::vec(any::<u8>(), 0..200)) {
        let (_guard, path) = write(&[b"GGUF\x03\0\0\0", &rest[..]].concat());
        prop_assert!(read_all(&path).is_err());
    }
}
