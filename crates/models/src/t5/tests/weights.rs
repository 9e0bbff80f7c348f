//! Tests of what a checkpoint holds, and of gradients to all of it.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor, TensorData};

use super::{Case, NAMES, golden};
use crate::config::Fields;
use crate::decoder::{DecoderModel, load};
use crate::golden::{assert_close, device, directory, model, with_tokenizer};
use crate::random_model::random_tensor;
use crate::weights::{self, HostTensor, MemoryTensors};

/// The step of a finite difference along the gradient's direction.
const STEP: f32 = 1e-3;
/// The largest error of a finite difference in `f32`, relative to the slope.
const ERROR_MAX: f64 = 1e-2;

/// Returns the tensors of a tiny checkpoint.
fn tensors(name: &str) -> BTreeMap<String, HostTensor> {
    let DecoderModel::T5(model) = model(name) else {
        panic!("a T5");
    };
    weights::tensors(&model, &load::names())
}

fn load(name: &str, tensors: BTreeMap<String, HostTensor>, device: &Device) -> crate::Result<DecoderModel> {
    let fields = Fields::load(&directory(name).join("config.json")).unwrap();
    load::network(fields, &MemoryTensors::new("memory".as_ref(), tensors), device)
}

#[test]
fn copies_of_the_token_table_are_left_aside_if_they_are_copies() {
    for name in NAMES {
        let mut stored = tensors(name);
        let table = stored["shared.weight"].clone();
        let mut copies = vec!["encoder.embed_tokens.weight", "decoder.embed_tokens.weight"];
        if !stored.contains_key("lm_head.weight") {
            copies.push("lm_head.weight");
        }
        stored.extend(copies.iter().map(|&copy| (copy.to_owned(), table.clone())));
        assert!(load(name, stored.clone(), &device()).is_ok());
        for copy in copies {
            let mut damaged = stored.clone();
            damaged.get_mut(copy).unwrap().values[7] += 1.0;
            let error = load(name, damaged, &device()).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(&format!("{copy} differs from shared.weight")), "{error}");
        }
    }
}

#[test]
fn the_head_of_an_untied_checkpoint_is_required() {
    let mut stored = tensors("t5_gated_untied");
    stored.remove("lm_head.weight");
    let error = load("t5_gated_untied", stored, &device()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("missing lm_head.weight"), "{error}");
}

#[test]
fn a_tensor_that_is_not_read_is_refused() {
    let mut stored = tensors("t5_relu_tied");
    let table = stored["shared.weight"].clone();
    stored.insert("encoder.embed_positions.weight".to_owned(), table);
    let error = load("t5_relu_tied", stored, &device()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("unexpected encoder.embed_positions.weight"), "{error}");
}

#[test]
fn every_tensor_is_a_linear_layer_a_table_or_a_norm_under_its_name() {
    for name in NAMES {
        let mut model = model(name);
        let linears: Vec<String> = model.network_mut().linears().into_iter().map(|(name, _)| name).collect();
        let (table, _) = model.network_mut().token_embedding();
        for tensor in tensors(name).keys() {
            let layer = tensor.strip_suffix(".weight").unwrap();
            let is_other = layer.ends_with("layer_norm") || layer.ends_with("relative_attention_bias");
            assert!(is_other || layer == table || linears.iter().any(|linear| linear == layer), "{tensor}");
        }
        assert!(linears.iter().all(|linear| tensors(name).contains_key(&format!("{linear}.weight"))));
    }
}

/// Collects the gradient of every parameter.
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

/// Returns some number that depends on the logits before every target token of a padded batch.
fn loss(model: DecoderModel, cases: &[Case]) -> Tensor<1> {
    let decoder = with_tokenizer(model);
    let sequences: Vec<_> = cases.iter().map(Case::sequence).collect();
    let (hidden, indices) = decoder.hidden_before_targets(&sequences, None);
    let n = indices.len();
    let indices: Vec<i64> = indices.into_iter().map(i64::from).collect();
    let indices = Tensor::from_data(TensorData::new(indices, [n]), &hidden.device());
    let logits = decoder.model().logits(hidden.select(0, indices));
    let weights = random_tensor(logits.dims(), 5, &logits.device());
    (logits * weights).sum()
}

/// Returns the slope of the loss along `direction`, which is added to one tensor.
fn slope(name: &str, tensors: &BTreeMap<String, HostTensor>, cases: &[Case], changed: &str, direction: &[f32]) -> f64 {
    let value = |step: f32| -> f64 {
        let mut tensors = tensors.clone();
        let values = &mut tensors.get_mut(changed).unwrap().values;
        values.iter_mut().zip(direction).for_each(|(value, direction)| *value += step * direction);
        loss(load(name, tensors, &device()).unwrap(), cases).into_scalar::<f32>().into()
    };
    (value(STEP) - value(-STEP)) / (2.0 * f64::from(STEP))
}

#[test]
fn the_gradient_of_every_parameter_is_the_slope_of_the_loss() {
    for name in NAMES {
        let (tensors, cases) = (tensors(name), golden(name).cases);
        let model = load(name, tensors.clone(), &device().autodiff()).unwrap();
        let gradients = loss(model.clone(), &cases).backward();
        let mut collector = Collector { gradients: &gradients, path: Vec::new(), found: BTreeMap::new() };
        model.visit(&mut collector);
        assert_eq!(collector.found.len(), tensors.len());
        for (parameter, gradient) in &collector.found {
            let length = gradient.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
            assert!(length > 1e-3, "{name}: {parameter} has a gradient of length {length}");
            let direction: Vec<f32> = gradient.iter().map(|&value| value / length as f32).collect();
            let error = (slope(name, &tensors, &cases, parameter, &direction) / length - 1.0).abs();
            assert!(error < ERROR_MAX, "{name}: {parameter}: relative error {error}");
        }
    }
}

#[test]
fn weights_written_back_give_the_same_logits() {
    for name in NAMES {
        let case = &golden(name).cases[1];
        let copy = load(name, tensors(name), &device()).unwrap();
        assert_close(&super::logits(&copy, case, &[6]), &case.logits.concat());
    }
}
