//! Damaged files and odd requests: one clear message, never a panic.

use std::fs;

use super::*;

/// The verbs that read a decoder, with a request that the model could fulfill.
const VERBS: [(&str, &[&str]); 5] = [
    ("info", &[]),
    ("logits", &["--ids", "1,2", "--last"]),
    ("score", &["--ids", "1,2"]),
    ("generate", &["--prompt-ids", "1,2", "--tokens-max", "1"]),
    ("export", &["--output", "OUTPUT", "--format", "hf"]),
];

/// Calls every verb on a model that cannot be loaded; returns the message of each.
fn refusals(model: &Path) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let output = directory.path().join("output");
    let refusal = |(verb, arguments): &(&str, &[&str])| {
        let written: Vec<&str> = arguments
            .iter()
            .map(|argument| if *argument == "OUTPUT" { output.to_str().unwrap() } else { argument })
            .collect();
        error(verb, model, &written)
    };
    let refusals = VERBS.iter().map(refusal).collect();
    assert!(fs::read_dir(directory.path()).unwrap().next().is_none());
    refusals
}

#[track_caller]
fn assert_refused(model: &Path, message: &str) {
    for refusal in refusals(model) {
        assert!(refusal.contains(message), "{refusal}");
        assert!(refusal.len() < 2000 && !refusal.contains('\0'), "{refusal}");
    }
}

fn changed(file: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> TempDir {
    let model = decoder();
    let path = model.path().join(file);
    let content = fs::read(&path).unwrap();
    fs::write(&path, change(content)).unwrap();
    model
}

fn configured(key: &str, value: &Value) -> TempDir {
    changed("config.json", |content| {
        let mut config: Value = serde_json::from_slice(&content).unwrap();
        config[key] = value.clone();
        config.to_string().into_bytes()
    })
}

#[test]
fn damaged_weights_are_refused_by_every_verb() {
    let weights = "model.safetensors";
    let cut = |length: fn(usize) -> usize| {
        changed(weights, |mut content| {
            content.truncate(length(content.len()));
            content
        })
    };
    for length in [|length: usize| length - 1, |length| length / 2, |_| 20, |_| 7, |_| 0] {
        assert_refused(cut(length).path(), weights);
    }
    let overwritten = |at: usize, bytes: &'static [u8]| {
        changed(weights, |mut content| {
            content[at..at + bytes.len()].copy_from_slice(bytes);
            content
        })
    };
    assert_refused(overwritten(0, &[0xFF; 8]).path(), weights);
    assert_refused(overwritten(8, b"\0\0\0\0").path(), "damaged header");
    assert_refused(changed(weights, |_| b"not weights at all".to_vec()).path(), weights);
}

#[test]
fn a_gguf_file_that_is_cut_short_is_refused_by_every_verb() {
    let (model, directory) = (decoder(), tempfile::tempdir().unwrap());
    let file = directory.path().join("model.gguf");
    output("export", model.path(), &["--output", file.to_str().unwrap(), "--format", "gguf-f16"]).unwrap();
    let content = fs::read(&file).unwrap();
    for length in [content.len() / 2, 1000, 30, 5, 0] {
        fs::write(&file, &content[..length]).unwrap();
        assert_refused(&file, "model.gguf");
    }
}

#[test]
fn a_configuration_that_is_missing_or_absurd_is_refused_by_every_verb() {
    let without = decoder();
    fs::remove_file(without.path().join("config.json")).unwrap();
    assert_refused(without.path(), "cannot read");
    assert_refused(without.path(), "config.json");
    assert_refused(tempfile::tempdir().unwrap().path(), "config.json");
    for (key, value, message) in [
        ("vocab_size", serde_json::json!(1_u64 << 62), "vocab_size: 4611686018427387904 is not in 1..=16777216"),
        ("vocab_size", serde_json::json!(16_000_000), "model.embed_tokens.weight is [298, 32]"),
        ("vocab_size", serde_json::json!(-1), "vocab_size: invalid value"),
        ("num_hidden_layers", serde_json::json!(100_000), "num_hidden_layers: 100000 is not in 1..=1024"),
        ("model_type", serde_json::json!("mamba"), "`mamba` is not a decoder that is implemented"),
        ("model_type", Value::Null, "model_type: is missing"),
    ] {
        assert_refused(configured(key, &value).path(), message);
    }
    assert_refused(changed("config.json", |_| vec![0; 64]).path(), "config.json is not a valid configuration");
    assert_refused(changed("config.json", |_| vec![0xFF, 0xFE]).path(), "config.json");
    assert_refused(changed("config.json", |_| b"[]".to_vec()).path(), "config.json");
    assert_refused(changed("tokenizer.json", |content| content[..100].to_vec()).path(), "tokenizer.json");
    assert_refused(Path::new("/dev/null"), "/dev/null");
}

#[test]
fn requests_beyond_all_bounds_are_refused() {
    let model = decoder();
    let long = "x = self\n".repeat(120_000);
    let file = model.path().join("long.py");
    fs::write(&file, &long).unwrap();
    let file = file.to_str().unwrap();
    for (verb, arguments, message) in [
        ("logits", &["--ids", "999999999"][..], "token 999999999 is outside the vocabulary of 298"),
        ("score", &["--ids", "1,999999999"], "token 999999999 is outside the vocabulary of 298"),
        ("logits", &["--ids", ""], "`` is not a token id"),
        ("generate", &["--prompt-ids", ""], "`` is not a token id"),
        ("logits", &["--text", &long], "exceed the model's context of 4096"),
        ("logits", &["--file", file], "exceed the model's context of 4096"),
        ("score", &["--file", file], "exceed the model's context of 4096"),
        ("generate", &["--prompt", &long], "exceed the context of 4096"),
        ("logits", &["--file", model.path().to_str().unwrap()], "cannot read"),
        ("logits", &["--ids", "1", "--source", "x"], "reads no source"),
    ] {
        let error = error(verb, model.path(), arguments);
        assert!(error.contains(message), "{verb}: {error}");
    }
    let binary = model.path().join("binary");
    fs::write(&binary, [0xFF, 0]).unwrap();
    let error = error("score", model.path(), &["--file", binary.to_str().unwrap()]);
    assert!(error.contains("cannot read") && error.contains("UTF-8"), "{error}");
}

#[test]
fn a_text_with_any_character_is_read_and_shown_on_one_line() {
    let model = decoder();
    let table = output("score", model.path(), &["--text", "a\0b\u{1B}[31m\u{202E}\r\nc"]).unwrap();
    assert!(table.chars().all(|character| character == '\n' || !character.is_control()), "{table}");
    let found = json("embed", encoder().path(), &["--text", "a\0b", "--text", &"word ".repeat(200_000)]);
    assert_eq!(found["texts"][1]["is_cut"], true);
    assert_eq!(found["texts"][1]["tokens"].as_array().unwrap().len(), 512);
}
