//! Qwen2.5-Coder-0.5B against `transformers`: `tests/golden/qwen2_coder.py` made `qwen2_coder.json`.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value as Json;

use super::Gguf;
use crate::gguf_tokenizer;
use crate::golden::directory as golden_directory;
use crate::tokenizer::Tokenizer;

#[derive(Deserialize)]
struct Golden {
    config: serde_json::Map<String, Json>,
    texts: Vec<Text>,
}

#[derive(Deserialize)]
struct Text {
    text: String,
    tokens: Vec<u32>,
}

fn golden() -> Golden {
    let text = std::fs::read_to_string(golden_directory("qwen2_coder.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn open() -> Gguf {
    let path = std::env::var_os("RETORT_QWEN2_CODER").map(PathBuf::from);
    Gguf::open(&path.expect("RETORT_QWEN2_CODER is the path of qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")).unwrap()
}

#[test]
fn the_configuration_of_a_real_qwen2_is_that_of_the_reference() {
    let config = open().config().unwrap();
    for (key, expected) in golden().config {
        let (found, expected) = (config[&key].as_f64().unwrap(), expected.as_f64().unwrap());
        assert!((found - expected).abs() <= 1e-6 * expected, "{key} is {found}");
    }
    // The end of a turn, and of a text.
    assert_eq!(config["eos_token_id"], serde_json::json!([151_645, 151_643]));
}

#[test]
fn the_tokenizer_of_a_real_qwen2_gives_the_tokens_of_the_reference() {
    let gguf = open();
    let tokenizer = Tokenizer::from_inner(gguf_tokenizer::tokenizer(&gguf).unwrap(), gguf.path()).unwrap();
    for Text { text, tokens } in golden().texts {
        assert_eq!(tokenizer.encode(&text), tokens, "{text:?}");
        assert_eq!(tokenizer.decode(&tokens), text);
    }
    assert_eq!(tokenizer.token("<|fim_middle|>"), Some(151_660));
}

#[test]
fn a_real_qwen2_has_every_tensor_of_its_checkpoint() {
    use crate::weights::TensorSource;
    let gguf = open();
    let tensors = gguf.decoder_tensors().unwrap();
    assert_eq!(tensors.shapes().len(), 24 * 12 + 3);
    assert!(tensors.shapes().keys().all(|name| !name.contains("GGUF")));
    for name in ["model.layers.0.mlp.down_proj.weight", "model.layers.0.self_attn.k_proj.bias", "lm_head.weight"] {
        assert!(tensors.read(name).unwrap().iter().all(|value| value.is_finite()));
    }
}
