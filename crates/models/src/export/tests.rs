//! Tests of the module above.

use super::*;
use crate::adapter::RowInit;
use crate::golden;
use crate::weights::{Checkpoint, TensorSource};

#[test]
fn a_directory_keeps_its_configuration_and_files() {
    let [source, target] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    crate::random_model::write_llama(source.path(), 7).unwrap();
    fs::write(source.path().join("generation_config.json"), "{\"temperature\": 0.5}").unwrap();
    let config = json!({ "eos_token": "<|endoftext|>", "added_tokens_decoder": {} });
    write_json(&source.path().join(TOKENIZER_CONFIG_FILE), &config).unwrap();
    let mut decoder = Decoder::load(source.path(), &golden::device()).unwrap();
    let size = decoder.model().network().shape().vocab_size;
    let [token] = decoder.add_tokens(&["<COMP>"], RowInit::Mean).unwrap()[..] else { panic!("one token") };
    let format = ExportFormat { precision: Precision::Bf16, ..ExportFormat::default() };
    decoder.save_merged(target.path(), format).unwrap();

    let mut expected = read_json(&source.path().join("config.json")).unwrap();
    expected["vocab_size"] = json!(size + 1);
    expected["torch_dtype"] = json!("bfloat16");
    assert_eq!(read_json(&target.path().join("config.json")).unwrap(), expected);
    let kept = fs::read_to_string(target.path().join("generation_config.json")).unwrap();
    assert_eq!(kept, "{\"temperature\": 0.5}");
    let declared = read_json(&target.path().join(TOKENIZER_CONFIG_FILE)).unwrap();
    assert_eq!(declared["added_tokens_decoder"][token.to_string()]["content"], json!("<COMP>"));
    let stored = Checkpoint::open(target.path()).unwrap();
    assert!(!stored.shapes().contains_key("lm_head.weight"));
    assert_eq!(stored.shapes()["model.embed_tokens.weight"], [size + 1, 32]);
    let loaded = Decoder::load_as(target.path(), &golden::device(), Precision::Bf16).unwrap();
    assert_eq!(loaded.tokenizer().encode("<COMP>"), [token]);
}

#[test]
fn a_decoder_without_a_configuration_is_not_exported() {
    let directory = tempfile::tempdir().unwrap();
    let error = golden::decoder("llama_grouped").save_merged(directory.path(), ExportFormat::default()).unwrap_err();
    assert!(error.to_string().ends_with("config.json: config.json: the model came without one"), "{error}");
    assert!(fs::read_dir(directory.path()).unwrap().next().is_none());
}
