//! `train model export`: what is written loads again and gives the same.

use std::fs;

use super::*;

fn export(model: &Path, output: &Path, arguments: &[&str]) -> Value {
    json("export", model, &[&["--output", output.to_str().unwrap()], arguments].concat())
}

fn refused(model: &Path, output: &Path, arguments: &[&str]) -> String {
    error("export", model, &[&["--output", output.to_str().unwrap()], arguments].concat())
}

fn logits(model: &Path, arguments: &[&str]) -> Vec<f64> {
    let found = super::json("logits", model, arguments);
    let rows = found["positions"].as_array().unwrap();
    let all = rows.iter().flat_map(|row| row["logits"].as_array().unwrap());
    all.map(|logit| logit.as_f64().unwrap()).collect()
}

fn largest_error(found: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

#[test]
fn a_gguf_file_becomes_a_directory_and_back_with_the_same_logits() {
    let (model, out) = (decoder(), tempfile::tempdir().unwrap());
    let text = ["--text", "def main():\n    return self"];
    let original = logits(model.path(), &text);
    for (format, tolerance) in [("gguf-f16", 0.01), ("gguf-q8_0", 0.2)] {
        let [file, directory, again] =
            ["m.gguf", "directory", "again.gguf"].map(|name| out.path().join(format).join(name));
        fs::create_dir(out.path().join(format)).unwrap();
        let found = export(model.path(), &file, &["--format", format]);
        assert_eq!(found["bytes"], fs::metadata(&file).unwrap().len());
        assert_eq!((&found["drift"], &found["format"]), (&Value::Null, &format.into()));
        let of_file = logits(&file, &text);
        assert!(largest_error(&of_file, &original) < tolerance);
        export(&file, &directory, &["--format", "hf"]);
        assert_eq!(names(&directory), ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]);
        assert!(largest_error(&logits(&directory, &text), &of_file) < 1e-6);
        export(&directory, &again, &["--format", format]);
        assert!(largest_error(&logits(&again, &text), &of_file) < 1e-6);
        let generated = |model: &Path| super::json("generate", model, &["--prompt", "def f", "--tokens-max", "8"]);
        assert_eq!(generated(&directory)["texts"][0]["tokens"], generated(&file)["texts"][0]["tokens"]);
        assert_eq!(super::json("info", &directory, &[])["eos"], super::json("info", &file, &[])["eos"]);
        let config = fs::read_to_string(directory.join("tokenizer_config.json")).unwrap();
        assert!(config.contains("\"eos_token\": \"<|endoftext|>\""), "{config}");
    }
}

#[test]
fn weights_have_the_precision_and_the_files_that_are_asked_for() {
    let (model, out) = (decoder(), tempfile::tempdir().unwrap());
    let [half, whole] = ["half", "whole"].map(|name| out.path().join(name));
    export(model.path(), &half, &["--format", "hf", "--precision", "bf16"]);
    export(model.path(), &whole, &["--format", "hf", "--shard-mb", "1"]);
    assert_eq!(super::json("info", &half, &[])["weight_types"].as_object().unwrap().keys().next().unwrap(), "BF16");
    let text = ["--text", "def f"];
    let original = logits(model.path(), &text);
    assert_eq!(logits(&whole, &text), original);
    let error = largest_error(&logits(&half, &text), &original);
    assert!(error > 0.0 && error < 0.1, "{error}");
}

#[test]
fn an_adapter_is_folded_into_what_is_written() {
    let out = tempfile::tempdir().unwrap();
    for (name, base) in
        [("peft_untied", "llama_scaled"), ("peft_tied_resized", "llama_grouped"), ("peft_conv1d", "gpt2_tiny")]
    {
        let ((adapter, expected), (base, _)) = (golden(name), golden(base));
        let merged = out.path().join(name);
        let found = export(&base, &merged, &["--format", "hf", "--adapter", adapter.to_str().unwrap()]);
        let drift = &found["drift"];
        assert!(drift["max"].as_f64().unwrap() < 1e-3 && drift["mean"].as_f64() <= drift["max"].as_f64());
        assert!(drift["n_outputs"].as_u64().unwrap() > 0);
        let case = if expected.is_array() { &expected[0] } else { &expected["cases"][0] };
        let found = super::json("logits", &merged, &["--ids", &written(&case["tokens"])]);
        for (found, expected) in found["positions"].as_array().unwrap().iter().zip(case["logits"].as_array().unwrap()) {
            assert_close(&found["logits"], expected);
        }
    }
    let ((adapter, _), (base, _)) = (golden("peft_untied"), golden("llama_scaled"));
    let arguments = ["--format", "hf", "--adapter", adapter.to_str().unwrap(), "--drift-max", "0"];
    let error = refused(&base, &out.path().join("drifted"), &arguments);
    assert!(error.contains("merging moves an output by"), "{error}");
    assert_eq!(names(out.path()), ["peft_conv1d", "peft_tied_resized", "peft_untied"]);
}

