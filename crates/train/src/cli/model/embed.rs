//! `train model embed`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use models::Encoder;
use serde::Serialize;

use super::ModelArguments;
use super::input::read;

/// Texts computed at once.
const BATCH: usize = 32;
/// Components that a table shows.
const SHOWN: usize = 6;

/// Arguments of `train model embed`.
#[derive(Debug, Args)]
pub(in crate::cli) struct EmbedArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    texts: TextsArguments,
    /// Which end of a text too long is cut off: the beginning of a query, the end of a candidate.
    #[arg(long = "as", value_enum, default_value_t = Role::Query)]
    role: Role,
    /// Most tokens of a text, special ones included [default: all that the model has positions for].
    #[arg(long)]
    tokens_max: Option<usize>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct TextsArguments {
    /// A text; several may be given.
    #[arg(long, allow_hyphen_values = true)]
    text: Vec<String>,
    /// A file of JSON lines: texts, or objects with a key `text`.
    #[arg(long)]
    file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    Query,
    Candidate,
}

#[derive(Debug, Serialize)]
struct Found {
    #[serde(rename = "as")]
    role: Role,
    tokens_max: usize,
    dim: usize,
    texts: Vec<Embedded>,
}

#[derive(Debug, Serialize)]
struct Embedded {
    /// What the model read, special tokens included.
    tokens: Vec<u32>,
    /// Whether the text was too long.
    is_cut: bool,
    vector: Vec<f32>,
}

pub(super) fn run(arguments: &EmbedArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let texts = arguments.texts.read()?;
    let encoder = arguments.model.encoder()?;
    let tokens_max = arguments.tokens_max(&encoder)?;
    let tokens = |text: &String| match arguments.role {
        Role::Query => encoder.query_tokens(text, tokens_max),
        Role::Candidate => encoder.candidate_tokens(text, tokens_max),
    };
    let sequences: Vec<Vec<u32>> = texts.iter().map(tokens).collect();
    let mut vectors = Vec::with_capacity(texts.len());
    for batch in sequences.chunks(BATCH) {
        let values: Vec<f32> = encoder.embed_batch(batch, None).into_data().iter::<f32>().collect();
        vectors.extend(values.chunks_exact(encoder.dim()).map(<[f32]>::to_vec));
    }
    let embedded = |((text, tokens), vector): ((&String, Vec<u32>), Vec<f32>)| Embedded {
        is_cut: encoder.tokenizer.encode(text).len() + encoder.template.len() > tokens.len(),
        tokens,
        vector,
    };
    let texts = texts.iter().zip(sequences).zip(vectors).map(embedded).collect();
    arguments.model.write(&Found { role: arguments.role, tokens_max, dim: encoder.dim(), texts }, out, table)
}

impl EmbedArguments {
    fn tokens_max(&self, encoder: &Encoder) -> anyhow::Result<usize> {
        let (least, most) = (encoder.template.len() + 1, encoder.tokens_max());
        let tokens_max = self.tokens_max.unwrap_or(most);
        ensure!(
            (least..=most).contains(&tokens_max),
            "--tokens-max {tokens_max} is not in {least}..={most}, what the model reads with its special tokens"
        );
        Ok(tokens_max)
    }
}

impl TextsArguments {
    fn read(&self) -> anyhow::Result<Vec<String>> {
        let texts = self.file.as_deref().map_or_else(|| Ok(self.text.clone()), read_lines)?;
        ensure!(!texts.is_empty(), "there are no texts");
        for (index, text) in texts.iter().enumerate() {
            ensure!(!text.is_empty(), "text {index} is empty");
        }
        Ok(texts)
    }
}

fn read_lines(file: &Path) -> anyhow::Result<Vec<String>> {
    let content = read(file)?;
    let lines = content.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let text = |(index, line): (usize, &str)| {
        let place = || format!("{}:{}", file.display(), index + 1);
        let value: serde_json::Value = serde_json::from_str(line).with_context(place)?;
        let text = value.as_str().or_else(|| value["text"].as_str());
        let text = text.with_context(|| format!("{}: neither a text nor an object with a key `text`", place()))?;
        Ok(text.to_owned())
    };
    lines.map(text).collect()
}

fn table(found: &Found, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "{:>5} {:>7} {:>4} {:>13}  first of {} components",
        "text", "tokens", "cut", "cos to text 0", found.dim
    )?;
    for (index, text) in found.texts.iter().enumerate() {
        let cosine: f32 = text.vector.iter().zip(&found.texts[0].vector).map(|(a, b)| a * b).sum();
        let components: Vec<String> = text.vector.iter().take(SHOWN).map(|value| format!("{value:.6}")).collect();
        let is_cut = if text.is_cut { "yes" } else { "no" };
        writeln!(out, "{index:>5} {:>7} {is_cut:>4} {cosine:>13.6}  {}", text.tokens.len(), components.join(" "))?;
    }
    Ok(())
}
