//! What the layers of one forward pass of a decoder share: tokens, positions, masks and rotations.

use burn::tensor::{Device, Tensor};

use crate::attention::Mask;
use crate::cache::{Cache, Source};
use crate::rope::{Rope, Rotary};

/// The side on which short rows are padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Padding {
    /// Before the tokens.
    Left,
    /// After the tokens.
    #[default]
    Right,
}

/// Rows of tokens, padded to one length.
#[derive(Debug, Clone)]
pub struct Rows {
    tokens: Vec<u32>,
    is_token: Vec<bool>,
    length: usize,
    /// The document of every place within its row, if a row holds several.
    documents: Option<Vec<u32>>,
}

impl Rows {
    /// Pads `rows` to the longest.
    ///
    /// # Panics
    ///
    /// Panics if there is no token at all.
    #[must_use]
    pub fn new<R: AsRef<[u32]>>(rows: &[R], padding: Padding) -> Self {
        let length = rows.iter().map(|row| row.as_ref().len()).max().unwrap_or(0);
        assert!(length > 0, "at least one token is read");
        let mut padded = Self { tokens: Vec::new(), is_token: Vec::new(), length, documents: None };
        for row in rows {
            let row = row.as_ref();
            let before = if padding == Padding::Left { length - row.len() } else { 0 };
            let end = padded.tokens.len() + length;
            padded.tokens.resize(padded.tokens.len() + before, 0);
            padded.is_token.resize(padded.tokens.len(), false);
            padded.tokens.extend_from_slice(row);
            padded.is_token.resize(padded.tokens.len(), true);
            padded.tokens.resize(end, 0);
            padded.is_token.resize(end, false);
        }
        padded
    }

    /// Puts several documents one after the other into each row, and pads the rows after them to the longest.
    ///
    /// Positions begin anew with each document, and none sees another.
    ///
    /// # Panics
    ///
    /// Panics if there is no token at all.
    #[must_use]
    pub fn packed<D: AsRef<[u32]>>(rows: &[Vec<D>]) -> Self {
        let joined: Vec<Vec<u32>> =
            rows.iter().map(|row| row.iter().flat_map(AsRef::as_ref).copied().collect()).collect();
        let mut packed = Self::new(&joined, Padding::Right);
        let mut documents = Vec::with_capacity(packed.tokens.len());
        for row in rows {
            let end = documents.len() + packed.length;
            for (number, document) in (0..).zip(row) {
                documents.resize(documents.len() + document.as_ref().len(), number);
            }
            documents.resize(end, 0);
        }
        packed.documents = Some(documents);
        packed
    }

    /// Returns whether two places of a row belong to one document; all places before those of the row belong to its first.
    fn are_together(&self, row: usize, past: usize, [a, b]: [usize; 2]) -> bool {
        let Some(documents) = &self.documents else { return true };
        let document = |place: usize| place.checked_sub(past).map_or(0, |place| documents[row * self.length + place]);
        document(a) == document(b)
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn n(&self) -> usize {
        self.tokens.len() / self.length
    }

    /// Returns the number of tokens of the longest row.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns the tokens, row after row, 0 for padding.
    #[must_use]
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Returns where the tokens of a row lie among all: the index of its first, and of the one past its last.
    ///
    /// A row without tokens is empty.
    #[must_use]
    pub fn span(&self, row: usize) -> std::ops::Range<usize> {
        let row = row * self.length..(row + 1) * self.length;
        let mut tokens = row.clone().filter(|&index| self.is_token[index]);
        let first = tokens.next().unwrap_or(row.start);
        first..tokens.next_back().map_or_else(|| first + usize::from(self.is_token[first]), |last| last + 1)
    }

    /// Returns the mask that hides padding and nothing else.
    pub(crate) fn padding_mask(&self, device: &Device) -> Mask {
        if self.is_full() {
            return Mask::All;
        }
        Mask::where_seen([self.n(), 1, self.length], |row, _, key| self.is_token[row * self.length + key], device)
    }

    /// Tells whether every row is as long as the longest.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.is_token.iter().all(|&is_token| is_token)
    }
}

/// What the layers of one forward pass share.
#[derive(Debug, Clone)]
pub struct Pass {
    rows: Rows,
    positions: Vec<Option<u32>>,
    key_positions: Vec<Vec<Option<u32>>>,
    causal: Mask,
    sliding: Mask,
    rotary: Option<Rotary>,
    source: Option<Source>,
}

