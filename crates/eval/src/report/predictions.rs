//! `predictions.jsonl`: one line per sample and arm.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::json;
use crate::{Error, Result};

/// What one arm predicted for one sample, and what it saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// The id of the sample.
    pub sample: String,
    /// The name of the arm.
    pub arm: String,
    /// The repository of the sample.
    pub repository: String,
    /// The file the target was taken from.
    pub path: String,
    /// The language of the file, `python` or `java`.
    pub language: String,
    /// The kind of target, such as `span`, `line` or `api_call`.
    pub kind: String,
    /// The end of the left context.
    pub left_context_tail: String,
    /// The text to complete.
    pub target: String,
    /// What the generator wrote, uncut.
    pub prediction: String,
    /// Everything the arm ranked, best first, whether it reached the prompt or not.
    pub context: Vec<ShownCandidate>,
    /// The metrics of this prediction: those of [`crate::metrics::score`], and `nll` and `weighted_nll` in nats per
    /// token.
    #[serde(deserialize_with = "json::numbers_or_nan")]
    pub metrics: BTreeMap<String, f64>,
}

/// A candidate as an arm ranked it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShownCandidate {
    /// The file the candidate was taken from; empty for the stop candidate.
    pub path: String,
    /// The lines of that file, 0-based and half-open.
    pub lines: (usize, usize),
    /// What the arm ranked by: a cosine for encoders, a BM25 score for BM25.
    #[serde(deserialize_with = "json::number_or_nan")]
    pub similarity: f64,
    /// The code.
    pub text: String,
    /// Whether this is the stop candidate: nothing after it reaches the prompt.
    pub stop: bool,
    /// Whether any of the code reached the prompt.
    pub shown: bool,
}

/// Writes `predictions.jsonl`, one object per line, replacing the file in one step.
///
/// # Errors
///
/// Fails if the file cannot be written.
pub fn write_predictions(path: &Path, predictions: &[Prediction]) -> Result<()> {
    let mut bytes = Vec::new();
    for prediction in predictions {
        bytes.extend(json::compact(prediction)?);
        bytes.push(b'\n');
    }
    json::replace(path, &bytes)
}

/// Reads `predictions.jsonl`.
///
/// # Errors
///
/// Fails if the file cannot be read, or names the line that does not hold a prediction.
pub fn read_predictions(path: &Path) -> Result<Vec<Prediction>> {
    let text = json::read(path)?;
    let mut predictions = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let prediction = serde_json::from_str(line).map_err(|source| Error::Malformed {
            path: path.to_owned(),
            line: index + 1,
            source,
        })?;
        predictions.push(prediction);
    }
    Ok(predictions)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::super::fixture;
    use super::*;

    #[test]
    fn predictions_are_one_line_each_and_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("predictions.jsonl");
        let predictions = fixture::predictions();
        write_predictions(&path, &predictions).unwrap();
        assert_eq!(read_predictions(&path).unwrap(), predictions);
        let text = std::fs::read_to_string(&path).unwrap();
        expect![[r#"{"sample":"s0","arm":"bm25","repository":"shapes","path":"app.py","language":"python","kind":"line","left_context_tail":"shape = load()\nsize = shape.","target":"width()\n","prediction":"width()\n","context":[{"path":"lib/shapes.py","lines":[10,14],"similarity":0.75,"text":"def width(self):\n    return 1","stop":false,"shown":true},{"path":"","lines":[0,0],"similarity":0.5,"text":"","stop":true,"shown":false},{"path":"lib/load.py","lines":[0,15],"similarity":0.25,"text":"def width(self):\n    return 1","stop":false,"shown":false}],"metrics":{"exact_match_cceval":1.0,"weighted_nll":1.0}}"#]].assert_eq(text.lines().next().unwrap());
    }

    #[test]
    fn a_damaged_line_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("predictions.jsonl");
        write_predictions(&path, &fixture::predictions()[..1]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{{\"sample\": 3}}\n")).unwrap();
        assert!(matches!(read_predictions(&path), Err(Error::Malformed { line: 2, .. })));
    }
}
