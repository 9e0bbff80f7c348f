//! Gzip: members one after the other, each with its checksum, and the zeros that some writers pad the last one with.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// A reader of what all members hold together.
pub(super) struct Members<R> {
    /// The member that is being read, none after the last.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    pub(super) fn new(compressed: R) -> Self {
        Self { member: Some(GzDecoder::new(compressed)) }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let n = member.read(buffer)?;
            if n > 0 || buffer.is_empty() {
                return Ok(n);
            }
            let rest = self.member.take().map(GzDecoder::into_inner);
            self.member = rest.map(after_padding).transpose()?.flatten().map(GzDecoder::new);
        }
        Ok(0)
    }
}

/// Returns the reader at the next byte that is not zero, if there is one.
fn after_padding<R: BufRead>(mut compressed: R) -> io::Result<Option<R>> {
    loop {
        let buffer = compressed.fill_buf()?;
        let (n, n_zeros) = (buffer.len(), buffer.iter().take_while(|byte| **byte == 0).count());
        compressed.consume(n_zeros);
        if n == 0 || n_zeros < n {
            return Ok((n > 0).then_some(compressed));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn read(compressed: &[u8]) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        // A short buffer puts its borders everywhere.
        Members::new(BufReader::with_capacity(3, compressed)).read_to_end(&mut content)?;
        Ok(content)
    }

    #[test]
    fn members_are_joined_and_zeros_between_and_after_them_passed_over() {
        let zeros = [0; 10];
        assert_eq!(read(&[gzip(b"ab"), gzip(b""), gzip(b"cd")].concat()).unwrap(), b"abcd");
        assert_eq!(read(&[&gzip(b"ab")[..], &zeros, &gzip(b"cd"), &zeros].concat()).unwrap(), b"abcd");
    }

    #[test]
    fn a_member_without_its_end_or_with_something_else_after_it_is_an_error() {
        let whole = gzip(b"some text");
        for n in 0..whole.len() {
            assert!(read(&whole[..n]).is_err(), "{n} bytes");
        }
        let mut wrong = whole.clone();
        wrong[whole.len() - 8] ^= 1;
        assert!(read(&wrong).is_err());
        assert!(read(&[&whole[..], b"garbage that is no gzip"].concat()).is_err());
    }
}
