//! Tests of the module above.

use std::path::Path;

use super::*;
use crate::gguf::sample::Sample;
use crate::tokenizer::Tokenizer;

fn sample(pre: &str) -> Sample {
    Sample::default()
        .text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", pre)
        .texts("tokenizer.ggml.tokens", &["<|endoftext|>", "a", "b", "1", "Ġ", "ab", "Ġab", "11", "<x>", "Ã", "¤", "Ċ"])
        .texts("tokenizer.ggml.merges", &["a b", "Ġ ab", "1 1"])
        .integers("tokenizer.ggml.token_type", &[3, 1, 1, 1, 1, 1, 1, 1, 4, 1, 1, 1])
        .integer("tokenizer.ggml.eos_token_id", 1)
}

fn open(sample: &Sample) -> Gguf {
    let (_guard, path) = sample.write();
    Gguf::open(&path).unwrap()
}

fn build(pre: &str) -> Tokenizer {
    Tokenizer::from_inner(tokenizer(&open(&sample(pre))).unwrap(), Path::new("sample")).unwrap()
}

#[test]
fn digits_stand_alone_where_the_name_says_so() {
    assert_eq!(build("smollm").encode("ab 11"), [5, 4, 3, 3]);
    assert_eq!(build("gpt-2").encode("ab 11ab"), [5, 4, 7, 5]);
}

#[test]
fn special_tokens_are_recognized_and_spelled_out_again() {
    let tokenizer = build("smollm");
    let text = "ab<|endoftext|> ab<x>\nä";
    let tokens = tokenizer.encode(text);
    assert_eq!(tokens, [5, 0, 6, 8, 11, 9, 10]);
    assert_eq!(tokenizer.decode(&tokens), text);
}

#[test]
fn the_ends_are_what_the_metadata_name_and_the_end_of_text() {
    assert_eq!(eos(&open(&sample("smollm"))).unwrap(), [1, 0]);
    let outside = open(&sample("smollm").integer("tokenizer.ggml.eot_token_id", 12));
    assert!(eos(&outside).is_err());
}

#[test]
fn an_incomplete_or_unknown_tokenizer_is_refused() {
    let refused = |sample: Sample| tokenizer(&open(&sample)).unwrap_err().to_string();
    assert!(refused(sample("tekken")).contains("`tekken` is not supported"));
    assert!(refused(Sample::default().text("tokenizer.ggml.model", "bert")).contains("only `gpt2` and `llama`"));
    let start = || Sample::default().text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
    assert!(refused(start()).contains("tokens is missing"));
    let twice = start().texts("tokenizer.ggml.tokens", &["a", "a"]).texts("tokenizer.ggml.merges", &[]);
    assert!(refused(twice).contains("twice"));
    let start = || start().texts("tokenizer.ggml.tokens", &["a", "b"]);
    for merge in ["ab", "a b", "a c", "", " "] {
        let expected = format!("`{merge}` does not merge two tokens into one");
        assert!(refused(start().texts("tokenizer.ggml.merges", &[merge])).contains(&expected));
    }
}

#[test]
fn contractions_words_and_digits_are_cut_as_each_family_does() {
    let pieces = |pre: &str, text: &str| {
        let inner = tokenizer(&open(&sample(pre).integer("tokenizer.ggml.bos_token_id", 0))).unwrap();
        let mut cut = tokenizers::PreTokenizedString::from(text);
        tokenizers::PreTokenizer::pre_tokenize(inner.get_pre_tokenizer().unwrap(), &mut cut).unwrap();
        let splits = cut.get_splits(tokenizers::OffsetReferential::Original, tokenizers::OffsetType::Byte);
        splits.into_iter().map(|(split, ..)| split.to_owned()).collect::<Vec<String>>().join("|")
    };
    let text = "I'LL x1234  (a)\n\n y";
    assert_eq!(pieces("gpt-2", text), "I|'|LL|Ġx|1234|Ġ|Ġ(|a|)|ĊĊ|Ġy");
    assert_eq!(pieces("starcoder", text), "I|'|LL|Ġx|1|2|3|4|Ġ|Ġ(|a|)|ĊĊ|Ġy");
    assert_eq!(pieces("qwen2", text), "I|'LL|Ġx|1|2|3|4|Ġ|Ġ(|a|)ĊĊ|Ġy");
    assert_eq!(pieces("llama-bpe", text), "I|'LL|Ġx|123|4|Ġ|Ġ(|a|)ĊĊ|Ġy");
    assert_eq!(pieces("deepseek-coder", text), "I|'|LL|Ġx|1|2|3|4|Ġ|Ġ(|a|)|Ċ|Ċ|Ġy");
}

