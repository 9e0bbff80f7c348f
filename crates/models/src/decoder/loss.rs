//! The loss of a decoder, to be differentiated.

use burn::tensor::{Int, Tensor};

use super::{Decoder, DecoderModel, ScoredSequence};
use crate::cache::Cache;
use crate::dropout::Dropout;
use crate::kernels;
use crate::pass::{Padding, Rows};

/// Rows of logits held at once: at a vocabulary of 50,000, 512 rows are 102 MB. Fewer would read the head more often.
pub(super) const LOSS_ROWS_MAX: usize = 512;

/// A text of which some tokens count in the loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedSequence {
    /// The tokens.
    pub tokens: Vec<u32>,
    /// Whether each counts; nothing precedes the first, which cannot.
    pub counts: Vec<bool>,
}

impl From<&ScoredSequence> for CountedSequence {
    fn from(sequence: &ScoredSequence) -> Self {
        let counts = [vec![false; sequence.prompt.len()], vec![true; sequence.target.len()]].concat();
        Self { tokens: [&sequence.prompt[..], &sequence.target].concat(), counts }
    }
}

impl CountedSequence {
    /// Returns what precedes the last token that counts.
    fn read(&self) -> &[u32] {
        assert_eq!(self.tokens.len(), self.counts.len(), "every token counts or does not");
        assert!(!self.counts.first().is_some_and(|counts| *counts), "the first token is not predicted");
        &self.tokens[..self.counts.iter().rposition(|counts| *counts).unwrap_or(0)]
    }
}

/// A batch of texts, ready to be read, and where in it the tokens that count are predicted.
pub(super) struct Counted {
    /// What an encoder reads, if there is one.
    pub(super) sources: Option<Rows>,
    pub(super) rows: Rows,
    pub(super) indices: Vec<u32>,
    pub(super) targets: Vec<u32>,
}

impl Counted {
    /// Pads the sequences to the longest, none of them read further than needed; with a start token, an encoder reads what
    /// precedes the first token that counts, and the decoder starts there.
    pub(super) fn new(sequences: &[CountedSequence], start_token: Option<u32>) -> Self {
        let Some(start) = start_token else {
            return Self::read(&sequences.iter().map(std::slice::from_ref).collect::<Vec<_>>());
        };
        let first = |sequence: &CountedSequence| {
            sequence.counts.iter().position(|counts| *counts).unwrap_or(sequence.tokens.len())
        };
        let target = |sequence: &CountedSequence| CountedSequence {
            tokens: [&[start], &sequence.tokens[first(sequence)..]].concat(),
            counts: [&[false], &sequence.counts[first(sequence)..]].concat(),
        };
        let sources: Vec<&[u32]> = sequences.iter().map(|sequence| &sequence.tokens[..first(sequence)]).collect();
        assert!(sources.iter().all(|source| !source.is_empty()), "a source text holds at least one token");
        let sources = Some(Rows::new(&sources, Padding::Right));
        let targets: Vec<CountedSequence> = sequences.iter().map(target).collect();
        Self { sources, ..Self::read(&targets.iter().map(std::slice::from_ref).collect::<Vec<_>>()) }
    }

    /// Puts the sequences of each row one after the other, none of them read further than needed.
    fn read(rows: &[&[CountedSequence]]) -> Self {
        let texts: Vec<Vec<&[u32]>> = rows.iter().map(|row| row.iter().map(CountedSequence::read).collect()).collect();
        assert!(texts.iter().flatten().any(|text| !text.is_empty()), "at least one token counts");
        let is_packed = texts.iter().any(|row| row.len() > 1);
        let padded = if is_packed { Rows::packed(&texts) } else { Rows::new(&texts.concat(), Padding::Right) };
        let (mut indices, mut targets) = (Vec::new(), Vec::new());
        for (row, sequences) in rows.iter().enumerate() {
            let mut first = row * padded.length();
            for sequence in *sequences {
                for position in (1..sequence.tokens.len()).filter(|&position| sequence.counts[position]) {
                    indices.push((first + position - 1) as u32);
                    targets.push(sequence.tokens[position]);
                }
                first += sequence.read().len();
            }
        }
        Self { sources: None, rows: padded, indices, targets }
    }
}

impl DecoderModel {
    /// Returns the summed NLL in nats of the tokens that count, to be differentiated, and their number.
    ///
    /// Only the positions before them pass through the head; the loss is computed in `f32`. An encoder-decoder reads
    /// what precedes the first of them as its source text.
    ///
    /// # Shapes
    ///
    /// - returns: `[1]`
    ///
    /// # Panics
    ///
    /// Panics if no token counts, or the first of a sequence does.
    #[must_use]
    pub fn nll(&self, sequences: &[CountedSequence], dropout: Option<&mut Dropout>) -> (Tensor<1>, usize) {
        let counted = Counted::new(sequences, self.network().start_token());
        let hidden = self.hidden_of(&counted, dropout);
        (self.nll_at_rows(&hidden, &counted.indices, &counted.targets), counted.targets.len())
    }

