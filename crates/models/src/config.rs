//! Reading `config.json` so that no key is passed over: every key is read, is known not to change the computation, or
//! is refused by name.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::rope::RopeScaling;
use crate::{Error, Result, limits};

/// Keys that say how text is generated, how weights were stored or who wrote them: nothing that a forward pass reads.
const WITHOUT_EFFECT: &[&str] = &[
    "add_cross_attention",
    "architectures",
    "auto_map",
    "bad_words_ids",
    "begin_suppress_tokens",
    "bos_token_id",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "dtype",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "eos_token_id",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "gradient_checkpointing",
    "id2label",
    "initializer_factor",
    "initializer_range",
    "is_composition",
    "keys_to_ignore_at_inference",
    "label2id",
    "length_penalty",
    "max_length",
    "min_length",
    "model_type",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_scores",
    "pad_token_id",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "sep_token_id",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers_version",
    "typical_p",
    "use_bfloat16",
    "use_cache",
];

/// The keys of a `config.json` that nobody has read yet.
#[derive(Debug, Clone)]
pub(crate) struct Fields {
    path: PathBuf,
    rest: Map<String, Value>,
}

impl Fields {
    /// Reads a file.
    pub(crate) fn load(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::read(path))?;
        let value = serde_json::from_str(&text).map_err(|source| Error::Json { path: path.to_owned(), source })?;
        Self::new(value, path)
    }

    /// Takes the content of a configuration; `path` is what errors name as its origin.
    pub(crate) fn new(value: Value, path: &Path) -> Result<Self> {
        match value {
            Value::Object(rest) => Ok(Self { path: path.to_owned(), rest }),
            _ => Err(Error::config(path, "config.json", "is not an object")),
        }
    }

    /// Returns what errors name as the origin.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the error that `message` describes.
    pub(crate) fn error(&self, key: &str, message: impl Into<String>) -> Error {
        Error::config(&self.path, key, message)
    }

    /// Returns the architecture.
    pub(crate) fn model_type(&self) -> Result<&str> {
        self.rest.get("model_type").and_then(Value::as_str).ok_or_else(|| self.error("model_type", "is missing"))
    }

    /// Reads a key that may be absent or null.
    pub(crate) fn optional<T: DeserializeOwned>(&mut self, key: &str) -> Result<Option<T>> {
        match self.rest.remove(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                serde_json::from_value(value).map(Some).map_err(|source| self.error(key, source.to_string()))
            }
        }
    }

    /// Reads a key that has a default.
    pub(crate) fn or<T: DeserializeOwned>(&mut self, key: &str, default: T) -> Result<T> {
        Ok(self.optional(key)?.unwrap_or(default))
    }

    /// Reads a key that must be there.
    pub(crate) fn required<T: DeserializeOwned>(&mut self, key: &str) -> Result<T> {
        self.optional(key)?.ok_or_else(|| self.error(key, "is missing"))
    }

    /// Reads a key of which only one value is implemented; absent stands for it too.
    #[expect(clippy::needless_pass_by_value, reason = "callers pass literals")]
    pub(crate) fn only<T: DeserializeOwned + PartialEq + std::fmt::Debug>(
        &mut self,
        key: &str,
        value: T,
    ) -> Result<()> {
        match self.optional::<T>(key)? {
            Some(other) if other != value => {
                Err(self.error(key, format!("{other:?} is not implemented, only {value:?}")))
            }
            _ => Ok(()),
        }
    }

    /// Reads and drops keys that do not change the computation of an architecture.
    pub(crate) fn without_effect(&mut self, keys: &[&str]) {
        for &key in keys {
            self.rest.remove(key);
        }
    }

    /// Reads the tokens that end a text: one, several or none.
    pub(crate) fn eos(&mut self) -> Result<Vec<u32>> {
        Ok(self.optional::<Tokens>("eos_token_id")?.map_or_else(Vec::new, Tokens::into_vec))
    }

    /// Reads the components of a head, by default an equal share of `hidden_size`.
    pub(crate) fn head_dim(&mut self, hidden_size: usize, num_attention_heads: usize) -> Result<usize> {
        match self.optional("head_dim")? {
            Some(head_dim) => Ok(head_dim),
            None if num_attention_heads > 0 && hidden_size.is_multiple_of(num_attention_heads) => {
                Ok(hidden_size / num_attention_heads)
            }
            None => Err(self.error("hidden_size", "is not a multiple of num_attention_heads")),
        }
    }

    /// Reads a probability of dropout.
    pub(crate) fn dropout(&mut self, key: &str, default: f64) -> Result<f64> {
        let probability = self.or(key, default)?;
        if (0.0..1.0).contains(&probability) {
            return Ok(probability);
        }
        Err(self.error(key, format!("{probability} is not at least 0 and below 1")))
    }

    /// Reads base and scaling of rotary positions, as `transformers` 4 (`rope_theta`, `rope_scaling`) or 5
    /// (`rope_parameters`) writes them.
    pub(crate) fn rope(&mut self, theta: f64) -> Result<(f64, RopeScaling)> {
        self.only("partial_rotary_factor", 1.0)?;
        let plain: Option<f64> = self.optional("rope_theta")?;
        let (key, stored) = match (self.optional("rope_scaling")?, self.optional("rope_parameters")?) {
            (Some(stored), None) => ("rope_scaling", stored),
            (None, stored) => ("rope_parameters", stored.unwrap_or_default()),
            (Some(_), Some(_)) => return Err(self.error("rope_scaling", "contradicts rope_parameters")),
        };
        let mut fields = Self { path: self.path.clone(), rest: stored };
        let result = fields.scaling(key).and_then(|scaling| {
            let own: Option<f64> = fields.optional("rope_theta")?;
            fields.only("partial_rotary_factor", 1.0)?;
            Ok((own.or(plain).unwrap_or(theta), scaling))
        })?;
        if let Some(unknown) = fields.rest.keys().next() {
            return Err(self.error(key, format!("`{unknown}` is not implemented")));
        }
        limits::check_positive(&self.path, "rope_theta", result.0)?;
        Ok(result)
    }

    fn scaling(&mut self, key: &str) -> Result<RopeScaling> {
        let old: Option<String> = self.optional("type")?;
        let kind = self.optional("rope_type")?.or(old);
        let mut positive = |name: &str| -> Result<f64> {
            let value = self.optional(name)?.ok_or_else(|| self.error(key, format!("has no {name}")))?;
            limits::check_positive(&self.path, &format!("{key}.{name}"), value)?;
            Ok(value)
        };
        match kind.as_deref() {
            None | Some("default") => Ok(RopeScaling::None),
            Some("linear") => Ok(RopeScaling::Linear { factor: positive("factor")? }),
            Some("llama3") => Ok(RopeScaling::Llama3 {
                factor: positive("factor")?,
                low_freq_factor: positive("low_freq_factor")?,
                high_freq_factor: positive("high_freq_factor")?,
                original_max_position_embeddings: positive("original_max_position_embeddings")? as usize,
            }),
            Some(other) => {
                let message = format!("type `{other}` is not implemented, only `linear` and `llama3`");
                Err(self.error(key, message))
            }
        }
    }

    /// Refuses the first key that was not read and might change the computation.
    pub(crate) fn finish(self) -> Result<()> {
        let is_unknown = |(key, value): &(&String, &Value)| {
            !value.is_null() && !key.starts_with('_') && !WITHOUT_EFFECT.contains(&key.as_str())
        };
        match self.rest.iter().find(is_unknown) {
            Some((key, _)) => Err(self.error(key, "is not a key that this version knows")),
            None => Ok(()),
        }
    }
}

