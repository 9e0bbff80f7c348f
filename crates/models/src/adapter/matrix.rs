//! Tied and untied heads, trained in full, by `LoRA`, by rows and by both, saved as adapter and merged: the logits stay.
//!
//! For `tests/interop/load_peft.py` and `load_merged.py` these are `NAME/base`, `NAME/adapter` or `NAME/merged`, and
//! `NAME/expected.json`.

use std::collections::BTreeMap;
use std::path::Path;

use expect_test::expect;
use serde_json::json;

use super::tests::{decoder, lora, stream, train};
use super::{AdapterConfig, RowInit};
use crate::cache::Cache;
use crate::decoder::{CountedSequence, Decoder, DecoderModel, ScoredSequence};
use crate::export::{ExportFormat, read_json, write_json};
use crate::golden::{self, Golden};
use crate::interop::Output;
use crate::linear::Precision;
use crate::pass::{Padding, Rows};

const STEPS: usize = 3;
/// Of the largest logit: a merged weight rounds its sum once, factors add it up in the order of the machine's kernels.
const TOLERANCE: f32 = 1e-5;

/// Copies the checkpoint that is trained.
fn write_base(name: &str, directory: &Path) {
    std::fs::create_dir_all(directory).unwrap();
    for file in ["config.json", "model.safetensors"] {
        std::fs::copy(golden::directory(name).join(file), directory.join(file)).unwrap();
    }
}

/// Returns the logits after every token; an encoder-decoder reads the text as its source and again as its target.
fn logits(model: &DecoderModel, tokens: &[u32]) -> Vec<f32> {
    let Some(start) = model.network().start_token() else {
        return golden::logits(model, tokens);
    };
    let mut cache = Cache::new(model.network().shape().n_layers);
    let _start = model.read_source(Rows::new(&[tokens], Padding::Right), &mut cache, None);
    let target = Rows::new(&[[&[start], tokens].concat()], Padding::Right);
    model.logits(model.hidden(target, Some(&mut cache), None)).into_data().try_into_vec().unwrap()
}

/// Writes the logits of every text and, where it was added, the number of the new token.
fn write_expected(decoder: &Decoder, cases: &[Vec<u32>], output: &Output) {
    let network = decoder.model().network();
    let (vocabulary, start) = (network.shape().vocab_size, network.start_token());
    let case = |tokens: &Vec<u32>| {
        let logits = logits(decoder.model(), tokens);
        let logits = logits.chunks(vocabulary).collect::<Vec<_>>();
        let Some(start) = start else {
            return json!({ "tokens": tokens, "logits": logits });
        };
        let target = [&[start], &tokens[..]].concat();
        json!({ "source": tokens, "decoder_tokens": target, "logits": logits })
    };
    let added: BTreeMap<&str, u32> =
        decoder.tokenizer().token("<COMP>").map(|token| ("<COMP>", token)).into_iter().collect();
    output.expect(&json!({ "cases": cases.iter().map(case).collect::<Vec<_>>(), "added_tokens": added }));
}

fn assert_same(found: &Decoder, expected: &Decoder, cases: &[Vec<u32>]) {
    for tokens in cases {
        let (found, expected) = (logits(found.model(), tokens), logits(expected.model(), tokens));
        assert_eq!(found.len(), expected.len());
        let error = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        let largest = expected.iter().map(|logit| logit.abs()).fold(0.0, f32::max);
        assert!(error <= TOLERANCE * largest, "{error} of {largest}");
    }
}

