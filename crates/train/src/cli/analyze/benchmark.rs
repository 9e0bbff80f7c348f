//! Completion tools compared on a folder of packages.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use corpus::source::SourceSpec;
use eval::completion::{self, Answer, Mode, Outcome, Question};
use repo::{Language, Repository};

use super::engine::{Engine, ToolArguments};
use crate::progress::Progress;

/// Arguments of `train analyze benchmark`.
#[derive(Debug, Args)]
pub(in crate::cli) struct BenchmarkArguments {
    /// A folder of packages, each directory one repository.
    #[arg(value_name = "DIR")]
    packages: PathBuf,
    /// The tools: native, jedi, jedi+placeholder, lsp:COMMAND, lsp:COMMAND+placeholder. The first is the reference whose
    /// finds the others are held against.
    #[arg(long = "engine", value_name = "ENGINE", default_value = "native")]
    engines: Vec<Engine>,
    /// The language whose files are asked about.
    #[arg(long, default_value = "python")]
    language: Language,
    /// Identifiers asked for with the file intact; 0 for all.
    #[arg(long, default_value_t = 0)]
    intact: usize,
    /// Identifiers asked for with the function cut at the identifier; 0 for none.
    #[arg(long, default_value_t = 0)]
    online: usize,
    /// Asks at every identifier of every file instead of in documented functions: a trial of what a tool survives.
    #[arg(long, conflicts_with = "online")]
    everywhere: bool,
    /// Chooses the identifiers.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Also writes the table as comma-separated values.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    #[command(flatten)]
    tool: ToolArguments,
}

/// The questions of one mode, by repository.
struct Part {
    mode: Mode,
    questions: Vec<Vec<Question>>,
}

/// Compares the tools and prints one table.
pub(super) fn benchmark(arguments: &BenchmarkArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let repositories = open(&arguments.packages, arguments.language)?;
    let questions = if arguments.everywhere { completion::questions_everywhere } else { completion::questions };
    let all: Vec<Vec<Question>> = repositories.iter().map(questions).collect();
    let n_all: usize = all.iter().map(Vec::len).sum();
    anyhow::ensure!(
        n_all > 0,
        "no documented {} function stands in {}",
        arguments.language,
        arguments.packages.display()
    );
    let n_functions: usize = repositories.iter().map(n_documented).sum();
    let place = if arguments.everywhere { "everywhere" } else { "in their bodies" };
    writeln!(out, "{n_functions} documented functions, {n_all} identifiers {place}")?;
    let mut parts = vec![Part { mode: Mode::Intact, questions: chosen(&all, arguments.intact, n_all, arguments.seed) }];
    if arguments.online > 0 {
        parts.push(Part { mode: Mode::Online, questions: chosen(&all, arguments.online, n_all, arguments.seed) });
    }
    let mut rows = Vec::new();
    let mut reference: Option<BTreeMap<Key, Answer>> = None;
    for engine in &arguments.engines {
        let (name, outcomes) = ask(engine, arguments, &repositories, &parts, out)?;
        let is_first = reference.is_none();
        let known = reference.get_or_insert_with(|| by_key(&parts[0].questions, &outcomes[0]));
        for (part, outcome) in parts.iter().zip(&outcomes) {
            let questions = part.questions.concat();
            let reference: Option<Vec<Answer>> = keys(&part.questions).map(|key| known.get(&key).copied()).collect();
            let own = is_first && part.mode == Mode::Intact;
            rows.extend(completion::rows(&name, part.mode, &questions, outcome, reference.filter(|_| !own).as_deref()));
            report_cost(out, &name, part.mode, outcome, n_all as f64 / n_functions.max(1) as f64)?;
        }
    }
    write!(out, "\n{}", completion::text(&rows))?;
    if let Some(path) = &arguments.csv {
        std::fs::write(path, completion::csv(&rows)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn open(packages: &Path, language: Language) -> anyhow::Result<Vec<Repository>> {
    let opened = corpus::open(&SourceSpec::Directories(packages.to_path_buf()), None)?;
    let only = |repository: &Repository| {
        let files = repository.files().iter().filter(|file| file.language == language).cloned();
        Repository::new(repository.name.clone(), files.collect())
    };
    Ok(opened.iter().map(only).collect())
}

fn n_documented(repository: &Repository) -> usize {
    let documented = |file| repo::functions::functions(file).iter().filter(|one| one.docstring.is_some()).count();
    repository.files().iter().map(documented).sum()
}

/// Chooses among all questions, in proportion to how many each repository has.
fn chosen(all: &[Vec<Question>], n: usize, n_all: usize, seed: u64) -> Vec<Vec<Question>> {
    let share = |of: usize| if n == 0 { of } else { (of * n).div_ceil(n_all) };
    all.iter().map(|questions| completion::sample(questions, share(questions.len()), seed)).collect()
}

/// Asks one tool everything and returns its name and what it answered, by part.
fn ask(
    engine: &Engine,
    arguments: &BenchmarkArguments,
    repositories: &[Repository],
    parts: &[Part],
    out: &mut dyn Write,
) -> anyhow::Result<(String, Vec<Outcome>)> {
    let total = parts.iter().flat_map(|part| &part.questions).map(Vec::len).sum();
    let progress = Progress::new(&format!("{engine}"), total, "questions");
    let mut outcomes = vec![Outcome::default(); parts.len()];
    for (index, repository) in repositories.iter().enumerate() {
        let started = Instant::now();
        let mut tool = arguments.tool.open(engine, repository, arguments.language)?;
        tracing::info!("{engine} opened {} in {:.1} s", repository.name, started.elapsed().as_secs_f64());
        for (part, outcome) in parts.iter().zip(&mut outcomes) {
            let asked =
                completion::ask(tool.as_mut(), repository, &part.questions[index], part.mode, || progress.add(1));
            outcome.append(asked);
        }
        for remark in tool.remarks() {
            writeln!(out, "{engine} on {}: {remark}", repository.name)?;
        }
    }
    Ok((engine.to_string(), outcomes))
}

/// A question among those of all repositories: repository, file and byte.
type Key = (usize, usize, usize);

fn keys(questions: &[Vec<Question>]) -> impl Iterator<Item = Key> {
    let of = |(repository, questions): (usize, &Vec<Question>)| {
        questions.iter().map(move |question| (repository, question.file, question.span.start)).collect::<Vec<_>>()
    };
    questions.iter().enumerate().flat_map(of)
}

fn by_key(questions: &[Vec<Question>], outcome: &Outcome) -> BTreeMap<Key, Answer> {
    keys(questions).zip(outcome.answers.iter().copied()).collect()
}

fn report_cost(
    out: &mut dyn Write,
    name: &str,
    mode: Mode,
    outcome: &Outcome,
    identifiers_per_function: f64,
) -> anyhow::Result<()> {
    let n = outcome.answers.len() as f64;
    let failures: Vec<String> = outcome.failures.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    writeln!(
        out,
        "{name}, {}: {n} calls in {:.1} CPU-s ({:.1} s), {:.2} functions per CPU-s{}{}",
        mode.name(),
        outcome.cpu_seconds,
        outcome.wall_seconds,
        n / outcome.cpu_seconds.max(1e-9) / identifiers_per_function,
        if failures.is_empty() { "" } else { "; failed: " },
        failures.join(", "),
    )?;
    Ok(())
}
