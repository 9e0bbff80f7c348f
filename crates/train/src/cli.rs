//! The command line: an experiment, or one of the verbs for single stages.

mod analyze;
mod benchmark;
mod compare;
mod complete;
mod metrics;
mod model;
mod summary;
mod verbs;

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};

use crate::experiment::{self, Setting};
use crate::pipeline::{self, Options, Outcome, Until};
use crate::{plan, signals};

/// Trains and evaluates models for repository-level code completion.
///
/// An experiment is one TOML file; its stages (crawl, samples, train, evaluate) run in order, and each is skipped while
/// nothing it depends on has changed. Start with `experiments/quickstart.toml`.
#[derive(Debug, Parser)]
#[command(
    name = "train",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  \
        train experiments/quickstart.toml\n  \
        train experiments/quickstart.toml --dry-run\n  \
        train experiments/quickstart.toml --set optimizer.learning_rate=3e-5 --run-dir checkpoints/lower\n  \
        train candidates --file src/app.py --json\n  \
        train model generate --model hf:HuggingFaceTB/SmolLM2-135M --prompt 'def main('\n  \
        train compare checkpoints/a checkpoints/b\n  \
        train benchmark check tasks.jsonl --repositories repositories\n  \
        train metrics --pairs pairs.jsonl --json\n  \
        train complete --repo . --file src/app.py --function main --model models/smollm2 --adapter lora --trace\n  \
        train corpus inspect datasets/quickstart/samples.parquet\n  \
        train analyze completions --repo . --file src/app.py --byte 1042\n  \
        train analyze triggers --repo src/project --output functions.parquet\n\n\
        Exit status: 0 done, 1 failed, 2 wrong usage, 75 interrupted by a signal and resumable by the same command."
)]
pub struct Cli {
    #[command(flatten)]
    run: RunArguments,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Args)]
struct RunArguments {
    /// The experiment file.
    #[arg(required = true)]
    experiment: Option<PathBuf>,
    /// Overrides a key of the experiment; the value is TOML or a bare string.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Where the run writes [default: checkpoints/NAME].
    #[arg(long, value_name = "DIR")]
    run_dir: Option<PathBuf>,
    /// Prints the resolved experiment and the plan, and does nothing.
    #[arg(long)]
    dry_run: bool,
    /// The last stage to run.
    #[arg(long, value_enum, default_value_t)]
    until: Until,
    /// Forbids downloads.
    #[arg(long)]
    offline: bool,
    /// Shows burn's full-screen dashboard during training.
    #[arg(long)]
    dashboard: bool,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Prints the candidates that a file is cut into.
    Candidates(verbs::CandidatesArguments),
    /// Looks at and builds datasets.
    #[command(subcommand)]
    Corpus(verbs::CorpusVerb),
    /// Fetches a model into the cache and prints where it lies.
    Fetch(verbs::FetchArguments),
    /// Shows what a model computes: its sizes, logits, vectors, NLL and texts.
    #[command(subcommand)]
    Model(model::ModelVerb),
    /// Writes a function of a repository with a model that asks a completion tool on the way.
    #[command(after_help = "Examples:\n  \
        train complete --repo . --file src/cart.py --function Cart.add --model models/smollm2 \\\n      \
        --adapter checkpoints/toolgen-smollm2/generator\n  \
        train complete --repo . --file src/cart.py --line 40 --model models/smollm2 --adapter lora --trace\n  \
        train complete --repo . --file src/cart.py --function total --model models/smollm2 --adapter lora \\\n      \
        --docstring 'Return the sum of all prices.' --rule released --beams 4 --json\n\n\
        The function may be there already or be a stub: a signature and a docstring, with or without a body. Its file is \
        not changed. A model asks only if its tokenizer has the trigger <COMP>, which an adapter trained with \
        `kind = \"generator\"` brings along; any other model writes as `train model generate` does. On a terminal, what \
        was chosen among suggestions is underlined, and faint where only one was left. --json tells all of it, the first \
        ten suggestions of each question included.")]
    Complete(complete::CompleteArguments),
    /// Compares two finished runs, sample by sample.
    #[command(after_help = "Examples:\n  \
        train compare checkpoints/study-python-sft checkpoints/study-python\n  \
        train compare checkpoints/a checkpoints/b --arm-a bm25 --arm-b trained --html compare.html\n\n\
        Both runs must have predicted the same samples. Differences are those of the second run over the first, paired, \
        with 95 % bootstrap intervals.")]
    Compare(compare::CompareArguments),
    /// Scores predictions of any model against references, with every metric and each of its variants.
    #[command(after_help = "Examples:\n  \
        train metrics --pairs pairs.jsonl\n  \
        train metrics --pairs pairs.jsonl --json\n\n\
        A line: {\"prompt\": \"x = \", \"prediction\": \"f(a)\", \"reference\": \"f(b)\", \"language\": \"python\"}. Metrics that cut \
        the prediction parse it after the prompt. Metrics over a corpus are formed from counts summed over the pairs.")]
    Metrics(metrics::MetricsArguments),
    /// Checks published benchmarks before they are used, and writes our samples in their formats.
    #[command(subcommand)]
    Benchmark(benchmark::BenchmarkVerb),
    /// Asks what an IDE knows about a repository: completions, definitions, types, headers, diagnostics.
    #[command(subcommand)]
    Analyze(analyze::AnalyzeVerb),
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Err(error) = log(&cli) {
        drop(writeln!(std::io::stderr(), "error: {}", causes(&error)));
        return ExitCode::FAILURE;
    }
    match run(cli, &mut std::io::stdout().lock()) {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::debug!("{error:?}");
            drop(writeln!(std::io::stderr(), "error: {}", causes(&error)));
            ExitCode::FAILURE
        }
    }
}

