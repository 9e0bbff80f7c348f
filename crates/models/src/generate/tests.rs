//! Tests of the module above.

use proptest::prelude::{ProptestConfig, prop, prop_assert, prop_assert_eq, proptest};
use serde::Deserialize;

use super::fake::{END, Scripted, Uncached, scattered, sure};
use super::*;
use crate::Decoder;
use crate::decoder::LanguageModel;
use crate::golden;

fn prompts(texts: &[&[u32]]) -> Vec<Prompt> {
    (0_u64..).zip(texts).map(|(seed, tokens)| Prompt { tokens: tokens.to_vec(), seed }).collect()
}

fn rule(tokens_max: usize, strategy: Strategy) -> GenerationRule {
    GenerationRule { tokens_max, strategy }
}

fn beams(num_beams: usize) -> Strategy {
    Strategy::Beam(BeamSearch { num_beams, ..BeamSearch::default() })
}

fn sampled() -> Strategy {
    Strategy::Sample(Sampling { temperature: 1.2, top_k: Some(7), top_p: Some(0.95) })
}

/// One strategy of each kind.
fn strategies() -> [Strategy; 4] {
    let early = BeamSearch { num_beams: 3, length_penalty: 0.5, early_stopping: true };
    [Strategy::Greedy, sampled(), beams(3), Strategy::Beam(early)]
}

fn one(model: &Scripted, prompt: &[u32], tokens_max: usize, strategy: Strategy) -> Generated {
    generate(model, &prompts(&[prompt]), &rule(tokens_max, strategy)).unwrap().remove(0)
}

/// What `transformers` generated from a padded batch.
#[derive(Deserialize)]
struct Reference {
    prompts: Vec<Vec<u32>>,
    eos_token_id: Vec<u32>,
    max_new_tokens: usize,
    greedy: Vec<Vec<u32>>,
    beams: Vec<ReferenceBeams>,
}

#[derive(Deserialize)]
struct ReferenceBeams {
    num_beams: usize,
    length_penalty: f64,
    early_stopping: bool,
    new_tokens: Vec<Vec<u32>>,
    scores: Vec<f64>,
}

impl Reference {
    fn prompts(&self) -> Vec<Prompt> {
        self.prompts.iter().cloned().map(Prompt::from).collect()
    }

    fn strategies(&self) -> Vec<Strategy> {
        let search = |beams: &ReferenceBeams| {
            let (num_beams, length_penalty, early_stopping) =
                (beams.num_beams, beams.length_penalty, beams.early_stopping);
            Strategy::Beam(BeamSearch { num_beams, length_penalty, early_stopping })
        };
        [Strategy::Greedy, sampled()].into_iter().chain(self.beams.iter().map(search)).collect()
    }
}

