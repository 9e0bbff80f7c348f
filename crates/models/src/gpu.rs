//! Networks on a GPU, or on software Vulkan, as on the CPU: forward passes, and the gradients of training steps.
//!
//! These run burn's kernels for GPUs with fusion and autotune, which no other test does. Kernels are compiled and tuned as
//! they are met, minutes for each network on software Vulkan, so that a few networks stand for all.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Gradients, Tensor};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

use crate::DeviceSpec;
use crate::adapter::{AdapterConfig, LoraConfig};
use crate::decoder::{CountedSequence, DecoderModel};
use crate::encoder::Encoder;
use crate::golden::{self, Golden};
use crate::weights::Checkpoint;

/// The largest difference between a gradient and the CPU's, relative to the largest gradient of the parameter.
const GRADIENT_TOLERANCE: f32 = 1e-3;

fn gpu() -> Device {
    crate::device::resolve(&DeviceSpec::Wgpu).unwrap()
}

fn model(name: &str, device: &Device) -> DecoderModel {
    let checkpoint = Checkpoint::open(&golden::directory(name)).unwrap();
    golden::build(name, &json!({}), &checkpoint, device).unwrap()
}

#[test]
fn decoders_give_the_logits_of_transformers() {
    for name in ["gpt2_tiny", "llama_scaled"] {
        Golden::load(name).check(&model(name, &gpu()));
    }
}

#[test]
fn every_encoder_gives_the_vectors_of_the_cpu() {
    for name in ["bert_tiny", "roberta_tiny"] {
        let embed = |device: &Device| -> Vec<f32> {
            let encoder = Encoder::load(&golden::directory(name), device).unwrap();
            encoder.embed_batch(&[vec![2, 5, 6, 7, 3], vec![2, 9, 3]], None).into_data().iter().collect()
        };
        golden::assert_close(&embed(&gpu()), &embed(&golden::device()));
    }
}

/// The gradient of every parameter that has one, by its place in the module.
#[derive(Default)]
struct Collected {
    gradients: BTreeMap<String, Vec<f32>>,
    path: Vec<String>,
}

struct Collector<'a> {
    found: Collected,
    gradients: &'a Gradients,
}

impl ModuleVisitor for Collector<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.found.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.found.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = param.val().grad(self.gradients) {
            self.found.gradients.insert(self.found.path.join("."), gradient.into_data().iter().collect());
        }
    }
}

/// Returns the gradients of the loss of a batch with padding.
fn gradients(name: &str, config: Option<&AdapterConfig>, device: &Device) -> BTreeMap<String, Vec<f32>> {
    let mut model = model(name, &device.clone().autodiff()).train();
    if let Some(config) = config {
        model.adapt(config, &mut ChaCha8Rng::seed_from_u64(1)).unwrap();
    }
    let sequence = |tokens: &[u32]| {
        let counts = (0..tokens.len()).map(|position| position > 0).collect();
        CountedSequence { tokens: tokens.to_vec(), counts }
    };
    let (nll, _n) = model.nll(&[sequence(&[3, 4, 5, 6, 7, 8]), sequence(&[9, 8, 7])], None);
    let gradients = nll.backward();
    let mut collector = Collector { found: Collected::default(), gradients: &gradients };
    model.visit(&mut collector);
    collector.found.gradients
}

fn assert_alike(name: &str, config: Option<&AdapterConfig>) {
    let expected = gradients(name, config, &golden::device());
    let found = gradients(name, config, &gpu());
    assert!(!expected.is_empty() && expected.keys().eq(found.keys()), "{name}: gradients of the same parameters");
    for (parameter, expected) in &expected {
        let largest = expected.iter().fold(1e-3_f32, |largest, value| largest.max(value.abs()));
        let errors = found[parameter].iter().zip(expected).map(|(found, expected)| (found - expected).abs());
        let error = errors.fold(0.0, f32::max) / largest;
        assert!(error <= GRADIENT_TOLERANCE, "{name}: {parameter} is off by {error}");
    }
}

#[test]
fn the_gradients_of_full_training_are_those_of_the_cpu() {
    assert_alike("gpt2_tiny", None);
}

#[test]
fn the_gradients_of_an_adapter_and_of_rows_are_those_of_the_cpu() {
    let lora =
        LoraConfig { rank: 3, alpha: 6.0, dropout: 0.0, targets: vec!["q_proj".to_owned(), "v_proj".to_owned()] };
    assert_alike("llama_scaled", Some(&AdapterConfig { lora: Some(lora), tokens: vec![5, 7] }));
}
