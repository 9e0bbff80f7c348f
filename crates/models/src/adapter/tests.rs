//! Tests of adapters on tiny checkpoints.

use std::collections::BTreeMap;

use burn::module::{Module, Param};
use burn::optim::{AdamWConfig, GradientsParams};
use burn::tensor::Tensor;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use super::{AdapterConfig, Lora, LoraConfig, RowInit};
use crate::decoder::{CountedSequence, Decoder, DecoderModel};
use crate::dropout::Dropout;
use crate::golden::{self, logits};
use crate::linear::{Linear, Precision};
use crate::tokenizer::Tokenizer;
use crate::weights::change;

pub(super) fn stream(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub(super) fn lora(targets: &[&str]) -> LoraConfig {
    let targets = targets.iter().map(|&target| target.to_owned()).collect();
    LoraConfig { rank: 3, alpha: 6.0, dropout: 0.0, targets }
}

/// Loads a tiny checkpoint to be trained.
fn model(name: &str) -> DecoderModel {
    golden::model(name).to_device(&golden::device().autodiff()).train()
}

/// Loads a tiny checkpoint to be trained, with a tokenizer that has a token for each row and its files.
pub(super) fn decoder(name: &str) -> Decoder {
    let model = model(name);
    let n = model.network().shape().vocab_size;
    let vocabulary: BTreeMap<String, usize> = (0..n).map(|token| (format!("t{token}"), token)).collect();
    let json = serde_json::json!({
        "version": "1.0", "added_tokens": [],
        "model": { "type": "BPE", "vocab": vocabulary, "merges": [] },
    });
    let inner = tokenizers::Tokenizer::from_bytes(json.to_string()).unwrap();
    let tokenizer = Tokenizer::from_inner(inner, "none".as_ref()).unwrap();
    let config = crate::export::read_json(&golden::directory(name).join("config.json")).unwrap();
    Decoder::new(model, tokenizer).with_files(crate::DecoderFiles { config, ..Default::default() })
}

/// Counts all tokens but the first.
pub(super) fn sequence(tokens: &[u32]) -> CountedSequence {
    let counts = (0..tokens.len()).map(|position| position > 0).collect();
    CountedSequence { tokens: tokens.to_vec(), counts }
}

fn gradients(model: &DecoderModel, sequences: &[CountedSequence]) -> GradientsParams {
    let (nll, n) = model.nll(sequences, None);
    GradientsParams::from_grads(nll.div_scalar(n as f64).backward(), model)
}

/// Trains with AdamW on the mean NLL of `sequences`.
pub(super) fn train(decoder: &mut Decoder, steps: usize, sequences: &[CountedSequence]) {
    let mut optimizer = AdamWConfig::new().init();
    let mut model = decoder.model().clone();
    for _ in 0..steps {
        let gradients = gradients(&model, sequences);
        model = optimizer.step(1e-2, model, gradients);
    }
    drop(decoder.replace_model(model));
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

fn max_error(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).map(|(found, expected)| (found - expected).abs()).fold(0.0, f32::max)
}

/// The table of tokens, and the head where it is not tied.
fn tables(model: &DecoderModel) -> Vec<Vec<f32>> {
    let mut model = model.clone();
    let embedding = values(model.network_mut().token_embedding().1.weight.val());
    let head = super::attach::head(model.network_mut().linears()).map(|head| values(head.weight.val()));
    [embedding].into_iter().chain(head).collect()
}

#[derive(Deserialize)]
struct GoldenLora {
    tokens: Vec<u32>,
    nll: Vec<f32>,
    weights: BTreeMap<String, Vec<Vec<f32>>>,
    gradients: BTreeMap<String, Vec<Vec<f32>>>,
    trained: BTreeMap<String, Vec<Vec<f32>>>,
}

/// Visits A and B under the names of `peft`.
fn for_each_matrix(model: &mut DecoderModel, mut visit: impl FnMut(String, &mut Param<Tensor<2>>)) {
    for (name, linear) in model.network_mut().linears() {
        if let Some(lora) = &mut linear.lora {
            visit(format!("base_model.model.{name}.lora_A.weight"), &mut lora.lora_a);
            visit(format!("base_model.model.{name}.lora_B.weight"), &mut lora.lora_b);
        }
    }
}

#[test]
fn gradients_and_steps_of_low_rank_additions_match_peft() {
    let text = std::fs::read_to_string(golden::directory("lora.json")).unwrap();
    let golden: GoldenLora = serde_json::from_str(&text).unwrap();
    let mut model = model("llama_grouped");
    let config = AdapterConfig { lora: Some(lora(&["q_proj", "v_proj"])), tokens: Vec::new() };
    model.adapt(&config, &mut stream(0)).unwrap();
    let mut n = 0;
    for_each_matrix(&mut model, |name, param| {
        let stored = golden.weights[&name].concat();
        let shape = param.lazy_shape().to_vec();
        let device = param.lazy_device();
        let stored = Tensor::<2>::from_data(burn::tensor::TensorData::new(stored, shape), &device);
        change(param, |_| stored);
        n += 1;
    });
    assert_eq!(n, golden.weights.len());

    let config = AdamWConfig::new().with_beta_1(0.9).with_beta_2(0.999).with_epsilon(1e-8).with_weight_decay(0.01);
    let mut optimizer = config.init();
    let sequences = [sequence(&golden.tokens)];
    for step in 0..3 {
        let (nll, n) = model.nll(&sequences, None);
        let nll = nll.div_scalar(n as f64);
        assert!((nll.clone().into_scalar::<f32>() - golden.nll[step]).abs() <= 1e-5);
        let gradients = GradientsParams::from_grads(nll.backward(), &model);
        if step == 0 {
            assert_eq!(gradients.len(), golden.gradients.len());
            for_each_matrix(&mut model, |name, param| {
                let found = values(gradients.get::<2>(param.id).unwrap());
                let error = max_error(&found, &golden.gradients[&name].concat());
                assert!(error <= 1e-5, "{name}: {error}");
            });
        }
        model = optimizer.step(1e-2, model, gradients);
    }
    for_each_matrix(&mut model, |name, param| {
        let error = max_error(&values(param.val()), &golden.trained[&name].concat());
        assert!(error <= 1e-5, "{name}: {error}");
    });
}

#[test]
fn only_the_adapter_trains_and_it_starts_from_nothing() {
    let before = model("llama_scaled");
    let mut adapted = before.clone();
    adapted.adapt(&AdapterConfig { lora: Some(lora(&["all-linear"])), tokens: vec![4] }, &mut stream(1)).unwrap();
    assert_eq!(bits(&logits(&adapted, &[3, 4, 5])), bits(&logits(&before, &[3, 4, 5])));
    let gradients = gradients(&adapted, &[sequence(&[3, 4, 5, 4])]);
    // Seven linear layers in each of two layers, A and B each, and a row in embedding and head.
    assert_eq!(gradients.len(), 2 * 7 * 2 + 2);
    for_each_matrix(&mut adapted, |name, param| {
        let values = values(param.val());
        let bound = (param.lazy_shape()[1] as f32).sqrt().recip();
        let is_a = name.ends_with("lora_A.weight");
        assert!(values.iter().all(|value| value.abs() <= bound && (is_a || *value == 0.0)), "{name}");
        assert!(!is_a || values.iter().any(|value| value.abs() > bound / 2.0), "{name}");
    });
}

#[test]
fn the_stream_decides_what_is_drawn() {
    let drawn = |seed| {
        let mut model = model("llama_grouped");
        let config = AdapterConfig { lora: Some(lora(&["o_proj"])), tokens: Vec::new() };
        model.adapt(&config, &mut stream(seed)).unwrap();
        let mut drawn = Vec::new();
        for_each_matrix(&mut model, |_, param| drawn.extend(values(param.val())));
        bits(&drawn)
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn dropout_and_alpha_change_what_the_factors_compute() {
    let device = golden::device();
    let input = Tensor::<2>::ones([4, 6], &device);
    let output = |config: &LoraConfig, is_training: bool| {
        let mut lora = Lora::new([6, 4], config, &mut stream(1), &device);
        change(&mut lora.lora_b, |b| b.ones_like());
        let mut dropout = Dropout::new(stream(2));
        values(lora.forward(input.clone(), is_training.then_some(&mut dropout)))
    };
    let plain = lora(&["x"]);
    let dropped = LoraConfig { dropout: 0.5, ..plain.clone() };
    assert_eq!(output(&plain, true), output(&plain, false));
    assert_eq!(output(&dropped, false), output(&plain, false));
    assert_ne!(output(&dropped, true), output(&plain, true));
    let doubled: Vec<f32> = output(&plain, false).iter().map(|value| 2.0 * value).collect();
    assert!(max_error(&output(&LoraConfig { alpha: 12.0, ..plain }, false), &doubled) < 1e-6);
}

#[test]
fn what_cannot_be_attached_is_refused_by_name() {
    let refused = |config: AdapterConfig| {
        let mut model = model("llama_grouped");
        let error = model.adapt(&config, &mut stream(0)).unwrap_err().to_string();
        assert!(!model.is_adapted());
        error
    };
    let with = |config: LoraConfig| AdapterConfig { lora: Some(config), tokens: Vec::new() };
    let found = [
        refused(with(lora(&["q_proj", "query"]))),
        refused(with(lora(&["proj"]))),
        refused(with(lora(&[]))),
        refused(with(LoraConfig { rank: 0, ..lora(&["q_proj"]) })),
        refused(with(LoraConfig { alpha: f64::NAN, ..lora(&["q_proj"]) })),
        refused(with(LoraConfig { dropout: 1.0, ..lora(&["q_proj"]) })),
        refused(AdapterConfig { lora: Some(lora(&["q_proj"])), tokens: vec![61] }),
        refused(AdapterConfig::default()),
    ];
    expect_test::expect![[r"
        targets: `query` matches no layer: there are down_proj, gate_proj, k_proj, o_proj, q_proj, up_proj, v_proj
        targets: `proj` matches no layer: there are down_proj, gate_proj, k_proj, o_proj, q_proj, up_proj, v_proj
        targets: names no layer
        rank: 0 is not at least 1
        alpha: NaN is not positive
        dropout: 1 is not at least 0 and below 1
        tokens: 61 is outside the vocabulary of 61
        adapter: neither layers nor tokens would be trained"]]
    .assert_eq(&found.join("\n"));
}

#[test]
fn the_gradients_of_trained_rows_are_those_of_the_table() {
    let sequences = [sequence(&[3, 9, 5, 9, 20]), sequence(&[9, 9, 7])];
    for name in ["llama_grouped", "llama_scaled"] {
        let mut full = model(name);
        let mut rows = full.clone();
        rows.adapt(&AdapterConfig { lora: None, tokens: vec![9, 5] }, &mut stream(0)).unwrap();
        let [all, some] = [gradients(&full, &sequences), gradients(&rows, &sequences)];
        let ids = |model: &mut DecoderModel| {
            let embedding = model.network_mut().token_embedding().1.clone();
            let head = super::attach::head(model.network_mut().linears()).cloned();
            let rows = [embedding.rows, head.as_ref().and_then(|head| head.rows.clone())];
            let tables = [Some(embedding.weight.id), head.map(|head| head.weight.id)];
            (tables.into_iter().flatten().collect::<Vec<_>>(), rows.into_iter().flatten().collect::<Vec<_>>())
        };
        let (tables, _) = ids(&mut full);
        let (_, rows) = ids(&mut rows);
        assert_eq!((some.len(), tables.len()), (rows.len(), rows.len()));
        for (table, rows) in tables.into_iter().zip(rows) {
            assert_eq!(rows.tokens(), [5, 9]);
            let table = all.get::<2>(table).unwrap();
            let expected = Tensor::cat(vec![table.clone().narrow(0, 5, 1), table.narrow(0, 9, 1)], 0);
            let found = some.get::<2>(rows.values.id).unwrap();
            let error = max_error(&values(found), &values(expected));
            assert!(error <= 1e-5, "{name}: {error}");
        }
    }
}

#[test]
fn only_the_row_of_the_new_token_moves() {
    for name in ["llama_grouped", "llama_scaled"] {
        let mut decoder = decoder(name);
        let [comp] = decoder.add_tokens(&["<COMP>"], RowInit::Mean).unwrap()[..] else { panic!("one token") };
        let before = tables(decoder.model());
        let config = AdapterConfig { lora: Some(lora(&["q_proj", "down_proj"])), tokens: vec![comp] };
        decoder.adapt(&config, &mut stream(0)).unwrap();
        train(&mut decoder, 3, &[sequence(&[3, comp, 5, 9, comp])]);
        let after = tables(&decoder.model().merged());
        for (before, after) in before.iter().zip(&after) {
            let width = before.len() / (comp as usize + 1);
            let row = comp as usize * width;
            assert_eq!(bits(&before[..row]), bits(&after[..row]));
            assert!(max_error(&after[row..], &before[row..]) > 1e-3);
        }
        assert_eq!(tables(decoder.model()), before);
    }
}

#[test]
fn new_tokens_get_rows_as_configured() {
    for name in ["llama_grouped", "llama_scaled"] {
        let old = tables(decoder(name).model());
        let n = decoder(name).model().network().shape().vocab_size;
        for init in [RowInit::Mean, RowInit::Token(7), RowInit::Random(Box::new(stream(3)))] {
            let mut decoder = decoder(name);
            let added = decoder.add_tokens(&["<COMP>", "t4", "<X>"], init.clone()).unwrap();
            assert_eq!(added, [n as u32, 4, n as u32 + 1]);
            assert_eq!(decoder.model().network().shape().vocab_size, n + 2);
            assert_eq!(crate::LanguageModel::vocabulary_size(&decoder), n + 2);
            let tokens = decoder.tokenizer().encode("t3 <COMP>t4<X>");
            assert!(tokens.contains(&added[0]) && tokens.last() == Some(&added[2]));
            for (old, new) in old.iter().zip(tables(decoder.model())) {
                let width = old.len() / n;
                assert_eq!(bits(&new[..old.len()]), bits(old));
                let mean = |column: usize| old.iter().skip(column).step_by(width).sum::<f32>() / n as f32;
                let expected: Vec<f32> = match init {
                    RowInit::Mean => (0..width).map(mean).collect(),
                    RowInit::Token(token) => old[token as usize * width..][..width].to_vec(),
                    RowInit::Random(_) => continue,
                };
                for row in new[old.len()..].chunks(width) {
                    assert!(max_error(row, &expected) < 1e-6);
                }
            }
        }
        let mut decoder = decoder(name);
        assert!(decoder.add_tokens(&["<COMP>"], RowInit::Token(n as u32)).is_err());
        assert!(decoder.add_tokens(&[""], RowInit::Mean).is_err());
        assert_eq!(tables(decoder.model()), old);
    }
}

#[test]
fn a_table_with_unused_rows_does_not_grow() {
    let directory = tempfile::tempdir().unwrap();
    crate::random_model::write_llama(directory.path(), 7).unwrap();
    let path = directory.path().join("tokenizer.json");
    let mut json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    json["model"]["merges"].as_array_mut().unwrap().pop();
    let vocabulary = json["model"]["vocab"].as_object_mut().unwrap();
    vocabulary.retain(|_, number| number.as_u64() != Some(297));
    std::fs::write(&path, json.to_string()).unwrap();
    let mut decoder = Decoder::load(directory.path(), &golden::device()).unwrap();
    let size = decoder.model().network().shape().vocab_size;
    let before = tables(decoder.model());
    assert_eq!(decoder.add_tokens(&["<COMP>"], RowInit::Mean).unwrap(), [297]);
    assert_eq!(decoder.model().network().shape().vocab_size, size);
    assert_ne!(tables(decoder.model()), before);
}

#[test]
fn a_weight_of_either_layout_folds_into_what_the_factors_compute() {
    let device = golden::device();
    for mut linear in [Linear::new(5, 4, true, &device), Linear::conv1d(5, 4, &device)] {
        let mut lora = Lora::new(linear.size(), &lora(&["x"]), &mut stream(1), &device);
        change(&mut lora.lora_b, |b| b.random_like(burn::tensor::Distribution::Default));
        linear.lora = Some(lora);
        let input = Tensor::<2>::random([3, 5], burn::tensor::Distribution::Default, &device);
        let factored = values(linear.forward(input.clone(), None));
        linear.merge();
        assert!(linear.lora.is_none());
        assert!(max_error(&values(linear.forward(input, None)), &factored) < 1e-5);
        assert!(factored.iter().any(|value| *value != 0.0));
    }
}

#[test]
fn merging_is_reported_bounded_and_undone_bit_for_bit() {
    let mut decoder = decoder("llama_scaled");
    let config = AdapterConfig { lora: Some(lora(&["all-linear"])), tokens: vec![9] };
    decoder.adapt(&config, &mut stream(0)).unwrap();
    train(&mut decoder, 3, &[sequence(&[3, 9, 5, 9, 20])]);
    let prompts = [vec![3, 9, 5], vec![20, 21]];
    let before = logits(decoder.model(), &prompts[0]);
    let weights = tables(decoder.model());
    let refused = decoder.merge(&prompts, 1e-12).unwrap_err().to_string();
    assert!(refused.starts_with("merging moves an output by "), "{refused}");
    assert!(decoder.model().is_adapted());
    assert!(decoder.merge(&[], 1.0).is_err());
    let report = decoder.merge(&prompts, 1e-4).unwrap();
    assert_eq!(report.n_outputs, 5 * 53);
    assert!(report.drift_mean > 0.0 && report.drift_mean <= f64::from(report.drift_max), "{report:?}");
    assert!(!decoder.model().is_adapted());
    assert_ne!(tables(decoder.model()), weights);
    assert!(decoder.unmerge());
    assert_eq!(bits(&logits(decoder.model(), &prompts[0])), bits(&before));
    assert_eq!(tables(decoder.model()), weights);
    assert!(!decoder.unmerge());
}

#[test]
fn recomputed_gradients_are_those_of_the_plain_backward_pass() {
    let sequences = [sequence(&[3, 9, 5, 9, 20, 11]), sequence(&[9, 9, 7])];
    let adapter = AdapterConfig { lora: Some(LoraConfig { dropout: 0.3, ..lora(&["all-linear"]) }), tokens: vec![9] };
    for (name, adapter) in [("llama_grouped", None), ("llama_scaled", None), ("llama_grouped", Some(adapter))] {
        let mut model = model(name);
        if let Some(adapter) = adapter {
            model.adapt(&adapter, &mut stream(0)).unwrap();
        }
        let dropout = || Dropout::new(stream(5));
        let (nll, n) = model.nll(&sequences, Some(&mut dropout()));
        let total = nll.clone().into_scalar::<f64>();
        let plain = GradientsParams::from_grads(nll.mul_scalar(0.5).backward(), &model);
        let mut sum = burn::optim::GradientsAccumulator::new();
        let found = model.recomputed_gradients(&sequences, 0.5, Some(&mut dropout()), |gradients| {
            sum.accumulate(&model, GradientsParams::from_grads(gradients, &model));
        });
        assert!((found.0 - total).abs() < 1e-4 && found.1 == n);
        let mut compare = Compare { plain: &plain, found: &sum.grads(), n: 0 };
        model.visit(&mut compare);
        assert_eq!(compare.n, plain.len());
    }
}

struct Compare<'a> {
    plain: &'a GradientsParams,
    found: &'a GradientsParams,
    n: usize,
}

impl burn::module::ModuleVisitor for Compare<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let [plain, found] = [self.plain, self.found].map(|gradients| gradients.get::<D>(param.id).map(values));
        assert_eq!(plain.is_some(), found.is_some());
        if let Some((plain, found)) = plain.zip(found) {
            let error = max_error(&found, &plain);
            assert!(error <= 1e-5, "{error}");
            self.n += 1;
        }
    }
}

#[test]
fn matrices_in_bf16_take_half_the_memory_and_give_nearly_the_same_logits() {
    let directory = tempfile::tempdir().unwrap();
    crate::random_model::write_llama(directory.path(), 7).unwrap();
    let [full, half] = [Precision::F32, Precision::Bf16]
        .map(|precision| Decoder::load_as(directory.path(), &golden::device(), precision).unwrap());
    let tokens = [3, 40, 80, 120, 160, 200];
    let expected = logits(full.model(), &tokens);
    let error = max_error(&logits(half.model(), &tokens), &expected);
    let largest = expected.iter().copied().map(f32::abs).fold(0.0, f32::max);
    // Eight bits of mantissa through two layers.
    assert!(error > 0.0 && error <= 0.03 * largest, "{error} of {largest}");
    let bytes = |decoder: &Decoder| {
        let mut decoder = decoder.model().clone();
        let size = |weight: &Param<Tensor<2>>| weight.val().into_data().as_bytes().len();
        let table = size(&decoder.network_mut().token_embedding().1.weight);
        let linears = decoder.network_mut().linears();
        table + linears.iter().map(|(_, linear)| size(&linear.weight)).sum::<usize>()
    };
    assert_eq!(2 * bytes(&half), bytes(&full));
}

#[test]
fn an_encoder_decoder_trains_and_reloads() {
    let sequences = [CountedSequence { tokens: vec![3, 9, 5, 7, 8], counts: vec![false, false, false, true, true] }];
    let nll = |decoder: &Decoder| decoder.nll(&sequences, None).0.into_scalar::<f32>();
    for (name, tokens) in [("t5_relu_tied", vec![9, 7]), ("t5_gated_untied", Vec::new())] {
        let mut decoder = decoder(name);
        let before = nll(&decoder);
        let config = AdapterConfig { lora: Some(lora(&["q", "v", "wo"])), tokens };
        decoder.adapt(&config, &mut stream(0)).unwrap();
        train(&mut decoder, 3, &sequences);
        assert!(nll(&decoder) < before);
        let directory = tempfile::tempdir().unwrap();
        decoder.save_peft(directory.path(), name).unwrap();
        let stored = crate::export::read_json(&directory.path().join("adapter_config.json")).unwrap();
        assert_eq!(stored["task_type"], "SEQ_2_SEQ_LM");
        let mut loaded = self::decoder(name);
        loaded.load_peft(directory.path()).unwrap();
        assert!((nll(&loaded) - nll(&decoder)).abs() < 1e-5);
        let merged = decoder.model().merged();
        drop(loaded.replace_model(merged));
        assert!((nll(&loaded) - nll(&decoder)).abs() < 1e-5);
    }
}

#[test]
fn an_adapter_trains_on_frozen_bf16_weights() {
    let directory = tempfile::tempdir().unwrap();
    crate::random_model::write_llama(directory.path(), 7).unwrap();
    let device = golden::device().autodiff();
    let mut decoder = Decoder::load_as(directory.path(), &device, Precision::Bf16).unwrap();
    let config = AdapterConfig { lora: Some(lora(&["all-linear"])), tokens: vec![9] };
    decoder.adapt(&config, &mut stream(0)).unwrap();
    let sequences = [sequence(&[3, 9, 40, 80, 9, 120])];
    let nll = |decoder: &Decoder| decoder.nll(&sequences, None).0.into_scalar::<f32>();
    let before = nll(&decoder);
    train(&mut decoder, 5, &sequences);
    assert!(nll(&decoder) < 0.95 * before);
}