/// Runs a parsed command line and writes its results to `out`.
///
/// # Errors
///
/// Returns the first error.
pub fn run(cli: Cli, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    match cli.verb {
        Some(Verb::Candidates(arguments)) => verbs::candidates(&arguments, out)?,
        Some(Verb::Corpus(verb)) => verbs::corpus(&verb, out)?,
        Some(Verb::Fetch(arguments)) => verbs::fetch(&arguments, out)?,
        Some(Verb::Model(verb)) => model::run(&verb, out)?,
        Some(Verb::Compare(arguments)) => compare::compare(&arguments, out)?,
        Some(Verb::Metrics(arguments)) => metrics::metrics(&arguments, out)?,
        Some(Verb::Benchmark(verb)) => benchmark::run(&verb, out)?,
        Some(Verb::Complete(arguments)) => complete::run(&arguments, out)?,
        Some(Verb::Analyze(verb)) => analyze::run(&verb, out)?,
        None => return experiment(&cli.run, out),
    }
    Ok(ExitCode::SUCCESS)
}

fn experiment(arguments: &RunArguments, out: &mut dyn Write) -> anyhow::Result<ExitCode> {
    let path = arguments.experiment.as_ref().context("an experiment file is needed")?;
    let experiment = experiment::load(path, &arguments.overrides)?;
    let interrupter = signals::interrupter().context("cannot install signal handlers")?;
    let options = Options {
        run_directory: arguments.run_directory(&experiment.setting()),
        cache: corpus::cache_dir(),
        offline: arguments.offline,
        until: arguments.until,
        dashboard: arguments.takes_screen(),
        interrupter: &interrupter,
    };
    if arguments.dry_run {
        plan::print(&experiment, &options, out)?;
        return Ok(ExitCode::SUCCESS);
    }
    match pipeline::run(&experiment, &options)? {
        Outcome::Finished(stages) => {
            summary::print(&stages, &options.run_directory, out)?;
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Interrupted => {
            tracing::warn!("saved; the same command resumes");
            Ok(ExitCode::from(signals::EXIT_RESUMABLE))
        }
    }
}

impl RunArguments {
    fn run_directory(&self, setting: &Setting) -> PathBuf {
        self.run_dir.clone().unwrap_or_else(|| PathBuf::from("checkpoints").join(&setting.name))
    }

    /// Returns whether the dashboard takes the screen.
    fn takes_screen(&self) -> bool {
        self.dashboard && !self.dry_run && std::io::stdout().is_terminal()
    }

    /// Returns the run directory if the dashboard takes the screen.
    fn screen_directory(&self) -> anyhow::Result<Option<PathBuf>> {
        let Some(path) = self.experiment.as_ref().filter(|_| self.takes_screen()) else { return Ok(None) };
        Ok(Some(self.run_directory(&experiment::load(path, &self.overrides)?.setting())))
    }
}

/// Sends the log to standard error, or to `run.log` of the run directory while the dashboard has the screen; the level
/// is that of `RUST_LOG`.
fn log(cli: &Cli) -> anyhow::Result<()> {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    // ty tells of every query it runs, millions of them, and of slow files as information.
    let filter =
        filter.unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info,salsa=warn,ty_python_semantic=warn"));
    // A log that cannot be written is no reason to end a run.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_target(false).log_internal_errors(false);
    let Some(directory) = cli.run.screen_directory()? else {
        log.with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr).init();
        return Ok(());
    };
    crate::progress::hide();
    std::fs::create_dir_all(&directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let path = directory.join("run.log");
    let file = std::fs::OpenOptions::new().create(true).append(true).open(&path);
    let file = file.with_context(|| format!("cannot open {}", path.display()))?;
    log.with_ansi(false).with_writer(std::sync::Mutex::new(file)).init();
    Ok(())
}

/// Returns whether whoever read the output has stopped reading, as `| head` does.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    kind == Some(std::io::ErrorKind::BrokenPipe)
}

/// Returns an error with its causes in one line; a cause that its effect already quotes is not said twice.
fn causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use expect_test::expect;

    fn output(arguments: &[&str]) -> anyhow::Result<String> {
        let cli = Cli::try_parse_from(["train"].iter().chain(arguments))?;
        let mut out = Vec::new();
        run(cli, &mut out)?;
        Ok(String::from_utf8(out)?)
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_experiment_or_a_verb_is_needed() {
        let error = Cli::try_parse_from(["train"]).unwrap_err().to_string();
        assert!(error.contains("<EXPERIMENT>"), "{error}");
    }

    #[test]
    fn candidates_are_printed_as_json() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.py");
        std::fs::write(&path, "import os\n\n\ndef f():\n    return os.name\n").unwrap();
        let text = output(&["candidates", "--file", path.to_str().unwrap(), "--json"]).unwrap();
        let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(rows[0]["code"], "import os\ndef f():\n    return os.name");
        assert_eq!(rows[0]["lines"], serde_json::json!([0, 5]));
    }

    #[test]
    fn a_file_of_another_language_is_refused() {
        let error = output(&["candidates", "--file", "notes.txt"]).unwrap_err();
        expect!["notes.txt is neither Python nor Java"].assert_eq(&error.to_string());
    }

    #[test]
    fn a_missing_experiment_is_one_clear_line() {
        let error = output(&["no/such.toml"]).unwrap_err();
        expect!["cannot read the experiment no/such.toml: No such file or directory (os error 2)"]
            .assert_eq(&causes(&error));
    }
}
