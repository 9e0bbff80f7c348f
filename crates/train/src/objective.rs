//! The policy objective: `L = -sum reward * log p` over each sample's own candidates.

use std::collections::BTreeSet;

use burn::optim::GradientsParams;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};
use models::Workers;
use models::dropout::Dropout;
use models::encoder::Encoder;

use crate::reward::softmax;

/// One sample as the objective sees it: tokens and rewards.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The query's tokens, special ones included.
    pub query: Vec<u32>,
    /// Each candidate's tokens, special ones included.
    pub candidates: Vec<Vec<u32>>,
    /// The weight of each candidate's log-probability: its reward, or the advantage of its draws.
    pub rewards: Vec<f32>,
}

/// Returns the loss of one sample, in nats: the reward-weighted negative log-probability of its candidates.
///
/// With a reward of 1 for the best candidate and 0 for the others this is the cross-entropy that RLCoder minimizes.
///
/// # Shapes
///
/// - `query`: `[1, dim]`, L2-normalized
/// - `candidates`: `[n_candidates, dim]`, L2-normalized
/// - `rewards`: `n_candidates` numbers
/// - returns: `[1]`
///
/// # Panics
///
/// Panics if `rewards` and `candidates` differ in number.
///
/// # References
///
/// RLCoder, section 3.4. The similarity is divided by the temperature, 0.05 in the paper.
#[must_use]
pub fn policy_loss(query: Tensor<2>, candidates: Tensor<2>, rewards: &[f32], temperature: f64) -> Tensor<1> {
    let [n_candidates, _dim] = candidates.dims();
    assert_eq!(rewards.len(), n_candidates, "every candidate needs a reward");
    let similarities = query.matmul(candidates.transpose()).div_scalar(temperature);
    let log_probabilities = log_softmax(similarities, 1);
    let rewards = Tensor::<1>::from_floats(rewards, &log_probabilities.device()).unsqueeze::<2>();
    log_probabilities.mul(rewards).sum().neg()
}

/// Returns the mean reward of a candidate drawn with probability `softmax(similarity / temperature)`.
#[must_use]
pub fn expected_reward(similarities: &[f32], rewards: &[f32], temperature: f64) -> f64 {
    let probabilities = probabilities(similarities, temperature);
    probabilities.iter().zip(rewards).map(|(probability, &reward)| probability * f64::from(reward)).sum()
}

/// Returns the policy: `softmax(similarity / temperature)` over a sample's candidates.
#[must_use]
pub fn probabilities(similarities: &[f32], temperature: f64) -> Vec<f64> {
    let logits: Vec<f64> = similarities.iter().map(|&similarity| f64::from(similarity) / temperature).collect();
    softmax(&logits)
}

/// How a batch is computed.
#[derive(Clone, Copy, Debug)]
pub struct BatchRule<'a> {
    /// Similarities are divided by it.
    pub temperature: f64,
    /// Examples of one graph.
    pub micro_batch_size: usize,
    /// Seed and name of the dropout stream; no dropout without it.
    pub dropout: Option<(u64, &'a str)>,
    /// Whether the candidates of the other examples of a micro-batch are further ones with a reward of 0.
    pub in_batch_negatives: bool,
}

/// Returns the mean loss of a batch and its gradients.
///
/// Micro-batches are computed side by side by the workers; the result depends on `micro_batch_size`, through the order
/// of additions, and not on the number of workers.
///
/// # Panics
///
/// Panics if the batch is empty.
#[must_use]
pub fn batch_gradients(
    encoder: &Encoder,
    examples: &[Example],
    rule: BatchRule,
    workers: &Workers,
) -> (f64, GradientsParams) {
    assert!(!examples.is_empty(), "a batch needs an example");
    let parts: Vec<&[Example]> = examples.chunks(rule.micro_batch_size).collect();
    let results = workers.map(parts, |index, part| {
        let mut dropout =
            rule.dropout.map(|(seed, name)| Dropout::new(repo::random::stream(seed, &format!("{name}/{index}"))));
        let encoder = encoder.fork();
        let loss = part_loss(&encoder, part, rule, dropout.as_mut()).div_scalar(examples.len() as f64);
        let value = loss.clone().into_scalar::<f64>();
        (value, GradientsParams::from_grads(loss.backward(), &encoder.model))
    });
    let loss = results.iter().map(|(loss, _)| loss).sum();
    (loss, crate::gradients::sum(&encoder.model, results.into_iter().map(|(_, gradients)| gradients)))
}

