//! `train model`: every verb on a random model and on tiny checkpoints of `transformers`, as a user calls it.

mod encoder_decoder;
mod export;
mod hostile;

use std::path::Path;

use clap::Parser;
use serde_json::Value;
use tempfile::TempDir;
use train::cli::{Cli, run};

use crate::root;

fn output(verb: &str, model: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let model = model.to_str().unwrap();
    let start = ["train", "model", verb, "--device", "cpu", "--offline", "--model", model];
    let cli = Cli::try_parse_from(start.iter().chain(arguments))?;
    let mut out = Vec::new();
    run(cli, &mut out)?;
    Ok(String::from_utf8(out)?)
}

fn json(verb: &str, model: &Path, arguments: &[&str]) -> Value {
    let text = output(verb, model, &[arguments, &["--json"]].concat()).unwrap();
    assert_eq!(text.lines().count(), 1, "one object on one line");
    serde_json::from_str(&text).unwrap()
}

fn error(verb: &str, model: &Path, arguments: &[&str]) -> String {
    format!("{:#}", output(verb, model, arguments).unwrap_err())
}

fn decoder() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    models::random_model::write_llama(directory.path(), 3).unwrap();
    directory
}

fn encoder() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    models::random_model::write_bert(directory.path(), 3).unwrap();
    directory
}

fn golden(name: &str) -> (std::path::PathBuf, Value) {
    let directory = root().join("tests/golden").join(name);
    let text = std::fs::read_to_string(directory.join("golden.json")).unwrap();
    (directory, serde_json::from_str(&text).unwrap())
}

fn written(ids: &Value) -> String {
    ids.as_array().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn assert_close(found: &Value, expected: &Value) {
    let (found, expected) = (found.as_array().unwrap(), expected.as_array().unwrap());
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let error = (found.as_f64().unwrap() - expected.as_f64().unwrap()).abs();
        assert!(error <= 1e-4, "{found} is not {expected}");
    }
}

#[test]
fn logits_of_ids_are_those_of_transformers_without_a_tokenizer() {
    for name in ["llama_grouped", "llama3_scaled", "gpt2_tiny"] {
        let (directory, golden) = golden(name);
        let case = if golden.is_array() { &golden[0] } else { &golden["cases"][0] };
        let found = json("logits", &directory, &["--ids", &written(&case["tokens"]), "--top", "2"]);
        assert_eq!(found["tokens"], case["tokens"]);
        let positions = found["positions"].as_array().unwrap();
        let expected = case["logits"].as_array().unwrap();
        assert_eq!(positions.len(), expected.len());
        for (found, expected) in positions.iter().zip(expected) {
            assert_close(&found["logits"], expected);
            let top = &found["top"].as_array().unwrap()[..];
            assert_eq!((top.len(), &found["token"]["spelling"]), (2, &Value::Null));
            assert!(top[0]["logit"].as_f64() >= top[1]["logit"].as_f64());
        }
    }
}

#[test]
fn logits_are_given_only_where_they_are_asked_for() {
    let (directory, golden) = golden("llama_grouped");
    let case = if golden.is_array() { &golden[0] } else { &golden["cases"][0] };
    let ids = written(&case["tokens"]);
    let some = json("logits", &directory, &["--ids", &ids, "--positions", "0,5"]);
    let last = json("logits", &directory, &["--ids", &ids, "--last"]);
    let n = case["tokens"].as_array().unwrap().len();
    assert_eq!((&some["positions"][1]["position"], &last["positions"][0]["position"]), (&5.into(), &(n - 1).into()));
    assert_eq!(some["positions"].as_array().unwrap().len(), 2);
    assert_close(&some["positions"][1]["logits"], &case["logits"][5]);
    assert_close(&last["positions"][0]["logits"], &case["logits"][n - 1]);
}

#[test]
fn the_nll_of_ids_is_that_of_transformers() {
    let (directory, golden) = golden("llama_grouped");
    let case = if golden.is_array() { &golden[0] } else { &golden["cases"][0] };
    let whole = json("score", &directory, &["--ids", &written(&case["tokens"])]);
    let nlls: Vec<Value> = whole["tokens"].as_array().unwrap().iter().map(|token| token["nll"].clone()).collect();
    assert!(nlls[0].is_null());
    assert_close(&nlls[1..].to_vec().into(), &case["nll"]);
    let tokens = case["tokens"].as_array().unwrap();
    let (prompt, rest) = (tokens[..4].to_vec().into(), tokens[4..].to_vec().into());
    let rest = json("score", &directory, &["--prompt-ids", &written(&prompt), "--ids", &written(&rest)]);
    let after: Vec<Value> = rest["tokens"].as_array().unwrap().iter().map(|token| token["nll"].clone()).collect();
    assert_close(&after.clone().into(), &nlls[4..].to_vec().into());
    let sum: f64 = after.iter().map(|nll| nll.as_f64().unwrap()).sum();
    assert!((rest["sum"].as_f64().unwrap() - sum).abs() < 1e-4);
    let perplexity = (sum / after.len() as f64).exp();
    assert!((rest["perplexity"].as_f64().unwrap() / perplexity - 1.0).abs() < 1e-4);
}

