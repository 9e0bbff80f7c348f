//! `train complete`: a function of a fixture repository, written by a tiny random model, as a user calls it.

use std::path::Path;

use clap::Parser;
use models::{AdapterConfig, Decoder, DeviceSpec, RowInit, device, random_model};
use serde_json::Value;
use tempfile::TempDir;
use train::cli::{Cli, run};

use crate::root;

const CART: &str = "src/shop/orders/cart.py";

/// Returns a model and an adapter that asks: the first of random rows for the trigger with which it does.
fn asking() -> (TempDir, TempDir) {
    let model = tempfile::tempdir().unwrap();
    random_model::write_llama(model.path(), 3).unwrap();
    let asks = |adapter: &TempDir| {
        let adapter = adapter.path().to_str().unwrap();
        let found = json(model.path(), &["--function", "Cart.add", "--tokens-max", "40", "--adapter", adapter]);
        found["n_asked"].as_u64().unwrap() > 0
    };
    let adapter = (0..200).map(|seed| adapter(model.path(), seed)).find(asks);
    (model, adapter.expect("a random row is probable somewhere"))
}

fn adapter(model: &Path, seed: u64) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut decoder = Decoder::load(model, &device::resolve(&DeviceSpec::Cpu).unwrap()).unwrap();
    let mut stream = repo::random::stream(seed, "trigger");
    let tokens = decoder.add_tokens(&["<COMP>"], RowInit::Random(Box::new(stream.clone()))).unwrap();
    decoder.adapt(&AdapterConfig { lora: None, tokens }, &mut stream).unwrap();
    decoder.save_peft(folder.path(), "random").unwrap();
    folder
}

fn output(model: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let (model, repository) = (model.to_str().unwrap(), root().join("tests/fixtures/python_shop"));
    let start = ["train", "complete", "--device", "cpu", "--offline", "--model", model];
    let place = ["--repo", repository.to_str().unwrap(), "--file", CART];
    let cli = Cli::try_parse_from(start.iter().chain(&place).chain(arguments))?;
    let mut out = Vec::new();
    run(cli, &mut out)?;
    Ok(String::from_utf8(out)?)
}

fn json(model: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&output(model, &[arguments, &["--json"]].concat()).unwrap()).unwrap()
}

#[test]
fn a_function_is_written_and_every_question_told() {
    let (model, adapter) = asking();
    let adapter = ["--adapter", adapter.path().to_str().unwrap()];
    let arguments = [&["--function", "Cart.add", "--tokens-max", "40"], &adapter[..]].concat();
    for more in [&[][..], &["--rule", "released"], &["--beams", "3"], &["--rank-weight", "0.5"]] {
        let found = json(model.path(), &[&arguments, more].concat());
        assert_eq!(found["signature"], "def add(self, product, quantity=1):");
        assert_eq!(found["docstring"], "Adds units of a product, if that many are in stock.");
        let text = found["text"].as_str().unwrap();
        assert!(text.starts_with("def add(self, product, quantity=1):") && !text.contains("<COMP>"), "{text}");
        let n_triggers = found["marked_body"].as_str().unwrap().matches("<COMP>").count();
        let questions = found["questions"].as_array().unwrap();
        assert_eq!(questions.len(), n_triggers, "{found}");
        assert_eq!(found["n_refused"], 0);
    }
    let found = json(model.path(), &arguments);
    assert!(!found["questions"].as_array().unwrap().is_empty(), "{found}");
    let first = &found["questions"][0];
    let n_shown = first["n_suggestions"].as_u64().unwrap().min(10);
    assert_eq!(first["suggestions"].as_array().unwrap().len() as u64, n_shown);
    let line = json(model.path(), &[&["--line", "51", "--tokens-max", "40"], &adapter[..]].concat());
    assert_eq!(line["body"], found["body"]);
    let trace = output(model.path(), &[&arguments[..], &["--trace"]].concat()).unwrap();
    assert!(trace.contains("\n1. ") && trace.contains(" suggestions\n"), "{trace}");
}

#[test]
fn a_function_that_cannot_be_written_says_why() {
    let model = tempfile::tempdir().unwrap();
    random_model::write_llama(model.path(), 3).unwrap();
    let error = |arguments: &[&str]| format!("{:#}", output(model.path(), arguments).unwrap_err());
    assert!(error(&["--function", "gone"]).contains("has no function `gone`"));
    assert!(error(&["--line", "9999"]).contains("has no function at line 9999"));
    assert!(error(&["--function", "Cart.lines"]).contains("--docstring"));
    assert!(error(&[]).contains("--function") && error(&["--line", "1", "--function", "f"]).contains("cannot be used"));
    assert!(error(&["--function", "Cart.add", "--beams", "0"]).contains("num_beams"));
    assert!(error(&["--function", "Cart.add", "--adapter", "no/adapter"]).contains("adapter_config.json"));
    let plain = output(model.path(), &["--function", "Cart.lines", "--docstring", "Return it.", "--tokens-max", "4"]);
    assert!(plain.unwrap().starts_with("def lines(self):\n        \"\"\"Return it.\"\"\""));
}
