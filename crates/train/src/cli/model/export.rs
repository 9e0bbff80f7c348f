//! `train model export`.

mod output;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use clap::{Args, ValueEnum};
use models::export::{ExportFormat, convert_to_gguf};
use models::gguf::GgufType;
use models::info::Kind;
use models::linear::Precision;
use models::{Decoder, Encoder, LanguageModel, MergeReport};
use serde::Serialize;

use super::ModelArguments;

/// What logits are compared on before and after an adapter is folded in, if the model has a tokenizer.
const SAMPLE: &str = "import os\n\n\ndef names(path):\n    \"\"\"Returns the names of files.\"\"\"\n    return sorted(\
    name for name in os.listdir(path) if not name.startswith('.'))\n";
/// Tokens of a text to compare on.
const SAMPLE_TOKENS_MAX: usize = 48;
const BYTES_OF_MB: u64 = 1_000_000;

/// Arguments of `train model export`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ExportArguments {
    #[command(flatten)]
    model: ModelArguments,
    /// The directory or GGUF file to write, which must not exist yet.
    #[arg(long, value_name = "PATH")]
    output: PathBuf,
    /// What to write.
    #[arg(long, value_enum)]
    format: Format,
    /// The type of the weights [default: f32].
    #[arg(long, value_enum)]
    precision: Option<WeightType>,
    /// Weights above this size go to several files [default: 5000].
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    shard_mb: Option<u64>,
    /// A folder of `peft` to fold into the weights.
    #[arg(long, value_name = "DIR")]
    adapter: Option<PathBuf>,
    /// How far folding the adapter may move a logit, or a component of a vector.
    #[arg(long, requires = "adapter", default_value_t = 1e-3)]
    drift_max: f32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
enum Format {
    /// A directory that Python's `transformers` loads.
    #[serde(rename = "hf")]
    Hf,
    /// A GGUF file with 16-bit matrices.
    #[serde(rename = "gguf-f16")]
    GgufF16,
    /// A GGUF file with 8-bit matrices.
    #[value(name = "gguf-q8_0")]
    #[serde(rename = "gguf-q8_0")]
    GgufQ8_0,
    /// A directory that Python's `sentence-transformers` loads, of an encoder.
    #[serde(rename = "sentence-transformers")]
    SentenceTransformers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WeightType {
    F32,
    Bf16,
}

#[derive(Debug, Serialize)]
struct Found {
    output: String,
    format: Format,
    bytes: u64,
    /// None without an adapter.
    drift: Option<Drift>,
}

/// How far folding the adapter moved what the model gives.
#[derive(Debug, Serialize)]
struct Drift {
    max: f32,
    mean: f64,
    n_outputs: usize,
}

impl From<MergeReport> for Drift {
    fn from(report: MergeReport) -> Self {
        Self { max: report.drift_max, mean: report.drift_mean, n_outputs: report.n_outputs }
    }
}

pub(super) fn run(arguments: &ExportArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    arguments.check()?;
    output::check(&arguments.output)?;
    let path = arguments.model.path()?;
    arguments.check_kind(models::info::kind(&path)?)?;
    let report = output::write(&arguments.output, |partial| arguments.export(&path, partial))?;
    let found = Found {
        output: arguments.output.display().to_string(),
        format: arguments.format,
        bytes: output::n_bytes(&arguments.output)?,
        drift: report.map(Drift::from),
    };
    arguments.model.write(&found, out, table)
}

impl ExportArguments {
    /// Refuses options that the format has no use for.
    fn check(&self) -> anyhow::Result<()> {
        let is_hf = self.format == Format::Hf;
        ensure!(is_hf || self.precision.is_none(), "--precision is for --format hf: other formats have their own");
        ensure!(is_hf || self.shard_mb.is_none(), "--shard-mb is for --format hf: other formats are one file");
        ensure!(self.drift_max >= 0.0, "--drift-max {} is not at least 0", self.drift_max);
        Ok(())
    }

    fn check_kind(&self, kind: Kind) -> anyhow::Result<()> {
        match (kind, self.format) {
            (Kind::Encoder, Format::Hf | Format::GgufF16 | Format::GgufQ8_0) => {
                bail!("{} is an encoder: export it with --format sentence-transformers", self.model.model)
            }
            (Kind::Decoder, Format::SentenceTransformers) => {
                bail!("{} is a decoder: export it with --format hf, gguf-f16 or gguf-q8_0", self.model.model)
            }
            _ => Ok(()),
        }
    }