    /// Returns what [`Self::nll`] returns, with the sequences of each row packed one after the other: none of them sees
    /// another, so that the sum is that of the sequences alone.
    ///
    /// # Panics
    ///
    /// Panics as [`Self::nll`] does, and if the architecture has an encoder.
    #[must_use]
    pub fn packed_nll(&self, rows: &[&[CountedSequence]], dropout: Option<&mut Dropout>) -> (Tensor<1>, usize) {
        assert!(self.network().start_token().is_none(), "rows of encoder-decoders hold one text");
        let counted = Counted::read(rows);
        let hidden = self.hidden_of(&counted, dropout);
        (self.nll_at_rows(&hidden, &counted.indices, &counted.targets), counted.targets.len())
    }

    /// Returns the hidden states of all that the decoder reads of a batch.
    pub(super) fn hidden_of(&self, counted: &Counted, mut dropout: Option<&mut Dropout>) -> Tensor<2> {
        let rows = counted.rows.clone();
        let Some(sources) = &counted.sources else {
            return self.hidden(rows, None, dropout);
        };
        let mut cache = Cache::new(self.network().shape().n_layers);
        let _starts = self.read_source(sources.clone(), &mut cache, dropout.as_deref_mut());
        self.hidden(rows, Some(&mut cache), dropout)
    }

    /// Returns the summed NLL in nats of the tokens that follow the selected rows of `hidden`.
    pub(super) fn nll_at_rows(&self, hidden: &Tensor<2>, indices: &[u32], targets: &[u32]) -> Tensor<1> {
        let indices: Vec<i64> = indices.iter().map(|&index| i64::from(index)).collect();
        let indices = Tensor::<1, Int>::from_data(indices.as_slice(), &hidden.device());
        let hidden = hidden.clone().select(0, indices);
        if hidden.is_tracked() && self.has_frozen_head(&hidden) {
            return self.nll_under_frozen_head(hidden, targets);
        }
        kernels::nll_of_rows(self.logits(hidden), targets).sum()
    }

    /// Tells whether nothing is trained in the head and the norm before it.
    fn has_frozen_head(&self, hidden: &Tensor<2>) -> bool {
        !self.logits(hidden.clone().detach().set_require_grad(false).narrow(0, 0, 1)).is_tracked()
    }

    /// Returns the summed NLL with its gradient computed at once, some rows at a time, so that neither the logits nor
    /// their gradients are kept for the backward pass.
    fn nll_under_frozen_head(&self, hidden: Tensor<2>, targets: &[u32]) -> Tensor<1> {
        let mut total = Tensor::zeros([1], &hidden.device());
        let mut gradients = Vec::new();
        let mut start = 0;
        for targets in targets.chunks(LOSS_ROWS_MAX) {
            let rows = hidden.clone().detach().narrow(0, start, targets.len()).require_grad();
            let nll = kernels::nll_of_rows(self.logits(rows.clone()), targets).sum();
            total = total + nll.clone().detach();
            gradients.push(rows.grad(&nll.backward()).expect("the loss depends on the hidden states"));
            start += targets.len();
        }
        let along = (hidden * Tensor::from_inner(Tensor::cat(gradients, 0))).sum();
        // The difference is 0, and its gradient that of the NLL.
        total + (along.clone() - along.detach())
    }
}

impl Decoder {
    /// Returns the summed NLL in nats of the tokens that count, to be differentiated, and their number.
    ///
    /// # Shapes
    ///
    /// - returns: `[1]`
    ///
    /// # Panics
    ///
    /// Panics if no token counts, if the first of a sequence does, if a token is outside the vocabulary, or if a
    /// sequence exceeds the context.
    #[must_use]
    pub fn nll(&self, sequences: &[CountedSequence], dropout: Option<&mut Dropout>) -> (Tensor<1>, usize) {
        self.check_counted(&Counted::new(sequences, self.model.network().start_token()));
        self.model.nll(sequences, dropout)
    }

    /// Panics if a token is outside the vocabulary or a text exceeds the context.
    pub(super) fn check_counted(&self, counted: &Counted) {
        counted.sources.iter().chain([&counted.rows]).for_each(|rows| self.check(rows, rows.length()));
        self.check_tokens(&counted.targets);
    }
}

#[cfg(test)]
mod tests {
    use burn::module::Module;

    use super::*;
    use crate::golden::{Golden, model};

