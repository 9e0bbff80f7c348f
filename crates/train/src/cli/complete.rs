//! `train complete`: one function, written with a completion tool.

mod shown;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::ensure;
use clap::{Args, ValueEnum};
use inference::decode::{DecodingRule, ToolDecoder};
use inference::function::{FunctionCompleter, OpenFunction, Place};
use inference::layout::Layout;
use models::Decoder;

use super::analyze::ask::{file, open, remark};
use super::analyze::engine::{Engine, ToolArguments};
use super::model::ModelArguments;
use shown::Shown;

/// Arguments of `train complete`.
#[derive(Debug, Args)]
pub(super) struct CompleteArguments {
    /// The repository's root.
    #[arg(long, value_name = "DIR")]
    repo: PathBuf,
    /// The file, relative to the root.
    #[arg(long, value_name = "FILE")]
    file: String,
    #[command(flatten)]
    place: PlaceArguments,
    /// What the function is to do, instead of its own docstring.
    #[arg(long, value_name = "TEXT")]
    docstring: Option<String>,
    #[command(flatten)]
    model: ModelArguments,
    /// A folder of `peft`, with the tokenizer that knows the trigger; without one that does, nothing is asked.
    #[arg(long, value_name = "DIR")]
    adapter: Option<PathBuf>,
    /// native, jedi, jedi+placeholder, lsp:COMMAND or lsp:COMMAND+placeholder.
    #[arg(long, default_value = "native")]
    engine: Engine,
    #[command(flatten)]
    tool: ToolArguments,
    /// How triggers are answered.
    #[arg(long, value_enum, default_value_t = Rule::Paper)]
    rule: Rule,
    /// Follows this many texts side by side.
    #[arg(long, default_value_t = 1)]
    beams: usize,
    /// How much the order of the tool counts beside the model; 0 leaves the choice to the model.
    #[arg(long, default_value_t = 0.0)]
    rank_weight: f32,
    /// Most tokens written, triggers included.
    #[arg(long, default_value_t = 192)]
    tokens_max: usize,
    /// `inline` or `sections`, as the model was trained [default: sections for encoder-decoders, else inline].
    #[arg(long)]
    layout: Option<Layout>,
    /// Tells for each trigger what the tool offered and what was chosen.
    #[arg(long)]
    trace: bool,
}

/// Which function of the file is meant.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct PlaceArguments {
    /// Its name, or that of its class and its own: `Cart.add`.
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// A line of it, counted from 1; the innermost function there is meant.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    line: Option<u64>,
}

/// How triggers are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rule {
    /// Every trigger is a question, and the first end of a suggestion is taken.
    Paper,
    /// As the released code: a trigger of less than one half asks nothing, and a longer suggestion is followed unless
    /// that lowers the mean probability.
    Released,
}

/// Writes a function and prints it.
pub(super) fn run(arguments: &CompleteArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let repository = open(&arguments.repo)?;
    let file = file(&repository, &arguments.file)?;
    let function = OpenFunction::find(file, arguments.place.place())?;
    let function = match &arguments.docstring {
        Some(docstring) => function.with_docstring(docstring),
        None => function,
    };
    ensure!(!function.docstring.is_empty(), "the function has no docstring: say with --docstring what it is to do");
    let decoder = arguments.decoder()?;
    let mut tool = arguments.tool.open(&arguments.engine, &repository, file.language)?;
    let completer = FunctionCompleter {
        decoder: ToolDecoder { model: &decoder, tokenizer: decoder.tokenizer(), rule: arguments.rule() },
        layout: arguments.layout.unwrap_or_else(|| default_layout(&decoder)),
        needs_other_than_builtins: arguments.rule == Rule::Released,
    };
    let written = completer.complete(&function, tool.as_mut())?;
    remark(tool.as_ref());
    let shown = Shown { function: &function, written: &written, tokenizer: decoder.tokenizer() };
    if arguments.model.json {
        return Ok(writeln!(out, "{}", shown.json())?);
    }
    shown.print(std::io::stdout().is_terminal(), out)?;
    if arguments.trace { shown.trace(out) } else { Ok(()) }
}

impl PlaceArguments {
    fn place(&self) -> Place<'_> {
        let line = || self.line.map_or(0, |line| usize::try_from(line - 1).unwrap_or(usize::MAX));
        self.function.as_deref().map_or_else(|| Place::Line(line()), Place::Name)
    }
}

impl CompleteArguments {
    fn decoder(&self) -> anyhow::Result<Decoder> {
        let mut decoder = self.model.decoder(true)?;
        if let Some(adapter) = &self.adapter {
            decoder.load_peft(adapter)?;
        }
        Ok(decoder)
    }

    fn rule(&self) -> DecodingRule {
        let rule = match self.rule {
            Rule::Paper => DecodingRule::paper(),
            Rule::Released => DecodingRule::released(),
        };
        let (tokens_max, num_beams, rank_weight) = (self.tokens_max, self.beams, self.rank_weight);
        DecodingRule { tokens_max, num_beams, rank_weight, ..rule }
    }
}

fn default_layout(decoder: &Decoder) -> Layout {
    let is_encoder_decoder = decoder.model().network().start_token().is_some();
    if is_encoder_decoder { Layout::Sections } else { Layout::Inline }
}
