//! Hashes in hexadecimal digits: sha256 for what registries pin, blake3 for our own content addresses.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::{Error, Result};

/// Returns the blake3 hash of a text.
pub(crate) fn of_text(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Returns the sha256 of a file.
pub(crate) fn sha256_of_file(path: &Path) -> Result<String> {
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = file.read(&mut buffer).map_err(Error::io("read", path))?;
        if n == 0 {
            return Ok(hexadecimal(&hasher.finalize()));
        }
        hasher.update(&buffer[..n]);
    }
}

/// Returns whether the text is a sha256 in lower-case hexadecimal digits.
pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        text.extend([byte >> 4, byte & 15].map(|digit| char::from_digit(u32::from(digit), 16).expect("below 16")));
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sha256_of_a_file_is_the_published_one_of_abc() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        let digest = sha256_of_file(&path).unwrap();
        assert_eq!(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert!(is_sha256(&digest));
        assert!(!is_sha256(&digest.to_uppercase()));
    }
}