#[test]
fn a_text_begins_and_ends_with_what_the_metadata_tell() {
    let around = |sample: &Sample| {
        let inner = tokenizer(&open(sample)).unwrap();
        let tokens = inner.encode("ab", true).unwrap().get_ids().to_vec();
        (tokens, Tokenizer::from_inner(inner, Path::new("sample")).unwrap().begin())
    };
    assert_eq!(around(&sample("smollm")), (vec![5], None));
    let begins =
        sample("smollm").integer("tokenizer.ggml.bos_token_id", 0).entry("tokenizer.ggml.add_bos_token", 7, &[1]);
    assert_eq!(around(&begins), (vec![0, 5], Some(0)));
    assert_eq!(around(&begins.entry("tokenizer.ggml.add_eos_token", 7, &[1])).0, [0, 5, 1]);
    let missing = tokenizer(&open(&sample("llama-bpe"))).unwrap_err().to_string();
    assert!(missing.contains("tokenizer.ggml.bos_token_id is missing"), "{missing}");
}

/// Bytes, then pieces whose scores say that `ab` is joined before `bc`, and `▁ab` from its parts.
pub(crate) fn pieces() -> Sample {
    let bytes: Vec<String> = (0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>")).collect();
    let mut tokens = vec!["<unk>", "<s>", "</s>"];
    tokens.extend(bytes.iter().map(String::as_str));
    let first = tokens.len();
    tokens.extend(["▁", "a", "b", "c", "ab", "bc", "▁ab", "abc"]);
    let mut kinds = vec![2, 3, 3];
    kinds.resize(first, 6);
    kinds.resize(tokens.len(), 1);
    let mut scores = vec![0.0; first + 4];
    scores.extend([-1.0_f32, -2.0, -3.0, -4.0]);
    let items: Vec<u8> = scores.iter().flat_map(|score: &f32| score.to_le_bytes()).collect();
    let count = (scores.len() as u64).to_le_bytes();
    Sample::default()
        .text("tokenizer.ggml.model", "llama")
        .texts("tokenizer.ggml.tokens", &tokens)
        .integers("tokenizer.ggml.token_type", &kinds)
        .entry("tokenizer.ggml.scores", 9, &[&6_u32.to_le_bytes()[..], &count, &items].concat())
        .integer("tokenizer.ggml.bos_token_id", 1)
}

#[test]
fn pieces_are_joined_by_score_and_unknown_characters_spelled_in_bytes() {
    let tokenizer = Tokenizer::from_inner(tokenizer(&open(&pieces())).unwrap(), Path::new("sample")).unwrap();
    let spelled = |text: &str| {
        let tokens = tokenizer.encode(text);
        assert_eq!(tokenizer.decode(&tokens), text);
        tokens.into_iter().map(|token| tokenizer.spelling(token).unwrap()).collect::<Vec<String>>().join(" ")
    };
    assert_eq!(spelled("abc bc"), "▁ab c ▁ bc");
    assert_eq!(spelled("ä"), "▁ <0xC3> <0xA4>");
    assert_eq!(spelled("b\n"), "▁ b <0x0A>");
    // As in `transformers`, a text after a special token begins anew.
    assert_eq!(tokenizer.decode(&tokenizer.encode("b</s>a")), "b</s> a");
    assert_eq!(tokenizer.begin(), Some(1));
}

#[test]
fn an_incomplete_set_of_pieces_is_refused() {
    let refused = |sample: Sample| tokenizer(&open(&sample)).unwrap_err().to_string();
    let start = || Sample::default().text("tokenizer.ggml.model", "llama");
    assert!(refused(start()).contains("tokens is missing"));
    assert!(refused(start().texts("tokenizer.ggml.tokens", &["a"])).contains("token_type is missing"));
    let kinds = start().texts("tokenizer.ggml.tokens", &["a"]).integers("tokenizer.ggml.token_type", &[1]);
    assert!(refused(kinds).contains("scores is missing"));
}
