//! Tests of the module above.

mod weights;

use rand::SeedableRng;
use serde::Deserialize;
use serde_json::{Value, json};

use super::T5Config;
use crate::activation::Activation;
use crate::cache::Cache;
use crate::decoder::{
    BatchedLanguageModel, CountedSequence, Decoder, DecoderModel, LanguageModel, ScoredSequence, nll,
};
use crate::dropout::Dropout;
use crate::golden::{assert_close, decoder, directory, largest_error, model};
use crate::pass::{Padding, Rows};

const NAMES: [&str; 2] = ["t5_relu_tied", "t5_gated_untied"];

/// What `transformers` computes with a tiny checkpoint.
#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
    generation: Generation,
}

/// The logits after every decoder token, the first of which is the start token.
#[derive(Deserialize)]
struct Case {
    source: Vec<u32>,
    decoder_tokens: Vec<u32>,
    logits: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct Generation {
    prompts: Vec<Vec<u32>>,
    eos_token_id: Vec<u32>,
    max_new_tokens: usize,
    greedy: Vec<Vec<u32>>,
}

fn golden(name: &str) -> Golden {
    let text = std::fs::read_to_string(directory(name).join("golden.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

impl Case {
    /// Returns the NLL of every target token.
    fn nll(&self) -> Vec<f32> {
        self.logits.iter().zip(&self.decoder_tokens[1..]).map(|(logits, &token)| nll(logits, token)).collect()
    }

    fn sequence(&self) -> ScoredSequence {
        ScoredSequence { prompt: self.source.clone(), target: self.decoder_tokens[1..].to_vec() }
    }
}

fn rows(tokens: &[u32]) -> Rows {
    Rows::new(&[tokens], Padding::Right)
}

/// Returns a cache whose source text is read.
fn cache_of(model: &DecoderModel, source: &[u32]) -> Cache {
    let mut cache = Cache::new(model.network().shape().n_layers);
    let start = model.read_source(rows(source), &mut cache, None);
    assert_eq!(start.tokens(), [model.network().start_token().unwrap()]);
    cache
}

/// Returns the logits after every decoder token, which are read in `pieces`.
fn logits(model: &DecoderModel, case: &Case, pieces: &[usize]) -> Vec<f32> {
    let mut cache = cache_of(model, &case.source);
    let mut rest = case.decoder_tokens.as_slice();
    let read = |&piece: &usize| -> Vec<f32> {
        let hidden = model.hidden(rows(&rest[..piece]), Some(&mut cache), None);
        rest = &rest[piece..];
        model.logits(hidden).into_data().try_into_vec().unwrap()
    };
    pieces.iter().flat_map(read).collect()
}

#[test]
fn logits_match_transformers() {
    // A tied head and two decoder layers; gates, a head of its own, one decoder layer and another start token.
    for name in NAMES {
        let model = model(name);
        for case in golden(name).cases {
            assert_close(&logits(&model, &case, &[case.decoder_tokens.len()]), &case.logits.concat());
        }
    }
}

#[test]
fn cached_equals_uncached_however_the_target_is_cut() {
    for name in NAMES {
        let (model, case) = (model(name), &golden(name).cases[0]);
        for pieces in [[1; 17].as_slice(), &[9, 1, 7], &[1, 16]] {
            assert_close(&logits(&model, case, pieces), &case.logits.concat());
        }
    }
}

#[test]
fn the_first_text_fed_is_the_source_and_what_follows_is_the_target() {
    for name in NAMES {
        let decoder = decoder(name);
        for case in golden(name).cases {
            let mut cache = decoder.new_cache();
            assert_close(&decoder.feed(&mut cache, &case.source), &case.logits[0]);
            for (token, logits) in case.decoder_tokens.iter().zip(&case.logits).skip(1) {
                assert_close(&decoder.feed(&mut cache, &[*token]), logits);
            }
            assert_eq!(cache.length(), case.decoder_tokens.len());
        }
    }
}

#[test]
fn a_target_scored_from_the_cache_of_its_source_has_the_same_nll() {
    for name in NAMES {
        let (decoder, case) = (decoder(name), &golden(name).cases[0]);
        let mut cache = decoder.new_cache();
        let logits = decoder.feed(&mut cache, &case.source);
        let target = &case.decoder_tokens[1..];
        for _repeated in 0..2 {
            assert_close(&decoder.score_from(&cache, &logits, target), &case.nll());
        }
        let logits = decoder.feed(&mut cache, &target[..6]);
        assert_close(&decoder.score_from(&cache, &logits, &target[6..]), &case.nll()[6..]);
    }
}

#[test]
fn the_nll_of_a_padded_batch_matches_transformers() {
    for name in NAMES {
        let cases = golden(name).cases;
        let sequences: Vec<ScoredSequence> = cases.iter().rev().map(Case::sequence).collect();
        let found = decoder(name).target_nll(&sequences);
        for (found, case) in found.iter().zip(cases.iter().rev()) {
            assert_close(found, &case.nll());
        }
    }
}

#[test]
fn a_row_gives_the_same_whatever_its_batch_and_the_side_of_the_padding() {
    for name in NAMES {
        let decoder = decoder(name);
        let steps = [
            [(3..20).collect(), vec![9], vec![8, 7, 3]],
            [vec![1], vec![2, 5, 6], vec![3, 4]],
            [(4..16).collect(), vec![6], vec![7, 8, 9]],
            [vec![11], vec![12], vec![13]],
        ];
        let alone = |row: usize| -> Vec<Vec<f32>> {
            let mut cache = decoder.new_cache();
            steps.iter().map(|rows| decoder.feed(&mut cache, &rows[row])).collect()
        };
        let alone: Vec<Vec<Vec<f32>>> = (0..3).map(alone).collect();
        for sides in
            [[Padding::Left; 4], [Padding::Right; 4], [Padding::Right, Padding::Left, Padding::Left, Padding::Right]]
        {
            let mut cache = decoder.new_cache();
            let mut order = vec![0, 1, 2];
            for (step, padding) in sides.into_iter().enumerate() {
                let rows: Vec<Vec<u32>> = order.iter().map(|&row| steps[step][row].clone()).collect();
                let found = decoder.feed_rows(&mut cache, &rows, padding);
                for (logits, &row) in found.iter().zip(&order) {
                    let largest = logits.iter().fold(1.0_f32, |largest, logit| largest.max(logit.abs()));
                    let error = largest_error(logits, &alone[row][step]);
                    // Attention without a scale amplifies the rounding in which products of one and of three rows differ.
                    assert!(error <= 2e-5 * largest, "the largest error is {error} of {largest}");
                }
                let selected = [2, 0, 1, 0][..order.len().min(3) + usize::from(step == 1)].to_vec();
                cache = decoder.select_rows(&cache, &selected);
                order = selected.iter().map(|&row| order[row]).collect();
            }
        }
    }
}

/// Writes the most probable tokens after each source text, all in one batch.
fn greedy(decoder: &Decoder, generation: &Generation) -> Vec<Vec<u32>> {
    let mut cache = decoder.new_cache();
    let mut logits = decoder.feed_rows(&mut cache, &generation.prompts, Padding::Right);
    let mut written = vec![Vec::new(); generation.prompts.len()];
    for _ in 0..generation.max_new_tokens {
        let best =
            |logits: &Vec<f32>| (0..logits.len()).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap() as u32;
        let next: Vec<Vec<u32>> = logits.iter().map(|logits| vec![best(logits)]).collect();
        written.iter_mut().zip(&next).for_each(|(written, next): (&mut Vec<u32>, _)| written.extend(next));
        logits = decoder.feed_rows(&mut cache, &next, Padding::Right);
    }
    for written in &mut written {
        let end = written.iter().position(|token| generation.eos_token_id.contains(token));
        written.truncate(end.map_or(written.len(), |end| end + 1));
    }
    written
}

#[test]
fn greedy_targets_match_transformers() {
    for name in NAMES {
        let generation = golden(name).generation;
        let decoder = decoder(name);
        assert_eq!(decoder.eos(), generation.eos_token_id);
        assert_eq!(greedy(&decoder, &generation), generation.greedy);
    }
}

#[test]
fn dropout_is_used_in_training_alone_and_follows_its_stream() {
    for name in NAMES {
        let decoder = decoder(name);
        let sequences: Vec<ScoredSequence> = golden(name).cases.iter().map(Case::sequence).collect();
        let hidden = |dropout: Option<&mut Dropout>| -> Vec<f32> {
            decoder.hidden_before_targets(&sequences, dropout).0.into_data().try_into_vec().unwrap()
        };
        let trained = |seed| hidden(Some(&mut Dropout::new(rand_chacha::ChaCha8Rng::seed_from_u64(seed))));
        assert_eq!(trained(1), trained(1));
        assert_ne!(trained(1), trained(2));
        assert_ne!(trained(1), hidden(None));
    }
}

#[test]
#[should_panic(expected = "an encoder-decoder reads its source text first")]
fn a_target_without_a_source_text_is_a_bug() {
    let _hidden = model("t5_relu_tied").hidden(rows(&[0]), None, None);
}

#[test]
#[should_panic(expected = "513 tokens exceed the context of 512")]
fn a_source_text_beyond_the_limit_is_a_bug() {
    let decoder = decoder("t5_relu_tied");
    decoder.feed(&mut decoder.new_cache(), &[5; 513]);
}

#[test]
fn a_source_and_a_target_have_a_limit_each() {
    let decoder = decoder("t5_relu_tied");
    let counts = (0..700).map(|position| position >= 400).collect();
    let (nll, n) = decoder.nll(&[CountedSequence { tokens: vec![5; 700], counts }], None);
    assert!(nll.into_scalar::<f32>().is_finite() && n == 300);
}

fn config_with(changes: &Value) -> crate::Result<T5Config> {
    T5Config::read(crate::golden::fields("t5_relu_tied", changes))
}

#[test]
fn the_feed_forward_block_is_read_from_its_projection() {
    for (projection, activation, is_gated) in [
        ("relu", Activation::Relu, false),
        ("gated-gelu", Activation::GeluNew, true),
        ("gated-silu", Activation::Silu, true),
        ("gelu", Activation::Gelu, false),
    ] {
        let changes = json!({"feed_forward_proj": projection, "dense_act_fn": null, "is_gated_act": null});
        let config = config_with(&changes).unwrap();
        assert_eq!((config.dense_act_fn, config.is_gated_act), (activation, is_gated));
    }
}

#[test]
fn absent_keys_have_the_defaults_of_the_reference_implementation() {
    let changes = json!({
        "num_decoder_layers": null, "relative_attention_num_buckets": null, "relative_attention_max_distance": null,
        "n_positions": null, "dropout_rate": null, "layer_norm_epsilon": null,
    });
    let config = config_with(&changes).unwrap();
    let distances = [config.relative_attention_num_buckets, config.relative_attention_max_distance];
    assert_eq!((config.num_decoder_layers, config.n_positions, distances), (2, 512, [32, 128]));
    assert_eq!((config.dropout_rate, config.layer_norm_epsilon), (0.1, 1e-6));
    assert!(config.tie_word_embeddings && config.scale_decoder_outputs);
    let untied = config_with(&json!({"tie_word_embeddings": false})).unwrap();
    assert!(!untied.tie_word_embeddings && !untied.scale_decoder_outputs);
    let scaled = config_with(&json!({"tie_word_embeddings": false, "scale_decoder_outputs": true})).unwrap();
    assert!(!scaled.tie_word_embeddings && scaled.scale_decoder_outputs);
}

#[test]
fn a_configuration_that_computes_something_else_is_refused_by_key() {
    for (changes, key) in [
        (json!({"model_type": "umt5"}), "model_type"),
        (json!({"is_encoder_decoder": false}), "is_encoder_decoder"),
        (json!({"is_decoder": true}), "is_decoder"),
        (json!({"feed_forward_proj": "gated-tanh"}), "feed_forward_proj"),
        (json!({"feed_forward_proj": "gated"}), "feed_forward_proj"),
        (json!({"feed_forward_proj": "gated-gelu"}), "dense_act_fn"),
        (json!({"is_gated_act": true}), "is_gated_act"),
        (json!({"dense_act_fn": "silu"}), "dense_act_fn"),
        (json!({"decoder_start_token_id": null}), "decoder_start_token_id: is missing"),
        (json!({"decoder_start_token_id": 43}), "decoder_start_token_id: is outside the vocabulary"),
        (json!({"relative_attention_num_buckets": 3}), "relative_attention_num_buckets"),
        (json!({"relative_attention_max_distance": 4}), "relative_attention_max_distance"),
        (json!({"num_layers": 0}), "num_layers: 0"),
        (json!({"num_decoder_layers": 16_000_000}), "num_decoder_layers: 16000000"),
        (json!({"num_heads": 0}), "num_heads"),
        (json!({"n_positions": 0}), "n_positions"),
        (json!({"dropout_rate": 1.0}), "dropout_rate"),
        (json!({"layer_norm_epsilon": 0.0}), "layer_norm_epsilon"),
        (json!({"sparse_layers": 2}), "sparse_layers"),
    ] {
        let error = config_with(&changes).unwrap_err().to_string();
        assert!(error.contains(key), "{changes}: {error}");
    }
}
