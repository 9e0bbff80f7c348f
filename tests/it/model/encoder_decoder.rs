//! `train model` on an encoder-decoder.

use super::*;

fn cases() -> Vec<(std::path::PathBuf, Value)> {
    let of = |name| {
        let (directory, golden) = golden(name);
        let cases = golden["cases"].as_array().unwrap().clone();
        let has_target = |case: &Value| case["decoder_tokens"].as_array().unwrap().len() > 1;
        cases.into_iter().filter(has_target).map(move |case| (directory.clone(), case)).collect::<Vec<_>>()
    };
    ["t5_relu_tied", "t5_gated_untied"].into_iter().flat_map(of).collect()
}

/// The target without the start token.
fn target(case: &Value) -> String {
    written(&case["decoder_tokens"].as_array().unwrap()[1..].to_vec().into())
}

#[test]
fn logits_of_a_source_and_a_target_are_those_of_transformers() {
    for (directory, case) in cases() {
        let source = written(&case["source"]);
        let found = json("logits", &directory, &["--source-ids", &source, "--ids", &target(&case)]);
        assert_eq!((&found["source_tokens"], &found["tokens"]), (&case["source"], &case["decoder_tokens"]));
        let (found, expected) = (found["positions"].as_array().unwrap(), case["logits"].as_array().unwrap());
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert_close(&found["logits"], expected);
        }
        let first = json("logits", &directory, &["--source-ids", &source, "--ids", "1", "--positions", "0"]);
        assert_close(&first["positions"][0]["logits"], &case["logits"][0]);
    }
}

#[test]
fn the_nll_of_a_target_is_that_of_transformers() {
    for (directory, case) in cases() {
        let found = json("score", &directory, &["--prompt-ids", &written(&case["source"]), "--ids", &target(&case)]);
        let tokens = &case["decoder_tokens"].as_array().unwrap()[1..];
        let nll = |(logits, token): (&Value, &Value)| {
            let logits: Vec<f64> = logits.as_array().unwrap().iter().map(|logit| logit.as_f64().unwrap()).collect();
            let total: f64 = logits.iter().map(|logit| logit.exp()).sum();
            Value::from(total.ln() - logits[token.as_u64().unwrap() as usize])
        };
        let expected: Vec<Value> = case["logits"].as_array().unwrap().iter().zip(tokens).map(nll).collect();
        let nlls: Vec<Value> = found["tokens"].as_array().unwrap().iter().map(|token| token["nll"].clone()).collect();
        assert_close(&nlls.into(), &expected.into());
        assert_eq!(found["n_scored"], tokens.len());
    }
}

#[test]
fn a_source_that_is_missing_or_unknown_is_one_clear_message() {
    let (directory, _) = golden("t5_relu_tied");
    for (verb, arguments, message) in [
        ("logits", &["--ids", "1"][..], "is an encoder-decoder, whose logits depend on a source: add --source"),
        ("logits", &["--ids", "1", "--source-ids", "9999"], "token 9999 is outside the vocabulary"),
        ("logits", &["--ids", "1", "--source", "x"], "has no tokenizer.json"),
        ("logits", &["--ids", "1", "--source", "x", "--source-ids", "1"], "cannot be used with"),
        ("score", &["--ids", "1"], "give its source as --prompt"),
    ] {
        let error = error(verb, &directory, arguments);
        assert!(error.contains(message), "{verb} {arguments:?}: {error}");
    }
}