#[test]
fn generated_ids_are_those_of_transformers() {
    let (directory, golden) = golden("llama3_scaled");
    let reference = &golden["generation"];
    let prompts: Vec<String> = reference["prompts"].as_array().unwrap().iter().map(written).collect();
    let start = ["--prompt-ids", &prompts[0], "--prompt-ids", &prompts[1], "--tokens-max", "12"];
    let check = |arguments: &[&str], expected: &Value| {
        let found = json("generate", &directory, &[&start, arguments].concat());
        for (text, expected) in found["texts"].as_array().unwrap().iter().zip(expected.as_array().unwrap()) {
            let expected = expected.as_array().unwrap();
            let n = expected.len() - usize::from(text["finish"] == "end_of_sequence");
            assert_eq!(text["tokens"], Value::from(&expected[..n]));
            assert!(text["text"].is_null());
        }
        found
    };
    check(&[], &reference["greedy"]);
    check(&["--temperature", "3", "--top-k", "1"], &reference["greedy"]);
    let found = check(&["--beams", "3"], &reference["beams"][0]["new_tokens"]);
    let score = |index: usize| found["texts"][index]["score"].clone();
    assert_close(&vec![score(0), score(1)].into(), &reference["beams"][0]["scores"]);
    check(&["--beams", "3", "--early-stopping"], &reference["beams"][1]["new_tokens"]);
}

#[test]
fn a_sample_depends_on_its_seed_alone() {
    let model = decoder();
    let sample = |arguments: &[&str]| {
        let start = ["--temperature", "0.9", "--top-k", "40", "--top-p", "0.9", "--tokens-max", "12"];
        json("generate", model.path(), &[&start, arguments].concat())["texts"].clone()
    };
    let both = sample(&["--prompt", "def f", "--prompt", "import", "--seed", "7"]);
    assert_eq!(both[0]["tokens"], sample(&["--prompt", "def f", "--seed", "7"])[0]["tokens"]);
    assert_eq!(both[1]["tokens"], sample(&["--prompt", "import", "--seed", "8"])[0]["tokens"]);
    assert_ne!(both[1]["tokens"], sample(&["--prompt", "import", "--seed", "9"])[0]["tokens"]);
    assert!(both[0]["text"].is_string());
}

#[test]
fn text_and_its_ids_give_the_same() {
    let model = decoder();
    let text = "def main():\n    return 1\n";
    let file = model.path().join("text.py");
    std::fs::write(&file, text).unwrap();
    let of_text = json("logits", model.path(), &["--text", text]);
    assert_eq!(of_text, json("logits", model.path(), &["--file", file.to_str().unwrap()]));
    assert_eq!(of_text, json("logits", model.path(), &["--ids", &written(&of_text["tokens"])]));
    assert_eq!(of_text["positions"][0]["token"]["spelling"], "def");
    let scored = json("score", model.path(), &["--prompt", "def main", "--text", "():"]);
    assert_eq!(scored["tokens"][0]["spelling"], "()");
    assert_eq!(scored["n_scored"], 2);
}

#[test]
fn an_encoder_gives_vectors_of_unit_length_whatever_the_batch() {
    let model = encoder();
    let file = model.path().join("lines.jsonl");
    let lines: Vec<String> = (0..40).map(|n| format!("{{\"text\": \"value {n} = self\"}}")).collect();
    std::fs::write(&file, format!("\"return self\"\n\n{}\n", lines.join("\n"))).unwrap();
    let many = json("embed", model.path(), &["--file", file.to_str().unwrap()]);
    assert_eq!(many["texts"].as_array().unwrap().len(), 41);
    let one = json("embed", model.path(), &["--text", "return self"]);
    assert_close(&many["texts"][0]["vector"], &one["texts"][0]["vector"]);
    let vector = one["texts"][0]["vector"].as_array().unwrap();
    let length: f64 = vector.iter().map(|value| value.as_f64().unwrap().powi(2)).sum();
    assert!((length - 1.0).abs() < 1e-5 && one["dim"] == vector.len());
}

#[test]
fn a_query_keeps_its_end_and_a_candidate_its_beginning() {
    let model = encoder();
    let cut = |role: &str| json("embed", model.path(), &["--text", "abcdef", "--as", role, "--tokens-max", "5"]);
    let whole = json("embed", model.path(), &["--text", "abcdef"])["texts"][0]["tokens"].clone();
    let tokens = |found: &Value| found["texts"][0]["tokens"].as_array().unwrap().clone();
    let (query, candidate) = (cut("query"), cut("candidate"));
    let whole = whole.as_array().unwrap();
    assert_eq!(query["texts"][0]["is_cut"], true);
    assert_eq!(tokens(&query)[1..], whole[whole.len() - 4..]);
    assert_eq!(tokens(&candidate)[..4], whole[..4]);
}

