//! UniXcoder as released code runs it, held against `transformers`.

use std::collections::BTreeMap;

use super::*;

#[derive(Deserialize)]
struct Golden {
    ids: Vec<Vec<u32>>,
    #[serde(flatten)]
    ways: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct Way {
    hidden: Vec<Vec<Vec<f32>>>,
    embeddings: Vec<Vec<f32>>,
}

/// Loads the tiny RoBERTa with other values in its configuration.
fn roberta(changes: &[(&str, serde_json::Value)]) -> Result<Encoder> {
    let (source, copy) = (golden_directory("roberta_tiny"), tempfile::tempdir().unwrap());
    for file in ["model.safetensors", "tokenizer.json"] {
        std::fs::copy(source.join(file), copy.path().join(file)).unwrap();
    }
    let mut config = crate::export::read_json(&source.join("config.json")).unwrap();
    for (key, value) in changes {
        config[*key] = value.clone();
    }
    crate::export::write_json(&copy.path().join("config.json"), &config).unwrap();
    Encoder::load(copy.path(), &device())
}

#[test]
fn every_way_to_run_unixcoder_is_one_of_two_readings() {
    let json = std::fs::read_to_string(golden_directory("roberta_tiny").join("unixcoder.json")).unwrap();
    let golden: Golden = serde_json::from_str(&json).unwrap();
    for (way, is_decoder, reading) in [
        ("pad_mask", false, AttentionReading::Bidirectional),
        ("pair_mask", false, AttentionReading::Bidirectional),
        ("causal", true, AttentionReading::Causal),
    ] {
        let encoder = roberta(&[("is_decoder", is_decoder.into())]).unwrap();
        assert_eq!(encoder.attention(), reading);
        let expected: Way = serde_json::from_value(golden.ways[way].clone()).unwrap();
        let batch = TokenBatch::new(&golden.ids, encoder.files.config.pad_token_id);
        let hidden = encoder.model.forward(&batch, None);
        for (index, expected) in expected.hidden.iter().enumerate() {
            let sequence = hidden.clone().slice([index..index + 1, 0..expected.len()]).squeeze_dim::<2>(0);
            assert_close(&rows(sequence).concat(), &expected.concat(), 1e-4);
        }
        let embeddings = rows(encoder.embed_batch(&golden.ids, None));
        assert_close(&embeddings.concat(), &expected.embeddings.concat(), 1e-4);
    }
}

#[test]
fn a_causal_encoder_stays_one_when_it_is_saved() {
    let directory = tempfile::tempdir().unwrap();
    roberta(&[("is_decoder", true.into())]).unwrap().save(directory.path()).unwrap();
    let loaded = Encoder::load(directory.path(), &device()).unwrap();
    assert_eq!(loaded.attention(), AttentionReading::Causal);
}

#[test]
fn a_configuration_without_room_for_a_text_is_refused() {
    // Positions are counted from the padding token, and four tokens stand around a text.
    for (pad_token_id, positions) in [(40, 0), (21, 0), (17, 4)] {
        let error = roberta(&[("pad_token_id", pad_token_id.into())]).unwrap_err().to_string();
        let expected =
            format!("max_position_embeddings: has positions for {positions} tokens, where 4 stand around a text");
        assert!(error.ends_with(&expected), "{error}");
    }
    assert_eq!(roberta(&[("pad_token_id", 16.into())]).unwrap().tokens_max(), 5);
}
