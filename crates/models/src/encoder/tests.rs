//! Tests of the module above.

mod exported;
mod unixcoder;

use burn::module::{ModuleVisitor, Param};
use burn::optim::{AdamWConfig, GradientsParams};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Deserialize;

use super::*;
use crate::{DeviceSpec, Workers, random_model};

#[derive(Deserialize)]
struct Golden {
    ids: Vec<Vec<u32>>,
    hidden: Vec<Vec<Vec<f32>>>,
    embeddings: Vec<Vec<f32>>,
}

fn device() -> Device {
    crate::device::resolve(&DeviceSpec::Cpu).unwrap()
}

fn golden_directory(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name)
}

fn random_encoder(device: &Device) -> Encoder {
    let directory = tempfile::tempdir().unwrap();
    random_model::write_bert(directory.path(), 7).unwrap();
    Encoder::load(directory.path(), device).unwrap()
}

fn dropout(seed: u64) -> Dropout {
    Dropout::new(ChaCha8Rng::seed_from_u64(seed))
}

fn sequences(lengths: &[usize]) -> Vec<Vec<u32>> {
    let row = |&length: &usize| (0..length).map(|i| ((i * 37 + length * 11) % 250 + 6) as u32).collect();
    lengths.iter().map(row).collect()
}

fn rows(tensor: Tensor<2>) -> Vec<Vec<f32>> {
    let [_, columns] = tensor.dims();
    let values: Vec<f32> = tensor.into_data().iter::<f32>().collect();
    values.chunks(columns).map(<[f32]>::to_vec).collect()
}

#[track_caller]
fn assert_close(actual: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(actual.len(), expected.len());
    for (actual, expected) in actual.iter().zip(expected) {
        assert!((actual - expected).abs() <= tolerance, "{actual} is not within {tolerance} of {expected}");
    }
}

#[track_caller]
fn check_golden(name: &str) {
    let directory = golden_directory(name);
    let json = std::fs::read_to_string(directory.join("golden.json")).unwrap();
    let golden: Golden = serde_json::from_str(&json).unwrap();
    for device in [device(), device().autodiff()] {
        let encoder = Encoder::load(&directory, &device).unwrap();
        let batch = TokenBatch::new(&golden.ids, encoder.files.config.pad_token_id);
        let hidden = encoder.model.forward(&batch, None);
        for (index, expected) in golden.hidden.iter().enumerate() {
            let sequence = hidden.clone().slice([index..index + 1, 0..expected.len()]).squeeze_dim::<2>(0);
            for (actual, expected) in rows(sequence).iter().zip(expected) {
                assert_close(actual, expected, 1e-4);
            }
        }
        for (actual, expected) in rows(encoder.embed_batch(&golden.ids, None)).iter().zip(&golden.embeddings) {
            assert_close(actual, expected, 1e-4);
        }
    }
}

#[test]
fn bert_matches_transformers() {
    check_golden("bert_tiny");
}

#[test]
fn roberta_matches_transformers() {
    check_golden("roberta_tiny");
}

#[test]
fn an_embedding_does_not_depend_on_its_batch() {
    let encoder = random_encoder(&device());
    let sequences = sequences(&[5, 40, 1, 17, 40]);
    let together = rows(encoder.embed_batch(&sequences, None));
    for (sequence, together) in sequences.iter().zip(&together) {
        let alone = rows(encoder.embed_batch(std::slice::from_ref(sequence), None));
        assert_close(&alone[0], together, 1e-5);
    }
}

#[test]
fn embeddings_have_unit_length() {
    for row in rows(random_encoder(&device()).embed_batch(&sequences(&[9, 3]), None)) {
        let length: f32 = row.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-5, "{length}");
    }
}

