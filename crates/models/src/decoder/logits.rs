//! The logits of the token that follows each position of a text.

use burn::tensor::Tensor;

use super::{Decoder, LOGIT_ROWS_MAX, LanguageModel, values};
use crate::pass::{Padding, Rows};

impl Decoder {
    /// Returns the logits of the token that follows each of the given positions of a text.
    ///
    /// Only these positions pass through the head.
    ///
    /// # Panics
    ///
    /// Panics if the model is an encoder-decoder, if `tokens` is empty, holds a token outside the vocabulary, or exceeds
    /// the context, or if a position is not one of the text.
    #[must_use]
    pub fn logits_at(&self, tokens: &[u32], positions: &[usize]) -> Vec<Vec<f32>> {
        assert!(self.model.network().start_token().is_none(), "a text without a source is asked for");
        let rows = Rows::new(&[tokens], Padding::Right);
        self.check(&rows, rows.length());
        self.logits_of(&self.model.hidden(rows, None, None), positions)
    }

    /// Returns the logits of the token that follows each of the given positions of what an encoder-decoder has read as
    /// its target; the first of `tokens` is usually its start token.
    ///
    /// # Panics
    ///
    /// Panics if the model has no encoder, if `source` or `tokens` is empty, holds a token outside the vocabulary, or
    /// exceeds the context, or if a position is not one of the target.
    #[must_use]
    pub fn target_logits_at(&self, source: &[u32], tokens: &[u32], positions: &[usize]) -> Vec<Vec<f32>> {
        assert!(self.model.network().start_token().is_some(), "a target with a source is asked for");
        let source = Rows::new(&[source], Padding::Right);
        self.check(&source, source.length());
        let mut cache = self.new_cache();
        let _starts = self.model.read_source(source, &mut cache, None);
        let hidden = self.read(&mut cache, Rows::new(&[tokens], Padding::Right));
        self.logits_of(&hidden, positions)
    }

    /// Returns the logits of the given rows of `hidden`, a few at a time.
    fn logits_of(&self, hidden: &Tensor<2>, positions: &[usize]) -> Vec<Vec<f32>> {
        let mut rows = Vec::with_capacity(positions.len());
        for positions in positions.chunks(LOGIT_ROWS_MAX) {
            let positions: Vec<u32> = positions.iter().map(|&position| position as u32).collect();
            let logits = values(self.model.logits(hidden.clone().select(0, self.indices(&positions))));
            rows.extend(logits.chunks_exact(self.vocabulary_size()).map(<[f32]>::to_vec));
        }
        rows
    }
}
