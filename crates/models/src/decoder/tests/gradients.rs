//! Gradients of every architecture's parameters.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor};

use super::super::DecoderModel;
use crate::golden::{DECODERS, device, model_of, tensors};
use crate::pass::{Padding, Rows};
use crate::random_model::random_tensor;
use crate::weights::HostTensor;

/// The length of the step of a finite difference.
const STEP: f32 = 2e-3;
/// The largest error of a finite difference in `f32`, relative to the slope.
const ERROR_MAX: f64 = 5e-3;

/// Returns some number that depends on every logit of a batch of two rows, one of them padded.
fn loss(model: &DecoderModel) -> Tensor<1> {
    let rows = Rows::new(&[vec![3, 4, 5, 6, 7, 8], vec![9, 3, 11, 5]], Padding::Left);
    let logits = model.logits(model.hidden(rows, None, None));
    let weights = random_tensor(logits.dims(), 5, &logits.device());
    // The second row begins with two slots of padding.
    let seen: Tensor<2> = Tensor::cat(vec![logits.clone().narrow(0, 0, 6), logits.narrow(0, 8, 4)], 0);
    let weights: Tensor<2> = Tensor::cat(vec![weights.clone().narrow(0, 0, 6), weights.narrow(0, 8, 4)], 0);
    (seen * weights).sum()
}

struct Collector<'a> {
    gradients: &'a Gradients,
    path: Vec<String>,
    found: BTreeMap<String, Vec<f32>>,
}

impl ModuleVisitor for Collector<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let name = self.path[1..].join(".");
        let gradient = param.val().grad(self.gradients).unwrap_or_else(|| panic!("{name} has no gradient"));
        self.found.insert(name, gradient.into_data().iter::<f32>().collect());
    }
}

fn gradients(model: &DecoderModel) -> BTreeMap<String, Vec<f32>> {
    let gradients = loss(model).backward();
    let mut collector = Collector { gradients: &gradients, path: Vec::new(), found: BTreeMap::new() };
    model.visit(&mut collector);
    collector.found
}

/// Returns the slope of the loss along `direction`, which is added to one tensor.
fn slope(name: &str, tensors: &BTreeMap<String, HostTensor>, changed: &str, direction: &[f32]) -> f64 {
    let value = |step: f32| -> f64 {
        let mut tensors = tensors.clone();
        let values = &mut tensors.get_mut(changed).unwrap().values;
        values.iter_mut().zip(direction).for_each(|(value, direction)| *value += step * direction);
        loss(&model_of(name, tensors, &device()).unwrap()).into_scalar::<f32>().into()
    };
    (value(STEP) - value(-STEP)) / (2.0 * f64::from(STEP))
}

#[test]
fn the_gradient_of_every_parameter_is_the_slope_of_the_loss() {
    for name in DECODERS {
        let tensors = tensors(name);
        let gradients = gradients(&model_of(name, tensors.clone(), &device().autodiff()).unwrap());
        assert_eq!(gradients.len(), tensors.len());
        for (parameter, gradient) in &gradients {
            // All elements count alike, so that a small part of a fused projection shows.
            let root = (gradient.len() as f32).sqrt();
            let direction: Vec<f32> = gradient.iter().map(|value| value.signum() / root).collect();
            let expected: f64 = gradient.iter().map(|value| f64::from(value.abs() / root)).sum();
            assert!(expected > 1e-3, "{name}: {parameter}: the gradient is {expected} in all");
            let error = (slope(name, &tensors, parameter, &direction) / expected - 1.0).abs();
            assert!(error < ERROR_MAX, "{name}: {parameter}: relative error {error}");
        }
    }
}

#[test]
fn a_gradient_flows_to_every_part_of_a_linear_layer() {
    for name in DECODERS {
        let mut model = model_of(name, tensors(name), &device().autodiff()).unwrap();
        let gradients = gradients(&model);
        for (layer, _) in model.network_mut().linears() {
            let gradient = &gradients[&format!("{layer}.weight")];
            let n_zeros = gradient.iter().filter(|&&value| value == 0.0).count();
            // A unit behind a ReLU may be off at every token; keys are a seventh of a fused projection or more.
            assert!(10 * n_zeros < gradient.len(), "{name}: {layer}: {n_zeros} of {} are 0", gradient.len());
        }
    }
}