#[test]
fn a_query_keeps_its_end_and_a_candidate_its_start() {
    let encoder = random_encoder(&device());
    let [cls, sep] = ["[CLS]", "[SEP]"].map(|token| encoder.tokenizer.token(token).unwrap());
    let text = |tokens: &[u32]| encoder.tokenizer.decode(&tokens[1..tokens.len() - 1]);
    let query = encoder.query_tokens("0123456789", 6);
    let candidate = encoder.candidate_tokens("0123456789", 6);
    assert_eq!((text(&query), text(&candidate)), ("6789".to_owned(), "0123".to_owned()));
    for tokens in [query, candidate] {
        assert_eq!((tokens[0], tokens[5]), (cls, sep));
    }
    assert_eq!(encoder.query_tokens("", 6), [cls, sep]);
    assert_eq!(encoder.query_tokens(&"0".repeat(1000), usize::MAX).len(), encoder.tokens_max());
}

#[test]
fn unixcoder_is_told_by_its_mode_token() {
    let encoder = Encoder::load(&golden_directory("roberta_tiny"), &device()).unwrap();
    let [start, end, mode] = ["<s>", "</s>", "<encoder-only>"].map(|text| encoder.tokenizer.token(text).unwrap());
    assert_eq!(encoder.template.before, [start, mode, end]);
    assert_eq!(encoder.template.after, [end]);
    assert_eq!(encoder.tokens_max(), 20);
}

#[test]
fn dropout_follows_its_stream() {
    let encoder = random_encoder(&device());
    let sequences = sequences(&[12, 9]);
    let embed = |seed| rows(encoder.embed_batch(&sequences, Some(&mut dropout(seed))));
    assert_eq!(embed(1), embed(1));
    assert_ne!(embed(1), embed(2));
    let none = rows(encoder.embed_batch(&sequences, Some(&mut dropout(1).with_probability(0.0))));
    assert_eq!(none, rows(encoder.embed_batch(&sequences, None)));
}

/// The squared norm of the gradients, and of their difference to those of another pass.
struct Difference<'a> {
    parts: &'a [GradientsParams],
    whole: &'a GradientsParams,
    n_parameters: usize,
    square: f64,
    error: f64,
}

impl ModuleVisitor for Difference<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let square = |tensor: Tensor<D>| f64::from(tensor.square().sum().into_scalar::<f32>());
        let whole = self.whole.get::<D>(param.id).unwrap();
        let parts = self.parts.iter().filter_map(|part| part.get::<D>(param.id));
        let sum = parts.reduce(|left, right| left + right).unwrap();
        self.n_parameters += 1;
        self.square += square(whole.clone());
        self.error += square(whole - sum);
    }
}

#[test]
fn gradients_of_two_worker_threads_add_up_to_those_of_one_batch() {
    let encoder = random_encoder(&device().autodiff());
    let sequences = sequences(&[30, 20, 11, 25, 14, 8]);
    let gradients = |encoder: &Encoder, sequences: &[Vec<u32>]| {
        let loss = encoder.embed_batch(sequences, None).slice([0..sequences.len(), 0..5]).sum();
        GradientsParams::from_grads(loss.backward(), &encoder.model)
    };
    let whole = gradients(&encoder, &sequences);
    let halves = sequences.chunks(3).map(<[Vec<u32>]>::to_vec).collect();
    let parts = Workers::new(2).map(halves, |_, half: Vec<Vec<u32>>| gradients(&encoder.fork(), &half));
    let mut difference = Difference { parts: &parts, whole: &whole, n_parameters: 0, square: 0.0, error: 0.0 };
    encoder.model.visit(&mut difference);
    assert_eq!(difference.n_parameters, 3 + 2 + 2 * 16);
    let relative = (difference.error / difference.square).sqrt();
    assert!(relative < 1e-6, "{relative}");
}

