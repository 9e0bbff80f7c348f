//! What `tests/interop/load_sentence_transformer.py` must compute with a saved encoder.

use serde_json::{Value, json};

use super::*;
use crate::export::{read_json, write_json};
use crate::interop::Output;

/// Saves an encoder with the tokens and the vectors of texts, the last of which is longer than the encoder reads.
///
/// The texts neither begin nor end with spaces, which `sentence-transformers` strips.
fn export(encoder: &Encoder, name: &str, texts: &[&str]) {
    let output = Output::new(&format!("{name}_encoder"));
    let directory = output.path().join("sentence_transformer");
    encoder.save(&directory).unwrap();
    let long = texts[1].repeat(encoder.tokens_max());
    let texts: Vec<&str> = texts.iter().copied().chain([long.as_str()]).collect();
    let tokens: Vec<Vec<u32>> = texts.iter().map(|text| encoder.candidate_tokens(text, usize::MAX)).collect();
    assert_eq!(tokens.last().map(Vec::len), Some(encoder.tokens_max()));
    let saved = tokenizers::Tokenizer::from_file(directory.join("tokenizer.json")).unwrap();
    for (text, tokens) in texts.iter().zip(&tokens).take(texts.len() - 1) {
        assert_eq!(saved.encode(*text, true).unwrap().get_ids(), tokens);
    }
    let vectors = rows(encoder.embed_batch(&tokens, None));
    output.expect(&json!({ "texts": texts, "tokens": tokens, "vectors": vectors }));
}

/// Loads a tiny checkpoint whose tokenizer and its configuration are as RoBERTa's descendants come.
fn as_released(name: &str, edit: impl Fn(&mut Value)) -> Encoder {
    let directory = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors"] {
        std::fs::copy(golden_directory(name).join(file), directory.path().join(file)).unwrap();
    }
    let mut tokenizer = read_json(&golden_directory(name).join("tokenizer.json")).unwrap();
    tokenizer["post_processor"] = json!({
        "type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": true,
        "add_prefix_space": false,
    });
    edit(&mut tokenizer);
    write_json(&directory.path().join("tokenizer.json"), &tokenizer).unwrap();
    let config = json!({ "tokenizer_class": "RobertaTokenizer", "model_max_length": 1_000_000_000 });
    write_json(&directory.path().join("tokenizer_config.json"), &config).unwrap();
    Encoder::load(directory.path(), &device()).unwrap()
}

const TEXTS: [&str; 3] = ["load the config", "a bc def", ""];

#[test]
fn an_exported_encoder_states_its_template_and_vectors() {
    for name in ["bert_tiny", "roberta_tiny"] {
        export(&Encoder::load(&golden_directory(name), &device()).unwrap(), name, &TEXTS);
    }
    let unixcoder = as_released("roberta_tiny", |_| ());
    assert_eq!(unixcoder.template.before.len(), 3);
    export(&unixcoder, "unixcoder", &TEXTS);
    let roberta = as_released("roberta_tiny", |tokenizer| {
        let vocabulary = tokenizer["model"]["vocab"].as_object_mut().unwrap();
        let mode = vocabulary.remove("<encoder-only>").unwrap();
        vocabulary.insert("##-only".to_owned(), mode);
    });
    assert_eq!(roberta.template.before.len(), 1);
    export(&roberta, "roberta", &TEXTS);
    let bytes = random_encoder(&device());
    export(&bytes, "bert_bytes", &["def main(path):\n    return path", "ä b\tc", "", "a  b"]);
}

#[cfg(feature = "golden")]
#[test]
fn a_real_encoder_is_exported() {
    let directory = std::env::var_os("RETORT_MINILM").expect("RETORT_MINILM is the directory of all-MiniLM-L6-v2");
    let encoder = Encoder::load(Path::new(&directory), &device()).unwrap();
    export(
        &encoder,
        "minilm",
        &["def main(path):\n    return path", "Größe of x2.y", "", "read the first rows of a file"],
    );
}