/// Returns every decoder that has golden texts.
fn golden_decoders() -> Vec<(String, Decoder, Reference)> {
    #[derive(Deserialize)]
    struct File {
        generation: Reference,
    }
    let mut names: Vec<String> = std::fs::read_dir(golden::directory(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| golden::directory(name).join("golden.json").exists())
        .collect();
    names.sort();
    let decoders = names.into_iter().filter_map(|name| {
        let text = std::fs::read_to_string(golden::directory(&name).join("golden.json")).unwrap();
        let file: File = serde_json::from_str(&text).ok()?;
        Some((name.clone(), golden::decoder(&name), file.generation))
    });
    decoders.collect()
}

/// Checks a text against the reference's, which keeps the token that ends it.
fn check(name: &str, found: &Generated, expected: &[u32], reference: &Reference) {
    let ended = expected.last().is_some_and(|last| reference.eos_token_id.contains(last));
    let n = expected.len() - usize::from(ended);
    assert_eq!(found.tokens, expected[..n], "{name}");
    assert_eq!(found.finish, if ended { Finish::EndOfSequence } else { Finish::TokensMax }, "{name}");
    assert_eq!(found.log_probabilities.len(), n, "{name}");
}

#[test]
fn tokens_and_scores_match_transformers() {
    let decoders = golden_decoders();
    assert_eq!(decoders.len(), 13, "two of every architecture and Llama 3");
    for (name, decoder, reference) in &decoders {
        let generate = |strategy| generate(decoder, &reference.prompts(), &rule(reference.max_new_tokens, strategy));
        for (found, expected) in generate(Strategy::Greedy).unwrap().iter().zip(&reference.greedy) {
            check(name, found, expected, reference);
        }
        for (strategy, beams) in reference.strategies().into_iter().skip(2).zip(&reference.beams) {
            let found = generate(strategy).unwrap();
            assert_eq!(found.len(), beams.new_tokens.len());
            for ((found, expected), score) in found.iter().zip(&beams.new_tokens).zip(&beams.scores) {
                check(name, found, expected, reference);
                assert!((found.score - score).abs() < 1e-4, "{name}: {} is not {score}", found.score);
            }
        }
    }
}

#[test]
fn cached_equals_uncached_token_for_token() {
    for (name, decoder, reference) in &golden_decoders() {
        for strategy in reference.strategies() {
            let rule = rule(reference.max_new_tokens, strategy);
            let cached = generate(decoder, &reference.prompts(), &rule).unwrap();
            let uncached = generate(&Uncached(decoder), &reference.prompts(), &rule).unwrap();
            let tokens = |generated: &[Generated]| generated.iter().map(|g| g.tokens.clone()).collect::<Vec<_>>();
            assert_eq!(tokens(&cached), tokens(&uncached), "{name} {rule:?}");
        }
    }
}

#[test]
fn a_text_ends_at_the_end_of_the_sequence_at_the_limit_and_at_the_end_of_the_context() {
    for strategy in strategies() {
        let counting = Scripted { logits: |tokens| sure(tokens[tokens.len() - 1] + 1), ..Scripted::counting() };
        let sharp = |strategy: &Strategy| match strategy {
            Strategy::Sample(_) => Strategy::Sample(Sampling { temperature: 0.01, ..Sampling::default() }),
            other => other.clone(),
        };
        let strategy = sharp(&strategy);
        if !matches!(strategy, Strategy::Beam(_)) {
            let whole = one(&counting, &[3], 64, strategy.clone());
            assert_eq!((whole.tokens, whole.finish), (vec![4, 5, 6, 7, 8], Finish::EndOfSequence));
        }
        let limited = one(&counting, &[1, 2], 3, strategy.clone());
        assert_eq!((limited.tokens, limited.finish), (vec![3, 4, 5], Finish::TokensMax));
        let short = Scripted { context_tokens_max: 4, ..counting };
        let full = one(&short, &[1, 2], 64, strategy.clone());
        assert_eq!((full.tokens, full.finish), (vec![3, 4], Finish::ContextFull));
        let exact = one(&short, &[1, 2], 2, strategy.clone());
        assert_eq!((exact.tokens.len(), exact.finish), (2, Finish::TokensMax));
        let none = one(&short, &[1, 2, 3, 4], 5, strategy.clone());
        assert_eq!((none.tokens.len(), none.finish), (0, Finish::ContextFull));
        let nothing = one(&short, &[1], 0, strategy);
        assert_eq!((nothing.tokens.len(), nothing.finish), (0, Finish::TokensMax));
    }
}

#[test]
fn log_probabilities_are_those_of_the_softmax_and_the_score_counts_the_end() {
    let expected = 2.0 - (2.0_f64.exp() + 9.0).ln();
    let generated = one(&Scripted::counting(), &[6], 8, Strategy::Greedy);
    assert_eq!(generated.tokens, [7, 8]);
    assert!(generated.log_probabilities.iter().all(|&found| (f64::from(found) - expected).abs() < 1e-6));
    assert!((generated.score - 3.0 * expected).abs() < 1e-9);
}

#[test]
fn one_beam_is_greedy() {
    let model = Scripted::scattered();
    for first in 0..9 {
        let greedy = one(&model, &[first], 12, Strategy::Greedy);
        let beam = one(&model, &[first], 12, beams(1));
        assert_eq!((greedy.tokens, greedy.finish), (beam.tokens, beam.finish));
    }
}

#[test]
fn many_beams_find_the_best_of_all_short_texts() {
    // Two tokens after a prompt: 90 that do not end at once, and the end itself.
    let model = Scripted::scattered();
    for first in 0..9 {
        let log_probabilities = |tokens: &[u32]| {
            let logits = scattered(tokens);
            let normalizer = log_normalizer(&logits);
            logits.into_iter().map(move |logit| f64::from(logit) - normalizer).collect::<Vec<f64>>()
        };
        let ahead = log_probabilities(&[first]);
        let mut best = (ahead[END as usize], Vec::new());
        for (token, log_probability) in (0..9_u32).zip(&ahead) {
            for (next, second) in (0..10_u32).zip(log_probabilities(&[first, token])) {
                let score = (log_probability + second) / 2.0;
                if score > best.0 {
                    best = (score, [token, next].into_iter().filter(|&token| token != END).collect());
                }
            }
        }
        let found = one(&model, &[first], 2, beams(100));
        assert_eq!(found.tokens, best.1);
        assert!((found.score - best.0).abs() < 1e-9);
    }
}

#[test]
fn several_samples_of_one_prompt_differ_by_their_seeds() {
    let model = Scripted { logits: |_| vec![0.0; 10], context_tokens_max: 100 };
    let sample = |seed| Prompt { tokens: vec![1], seed };
    let plain = Strategy::Sample(Sampling::default());
    let texts = generate(&model, &[sample(1), sample(2), sample(1)], &rule(20, plain)).unwrap();
    assert_eq!(texts[0], texts[2]);
    assert_ne!(texts[0].tokens, texts[1].tokens);
}

#[test]
fn what_cannot_be_continued_is_an_error() {
    let model = Scripted { context_tokens_max: 3, ..Scripted::counting() };
    let error = |prompt: &[u32]| {
        generate(&model, &prompts(&[&[1], prompt]), &rule(2, Strategy::Greedy)).unwrap_err().to_string()
    };
    assert_eq!(error(&[]), "prompt: is empty");
    assert_eq!(error(&[1, 10]), "prompt: token 10 is outside the vocabulary of 10");
    assert_eq!(error(&[1, 2, 3, 4]), "prompt: its 4 tokens exceed the context of 3");
    let error = generate(&model, &[], &rule(2, beams(0))).unwrap_err().to_string();
    assert_eq!(error, "num_beams: 0 follows no continuation");
    let search = BeamSearch { length_penalty: f64::NAN, ..BeamSearch::default() };
    assert!(generate(&model, &[], &rule(2, Strategy::Beam(search))).is_err());
    assert!(generate(&model, &[], &rule(2, Strategy::Greedy)).unwrap().is_empty());
}

#[test]
fn a_continued_sequence_ends_where_the_caller_says() {
    let model = Scripted::counting();
    let mut cache = model.new_cache();
    let logits = model.feed(&mut cache, &[0]);
    let generated = greedy_from(&model, &mut cache, logits, 64, |tokens| tokens.ends_with(&[4]));
    assert_eq!((generated.tokens, generated.finish), (vec![1, 2, 3, 4], Finish::Stopped));
    assert_eq!(cache, [[0, 1, 2, 3]]);
}

proptest! {
    #[test]
    fn a_text_depends_neither_on_its_batch_mates_nor_on_their_order(
        texts in prop::collection::vec(prop::collection::vec(0_u32..9, 1..6), 1..6),
        tokens_max in 0_usize..10,
        which in 0_usize..4,
    ) {
        let model = Scripted { context_tokens_max: 9, ..Scripted::scattered() };
        let rule = rule(tokens_max, strategies()[which].clone());
        let prompts: Vec<Prompt> = (0_u64..).zip(texts).map(|(seed, tokens)| Prompt { tokens, seed }).collect();
        let together = generate(&model, &prompts, &rule).unwrap();
        let mut reversed = generate(&model, &prompts.iter().rev().cloned().collect::<Vec<_>>(), &rule).unwrap();
        reversed.reverse();
        prop_assert_eq!(&together, &reversed);
        for (prompt, together) in prompts.iter().zip(&together) {
            prop_assert_eq!(together, &generate(&model, std::slice::from_ref(prompt), &rule).unwrap()[0]);
            prop_assert!(prompt.tokens.len() + together.tokens.len() <= 9);
            prop_assert!(!together.tokens.contains(&END));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_decoder_writes_the_same_whatever_the_batch_and_the_side_of_the_padding(
        texts in prop::collection::vec(prop::collection::vec(3_u32..40, 1..12), 1..5),
        which in 0_usize..4,
    ) {
        for (name, decoder, _) in golden_decoders() {
            let rule = rule(6, strategies()[which].clone());
            let prompts: Vec<Prompt> = (0_u64..).zip(&texts).map(|(seed, tokens)| Prompt { tokens: tokens.clone(), seed }).collect();
            let tokens = |prompts: &[Prompt], padding| -> Vec<Vec<u32>> {
                let generated = generate_padded(&decoder, prompts, &rule, padding).unwrap();
                generated.into_iter().map(|generated| generated.tokens).collect()
            };
            let left = tokens(&prompts, Padding::Left);
            prop_assert_eq!(&left, &tokens(&prompts, Padding::Right), "{}", name);
            for (prompt, text) in prompts.iter().zip(&left) {
                prop_assert_eq!(text, &tokens(std::slice::from_ref(prompt), Padding::Left)[0], "{}", name);
            }
        }
    }
}