/// Trains a checkpoint with a new token and returns it with texts that hold the token.
fn trained(base: &str, adapter: Option<(bool, bool)>) -> (Decoder, Vec<Vec<u32>>) {
    let mut decoder = decoder(base);
    let has_new = !matches!(adapter, Some((_, false)));
    let token = if has_new { decoder.add_tokens(&["<COMP>"], RowInit::Mean).unwrap()[0] } else { 9 };
    if let Some((has_lora, has_rows)) = adapter {
        let targets = match base.split('_').next() {
            Some("gpt2" | "gpt") => ["c_attn", "c_proj", "c_fc"],
            Some("starcoder2") => ["q_proj", "v_proj", "c_proj"],
            Some("codegen") => ["qkv_proj", "out_proj", "fc_in"],
            Some("t5") => ["q", "v", "wo"],
            _ => ["q_proj", "v_proj", "down_proj"],
        };
        let lora = has_lora.then(|| lora(&targets));
        let tokens = if has_rows { vec![token, 7] } else { Vec::new() };
        decoder.adapt(&AdapterConfig { lora, tokens }, &mut stream(0)).unwrap();
    }
    let untrained = logits(decoder.model(), &[3, token, 5]);
    let texts = [(vec![3, token, 7], vec![9, token, 20]), (vec![7], vec![token, 8])];
    let texts = texts.map(|(prompt, target)| CountedSequence::from(&ScoredSequence { prompt, target }));
    train(&mut decoder, STEPS, &texts);
    assert_ne!(logits(decoder.model(), &[3, token, 5]), untrained);
    (decoder, vec![vec![3, token, 5, 7, 9, token, 11], vec![token, 1]])
}

fn check_adapter(base: &str, name: &str, (decoder, cases): &(Decoder, Vec<Vec<u32>>)) {
    let output = Output::new(&format!("{name}_adapter"));
    let adapter = output.path().join("adapter");
    write_base(base, &output.path().join("base"));
    decoder.save_peft(&adapter, base).unwrap();
    write_expected(decoder, cases, &output);
    let mut loaded = self::decoder(base);
    loaded.load_peft(&adapter).unwrap();
    assert_same(&loaded, decoder, cases);
    assert_eq!(loaded.tokenizer().token("<COMP>"), decoder.tokenizer().token("<COMP>"));
    // What was loaded saves the same again.
    let again = output.path().join("again");
    loaded.save_peft(&again, base).unwrap();
    for file in std::fs::read_dir(&adapter).unwrap() {
        let file = file.unwrap().file_name();
        let read = |directory: &Path| std::fs::read(directory.join(&file)).unwrap();
        assert!(read(&adapter) == read(&again), "{}", file.display());
    }
    std::fs::remove_dir_all(again).unwrap();
}

fn check_merged(name: &str, (decoder, cases): &(Decoder, Vec<Vec<u32>>)) {
    let output = Output::new(&format!("{name}_merged"));
    let merged = output.path().join("merged");
    decoder.save_merged(&merged, ExportFormat::default()).unwrap();
    write_expected(decoder, cases, &output);
    let loaded = Decoder::load(&merged, &golden::device()).unwrap();
    assert_same(&loaded, decoder, cases);
    assert_eq!(loaded.tokenizer().token("<COMP>"), decoder.tokenizer().token("<COMP>"));

    let shards = output.path().join("sharded");
    decoder.save_merged(&shards, ExportFormat::default()).unwrap();
    let format = ExportFormat { shard_bytes_max: 20_000, precision: Precision::F32 };
    decoder.save_merged(&shards, format).unwrap();
    assert!(!shards.join("model.safetensors").exists());
    assert_same(&Decoder::load(&shards, &golden::device()).unwrap(), decoder, cases);
    std::fs::remove_dir_all(shards).unwrap();
}

#[test]
fn folders_of_python_peft_give_its_logits() {
    for (name, base) in [
        ("peft_tied_resized", "llama_grouped"),
        ("peft_untied", "llama_scaled"),
        ("peft_tied_rows", "llama_grouped"),
        ("peft_conv1d", "gpt2_tiny"),
    ] {
        let mut decoder = decoder(base);
        decoder.load_peft(&golden::directory(name)).unwrap();
        Golden::load(name).check(decoder.model());
        Golden::load(name).check(&decoder.model().merged());
    }
}

