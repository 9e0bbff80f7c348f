//! From bytes to text: which encoding, and how that was decided.
//!
//! In this order: a byte order mark; the encoding that a Python file states (PEP 263); UTF-8; a detector's guess. A
//! guess counts only if the text then holds no control characters, because single-byte encodings accept any bytes.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8};
use repo::language::Language;

use crate::filter::DropReason;

/// How many bytes of a file the search for a stated encoding looks at.
const COOKIE_BYTES_MAX: usize = 400;

/// A decoded text with line feeds as its only line endings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) text: String,
    /// The encoding's name and how it was found.
    pub(crate) encoding: String,
    /// `lf`, `crlf`, `cr` or `mixed`.
    pub(crate) line_endings: &'static str,
}

/// Decodes the content of a source file, or says why it is not text.
pub(crate) fn decode(bytes: &[u8], language: Language) -> Result<Decoded, (DropReason, String)> {
    let (text, encoding) = to_text(bytes, language)?;
    if text.contains('\0') {
        return Err((DropReason::Binary, "holds a NUL character".to_owned()));
    }
    let line_endings = line_endings(&text);
    let text = if line_endings == "lf" { text } else { text.replace("\r\n", "\n").replace('\r', "\n") };
    Ok(Decoded { text, encoding, line_endings })
}

fn to_text(bytes: &[u8], language: Language) -> Result<(String, String), (DropReason, String)> {
    let not_utf8 = |detail: String| (DropReason::NotUtf8, detail);
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return exact(encoding, &bytes[mark..], "byte order mark").map_err(not_utf8);
    }
    if let Some(label) = cookie(bytes, language) {
        let encoding = Encoding::for_label(label.as_bytes());
        let encoding = encoding.ok_or_else(|| not_utf8(format!("states the unknown encoding {label}")))?;
        return exact(encoding, bytes, "stated").map_err(not_utf8);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok((text.to_owned(), "utf-8".to_owned()));
    }
    if bytes.contains(&0) {
        return Err((DropReason::Binary, "holds a NUL byte".to_owned()));
    }
    guess(bytes).map_err(not_utf8)
}

fn exact(encoding: &'static Encoding, bytes: &[u8], how: &str) -> Result<(String, String), String> {
    let name = encoding.name().to_ascii_lowercase();
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes);
    let text = text.ok_or_else(|| format!("is not valid {name} ({how})"))?;
    let label = if encoding == UTF_8 && how == "stated" { name } else { format!("{name} ({how})") };
    Ok((text.into_owned(), label))
}

fn guess(bytes: &[u8]) -> Result<(String, String), String> {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let decoded = exact(detector.guess(None, Utf8Detection::Deny), bytes, "detected")?;
    let is_control = |character: char| character.is_control() && !matches!(character, '\t' | '\n' | '\r' | '\u{c}');
    match decoded.0.chars().find(|character| is_control(*character)) {
        Some(control) => Err(format!("is {} with the control character U+{:04X}", decoded.1, u32::from(control))),
        None => Ok(decoded),
    }
}

/// Returns the encoding a Python file states in a comment of its first two lines.
fn cookie(bytes: &[u8], language: Language) -> Option<String> {
    if language != Language::Python {
        return None;
    }
    let head = &bytes[..bytes.len().min(COOKIE_BYTES_MAX)];
    let mut lines = head.split(|byte| *byte == b'\n').map(String::from_utf8_lossy);
    let first = lines.next()?;
    let is_code = !first.trim().is_empty() && !first.trim_start().starts_with('#');
    stated(&first).or_else(|| lines.next().filter(|_| !is_code).and_then(|second| stated(&second)))
}

fn stated(line: &str) -> Option<String> {
    let comment = line.trim_start_matches([' ', '\t', '\u{c}']).strip_prefix('#')?;
    comment.match_indices("coding").find_map(|(at, word)| {
        let rest = comment[at + word.len()..].strip_prefix([':', '='])?.trim_start_matches([' ', '\t']);
        let is_label = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let label: String = rest.chars().take_while(is_label).collect();
        (!label.is_empty()).then(|| known_label(&label))
    })
}

