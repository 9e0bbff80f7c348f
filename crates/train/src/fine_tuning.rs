//! The gradient of a batch of functions, and the loss of many.

use burn::module::Module;
use burn::optim::GradientsParams;
use models::decoder::{CountedSequence, DecoderModel};
use models::{Dropout, Workers};

/// How a batch is computed.
#[derive(Clone, Copy, Debug)]
pub struct BatchRule<'a> {
    /// Tokens of one graph, padding included.
    pub micro_batch_tokens_max: usize,
    /// Whether the sequences of a graph share one row, none of which sees another; else each has a row of its own.
    pub packing: bool,
    /// Seed and name of the dropout stream.
    pub dropout: (u64, &'a str),
}

/// What a batch measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BatchLoss {
    /// Mean NLL of the tokens that count, in nats.
    pub loss: f64,
    /// Tokens that count.
    pub n_counted: usize,
    /// Tokens read.
    pub n_tokens: usize,
    /// Places of the rows that held no token.
    pub n_padding: usize,
}

/// Returns the loss of a batch and its gradients: every token weighs the same, whatever sequence and graph it is in.
///
/// Graphs are computed side by side by the workers; the result does not depend on their number.
///
/// # Panics
///
/// Panics if no token counts.
#[must_use]
pub fn batch_gradients(
    model: &DecoderModel,
    sequences: &[CountedSequence],
    rule: BatchRule,
    workers: &Workers,
) -> (BatchLoss, GradientsParams) {
    let parts = micro_batches(sequences, rule.micro_batch_tokens_max, rule.packing);
    let n_counted = n_counted(sequences);
    let device = model.device();
    let results = workers.map(parts.clone(), |index, part| {
        let (seed, name) = rule.dropout;
        let mut dropout = Dropout::new(repo::random::stream(seed, &format!("{name}/{index}")));
        // Threads that share parameters would share one graph.
        let model = model.clone().fork(&device);
        let dropout = Some(&mut dropout);
        let (nll, _) = if rule.packing { model.packed_nll(&[&part], dropout) } else { model.nll(&part, dropout) };
        let value = nll.clone().into_scalar::<f64>();
        let loss = nll.div_scalar(n_counted as f64);
        (value, GradientsParams::from_grads(loss.backward(), &model))
    });
    let nll: f64 = results.iter().map(|(nll, _)| nll).sum();
    let gradients = crate::gradients::sum(model, results.into_iter().map(|(_, gradients)| gradients));
    (batch_loss(nll, n_counted, &parts, rule.packing), gradients)
}

/// Returns the mean NLL of the tokens that count.
///
/// # Panics
///
/// Panics if no token counts.
#[must_use]
pub fn mean_nll(
    model: &DecoderModel,
    sequences: &[CountedSequence],
    micro_batch_tokens_max: usize,
    workers: &Workers,
    should_stop: &(impl Fn() -> bool + Sync),
) -> Option<BatchLoss> {
    let parts = micro_batches(sequences, micro_batch_tokens_max, false);
    let results =
        workers.map(parts.clone(), |_, part| (!should_stop()).then(|| model.nll(&part, None).0.into_scalar::<f64>()));
    let nll = results.into_iter().sum::<Option<f64>>()?;
    Some(batch_loss(nll, n_counted(sequences), &parts, false))
}

fn n_counted(sequences: &[CountedSequence]) -> usize {
    sequences.iter().flat_map(|sequence| &sequence.counts).filter(|counts| **counts).count()
}

fn batch_loss(nll: f64, n_counted: usize, parts: &[Vec<CountedSequence>], packing: bool) -> BatchLoss {
    let n_tokens: usize = parts.iter().flatten().map(|sequence| sequence.tokens.len()).sum();
    let places: usize = parts.iter().map(|part| part.len() * longest(part)).sum();
    let n_padding = if packing { 0 } else { places - n_tokens };
    BatchLoss { loss: nll / n_counted as f64, n_counted, n_tokens, n_padding }
}

fn longest(part: &[CountedSequence]) -> usize {
    part.iter().map(|sequence| sequence.tokens.len()).max().unwrap_or(0)
}