/// Returns the summed loss of a micro-batch: its queries in one encoder call, its candidates in another.
fn part_loss(encoder: &Encoder, part: &[Example], rule: BatchRule, mut dropout: Option<&mut Dropout>) -> Tensor<1> {
    let queries: Vec<Vec<u32>> = part.iter().map(|example| example.query.clone()).collect();
    let candidates: Vec<Vec<u32>> = part.iter().flat_map(|example| example.candidates.clone()).collect();
    let queries = encoder.embed_batch(&queries, dropout.as_deref_mut());
    let candidates = encoder.embed_batch(&candidates, dropout);
    let losses = part.iter().enumerate().map(|(index, example)| {
        let rows = rows(part, index, rule.in_batch_negatives);
        let mut rewards = example.rewards.clone();
        rewards.resize(rows.len(), 0.0);
        let rows = Tensor::<1, Int>::from_ints(rows.as_slice(), &candidates.device());
        let candidates = candidates.clone().select(0, rows);
        policy_loss(queries.clone().slice(index..=index), candidates, &rewards, rule.temperature)
    });
    losses.reduce(Tensor::add).expect("a micro-batch has an example")
}

/// Returns where the candidates of an example stand among those of all examples of its micro-batch: its own first, then,
/// if asked, those of the others that it does not have itself. The stop candidate so never stands against itself.
fn rows(part: &[Example], index: usize, in_batch_negatives: bool) -> Vec<i32> {
    let own = &part[index].candidates;
    let mut row = 0..;
    let numbered: Vec<(usize, i32, &Vec<u32>)> = part
        .iter()
        .enumerate()
        .flat_map(|(example, of)| of.candidates.iter().map(move |candidate| (example, candidate)))
        .map(|(example, candidate)| (example, row.next().unwrap_or_default(), candidate))
        .collect();
    let mut seen: BTreeSet<&Vec<u32>> = own.iter().collect();
    let own_rows = numbered.iter().filter(|(example, ..)| *example == index).map(|(_, row, _)| *row);
    let others = numbered.iter().filter(|(example, ..)| in_batch_negatives && *example != index);
    let others = others.filter(|(.., candidate)| seen.insert(candidate)).map(|(_, row, _)| *row);
    own_rows.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::module::ModuleVisitor;
    use burn::module::{Module, Param};
    use burn::tensor::{Device, TensorData};

    #[test]
    fn the_loss_is_the_negative_log_probability_of_the_rewarded_candidate() {
        let device = Device::flex();
        let query = Tensor::<2>::from_floats([[1.0, 0.0]], &device);
        let candidates = Tensor::<2>::from_floats([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], &device);
        let loss = |rewards: &[f32]| policy_loss(query.clone(), candidates.clone(), rewards, 0.5).into_scalar::<f64>();
        // Similarities over temperature: 2, 0, -2.
        let total = 2f64.exp() + 1.0 + (-2f64).exp();
        assert!((loss(&[0.0, 1.0, 0.0]) - total.ln()).abs() < 1e-6);
        assert!((loss(&[1.0, 0.0, 0.0]) - (total.ln() - 2.0)).abs() < 1e-6);
        assert!((loss(&[0.5, 0.5, 0.0]) - (total.ln() - 1.0)).abs() < 1e-6, "soft rewards weight the terms");
    }

    #[test]
    fn the_expected_reward_is_that_of_the_softmax() {
        let expected = expected_reward(&[0.1, 0.0], &[1.0, 0.0], 0.05);
        assert!((expected - 2f64.exp() / (2f64.exp() + 1.0)).abs() < 1e-6);
        assert_eq!(expected_reward(&[], &[], 0.05), 0.0);
    }

    fn encoder(directory: &std::path::Path) -> Encoder {
        models::random_model::write_bert(directory, 1).unwrap();
        Encoder::load(directory, &Device::flex().autodiff()).unwrap()
    }

    fn examples(encoder: &Encoder) -> Vec<Example> {
        let example = |(query, best): (&str, usize)| Example {
            query: encoder.query_tokens(query, 32),
            candidates: ["def area(side):", "return side * side", "import os"]
                .map(|text| encoder.candidate_tokens(text, 32))
                .to_vec(),
            rewards: (0..3).map(|index| if index == best { 1.0 } else { 0.0 }).collect(),
        };
        [("square = area(3)", 0), ("print(os.getcwd())", 2), ("x = side *", 1)].map(example).to_vec()
    }

    struct Values<'a> {
        gradients: &'a GradientsParams,
        values: Vec<f32>,
    }

    impl ModuleVisitor for Values<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let data: Option<TensorData> = self.gradients.get::<D>(param.id).map(Tensor::into_data);
            self.values.extend(data.into_iter().flat_map(|data| data.try_to_vec::<f32>().unwrap()));
        }
    }

    fn values(encoder: &Encoder, gradients: &GradientsParams) -> Vec<f32> {
        let mut visitor = Values { gradients, values: Vec::new() };
        encoder.model.visit(&mut visitor);
        visitor.values
    }

    fn rule(micro_batch_size: usize, dropout: Option<(u64, &str)>) -> BatchRule<'_> {
        BatchRule { temperature: 0.05, micro_batch_size, dropout, in_batch_negatives: false }
    }

    #[test]
    fn gradients_do_not_depend_on_the_number_of_workers() {
        let directory = tempfile::tempdir().unwrap();
        let encoder = encoder(directory.path());
        let examples = examples(&encoder);
        let run = |workers| {
            let (loss, gradients) = batch_gradients(&encoder, &examples, rule(1, Some((7, "dropout"))), &workers);
            (loss, values(&encoder, &gradients))
        };
        let alone = run(Workers::new(1));
        assert!(alone.1.iter().any(|value| *value != 0.0));
        assert_eq!(alone, run(Workers::new(3)));
    }

    #[test]
    fn micro_batches_give_the_gradient_of_the_batch() {
        let directory = tempfile::tempdir().unwrap();
        let encoder = encoder(directory.path());
        let examples = examples(&encoder);
        let run = |size| {
            let (loss, gradients) = batch_gradients(&encoder, &examples, rule(size, None), &Workers::new(2));
            (loss, values(&encoder, &gradients))
        };
        let (whole_loss, whole) = run(3);
        let scale = whole.iter().fold(0f32, |max, value| max.max(value.abs()));
        for size in [1, 2] {
            let (loss, parts) = run(size);
            assert!((loss - whole_loss).abs() < 1e-6);
            let worst = parts.iter().zip(&whole).fold(0f32, |max, (a, b)| max.max((a - b).abs()));
            assert!(worst <= 1e-5 * scale, "micro-batches of {size}: {worst} of {scale}");
        }
    }

    #[test]
    fn other_samples_candidates_stand_against_a_sample_unless_it_has_them_itself() {
        let example = |candidates: &[u32]| Example {
            query: vec![1],
            candidates: candidates.iter().map(|&token| vec![token]).collect(),
            rewards: vec![],
        };
        // 9 is the stop candidate of all three; 4 stands in two samples.
        let part = [example(&[3, 4, 9]), example(&[4, 5, 9]), example(&[6, 4, 9])];
        assert_eq!(rows(&part, 0, true), [0, 1, 2, 4, 6]);
        assert_eq!(rows(&part, 1, true), [3, 4, 5, 0, 6]);
        assert_eq!(rows(&part, 2, true), [6, 7, 8, 0, 4]);
        assert_eq!(rows(&part, 1, false), [3, 4, 5]);
    }

    #[test]
    fn in_batch_negatives_raise_the_loss_and_do_not_touch_a_batch_of_one() {
        let directory = tempfile::tempdir().unwrap();
        let encoder = encoder(directory.path());
        let mut examples = examples(&encoder);
        for (index, example) in examples.iter_mut().enumerate() {
            example.candidates[0] = encoder.candidate_tokens(&format!("def only_here_{index}()"), 32);
        }
        let loss = |micro_batch_size, in_batch_negatives| {
            let rule = BatchRule { in_batch_negatives, ..rule(micro_batch_size, None) };
            batch_gradients(&encoder, &examples, rule, &Workers::inline()).0
        };
        assert!(loss(3, true) > loss(3, false));
        assert!((loss(1, true) - loss(1, false)).abs() < 1e-6);
    }

    #[test]
    fn dropout_comes_from_its_named_stream() {
        let directory = tempfile::tempdir().unwrap();
        let encoder = encoder(directory.path());
        let examples = examples(&encoder);
        let loss = |dropout| batch_gradients(&encoder, &examples, rule(2, dropout), &Workers::new(2)).0;
        assert_eq!(loss(Some((1, "a"))), loss(Some((1, "a"))));
        assert_ne!(loss(Some((1, "a"))), loss(Some((1, "b"))));
        assert_ne!(loss(Some((1, "a"))), loss(None));
    }
}