#[test]
fn training_pulls_two_embeddings_together() {
    let mut encoder = random_encoder(&device().autodiff());
    let sequences = sequences(&[12, 30]);
    let mut optimizer = AdamWConfig::new().init();
    let similarity = |encoder: &Encoder| {
        let embeddings = encoder.embed_batch(&sequences, None);
        (embeddings.clone().narrow(0, 0, 1) * embeddings.narrow(0, 1, 1)).sum()
    };
    let before: f32 = similarity(&encoder).into_scalar();
    for _ in 0..5 {
        let gradients = GradientsParams::from_grads(similarity(&encoder).neg().backward(), &encoder.model);
        encoder.model = optimizer.step(1e-3, encoder.model, gradients);
    }
    let after: f32 = similarity(&encoder.valid()).into_scalar();
    assert!(after > before, "{after} > {before}");
}

#[test]
fn a_saved_encoder_loads_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let sequences = sequences(&[5, 9]);
    for name in ["bert_tiny", "roberta_tiny"] {
        let original = Encoder::load(&golden_directory(name), &device()).unwrap();
        original.save(directory.path()).unwrap();
        let loaded = Encoder::load(directory.path(), &device()).unwrap();
        let small: Vec<Vec<u32>> = sequences.iter().map(|row| row.iter().map(|token| token % 50).collect()).collect();
        assert_eq!(rows(loaded.embed_batch(&small, None)), rows(original.embed_batch(&small, None)));
        assert_eq!(loaded.template, original.template);
    }
    let mut files: Vec<String> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    expect_test::expect!["1_Pooling 2_Normalize config.json config_sentence_transformers.json model.safetensors modules.json sentence_bert_config.json tokenizer.json"].assert_eq(&files.join(" "));
}

fn failure_with(file: &str, edit: impl Fn(&mut serde_json::Value)) -> String {
    let directory = tempfile::tempdir().unwrap();
    random_encoder(&device()).save(directory.path()).unwrap();
    let path = directory.path().join(file);
    let mut json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    edit(&mut json);
    std::fs::write(&path, json.to_string()).unwrap();
    let error = Encoder::load(directory.path(), &device()).unwrap_err();
    let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    format!("{error} {source}").trim_end().replace(&directory.path().display().to_string(), "DIRECTORY")
}

