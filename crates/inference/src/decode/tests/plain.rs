//! Without triggers, and with real models.

use std::path::Path;

use models::generate::{BeamSearch, GenerationRule, Strategy, generate};
use models::{Decoder, DeviceSpec, device};
use proptest::prelude::*;

use super::super::fake::Eager;
use std::result::Result;

use super::*;

fn rule(tokens_max: usize, num_beams: usize) -> DecodingRule {
    DecodingRule { tokens_max, num_beams, ..DecodingRule::paper() }
}

/// Returns a tiny model that reads its prompt apart from what it writes.
fn encoder_decoder() -> Decoder {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/t5_gated_untied");
    Decoder::load_for_tokens(&directory, &device::resolve(&DeviceSpec::Cpu).unwrap()).unwrap()
}

#[test]
fn without_triggers_tokens_and_scores_are_those_of_plain_decoding() {
    let tokenizer = fixtures::tokenizer();
    for model in [fixtures::decoder(), encoder_decoder()] {
        for first in 3..23 {
            for num_beams in 1..=3 {
                let prompt: Vec<u32> = (first..first + 4).collect();
                let search = BeamSearch { num_beams, ..BeamSearch::default() };
                let plain = GenerationRule { tokens_max: 12, strategy: Strategy::Beam(search) };
                let plain = generate(&model, &[prompt.clone().into()], &plain).unwrap().remove(0);
                let decoder = ToolDecoder { model: &model, tokenizer: &tokenizer, rule: rule(12, num_beams) };
                let decoded = decoder.decode(&prompt, &mut Answers::default()).unwrap();
                let tokens: Vec<u32> = decoded.tokens.iter().map(|token| token.token).collect();
                assert_eq!((&tokens, decoded.finish), (&plain.tokens, plain.finish));
                assert!((decoded.score - plain.score).abs() < 1e-9);
                assert!(decoded.tokens.iter().all(|token| token.step == Step::Sampled));
                if num_beams == 1 {
                    let greedy = GenerationRule { tokens_max: 12, strategy: Strategy::Greedy };
                    let greedy = generate(&model, &[prompt.into()], &greedy).unwrap().remove(0);
                    assert_eq!((tokens, decoded.finish), (greedy.tokens, greedy.finish));
                }
            }
        }
    }
}

#[test]
fn what_cannot_be_continued_is_an_error() {
    let model = fixtures::decoder();
    let decoder = ToolDecoder { model: &model, tokenizer: model.tokenizer(), rule: rule(4, 1) };
    let error = decoder.decode(&[], &mut Answers::default()).unwrap_err().to_string();
    assert_eq!(error, "prompt: is empty");
    let decoder = ToolDecoder { rule: rule(4, 0), ..decoder };
    assert!(decoder.decode(&[1], &mut Answers::default()).is_err());
}

/// Suggests one of a few names wherever it is asked.
struct Names<'a>(&'a [Vec<String>]);

impl SuggestionSource for Names<'_> {
    fn suggest(&mut self, written: &str) -> Result<Vec<String>, Refusal> {
        Ok(self.0[written.len() % self.0.len()].clone())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn reading_forced_tokens_at_once_and_beams_of_unequal_length_change_nothing(
        names in prop::collection::vec(prop::collection::vec("[a-e_]{1,5}", 0..4), 1..4),
        prompt in prop::collection::vec(6_u32..200, 1..6),
        num_beams in 1_usize..4,
        terminal in prop::sample::select(vec![Terminal::First, Terminal::MeanProbability]),
    ) {
        let decoder = fixtures::asking_decoder();
        let tokenizer = decoder.tokenizer();
        let token = tokenizer.token(TRIGGER).unwrap();
        let written = |is_cached| {
            let model = Eager { model: &decoder, token, more: 3.0, is_cached };
            let rule = DecodingRule { terminal, ..rule(16, num_beams) };
            ToolDecoder { model: &model, tokenizer, rule }.decode(&prompt, &mut Names(&names)).unwrap()
        };
        let (cached, uncached) = (written(true), written(false));
        prop_assert_eq!(shown(&cached, tokenizer), shown(&uncached, tokenizer));
        prop_assert!((cached.score - uncached.score).abs() < 1e-4);
    }
}
