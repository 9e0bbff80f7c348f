//! What `adapter_config.json` asks for, the rest refused by name.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::export::read_json;
use crate::{Error, Result};

/// Keys that do not change what a loaded adapter computes.
const WITHOUT_EFFECT: [&str; 12] = [
    "auto_mapping",
    "base_model_name_or_path",
    "fan_in_fan_out",
    "inference_mode",
    "loftq_config",
    "megatron_core",
    "peft_version",
    "qalora_group_size",
    "revision",
    "target_modules",
    "task_type",
    "ensure_weight_tying",
];

/// What an adapter of `peft` adds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PeftConfig {
    /// What the product of A and B is multiplied by.
    pub(super) scale: f64,
    pub(super) dropout: f64,
    /// The tokens whose rows are replaced, by the last part of a table's name; an empty name is the embedding's.
    pub(super) tables: BTreeMap<String, Vec<u32>>,
}

impl PeftConfig {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// Returns an error if it cannot be read or asks for what is not implemented.
    pub(super) fn load(path: &Path) -> Result<Self> {
        let mut keys = Keys { path, rest: as_object(read_json(path)?, path)? };
        let config = match keys.take("peft_type").as_str() {
            Some("LORA") => lora(&mut keys)?,
            Some("TRAINABLE_TOKENS") => rows(&mut keys)?,
            _ => return Err(keys.error("peft_type", "is neither LORA nor TRAINABLE_TOKENS")),
        };
        keys.finish()?;
        Ok(config)
    }
}

fn lora(keys: &mut Keys<'_>) -> Result<PeftConfig> {
    let rank = keys.take("r").as_u64().filter(|rank| *rank > 0);
    let rank = rank.ok_or_else(|| keys.error("r", "is not at least 1"))? as f64;
    let alpha = keys.take("lora_alpha").as_f64().ok_or_else(|| keys.error("lora_alpha", "is not a number"))?;
    let dropout = keys.take("lora_dropout").as_f64().unwrap_or(0.0);
    if !(0.0..1.0).contains(&dropout) {
        return Err(keys.error("lora_dropout", "is not at least 0 and below 1"));
    }
    let divisor = if keys.take("use_rslora") == json!(true) { rank.sqrt() } else { rank };
    let tables = match keys.take("trainable_token_indices") {
        Value::Null => BTreeMap::new(),
        Value::Object(tables) => {
            let tokens = |(name, value)| Ok((name, keys.tokens("trainable_token_indices", value)?));
            tables.into_iter().map(tokens).collect::<Result<_>>()?
        }
        list => BTreeMap::from([(String::new(), keys.tokens("trainable_token_indices", list)?)]),
    };
    // A layer starts from other weights if it was initialized from them.
    match keys.take("init_lora_weights") {
        Value::String(kind) if !["default", "gaussian", "eva", "orthogonal"].contains(&kind.as_str()) => {
            Err(keys.error("init_lora_weights", format!("`{kind}` may change the base model")))
        }
        _ => Ok(PeftConfig { scale: alpha / divisor, dropout, tables }),
    }
}

fn rows(keys: &mut Keys<'_>) -> Result<PeftConfig> {
    keys.take("init_weights");
    let tokens = keys.take("token_indices");
    let tokens = keys.tokens("token_indices", tokens)?;
    let names: Vec<String> = match keys.take("target_modules") {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => vec![String::new()],
    };
    let ending = |name: &String| name.rsplit('.').next().unwrap_or(name).to_owned();
    let tables = names.iter().map(|name| (ending(name), tokens.clone())).collect();
    Ok(PeftConfig { scale: 1.0, dropout: 0.0, tables })
}

struct Keys<'a> {
    path: &'a Path,
    rest: Map<String, Value>,
}

impl Keys<'_> {
    fn take(&mut self, key: &str) -> Value {
        self.rest.remove(key).unwrap_or_default()
    }

    fn error(&self, key: &str, message: impl Into<String>) -> Error {
        Error::config(self.path, key, message)
    }

    fn tokens(&self, key: &str, value: Value) -> Result<Vec<u32>> {
        let tokens: Vec<u32> = serde_json::from_value(value).map_err(|error| self.error(key, error.to_string()))?;
        let mut sorted = tokens.clone();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() < tokens.len() { Err(self.error(key, "names a token twice")) } else { Ok(tokens) }
    }

    /// Refuses the first key that was not read and asks for something.
    fn finish(self) -> Result<()> {
        let asks = |value: &Value| match value {
            Value::Null | Value::Bool(false) => false,
            Value::String(text) => text != "none",
            Value::Array(values) => !values.is_empty(),
            Value::Object(values) => !values.is_empty(),
            _ => true,
        };
        let is_unknown = |(key, value): &(&String, &Value)| !WITHOUT_EFFECT.contains(&key.as_str()) && asks(value);
        match self.rest.iter().find(is_unknown) {
            Some((key, value)) => Err(self.error(key, format!("{value} is not implemented"))),
            None => Ok(()),
        }
    }
}

fn as_object(value: Value, path: &Path) -> Result<Map<String, Value>> {
    match value {
        Value::Object(entries) => Ok(entries),
        _ => Err(Error::config(path, "adapter_config.json", "is not an object")),
    }
}
