//! Tests of adapters on encoders.

use std::collections::BTreeMap;

use burn::optim::{AdamWConfig, GradientsParams};

use super::tests::{lora, stream};
use super::{AdapterConfig, LoraConfig};
use crate::bert;
use crate::dropout::Dropout;
use crate::encoder::{Encoder, EncoderModel};
use crate::golden;
use crate::weights::{self, HostTensor, Names};

const NAMES: [&str; 2] = ["bert_tiny", "roberta_tiny"];

fn encoder(name: &str) -> Encoder {
    Encoder::load(&golden::directory(name), &golden::device().autodiff()).unwrap()
}

fn sequences() -> Vec<Vec<u32>> {
    vec![vec![2, 9, 30, 9, 11], vec![7, 9, 3], vec![20, 21, 22, 23]]
}

fn vectors(encoder: &Encoder) -> Vec<f32> {
    encoder.embed_batch(&sequences(), None).into_data().try_into_vec().unwrap()
}

fn max_error(found: &[f32], expected: &[f32]) -> f32 {
    golden::largest_error(found, expected)
}

/// Pulls the first two vectors together.
fn train(encoder: &mut Encoder, steps: u64) {
    let mut optimizer = AdamWConfig::new().init();
    for step in 0..steps {
        let embeddings = encoder.embed_batch(&sequences(), Some(&mut Dropout::new(stream(step))));
        let similarity = embeddings.clone().narrow(0, 0, 1) * embeddings.narrow(0, 1, 1);
        let gradients = GradientsParams::from_grads(similarity.sum().neg().backward(), &encoder.model);
        encoder.model = optimizer.step(1e-2, encoder.model.clone(), gradients);
    }
}

/// Returns the tensors by name; those of an adapter have names that no checkpoint has.
fn tensors(model: &EncoderModel) -> BTreeMap<String, HostTensor> {
    // The traversal of an enum names its variant first.
    let rename = |path: &str| (bert::NAMES.rename)(path.split_once('.').map_or(path, |(_variant, path)| path));
    weights::tensors(model, &Names { rename, ..bert::NAMES })
}

fn config() -> AdapterConfig {
    AdapterConfig { lora: Some(LoraConfig { dropout: 0.1, ..lora(&["all-linear"]) }), tokens: vec![9, 7] }
}

#[test]
fn every_linear_layer_has_the_name_of_its_tensor() {
    for name in NAMES {
        let mut model = encoder(name).model;
        let stored = tensors(&model);
        let linears: Vec<String> = model.linears().into_iter().map(|(name, _)| format!("{name}.weight")).collect();
        let is_matrix =
            |(name, _): &(&String, &HostTensor)| name.starts_with("encoder.") && stored[*name].shape.len() == 2;
        let mut expected: Vec<String> = stored.iter().filter(is_matrix).map(|(name, _)| name.clone()).collect();
        let mut found = linears.clone();
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        let (table, _) = model.token_embedding();
        assert!(stored.contains_key(&format!("{table}.weight")));
    }
}

#[test]
fn only_the_adapter_of_an_encoder_trains_and_merged_equals_adapted() {
    for name in NAMES {
        let mut encoder = encoder(name);
        let (before, untrained) = (tensors(&encoder.model), vectors(&encoder));
        encoder.model.adapt(&config(), &mut stream(0)).unwrap();
        assert!(encoder.model.is_adapted());
        assert!(max_error(&vectors(&encoder), &untrained) < 1e-6, "B is 0 at first");
        let start = tensors(&encoder.model);
        train(&mut encoder, 3);
        let trained = tensors(&encoder.model);
        let changed: Vec<&String> = trained.keys().filter(|name| trained[*name] != start[*name]).collect();
        let of_adapter: Vec<&String> = trained.keys().filter(|name| !before.contains_key(*name)).collect();
        assert_eq!(changed, of_adapter);
        assert!(before.iter().all(|(name, tensor)| trained[name] == *tensor));
        let adapted = vectors(&encoder);
        assert!(max_error(&adapted, &untrained) > 1e-3);
        let merged = encoder.with_model(encoder.model.merged());
        assert!(!merged.model.is_adapted() && encoder.model.is_adapted());
        assert!(max_error(&vectors(&merged), &adapted) < 1e-5);
        assert_eq!(tensors(&merged.model).keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    }
}

#[test]
fn an_adapted_encoder_is_saved_merged_and_its_adapter_as_a_folder_of_its_own() {
    for name in NAMES {
        for adapter in [config(), AdapterConfig { lora: None, ..config() }] {
            let mut trained = encoder(name);
            trained.model.adapt(&adapter, &mut stream(0)).unwrap();
            train(&mut trained, 2);
            let [whole, folder] = [(); 2].map(|()| tempfile::tempdir().unwrap());
            trained.save(whole.path()).unwrap();
            let loaded = Encoder::load(whole.path(), &golden::device()).unwrap();
            assert!(max_error(&vectors(&loaded), &vectors(&trained)) < 1e-5);
            trained.save_peft(folder.path(), name).unwrap();
            let stored = crate::export::read_json(&folder.path().join("adapter_config.json")).unwrap();
            assert_eq!(stored["task_type"], "FEATURE_EXTRACTION");
            let mut loaded = encoder(name);
            loaded.load_peft(folder.path()).unwrap();
            assert!(max_error(&vectors(&loaded), &vectors(&trained)) < 1e-6);
        }
    }
}

#[test]
fn what_does_not_fit_an_encoder_is_refused() {
    let mut encoder = encoder("bert_tiny");
    let directory = tempfile::tempdir().unwrap();
    let error = encoder.save_peft(directory.path(), "base").unwrap_err().to_string();
    assert_eq!(error, "adapter: nothing is attached to the model");
    let mut refused = |lora: Option<LoraConfig>, tokens: &[u32]| {
        let config = AdapterConfig { lora, tokens: tokens.to_vec() };
        encoder.model.adapt(&config, &mut stream(0)).unwrap_err().to_string()
    };
    let found = [refused(Some(lora(&["q_proj"])), &[]), refused(None, &[5000]), refused(None, &[])];
    let vocab_size = golden_vocabulary();
    let expected = [
        "targets: `q_proj` matches no layer: there are dense, key, query, value".to_owned(),
        format!("tokens: 5000 is outside the vocabulary of {vocab_size}"),
        "adapter: neither layers nor tokens would be trained".to_owned(),
    ];
    assert_eq!(found, expected);
    assert!(!encoder.model.is_adapted());
    let error = encoder.load_peft(&golden::directory("peft_untied")).unwrap_err().to_string();
    assert!(error.contains("unexpected base_model.model."), "{error}");
}

fn golden_vocabulary() -> usize {
    encoder("bert_tiny").vocabulary_size()
}

#[test]
fn forks_of_an_adapted_encoder_share_what_is_trained() {
    let mut encoder = encoder("roberta_tiny");
    encoder.model.adapt(&config(), &mut stream(0)).unwrap();
    let fork = encoder.fork();
    assert!(max_error(&vectors(&fork), &vectors(&encoder)) < 1e-6);
    let loss = fork.embed_batch(&sequences(), None).slice([0..3, 0..5]).sum();
    let gradients = GradientsParams::from_grads(loss.backward(), &fork.model);
    let n_matrices = 2 * encoder.model.linears().len();
    assert_eq!(gradients.len(), n_matrices + 1, "A and B of every layer, and the rows of tokens");
}
