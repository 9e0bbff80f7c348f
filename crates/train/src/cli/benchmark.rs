//! `train benchmark`: published benchmarks, checked before use, and our samples in their formats.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use corpus::manifest::Split;
use corpus::table;
use eval::benchmark::check::{Findings, check};
use eval::benchmark::{BenchmarkTask, Format, export, read};
use serde_json::json;

/// Problems of a kind that are shown.
const EXAMPLES: usize = 3;

/// Verbs of `train benchmark`.
#[derive(Debug, Subcommand)]
pub(super) enum BenchmarkVerb {
    /// Says whether a benchmark's file is what its repositories say.
    ///
    /// The text of each task must be that of its file, the target must score full marks on every metric, and an empty
    /// prediction nothing (but for the prefix match, to which it is the beginning of everything). Exit status 1 if not.
    #[command(after_help = "Examples:\n  \
        train benchmark check line_completion.jsonl --repositories crosscodeeval_rawdata\n  \
        train benchmark check random_line_level.jsonl --repositories repos --metric exact_match_repoeval\n  \
        train benchmark check datasets/quickstart/samples.parquet --json")]
    Check(CheckArguments),
    /// Writes our own test samples in the format of a benchmark, for other people's tools.
    #[command(after_help = "Example:\n  \
        train benchmark export --dataset datasets/quickstart --format crosscodeeval --output tasks.jsonl \\\n      \
        --repositories repositories\n  \
        train benchmark check tasks.jsonl --repositories repositories")]
    Export(ExportArguments),
}

/// Arguments of `train benchmark check`.
#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// The benchmark's file: JSON lines, or samples.parquet.
    file: PathBuf,
    /// crosscodeeval, repoeval or samples [default: told by the file].
    #[arg(long)]
    format: Option<Format>,
    /// The folder that holds the repositories, each under the name that the benchmark gives it; without it, no text is
    /// held against a file.
    #[arg(long, value_name = "DIR")]
    repositories: Option<PathBuf>,
    /// A metric that the target must score full marks on; may be given again [default: all].
    #[arg(long = "metric", value_name = "NAME")]
    metrics: Vec<String>,
    /// Prints every problem as JSON.
    #[arg(long)]
    json: bool,
}

/// Arguments of `train benchmark export`.
#[derive(Debug, Args)]
pub(super) struct ExportArguments {
    /// The dataset's directory, with samples.parquet and files.parquet.
    #[arg(long, value_name = "DIR")]
    dataset: PathBuf,
    /// crosscodeeval or repoeval.
    #[arg(long)]
    format: Format,
    /// The file to write.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Also writes the repositories below this folder.
    #[arg(long, value_name = "DIR")]
    repositories: Option<PathBuf>,
}

/// Runs a verb.
pub(super) fn run(verb: &BenchmarkVerb, out: &mut dyn Write) -> anyhow::Result<()> {
    match verb {
        BenchmarkVerb::Check(arguments) => check_file(arguments, out),
        BenchmarkVerb::Export(arguments) => export_samples(arguments, out),
    }
}

fn check_file(arguments: &CheckArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let CheckArguments { file, repositories, metrics, .. } = arguments;
    for name in metrics {
        eval::metrics::definition(name).with_context(|| format!("there is no metric `{name}`"))?;
    }
    if let Some(folder) = repositories.as_ref().filter(|folder| !folder.is_dir()) {
        bail!("{} is no folder", folder.display());
    }
    let format = arguments.format.map_or_else(|| Format::of(file), Ok)?;
    let findings = check(&read(file, format)?, repositories.as_deref(), metrics);
    if arguments.json {
        let problem = |problem: &eval::benchmark::check::Problem| json!({"task": problem.task, "kind": problem.kind, "detail": problem.detail});
        let problems: Vec<_> = findings.problems.iter().map(problem).collect();
        let (tasks, compared) = (findings.n_tasks, findings.n_compared);
        writeln!(out, "{:#}", json!({"tasks": tasks, "compared": compared, "problems": problems}))?;
    } else {
        table_of(&findings, format, out)?;
    }
    match findings.n_tasks_with_problems() {
        0 => Ok(()),
        n => bail!("{n} of {} tasks of {} have a problem", findings.n_tasks, file.display()),
    }
}

fn table_of(findings: &Findings, format: Format, out: &mut dyn Write) -> anyhow::Result<()> {
    for (kind, problems) in findings.by_kind() {
        writeln!(out, "{:6}  {kind}", problems.len())?;
        for problem in problems.iter().take(EXAMPLES) {
            writeln!(out, "        {}: {}", problem.task, problem.detail)?;
        }
    }
    let Findings { n_tasks, n_compared, problems } = findings;
    let n = problems.len();
    Ok(writeln!(out, "{format}: {n_tasks} tasks, {n_compared} held against their files, {n} problems")?)
}

fn export_samples(arguments: &ExportArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let ExportArguments { dataset, format, output, repositories } = arguments;
    let samples = table::read_samples(&dataset.join("samples.parquet"))?;
    let samples = samples.into_iter().filter(|sample| sample.split == Split::Test);
    let tasks: Vec<BenchmarkTask> = samples.map(BenchmarkTask::from).collect();
    let n_left_out = export::write_tasks(output, *format, &tasks)?;
    if let Some(folder) = repositories {
        export::write_repositories(folder, &table::read_files(&dataset.join("files.parquet"))?)?;
    }
    let n = tasks.len() - n_left_out;
    writeln!(out, "{n} tasks in {}; {n_left_out} left out, whose targets are not whole lines", output.display())?;
    Ok(())
}
