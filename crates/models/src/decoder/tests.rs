//! Tests of the module above.

mod architectures;
mod gradients;

use super::{BatchedLanguageModel, Decoder, LanguageModel, nll};
use crate::cache::Cache;
use crate::golden::{Golden, assert_close, changed_model, decoder, device, with_tokenizer};
use crate::pass::Padding;

#[test]
fn each_row_has_the_whole_context_whatever_the_others_read() {
    let changes = serde_json::json!({ "max_position_embeddings": 8 });
    let decoder = with_tokenizer(changed_model("llama_grouped", &changes).unwrap());
    let mut cache = decoder.new_cache();
    decoder.feed_rows(&mut cache, &[vec![3, 4, 5, 6, 7, 8], vec![9, 8]], Padding::Left);
    let together = decoder.feed_rows(&mut cache, &[vec![9], vec![7, 6, 5, 4]], Padding::Left);
    let alone = [&[3, 4, 5, 6, 7, 8, 9][..], &[9, 8, 7, 6, 5, 4]];
    for (together, tokens) in together.iter().zip(alone) {
        assert_close(together, &decoder.feed(&mut decoder.new_cache(), tokens));
    }
}

#[test]
fn a_target_scored_from_the_cache_of_its_prompt_has_the_same_nll() {
    let decoder = decoder("llama_grouped");
    let golden = Golden::load("llama_grouped");
    let tokens = &golden.cases[0].tokens;
    for prompt_tokens in 1..tokens.len() {
        let (prompt, target) = tokens.split_at(prompt_tokens);
        let mut cache = decoder.new_cache();
        let logits = decoder.feed(&mut cache, prompt);
        assert_close(&decoder.score_from(&cache, &logits, target), &golden.cases[0].nll()[prompt_tokens - 1..]);
        assert_eq!(cache.length(), prompt_tokens);
    }
}

/// Scores by the default method of the trait, which feeds one token at a time.
struct OneByOne(Decoder);

impl LanguageModel for OneByOne {
    type Cache = Cache;

    fn vocabulary_size(&self) -> usize {
        self.0.vocabulary_size()
    }

    fn new_cache(&self) -> Cache {
        self.0.new_cache()
    }

    fn feed(&self, cache: &mut Cache, tokens: &[u32]) -> Vec<f32> {
        self.0.feed(cache, tokens)
    }

    fn eos(&self) -> Vec<u32> {
        self.0.eos()
    }

    fn context_tokens_max(&self) -> usize {
        self.0.context_tokens_max()
    }
}

#[test]
fn scoring_token_by_token_gives_the_same_nll() {
    let model = OneByOne(decoder("llama_scaled"));
    let golden = &Golden::load("llama_scaled").cases[0];
    let mut cache = model.new_cache();
    let logits = model.feed(&mut cache, &golden.tokens[..5]);
    assert_close(&model.score_from(&cache, &logits, &golden.tokens[5..]), &golden.nll()[4..]);
    assert!(model.score_from(&cache, &logits, &[]).is_empty());
}

#[test]
fn the_ends_of_a_text_come_from_the_configuration() {
    assert_eq!(decoder("llama_grouped").eos(), [2]);
    assert_eq!(decoder("llama_scaled").eos(), [1, 2]);
}

#[test]
fn an_empty_batch_has_no_nll() {
    assert!(decoder("llama_grouped").target_nll(&[]).is_empty());
}

#[test]
fn the_nll_of_equal_logits_is_the_logarithm_of_their_number() {
    assert!((nll(&[300.0; 8], 3) - 8_f32.ln()).abs() < 1e-6);
}

#[test]
#[should_panic(expected = "outside the vocabulary")]
fn a_token_outside_the_vocabulary_is_a_bug() {
    let decoder = decoder("llama_grouped");
    decoder.feed(&mut decoder.new_cache(), &[61]);
}

#[test]
#[should_panic(expected = "exceed the context of 64")]
fn a_text_beyond_the_context_is_a_bug() {
    let decoder = decoder("llama_grouped");
    decoder.feed(&mut decoder.new_cache(), &[1; 65]);
}

#[test]
fn a_decoder_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>(value: T) -> T {
        value
    }
    shared(decoder("llama_grouped"));
}

#[test]
fn a_model_directory_loads_with_its_tokenizer() {
    let directory = tempfile::tempdir().unwrap();
    crate::random_model::write_llama(directory.path(), 7).unwrap();
    let decoder = Decoder::load(directory.path(), &device()).unwrap();
    let tokens = decoder.tokenizer().encode("def main():\n\treturn 1\r\n");
    let logits = decoder.feed(&mut decoder.new_cache(), &tokens);
    assert_eq!(logits.len(), decoder.vocabulary_size());
    assert!(logits.iter().all(|logit| logit.is_finite()));
    assert!(Decoder::load(&directory.path().join("absent.gguf"), &device()).is_err());
}

#[test]
fn work_on_tokens_needs_no_tokenizer() {
    let directory = crate::golden::directory("llama_grouped");
    assert!(Decoder::load(&directory, &device()).is_err());
    let decoder = Decoder::load_for_tokens(&directory, &device()).unwrap();
    assert!(decoder.tokenizer_if_any().is_none());
    let case = &Golden::load("llama_grouped").cases[0];
    let positions = [0, 3, case.tokens.len() - 1];
    for (found, position) in decoder.logits_at(&case.tokens, &positions).iter().zip(positions) {
        assert_close(found, &case.logits[position]);
    }
    let written = tempfile::tempdir().unwrap();
    crate::random_model::write_llama(written.path(), 7).unwrap();
    assert!(Decoder::load_for_tokens(written.path(), &device()).unwrap().tokenizer_if_any().is_some());
}

#[test]
fn a_tokenizer_beyond_the_vocabulary_of_the_model_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    crate::random_model::write_llama(directory.path(), 7).unwrap();
    let path = directory.path().join("tokenizer.json");
    let mut json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    json["model"]["vocab"]["Z"] = 298.into();
    std::fs::write(&path, json.to_string()).unwrap();
    let error = Decoder::load(directory.path(), &device()).unwrap_err().to_string();
    let expected = "config.json: vocab_size: 298 is not above 298, the highest token of the tokenizer";
    assert!(error.ends_with(expected), "{error}");
}
