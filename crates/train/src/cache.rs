//! The evaluator's scores, kept on disk under what they depend on.
//!
//! A score depends on the evaluator, the prompt and the target and on nothing else, so that it can be reused in later
//! epochs, after a restart and for held-out evaluation. The file is a sequence of records, each with its own checksum;
//! a record that a crash cut short is dropped when the file is opened again.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

const MAGIC: &[u8; 8] = b"RTSCORE1";
const KEY_BYTES: usize = 32;
const CHECKSUM_BYTES: usize = 8;

/// Identifies a score: a hash of evaluator, prompt and target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScoreKey([u8; KEY_BYTES]);

impl ScoreKey {
    /// Hashes an evaluator's fingerprint, a prompt and a target.
    #[must_use]
    pub fn new(evaluator: &str, prompt: &[u32], target: &[u32]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(evaluator.as_bytes());
        for tokens in [prompt, target] {
            hasher.update(&(tokens.len() as u64).to_le_bytes());
            for token in tokens {
                hasher.update(&token.to_le_bytes());
            }
        }
        Self(*hasher.finalize().as_bytes())
    }
}

/// A table of NLLs, one `f32` in nats for each target token, that outlives the process.
#[derive(Debug)]
pub struct ScoreCache {
    path: PathBuf,
    scores: HashMap<ScoreKey, Vec<f32>>,
    file: BufWriter<File>,
}

impl ScoreCache {
    /// Opens or creates the cache, and drops what follows the last whole record. No other process can open it meanwhile.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or written, is not a cache, or is open elsewhere.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let context = || format!("cannot open the score cache {}", path.display());
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).with_context(context)?;
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.with_context(context)?;
        file.try_lock().with_context(|| format!("{} is in use by another process", path.display()))?;
        let length = file.metadata().with_context(context)?.len();
        let mut scores = HashMap::new();
        let mut whole = 0;
        if length > 0 {
            let mut reader = BufReader::new(&mut file);
            let mut magic = [0; MAGIC.len()];
            let is_cache = reader.read_exact(&mut magic).is_ok() && magic == *MAGIC;
            anyhow::ensure!(is_cache || length < MAGIC.len() as u64, "{} is not a score cache", path.display());
            whole = if is_cache { MAGIC.len() as u64 } else { 0 };
            while let Some((key, nll, bytes)) = read_record(&mut reader) {
                scores.insert(key, nll);
                whole += bytes;
            }
        }
        if whole < length {
            tracing::warn!("{}: dropped {} bytes after the last whole record", path.display(), length - whole);
            file.set_len(whole).with_context(context)?;
        }
        file.seek(SeekFrom::End(0)).with_context(context)?;
        let mut file = BufWriter::new(file);
        if whole == 0 {
            file.write_all(MAGIC).with_context(context)?;
        }
        Ok(Self { path: path.to_path_buf(), scores, file })
    }

    /// Returns the number of scores.
    #[must_use]
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// Returns whether there are no scores.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }

    /// Returns the NLL of each target token.
    #[must_use]
    pub fn get(&self, key: &ScoreKey) -> Option<&[f32]> {
        self.scores.get(key).map(Vec::as_slice)
    }

    /// Adds scores and writes them out.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn extend(&mut self, scores: impl IntoIterator<Item = (ScoreKey, Vec<f32>)>) -> anyhow::Result<()> {
        for (key, nll) in scores {
            let record = record(&key, &nll);
            self.file.write_all(&record).with_context(|| format!("cannot write {}", self.path.display()))?;
            self.scores.insert(key, nll);
        }
        self.file.flush().with_context(|| format!("cannot write {}", self.path.display()))
    }
}

/// Lays out a record: key, number of tokens, NLLs, checksum of what precedes.
fn record(key: &ScoreKey, nll: &[f32]) -> Vec<u8> {
    let n_tokens = u32::try_from(nll.len()).expect("a target has fewer than 2^32 tokens");
    let mut bytes = key.0.to_vec();
    bytes.extend(n_tokens.to_le_bytes());
    bytes.extend(nll.iter().flat_map(|value| value.to_le_bytes()));
    let checksum = blake3::hash(&bytes);
    bytes.extend(&checksum.as_bytes()[..CHECKSUM_BYTES]);
    bytes
}

/// Reads a record and its length in bytes; `None` at the end and at anything damaged.
fn read_record(reader: &mut impl Read) -> Option<(ScoreKey, Vec<f32>, u64)> {
    let mut bytes = vec![0; KEY_BYTES + 4];
    reader.read_exact(&mut bytes).ok()?;
    let n_tokens = u32::from_le_bytes(bytes[KEY_BYTES..].try_into().ok()?) as usize;
    let rest = n_tokens.checked_mul(4)?;
    let mut nll_bytes = Vec::new();
    reader.by_ref().take(rest as u64).read_to_end(&mut nll_bytes).ok()?;
    let mut checksum = [0; CHECKSUM_BYTES];
    reader.read_exact(&mut checksum).ok()?;
    bytes.extend(&nll_bytes);
    if nll_bytes.len() != rest || blake3::hash(&bytes).as_bytes()[..CHECKSUM_BYTES] != checksum {
        return None;
    }
    let key = ScoreKey(bytes[..KEY_BYTES].try_into().ok()?);
    let nll = nll_bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    Some((key, nll, (bytes.len() + CHECKSUM_BYTES) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(i: u32) -> ScoreKey {
        ScoreKey::new("evaluator", &[i], &[1, 2])
    }

    #[test]
    fn scores_outlive_the_process_and_any_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scores.cache");
        let mut cache = ScoreCache::open(&path).unwrap();
        cache.extend([(key(1), vec![0.5, f32::MIN_POSITIVE]), (key(2), vec![])]).unwrap();
        drop(cache);
        let whole = std::fs::read(&path).unwrap();
        for end in 0..=whole.len() {
            std::fs::write(&path, &whole[..end]).unwrap();
            let mut cache = ScoreCache::open(&path).unwrap();
            assert!(cache.get(&key(1)).is_none_or(|nll| nll == [0.5, f32::MIN_POSITIVE]));
            assert_eq!(cache.len() == 2, end == whole.len());
            cache.extend([(key(3), vec![3.0])]).unwrap();
            drop(cache);
            assert_eq!(ScoreCache::open(&path).unwrap().get(&key(3)), Some([3.0].as_slice()));
        }
    }

    #[test]
    fn a_damaged_record_is_not_believed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scores.cache");
        ScoreCache::open(&path).unwrap().extend([(key(1), vec![0.5])]).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        for position in MAGIC.len()..bytes.len() {
            bytes[position] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            assert!(ScoreCache::open(&path).unwrap().is_empty());
            bytes[position] ^= 1;
        }
    }

    #[test]
    fn a_file_that_is_no_cache_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scores.cache");
        std::fs::write(&path, "something else").unwrap();
        assert!(ScoreCache::open(&path).is_err());
    }

    #[test]
    fn a_cache_has_one_owner_at_a_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("scores.cache");
        let cache = ScoreCache::open(&path).unwrap();
        let error = ScoreCache::open(&path).unwrap_err();
        assert!(format!("{error:#}").contains("in use by another process"));
        drop(cache);
        assert!(ScoreCache::open(&path).is_ok());
    }

    #[test]
    fn a_key_tells_prompt_from_target() {
        assert_ne!(ScoreKey::new("e", &[1, 2], &[3]), ScoreKey::new("e", &[1], &[2, 3]));
        assert_ne!(ScoreKey::new("e", &[1], &[2]), ScoreKey::new("f", &[1], &[2]));
    }
}
