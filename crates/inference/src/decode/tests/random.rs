//! Models and tools without any order, and what holds for them all the same.

use proptest::prelude::*;

use std::result::Result;

use super::*;

/// Returns logits that depend on every token, the trigger's raised.
fn scattered(tokens: &[u32], size: usize, trigger: u32, seed: u32) -> Vec<f32> {
    let hash = tokens.iter().fold(seed, |hash, token| hash.wrapping_mul(31).wrapping_add(token + 1));
    let logit = |token: u32| (hash.wrapping_add(token).wrapping_mul(2_654_435_769) >> 20) as f32 / 1024.0;
    let mut logits: Vec<f32> = (0..size as u32).map(logit).collect();
    logits[trigger as usize] += 2.0;
    logits
}

fn answer() -> impl Strategy<Value = Result<Vec<String>, Refusal>> {
    prop_oneof![
        8 => prop::collection::vec("([a-e_]|name|<COMP>|<\\|endoftext\\|>|é){0,4}", 0..6).prop_map(Ok),
        1 => Just(Err(Refusal::Deadline)),
        1 => Just(Err(Refusal::Failed("out".into()))),
    ]
}

fn rule() -> impl Strategy<Value = DecodingRule> {
    let terminal = prop::sample::select(vec![Terminal::First, Terminal::MeanProbability]);
    (0_usize..24, 0.0_f32..0.03, terminal, 1_usize..5, -1.0_f64..2.0, 0.0_f32..3.0).prop_map(
        |(tokens_max, trigger_confidence_min, terminal, num_beams, length_penalty, rank_weight)| DecodingRule {
            tokens_max,
            trigger_confidence_min,
            terminal,
            num_beams,
            length_penalty,
            rank_weight,
        },
    )
}

fn check_decoded(decoded: &Decoded, tokenizer: &Tokenizer, rule: &DecodingRule) -> Result<(), TestCaseError> {
    let trigger = tokenizer.token(TRIGGER).unwrap();
    let tokens: Vec<u32> = decoded.tokens.iter().map(|token| token.token).collect();
    let others: Vec<u32> = tokens.iter().copied().filter(|&token| token != trigger).collect();
    prop_assert_eq!(&decoded.text, &tokenizer.decode(&tokens));
    prop_assert_eq!(&decoded.unmarked, &tokenizer.decode(&others));
    prop_assert!(tokens.len() <= rule.tokens_max && !decoded.score.is_nan());
    prop_assert!(!tokens.windows(2).any(|pair| pair == [trigger, trigger]));
    prop_assert!(!tokens.contains(&tokenizer.eos().unwrap()));
    let triggers = (0..tokens.len()).filter(|&position| tokens[position] == trigger);
    prop_assert!(triggers.eq(decoded.questions.iter().map(|question| question.position)));
    for question in &decoded.questions {
        let after = tokenizer.decode(&tokens[question.position + 1..]);
        if let Outcome::Inserted(suggestion) = &question.outcome {
            prop_assert!(question.suggestions.contains(suggestion));
            prop_assert!(after.starts_with(suggestion.as_str()), "{after} {suggestion}");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn whatever_model_and_tool_do_a_text_is_what_its_tokens_spell(
        seed: u32,
        context_tokens_max in 1_usize..30,
        answers in prop::collection::vec(answer(), 0..8),
        rule in rule(),
    ) {
        thread_local! {
            static DECODER: models::Decoder = fixtures::asking_decoder();
        }
        DECODER.with(|decoder| {
            let tokenizer = decoder.tokenizer();
            let (size, end) = (tokenizer.vocabulary_size(), tokenizer.eos().unwrap());
            let trigger = tokenizer.token(TRIGGER).unwrap();
            let model = Scripted::of(Box::new(|tokens| scattered(tokens, size, trigger, seed)), size, end);
            let model = Scripted { context_tokens_max, ..model };
            let mut answers = Answers { answers: answers.into(), asked: Vec::new() };
            let decoder = ToolDecoder { model: &model, tokenizer, rule: rule.clone() };
            let decoded = decoder.decode(&[6], &mut answers).unwrap();
            prop_assert_eq!(decoded.n_asked, answers.asked.len());
            prop_assert!(answers.asked.iter().all(|written| written.ends_with(TRIGGER)));
            check_decoded(&decoded, tokenizer, &rule)
        })?;
    }
}