#[test]
fn an_encoder_is_written_for_sentence_transformers() {
    let (model, out) = (encoder(), tempfile::tempdir().unwrap());
    let retriever = out.path().join("retriever");
    export(model.path(), &retriever, &["--format", "sentence-transformers"]);
    assert!(names(&retriever).contains(&"modules.json".to_owned()));
    let vector = |model: &Path| super::json("embed", model, &["--text", "return self"])["texts"].clone();
    assert_eq!(vector(&retriever), vector(model.path()));
}

#[test]
fn what_cannot_be_written_is_one_clear_message_and_leaves_nothing() {
    let (llama, bert, out) = (decoder(), encoder(), tempfile::tempdir().unwrap());
    let (decoder, encoder) = (llama.path(), bert.path());
    let (gpt2, _) = golden("gpt2_tiny");
    let other = self::decoder();
    let config = fs::read_to_string(other.path().join("config.json")).unwrap();
    fs::write(other.path().join("config.json"), config.replace("\"llama\"", "\"gpt2\"")).unwrap();
    let new = out.path().join("new");
    let nowhere = out.path().join("no/where");
    for (model, output, arguments, message) in [
        (decoder, encoder, &["--format", "hf"][..], "exists already"),
        (decoder, &nowhere, &["--format", "hf"], "there is no directory"),
        (decoder, Path::new("/"), &["--format", "hf"], "exists already"),
        (decoder, &new, &["--format", "pickle"], "invalid value 'pickle'"),
        (decoder, &new, &["--format", "sentence-transformers"], "is a decoder: export it with"),
        (encoder, &new, &["--format", "gguf-f16"], "is an encoder: export it with"),
        (decoder, &new, &["--format", "gguf-f16", "--precision", "bf16"], "--precision is for --format hf"),
        (decoder, &new, &["--format", "gguf-f16", "--shard-mb", "5"], "--shard-mb is for --format hf"),
        (decoder, &new, &["--format", "hf", "--shard-mb", "0"], "0 is not in 1..=1000000"),
        (decoder, &new, &["--format", "hf", "--drift-max", "1"], "--adapter"),
        (decoder, &new, &["--format", "hf", "--adapter", "no/such"], "no/such/adapter_config.json"),
        (&gpt2, &new, &["--format", "gguf-f16"], "gpt2_tiny/tokenizer.json"),
        (other.path(), &new, &["--format", "gguf-f16"], "architecture `gpt2` is not supported, only llama, qwen2"),
        (&new, &nowhere, &["--format", "hf"], "there is no directory"),
    ] {
        let error = refused(model, output, arguments);
        assert!(error.contains(message), "{arguments:?}: {error}");
        assert!(names(out.path()).is_empty(), "{:?}", names(out.path()));
    }
}

#[test]
fn a_neighbor_that_a_killed_export_left_is_replaced() {
    let (model, out) = (decoder(), tempfile::tempdir().unwrap());
    fs::create_dir(out.path().join("model.partial")).unwrap();
    fs::write(out.path().join("model.partial/rest"), "x").unwrap();
    let output = out.path().join("model");
    let text =
        super::output("export", model.path(), &["--output", output.to_str().unwrap(), "--format", "hf"]).unwrap();
    assert!(text.starts_with("wrote ") && text.ends_with(" bytes)\n"), "{text}");
    assert_eq!(names(out.path()), ["model"]);
    assert!(!output.join("rest").exists());
}