#[test]
fn info_says_what_a_model_is() {
    let found = json("info", decoder().path(), &[]);
    assert_eq!((&found["kind"], &found["architecture"]), (&"decoder".into(), &"llama".into()));
    assert_eq!((&found["has_tied_head"], &found["sizes"]["num_key_value_heads"]), (&true.into(), &2.into()));
    assert_eq!(found["weight_types"]["F32"], found["n_parameters"]);
    assert_eq!(found["special_tokens"][5]["spelling"], "<|endoftext|>");
    assert_eq!(found["fingerprint"].as_str().unwrap().len(), 64);
    let found = json("info", encoder().path(), &[]);
    assert_eq!((&found["kind"], &found["has_tied_head"]), (&"encoder".into(), &Value::Null));
    let (directory, _) = golden("llama3_scaled");
    assert_eq!(json("info", &directory, &[])["eos"], serde_json::json!([25, 32]));
}

#[test]
fn tables_are_for_people() {
    let (decoder, encoder) = (decoder(), encoder());
    for (verb, arguments, words) in [
        ("info", &[][..], &["llama (decoder)", "tied to the embedding", "F32", "fingerprint"][..]),
        ("logits", &["--text", "def f", "--last", "--top", "3"], &["after position", "log prob."]),
        ("score", &["--text", "def f():"], &["NLL (nats)", "perplexity", "def"]),
        ("generate", &["--prompt", "def f", "--tokens-max", "4"], &["prompt 0: 4 tokens", "tokens_max"]),
    ] {
        let text = output(verb, decoder.path(), arguments).unwrap();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    }
    let text = output("embed", encoder.path(), &["--text", "a", "--text", "b"]).unwrap();
    assert!(text.contains("cos to text 0") && text.lines().count() == 3, "{text}");
}

#[test]
fn what_cannot_be_computed_is_one_clear_message() {
    let (decoder, encoder) = (decoder(), encoder());
    let (ids_only, _) = golden("llama_grouped");
    let (decoder, encoder) = (decoder.path(), encoder.path());
    let long = vec!["7"; 65].join(",");
    for (verb, model, arguments, message) in [
        ("logits", encoder, &["--ids", "1"][..], "is an encoder, which predicts no tokens"),
        ("generate", encoder, &["--prompt", "x"], "is an encoder, which predicts no tokens"),
        ("embed", decoder, &["--text", "x"], "is a decoder, which gives no vector"),
        ("logits", decoder, &["--ids", "1,298"], "token 298 is outside the vocabulary of 298"),
        ("generate", decoder, &["--prompt-ids", "298"], "token 298 is outside the vocabulary of 298"),
        ("score", decoder, &["--prompt-ids", "999", "--ids", "1"], "token 999 is outside the vocabulary"),
        ("logits", decoder, &["--ids", "1,x"], "`x` is not a token id"),
        ("logits", decoder, &["--text", ""], "the text is empty"),
        ("generate", decoder, &["--prompt", ""], "the text is empty"),
        ("score", decoder, &["--text", "x"], "nothing to be predicted from"),
        ("embed", encoder, &["--text", "x", "--text", ""], "text 1 is empty"),
        ("embed", encoder, &["--text", "x", "--tokens-max", "2"], "is not in 3..=512"),
        ("embed", encoder, &["--text", "x", "--tokens-max", "513"], "is not in 3..=512"),
        ("logits", &ids_only, &["--ids", &long], "65 tokens exceed the model's context of 64"),
        ("score", &ids_only, &["--ids", &long], "65 tokens exceed the model's context of 64"),
        ("generate", &ids_only, &["--prompt-ids", &long], "65 tokens exceed the context of 64"),
        ("logits", &ids_only, &["--text", "x"], "has no tokenizer.json: give ids instead of text"),
        ("logits", decoder, &["--ids", "1,2", "--positions", "2"], "position 2 is not one of the text's 2"),
        ("logits", decoder, &["--text", "x", "--ids", "1"], "cannot be used with"),
        ("logits", decoder, &[], "required"),
        ("generate", decoder, &["--prompt", "x", "--beams", "0"], "num_beams"),
        ("generate", decoder, &["--prompt", "x", "--beams", "2", "--top-k", "2"], "cannot be used with"),
        ("generate", decoder, &["--prompt", "x", "--temperature", "-1"], "temperature"),
        ("info", Path::new("no/such/model"), &[], "there is no file or directory no/such/model"),
        ("info", Path::new("hf:org/name"), &[], "org/name"),
    ] {
        let error = error(verb, model, arguments);
        assert!(error.contains(message), "{verb} {arguments:?}: {error}");
    }
}

#[test]
fn a_line_that_is_no_text_is_named() {
    let model = encoder();
    let file = model.path().join("lines.jsonl");
    for (content, message) in
        [("\"a\"\n{\"code\": 1}\n", "lines.jsonl:2"), ("\"a\n", "lines.jsonl:1"), ("\n", "no texts")]
    {
        std::fs::write(&file, content).unwrap();
        let error = error("embed", model.path(), &["--file", file.to_str().unwrap()]);
        assert!(error.contains(message), "{error}");
    }
}