/// Returns the web's label for a Python name of an encoding.
fn known_label(label: &str) -> String {
    let label = label.to_ascii_lowercase().replace('_', "-");
    let label = label.strip_suffix("-unix").or_else(|| label.strip_suffix("-dos")).unwrap_or(&label);
    match label {
        "utf-8-sig" => "utf-8".to_owned(),
        "latin-1" | "iso-latin-1" => "latin1".to_owned(),
        _ => label.strip_prefix("cp125").map_or_else(|| label.to_owned(), |page| format!("windows-125{page}")),
    }
}

fn line_endings(text: &str) -> &'static str {
    let n_cr = text.matches('\r').count();
    let n_crlf = text.matches("\r\n").count();
    let n_lf = text.matches('\n').count() - n_crlf;
    match (n_cr - n_crlf, n_crlf, n_lf) {
        (0, 0, _) => "lf",
        (0, _, 0) => "crlf",
        (_, 0, 0) => "cr",
        _ => "mixed",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(bytes: &[u8]) -> (String, String) {
        let decoded = decode(bytes, Language::Python).unwrap();
        (decoded.text, decoded.encoding)
    }

    fn dropped(bytes: &[u8]) -> DropReason {
        decode(bytes, Language::Python).unwrap_err().0
    }

    #[test]
    fn utf_8_with_and_without_a_mark_is_the_same_text() {
        assert_eq!(decoded("x = 'é'\n".as_bytes()), ("x = 'é'\n".into(), "utf-8".into()));
        assert_eq!(decoded("\u{feff}x = 'é'\n".as_bytes()), ("x = 'é'\n".into(), "utf-8 (byte order mark)".into()));
    }

    #[test]
    fn utf_16_needs_a_mark() {
        let units = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        assert_eq!(decoded(&units("\u{feff}x = 1\n")), ("x = 1\n".into(), "utf-16le (byte order mark)".into()));
        assert_eq!(dropped(&units("x = 1\n")), DropReason::Binary);
    }

    #[test]
    fn a_stated_encoding_decides() {
        let (text, encoding) = decoded(b"#!/usr/bin/python\n# -*- coding: latin-1 -*-\nx = '\xe9'\n");
        assert!(text.ends_with("x = 'é'\n"));
        assert_eq!(encoding, "windows-1252 (stated)");
        assert_eq!(decoded(b"# vim: set fileencoding=utf-8 :\nx = 1\n").1, "utf-8");
        assert_eq!(dropped(b"# coding: utf-8\nx = '\xe9'\n"), DropReason::NotUtf8);
        assert_eq!(dropped(b"# coding: klingon\nx = 1\n"), DropReason::NotUtf8);
    }

    #[test]
    fn java_states_no_encoding() {
        let decoded = decode(b"// coding: klingon\nclass A {}\n", Language::Java).unwrap();
        assert_eq!(decoded.encoding, "utf-8");
    }

    #[test]
    fn an_unstated_encoding_is_detected_and_named() {
        let (text, encoding) = decoded("# 日本語のコメントです。プログラムの説明\nx = 1\n".as_bytes());
        assert_eq!(encoding, "utf-8");
        let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode(&text);
        assert_eq!(decoded(&bytes), (text, "shift_jis (detected)".into()));
        let (text, encoding) = decoded(b"# R\xe9sum\xe9 des donn\xe9es trait\xe9es par le syst\xe8me\nx = 1\n");
        assert!(text.starts_with("# Résumé des données"));
        assert_eq!(encoding, "windows-1252 (detected)");
    }

    #[test]
    fn bytes_that_are_no_text_are_named() {
        assert_eq!(dropped(b"\x00\x01\x02"), DropReason::Binary);
        assert_eq!(dropped(b"\x81\xfe\xfd\x01\x02\x03\x81\x8d".repeat(9).as_slice()), DropReason::NotUtf8);
        assert_eq!(dropped(b"abc \xff\x81\x01 def"), DropReason::NotUtf8);
    }

    #[test]
    fn line_endings_are_noted_and_normalized() {
        for (bytes, line_endings) in
            [("a\nb\n", "lf"), ("a\r\nb\r\n", "crlf"), ("a\rb\r", "cr"), ("a\r\nb\n", "mixed"), ("", "lf")]
        {
            let decoded = decode(bytes.as_bytes(), Language::Python).unwrap();
            assert_eq!(decoded.line_endings, line_endings, "{bytes:?}");
            assert!(!decoded.text.contains('\r'));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_give_text_or_a_reason(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(decoded) = decode(&bytes, Language::Python) {
                prop_assert!(!decoded.text.contains(['\0', '\r']));
            }
        }
    }
}