    /// Writes the model at `path` to `partial`.
    fn export(&self, path: &Path, partial: &Path) -> anyhow::Result<Option<MergeReport>> {
        match self.format {
            Format::Hf => self.export_directory(path, partial),
            Format::GgufF16 => self.export_gguf(path, partial, GgufType::F16),
            Format::GgufQ8_0 => self.export_gguf(path, partial, GgufType::Q8_0),
            Format::SentenceTransformers => self.export_encoder(path, partial),
        }
    }

    fn export_directory(&self, path: &Path, partial: &Path) -> anyhow::Result<Option<MergeReport>> {
        let precision = match self.precision {
            Some(WeightType::Bf16) => Precision::Bf16,
            Some(WeightType::F32) | None => Precision::F32,
        };
        let (decoder, report) = self.merged(path)?;
        let usual = ExportFormat::default();
        let shard_bytes_max = self.shard_mb.map_or(usual.shard_bytes_max, |size| size * BYTES_OF_MB);
        decoder.save_merged(partial, ExportFormat { precision, shard_bytes_max })?;
        Ok(report)
    }

    fn export_gguf(&self, path: &Path, partial: &Path, kind: GgufType) -> anyhow::Result<Option<MergeReport>> {
        if self.adapter.is_none() {
            convert_to_gguf(path, partial, kind)?;
            return Ok(None);
        }
        let (decoder, report) = self.merged(path)?;
        decoder.save_gguf(partial, kind)?;
        Ok(report)
    }

    fn export_encoder(&self, path: &Path, partial: &Path) -> anyhow::Result<Option<MergeReport>> {
        let mut encoder = Encoder::load(path, &self.model.device()?)?;
        let mut report = None;
        if let Some(adapter) = &self.adapter {
            encoder.load_peft(adapter)?;
            let sequences = encoder_samples(&encoder);
            report = Some(encoder.merge(&sequences, self.drift_max)?);
        }
        encoder.save(partial)?;
        Ok(report)
    }

    /// Loads the decoder with the adapter, if any, in its weights.
    fn merged(&self, path: &Path) -> anyhow::Result<(Decoder, Option<MergeReport>)> {
        let mut decoder = Decoder::load_for_tokens(path, &self.model.device()?)?;
        let Some(adapter) = &self.adapter else { return Ok((decoder, None)) };
        decoder.load_peft(adapter)?;
        let samples = decoder_samples(&decoder);
        let report = decoder.merge(&samples, self.drift_max)?;
        Ok((decoder, Some(report)))
    }
}

/// Returns a text as it is written, if the model reads text, and tokens from all over the vocabulary, its last included.
fn decoder_samples(decoder: &Decoder) -> Vec<Vec<u32>> {
    let n = SAMPLE_TOKENS_MAX.min(decoder.context_tokens_max());
    let text = decoder.tokenizer_if_any().map(|tokenizer| tokenizer.encode(SAMPLE));
    let cut = |mut tokens: Vec<u32>| {
        tokens.truncate(n);
        tokens
    };
    let known = text.into_iter().map(cut).filter(|tokens| !tokens.is_empty());
    known.chain([spread(decoder.vocabulary_size(), n)]).collect()
}

fn encoder_samples(encoder: &Encoder) -> Vec<Vec<u32>> {
    let n = SAMPLE_TOKENS_MAX.min(encoder.tokens_max());
    let inner = spread(encoder.vocabulary_size(), n - encoder.template.len());
    vec![encoder.candidate_tokens(SAMPLE, n), encoder.template.wrap(&inner)]
}

/// Returns `n` tokens at even distances, the last of the vocabulary first.
fn spread(vocabulary_size: usize, n: usize) -> Vec<u32> {
    (0..n).map(|index| (vocabulary_size - 1 - index * vocabulary_size / n) as u32).collect()
}

fn table(found: &Found, out: &mut dyn Write) -> anyhow::Result<()> {
    if let Some(drift) = &found.drift {
        let Drift { max, mean, n_outputs } = drift;
        writeln!(out, "merged: {n_outputs} outputs moved by at most {max:e}, by {mean:e} on average")?;
    }
    Ok(writeln!(out, "wrote {} ({} bytes)", found.output, found.bytes)?)
}