impl Pass {
    /// Prepares to read `rows` after what `cache` holds.
    ///
    /// # Panics
    ///
    /// Panics if the cache holds another number of rows.
    #[must_use]
    pub fn new(
        rows: Rows,
        cache: Option<&Cache>,
        rope: Option<&Rope>,
        sliding_window: Option<usize>,
        device: &Device,
    ) -> Self {
        let n_rows = rows.n();
        assert!(cache.is_none_or(|cache| [0, n_rows].contains(&cache.n_rows())), "a cache keeps its number of rows");
        let positions = positions(&rows, cache);
        let past = cache.map_or(0, Cache::n_slots);
        let keys: Vec<Vec<Option<u32>>> = (0..n_rows)
            .map(|row| {
                let new = &positions[row * rows.length..(row + 1) * rows.length];
                [cache.map_or(&[][..], |cache| cache.positions(row)), new].concat()
            })
            .collect();
        let shape = [n_rows, rows.length, past + rows.length];
        let distance = |row: usize, query: usize, key: usize| -> Option<u32> {
            let positions = keys[row][past + query].zip(keys[row][key]);
            let positions = positions.filter(|_| rows.are_together(row, past, [past + query, key]));
            positions.and_then(|(query, key)| query.checked_sub(key))
        };
        let is_full = rows.documents.is_none() && keys.iter().flatten().all(Option::is_some);
        let causal = if is_full {
            Mask::Causal
        } else {
            Mask::where_seen(shape, |row, query, key| distance(row, query, key).is_some(), device)
        };
        let sliding = match sliding_window.filter(|&window| shape[2] > window) {
            Some(window) => {
                let sees = |row, query, key| distance(row, query, key).is_some_and(|far| (far as usize) < window);
                Mask::where_seen(shape, sees, device)
            }
            None => causal.clone(),
        };
        let rotary = rope.map(|rope| {
            let positions: Vec<u32> = positions.iter().map(|position| position.unwrap_or(0)).collect();
            Rotary::new(rope, &positions, rows.length, device)
        });
        let source = cache.and_then(Cache::source).cloned();
        Self { rows, positions, key_positions: keys, causal, sliding, rotary, source }
    }

    /// Returns this pass with `bias` added to the scores of every layer that sees all that precedes.
    ///
    /// # Shapes
    ///
    /// - `bias`: `[batch or 1, heads, length, total]`
    #[must_use]
    pub(crate) fn with_bias(self, bias: Tensor<4>) -> Self {
        Self { causal: self.causal.plus(bias), ..self }
    }

    /// Returns the number of positions of a row.
    #[must_use]
    pub fn length(&self) -> usize {
        self.rows.length
    }

    /// Returns the rows that are read.
    #[must_use]
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Returns the position of every token, row after row; none for padding.
    #[must_use]
    pub fn positions(&self) -> &[Option<u32>] {
        &self.positions
    }

    /// Returns the position of every key of each row: of the tokens in the cache, then of those that are read.
    pub(crate) fn key_positions(&self) -> &[Vec<Option<u32>>] {
        &self.key_positions
    }

    /// Returns what the encoder has read.
    ///
    /// # Panics
    ///
    /// Panics if the pass was prepared without a source text in its cache.
    pub(crate) fn source(&self) -> &Source {
        self.source.as_ref().expect("an encoder-decoder reads its source text first")
    }

    /// Returns the mask of a layer that sees all that precedes, or only a sliding window of it.
    #[must_use]
    pub fn mask(&self, is_sliding: bool) -> &Mask {
        if is_sliding { &self.sliding } else { &self.causal }
    }

    /// Returns the rotations.
    ///
    /// # Panics
    ///
    /// Panics if the pass was prepared without rotary positions.
    #[must_use]
    pub fn rotary(&self) -> &Rotary {
        self.rotary.as_ref().expect("an architecture with rotary positions prepares them")
    }
}

/// Numbers the tokens of every row from where its cache ends.
fn positions(rows: &Rows, cache: Option<&Cache>) -> Vec<Option<u32>> {
    let mut positions = Vec::with_capacity(rows.is_token.len());
    for (row, is_token) in rows.is_token.chunks_exact(rows.length).enumerate() {
        let start = cache.map_or(0, |cache| cache.next_position(row));
        let mut next = start;
        let mut last = None;
        positions.extend(is_token.iter().enumerate().map(|(place, &is_token)| {
            let document = rows.documents.as_ref().map(|documents| documents[row * rows.length + place]);
            if last.is_some_and(|last| last != document) {
                next = start;
            }
            last = Some(document);
            let position = is_token.then_some(next);
            next += u32::from(is_token);
            position
        }));
    }
    positions
}