    #[test]
    fn the_loss_sums_over_the_tokens_that_count() {
        let golden = Golden::load("llama_grouped");
        let mask = |index: usize| !index.is_multiple_of(3);
        let count = |tokens: &[u32]| (0..tokens.len()).map(|index| index > 0 && mask(index)).collect();
        let sequences: Vec<CountedSequence> = golden.cases[..2]
            .iter()
            .map(|case| CountedSequence { tokens: case.tokens.clone(), counts: count(&case.tokens) })
            .collect();
        let counted = golden.cases[..2].iter().flat_map(|case| (1..).zip(case.nll()).filter(|(index, _)| mask(*index)));
        let counted: Vec<f32> = counted.map(|(_, nll)| nll).collect();
        let (nll, n) = model("llama_grouped").nll(&sequences, None);
        assert_eq!(n, counted.len());
        assert!((nll.into_scalar::<f32>() - counted.iter().sum::<f32>()).abs() < 1e-3);
    }

    #[test]
    fn packed_sequences_do_not_see_each_other() {
        // Rotary positions, learned ones, and a sliding window.
        for name in ["llama_grouped", "gpt2_tiny", "starcoder2_window"] {
            let golden = Golden::load(name);
            let vocabulary = golden.cases[0].tokens.clone();
            let sequence = |length: usize, step: usize| CountedSequence {
                tokens: (0..length).map(|index| vocabulary[(index * step) % vocabulary.len()]).collect(),
                counts: (0..length).map(|index| index > length / 3).collect(),
            };
            let sequences = [sequence(7, 1), sequence(3, 2), sequence(9, 3), sequence(5, 1)];
            let model = model(name);
            let (alone, n) = model.nll(&sequences, None);
            let (packed, n_packed) = model.packed_nll(&[&sequences[..3], &sequences[3..]], None);
            assert_eq!(n, n_packed);
            let (alone, packed) = (alone.into_scalar::<f32>(), packed.into_scalar::<f32>());
            assert!((alone - packed).abs() < 1e-4 * alone, "{name}: {packed} is not {alone}");
            let (other, _) = model.packed_nll(&[&sequences[1..3], &sequences[..1], &sequences[3..]], None);
            assert!((alone - other.into_scalar::<f32>()).abs() < 1e-4 * alone, "{name}: in another order");
        }
    }

    #[test]
    fn an_encoder_reads_what_precedes_the_tokens_that_count() {
        for name in ["t5_gated_untied", "t5_relu_tied"] {
            let scored = [(vec![3, 4, 5], vec![6, 7, 8]), (vec![9, 4], vec![3])];
            let scored = scored.map(|(prompt, target)| ScoredSequence { prompt, target });
            let expected: Vec<f32> = crate::golden::decoder(name).target_nll(&scored).concat();
            let (nll, n) = model(name).nll(&scored.each_ref().map(CountedSequence::from), None);
            assert_eq!(n, expected.len());
            assert!((nll.into_scalar::<f32>() - expected.iter().sum::<f32>()).abs() < 1e-4);
        }
    }

    #[test]
    fn a_frozen_head_changes_neither_the_loss_nor_its_gradient() {
        let model = model("llama_grouped").to_device(&crate::golden::device().autodiff()).train();
        let size = model.network().shape().hidden_size;
        let targets: Vec<u32> = (0..2 * LOSS_ROWS_MAX as u32 + 3).map(|index| index % 7).collect();
        let hidden = crate::random_model::random_tensor([targets.len(), size], 1, &crate::golden::device());
        let indices: Vec<u32> = (0..targets.len() as u32).collect();
        let loss = |model: &DecoderModel, is_frozen: bool| {
            let hidden = Tensor::from_inner(hidden.clone()).require_grad();
            assert_eq!(model.has_frozen_head(&hidden), is_frozen);
            let nll = model.nll_at_rows(&hidden, &indices, &targets).mul_scalar(0.5);
            let gradient = hidden.grad(&nll.clone().backward()).unwrap();
            (nll.into_scalar::<f32>(), gradient)
        };
        let (expected, expected_gradient) = loss(&model, false);
        let (found, gradient) = loss(&model.no_grad(), true);
        assert!((found - expected).abs() <= 1e-5 * expected, "{found} is not {expected}");
        assert!((gradient - expected_gradient).abs().max().into_scalar::<f32>() < 1e-6);
    }

    #[test]
    fn a_prompt_does_not_count() {
        let sequence = ScoredSequence { prompt: vec![3, 4], target: vec![5] };
        let expected = CountedSequence { tokens: vec![3, 4, 5], counts: vec![false, false, true] };
        assert_eq!(CountedSequence::from(&sequence), expected);
    }

    #[test]
    #[should_panic(expected = "at least one token counts")]
    fn a_batch_in_which_nothing_counts_is_a_bug() {
        let sequence = CountedSequence { tokens: vec![3, 4], counts: vec![false; 2] };
        drop(model("llama_grouped").nll(&[sequence], None));
    }
}