/// Puts sequences of similar lengths together, the longest first, as many as `tokens_max` places hold.
fn micro_batches(sequences: &[CountedSequence], tokens_max: usize, packing: bool) -> Vec<Vec<CountedSequence>> {
    let mut sorted: Vec<&CountedSequence> = sequences.iter().collect();
    sorted.sort_by_key(|sequence| std::cmp::Reverse(sequence.tokens.len()));
    let mut parts: Vec<Vec<CountedSequence>> = Vec::new();
    for sequence in sorted {
        let places = |part: &[CountedSequence]| {
            let own: usize = part.iter().map(|sequence| sequence.tokens.len()).sum();
            if packing { own + sequence.tokens.len() } else { (part.len() + 1) * longest(part) }
        };
        match parts.last_mut() {
            Some(part) if places(part) <= tokens_max => part.push(sequence.clone()),
            _ => parts.push(vec![sequence.clone()]),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::module::{ModuleVisitor, Param};
    use burn::tensor::{Device, Tensor};

    fn model() -> DecoderModel {
        let directory = tempfile::tempdir().unwrap();
        models::random_model::write_llama(directory.path(), 1).unwrap();
        models::Decoder::load(directory.path(), &Device::flex().autodiff()).unwrap().model().clone()
    }

    fn sequences() -> Vec<CountedSequence> {
        let sequence = |length: u32| CountedSequence {
            tokens: (0..length).map(|index| 10 + (index * 7 + length) % 40).collect(),
            counts: (0..length).map(|index| index > length / 3).collect(),
        };
        [9, 4, 17, 6, 12].map(sequence).to_vec()
    }

    #[derive(Default)]
    struct Values<'a> {
        gradients: Option<&'a GradientsParams>,
        values: Vec<f32>,
    }

    impl ModuleVisitor for Values<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            if let Some(gradient) = self.gradients.and_then(|gradients| gradients.get::<D>(param.id)) {
                self.values.extend(gradient.into_data().iter::<f32>());
            }
        }
    }

    fn computed(model: &DecoderModel, rule: BatchRule, n_workers: usize) -> (BatchLoss, Vec<f32>) {
        let (loss, gradients) = batch_gradients(model, &sequences(), rule, &Workers::new(n_workers));
        let mut values = Values { gradients: Some(&gradients), values: Vec::new() };
        model.visit(&mut values);
        (loss, values.values)
    }

    #[test]
    fn accumulated_gradients_are_those_of_the_whole_batch() {
        let model = model();
        let rule = BatchRule { micro_batch_tokens_max: 10_000, packing: false, dropout: (1, "test") };
        let (whole, expected) = computed(&model, rule, 1);
        let (packed, of_packed) = computed(&model, BatchRule { packing: true, ..rule }, 1);
        let rule = BatchRule { micro_batch_tokens_max: 20, ..rule };
        let (parts, found) = computed(&model, rule, 1);
        assert_eq!((whole.n_counted, whole.n_tokens), (parts.n_counted, parts.n_tokens));
        assert!(whole.n_padding > parts.n_padding && packed.n_padding == 0);
        assert!((whole.loss - parts.loss).abs() < 1e-5 && (whole.loss - packed.loss).abs() < 1e-5);
        let largest = expected.iter().fold(0.0_f32, |max, value| max.max(value.abs()));
        assert!(largest > 1e-3 && !expected.is_empty());
        for other in [&found, &of_packed] {
            assert!(expected.iter().zip(other).all(|(a, b)| (a - b).abs() <= 1e-5 * largest.max(1.0)));
        }
        assert_eq!(computed(&model, rule, 3).1, found, "the number of workers does not matter");
    }

    #[test]
    fn the_loss_weighs_every_token_the_same() {
        let model = model().valid();
        let workers = Workers::new(2);
        let (mut nll, mut n) = (0.0, 0.0);
        for sequence in sequences() {
            let (own, n_own) = model.nll(&[sequence], None);
            nll += own.into_scalar::<f64>();
            n += n_own as f64;
        }
        let mean = mean_nll(&model, &sequences(), 20, &workers, &|| false).unwrap();
        assert!((mean.loss - nll / n).abs() < 1e-6);
        assert_eq!(mean_nll(&model, &sequences(), 20, &workers, &|| true), None);
    }
}