#[test]
fn a_folder_that_asks_for_something_else_is_refused_by_name() {
    let refused = |key: &str, value: serde_json::Value| {
        let directory = tempfile::tempdir().unwrap();
        let source = golden::directory("peft_untied");
        let mut config = read_json(&source.join("adapter_config.json")).unwrap();
        config[key] = value;
        write_json(&directory.path().join("adapter_config.json"), &config).unwrap();
        let weights = "adapter_model.safetensors";
        std::fs::copy(source.join(weights), directory.path().join(weights)).unwrap();
        let error = decoder("llama_scaled").load_peft(directory.path()).unwrap_err().to_string();
        error.replace(&directory.path().display().to_string(), "DIR")
    };
    let found = [
        refused("use_dora", json!(true)),
        refused("bias", json!("all")),
        refused("modules_to_save", json!(["lm_head"])),
        refused("rank_pattern", json!({ "q_proj": 4 })),
        refused("something_new", json!(3)),
        refused("r", json!(0)),
        refused("init_lora_weights", json!("pissa")),
        refused("peft_type", json!("IA3")),
        refused("trainable_token_indices", json!({ "embed_tokens": [9, 5] })),
        refused("trainable_token_indices", json!({ "embed_tokens": [9, 9], "lm_head": [9, 5] })),
        refused("trainable_token_indices", json!({ "embed_tokens": [9], "lm_head": [9, 5] })),
    ];
    expect![[r#"
        DIR/adapter_config.json: use_dora: true is not implemented
        DIR/adapter_config.json: bias: "all" is not implemented
        DIR/adapter_config.json: modules_to_save: ["lm_head"] is not implemented
        DIR/adapter_config.json: rank_pattern: {"q_proj":4} is not implemented
        DIR/adapter_config.json: something_new: 3 is not implemented
        DIR/adapter_config.json: r: is not at least 1
        DIR/adapter_config.json: init_lora_weights: `pissa` may change the base model
        DIR/adapter_config.json: peft_type: is neither LORA nor TRAINABLE_TOKENS
        the weights in DIR/adapter_model.safetensors do not fit the model: unexpected base_model.model.lm_head.token_adapter.trainable_tokens_delta
        DIR/adapter_config.json: trainable_token_indices: names a token twice
        the weights in DIR/adapter_model.safetensors do not fit the model: model.embed_tokens: rows are [2, 20] for 1 tokens of width 20"#]].assert_eq(&found.join("\n"));
    let mut other = decoder("llama_grouped");
    let error = other.load_peft(&golden::directory("peft_conv1d")).unwrap_err().to_string();
    assert!(error.contains("unexpected base_model.model.transformer.h.0.attn.c_attn.lora_A.weight"), "{error}");
    assert!(!other.model().is_adapted());
}

#[test]
fn every_way_to_train_and_save_keeps_the_logits() {
    let bases = [
        ("tied", "llama_grouped"),
        ("untied", "llama_scaled"),
        ("conv1d_tied", "gpt2_tiny"),
        ("conv1d_untied", "gpt2_untied_scaled"),
        ("multi_query", "gpt_bigcode_multi_query"),
        ("qwen2_tied", "qwen2_tied"),
        ("qwen2_window", "qwen2_window"),
        ("starcoder2", "starcoder2_window"),
        ("codegen", "codegen_tiny"),
        ("t5_tied", "t5_relu_tied"),
        ("t5_untied", "t5_gated_untied"),
    ];
    for (head, base) in bases {
        let full = trained(base, None);
        check_merged(&format!("{head}_full"), &full);
        assert!(full.0.save_peft(Path::new("unused"), base).is_err());
        for (kind, adapter) in [("lora", (true, false)), ("rows", (false, true)), ("both", (true, true))] {
            let trained = trained(base, Some(adapter));
            if adapter.1 && ["codegen", "t5_untied"].contains(&head) {
                // `peft` would leave out the bias of CodeGen's head, and leave the rows that T5's encoder reads.
                assert!(trained.0.save_peft(Path::new("unused"), base).is_err());
            } else {
                check_adapter(base, &format!("{head}_{kind}"), &trained);
            }
            check_merged(&format!("{head}_{kind}"), &trained);
        }
    }
}