/// One token or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Tokens {
    One(u32),
    Several(Vec<u32>),
}

impl Tokens {
    fn into_vec(self) -> Vec<u32> {
        match self {
            Self::One(token) => vec![token],
            Self::Several(tokens) => tokens,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: Value) -> Fields {
        Fields::new(value, Path::new("config.json")).unwrap()
    }

    #[test]
    fn a_key_that_nobody_reads_is_refused_unless_it_has_no_effect() {
        let read = |value| {
            let mut fields = fields(value);
            fields.or("hidden_size", 1_usize)?;
            fields.finish()
        };
        assert!(read(json!({"hidden_size": 8, "use_cache": true, "_name_or_path": "x", "odd": null})).is_ok());
        let error = read(json!({"hidden_size": 8, "attention_chunk_size": 4})).unwrap_err();
        assert_eq!(error.to_string(), "config.json: attention_chunk_size: is not a key that this version knows");
        assert!(read(json!({"hidden_size": "8"})).unwrap_err().to_string().contains("hidden_size"));
    }

    #[test]
    fn both_spellings_of_the_rotary_embedding_are_read() {
        let rope = |value| fields(value).rope(10_000.0);
        let linear = |factor| RopeScaling::Linear { factor };
        let old = json!({"rope_scaling": {"type": "linear", "factor": 4.0}});
        assert_eq!(rope(old).unwrap(), (10_000.0, linear(4.0)));
        let new = json!({"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5}});
        assert_eq!(rope(new).unwrap(), (5e5, linear(2.0)));
        for (value, key) in [
            (json!({"rope_scaling": {"type": "dynamic", "factor": 2.0}}), "dynamic"),
            (json!({"rope_scaling": {"rope_type": "linear"}}), "has no factor"),
            (json!({"rope_scaling": {"rope_type": "linear", "factor": 0.0}}), "rope_scaling.factor"),
            (json!({"rope_parameters": {"rope_type": "llama3", "factor": 8.0}}), "has no low_freq_factor"),
            (json!({"rope_parameters": {"beta_fast": 8.0}}), "beta_fast"),
            (json!({"partial_rotary_factor": 0.5}), "partial_rotary_factor"),
            (json!({"rope_theta": -1.0}), "rope_theta"),
        ] {
            let error = rope(value).unwrap_err().to_string();
            assert!(error.contains(key), "{key}: {error}");
        }
    }
}