#[test]
fn a_computation_that_is_not_implemented_is_refused_by_its_key() {
    let failures = [
        failure_with("config.json", |config| config["model_type"] = "t5".into()),
        failure_with("config.json", |config| config["hidden_act"] = "mish".into()),
        failure_with("config.json", |config| config["position_embedding_type"] = "relative_key".into()),
        failure_with("config.json", |config| config["add_cross_attention"] = true.into()),
        failure_with("config.json", |config| config["num_attention_heads"] = 5.into()),
        failure_with("config.json", |config| config["quantization_config"] = serde_json::json!({})),
        failure_with("1_Pooling/config.json", |config| config["pooling_mode_cls_token"] = true.into()),
        failure_with("modules.json", |modules| modules[2]["type"] = "sentence_transformers.models.Dense".into()),
        failure_with("sentence_bert_config.json", |config| config["do_lower_case"] = true.into()),
    ];
    expect_test::expect![[r#"
        DIRECTORY/config.json: model_type: `t5` is not an encoder that is implemented: expected bert or roberta
        DIRECTORY/config.json: hidden_act: `mish` is not implemented: expected gelu, gelu_new, relu or silu
        DIRECTORY/config.json: position_embedding_type: "relative_key" is not implemented, only "absolute"
        DIRECTORY/config.json: add_cross_attention: true is not implemented, only false
        DIRECTORY/config.json: num_attention_heads: does not divide hidden_size 32
        DIRECTORY/config.json: quantization_config: is not a key that this version knows
        DIRECTORY/1_Pooling/config.json: pooling_mode_cls_token: only the mean over tokens is implemented
        DIRECTORY/modules.json: type: `sentence_transformers.models.Dense` is not implemented
        DIRECTORY/sentence_bert_config.json: do_lower_case: lowercasing outside the tokenizer is not implemented"#]]
    .assert_eq(&failures.join("\n"));
}

#[test]
fn a_configuration_that_contradicts_itself_is_refused_by_its_key() {
    let with = |key: &str, value: serde_json::Value| failure_with("config.json", |config| config[key] = value.clone());
    let failures = [
        with("num_hidden_layers", 100_000_000.into()),
        with("num_hidden_layers", 0.into()),
        with("intermediate_size", (1_u64 << 40).into()),
        with("type_vocab_size", 0.into()),
        with("pad_token_id", 298.into()),
        with("layer_norm_eps", 0.0.into()),
        with("layer_norm_eps", (-1e-12).into()),
        with("hidden_dropout_prob", 1.0.into()),
        with("attention_probs_dropout_prob", (-0.1).into()),
        with("vocab_size", 20.into()),
        failure_with("tokenizer.json", |tokenizer| tokenizer["model"]["vocab"]["Z"] = 500.into()),
    ];
    expect_test::expect![[r"
        DIRECTORY/config.json: num_hidden_layers: 100000000 is not in 1..=1024
        DIRECTORY/config.json: num_hidden_layers: 0 is not in 1..=1024
        DIRECTORY/config.json: intermediate_size: 1099511627776 is not in 1..=16777216
        DIRECTORY/config.json: type_vocab_size: 0 is not in 1..=16777216
        DIRECTORY/config.json: pad_token_id: 298 is not below vocab_size 298
        DIRECTORY/config.json: layer_norm_eps: 0 is not positive
        DIRECTORY/config.json: layer_norm_eps: -0.000000000001 is not positive
        DIRECTORY/config.json: hidden_dropout_prob: 1 is not at least 0 and below 1
        DIRECTORY/config.json: attention_probs_dropout_prob: -0.1 is not at least 0 and below 1
        DIRECTORY/config.json: vocab_size: 20 is not above 297, the highest token of the tokenizer
        DIRECTORY/config.json: vocab_size: 298 is not above 500, the highest token of the tokenizer"]]
    .assert_eq(&failures.join("\n"));
    let fields = crate::config::Fields::load(&golden_directory("bert_tiny").join("config.json")).unwrap();
    let mut config = crate::bert::BertConfig::read(fields).unwrap();
    assert!(config.validate(Path::new("config.json")).is_ok());
    for eps in [f64::NAN, f64::INFINITY] {
        config.layer_norm_eps = eps;
        assert!(config.validate(Path::new("config.json")).is_err());
    }
}

#[cfg(feature = "golden")]
mod minilm {
    use super::*;

    #[derive(Deserialize)]
    struct Cases {
        cases: Vec<Case>,
    }

    #[derive(Deserialize)]
    struct Case {
        text: String,
        ids: Vec<u32>,
        embedding: Vec<f32>,
    }

    #[test]
    fn minilm_matches_transformers() {
        let directory = std::env::var_os("RETORT_MINILM")
            .expect("feature `golden` needs RETORT_MINILM, the directory of all-MiniLM-L6-v2 with its config.json");
        let encoder = Encoder::load(Path::new(&directory), &device()).unwrap();
        let json = std::fs::read_to_string(golden_directory("minilm.json")).unwrap();
        let Cases { cases } = serde_json::from_str(&json).unwrap();
        let tokens: Vec<Vec<u32>> = cases.iter().map(|case| encoder.candidate_tokens(&case.text, 512)).collect();
        for (tokens, case) in tokens.iter().zip(&cases) {
            assert_eq!(*tokens, case.ids, "{}", case.text);
        }
        for (actual, case) in rows(encoder.embed_batch(&tokens, None)).iter().zip(&cases) {
            let cosine: f32 = actual.iter().zip(&case.embedding).map(|(x, y)| x * y).sum();
            assert!(cosine >= 0.9999, "{cosine} for {}", case.text);
        }
    }
}
