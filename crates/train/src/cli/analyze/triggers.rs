//! `train analyze triggers`.

mod summary;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Instant;

use analysis::triggers::{Context, Eligibility, Found, Limits, Rules, insert};
use anyhow::{Context as _, ensure};
use clap::Args;
use corpus::crawl::CrawledRepository;
use corpus::filter::Filters;
use corpus::functions::StoredFunction;
use corpus::manifest::{Manifest, SourceEntry, SplitRule};
use corpus::source::SourceSpec;
use rayon::prelude::*;
use repo::language::Language;

use super::engine::{Engine, ToolArguments};
use crate::pipeline::Crawl;
use crate::progress::Progress;
use summary::Summary;

/// Arguments of `train analyze triggers`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(in crate::cli) struct TriggersArguments {
    #[command(flatten)]
    input: Input,
    /// The Parquet file to write.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// The completion tool: native, jedi, jedi+placeholder, lsp:COMMAND or lsp:COMMAND+placeholder.
    #[arg(long, default_value = "native")]
    engine: Engine,
    #[command(flatten)]
    tool: ToolArguments,
    /// `paper`: every identifier of the body. `released`: as the released code, no built-in names, nothing in f-strings.
    #[arg(long, default_value_t)]
    eligibility: Eligibility,
    /// `intact`: the tool sees the file as it is. `unfinished`: only what is written up to the identifier; many times
    /// slower.
    #[arg(long, default_value_t)]
    context: Context,
    /// Marks `self` and `cls` too.
    #[arg(long)]
    mark_self: bool,
    /// Leaves the names unmarked that the language gives to every file.
    #[arg(long)]
    skip_builtins: bool,
    /// Keeps functions, files and repositories of any size.
    #[arg(long)]
    no_limits: bool,
    /// Threads; 0 for one per core.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    threads: u16,
    /// One JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// Where the repositories come from.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Input {
    /// A directory that is one repository; several may be given.
    #[arg(long, value_name = "DIR")]
    repo: Vec<PathBuf>,
    /// A manifest, which is crawled.
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// The `files.parquet` of a crawl that is done.
    #[arg(long, value_name = "FILE")]
    files: Option<PathBuf>,
}

/// Marks the functions and prints what was counted.
pub(super) fn run(arguments: &TriggersArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let rules = arguments.rules()?;
    let repositories = arguments.repositories()?;
    let start = Instant::now();
    let mut summary = Summary::default();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(arguments.threads)).build()?;
    let n_files = repositories.iter().map(|crawled| crawled.repository.files().len()).sum();
    let progress = Progress::new("marking", n_files, "files");
    let marked = |crawled: &CrawledRepository| marked(crawled, arguments, &rules, &progress);
    // Repositories are marked in any order and written in theirs, so that the table does not depend on the threads.
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel(2 * pool.current_num_threads());
        let work = || {
            repositories
                .iter()
                .enumerate()
                .par_bridge()
                .try_for_each_with(sender, |sender, (index, crawled)| sender.send((index, marked(crawled))))
        };
        // Nobody receives any more only if writing failed, which is the error that is reported.
        scope.spawn(|| pool.install(work).ok());
        let groups = in_order(&receiver, repositories.len()).map(|marked| {
            let marked = marked.context("a thread ended before its repository was marked")??;
            summary.add(&marked);
            Ok::<_, anyhow::Error>(marked.rows)
        });
        corpus::table::write_functions(&arguments.output, groups)
    })?;
    drop(progress);
    summary.finish(&arguments.output, start.elapsed(), pool.current_num_threads());
    if arguments.json { summary.write_json(out) } else { summary.write_table(out) }
}

/// What came of one repository.
struct Marked {
    rows: Vec<StoredFunction>,
    tally: analysis::triggers::Tally,
}

/// Marks the functions of a repository, with one tool for each language.
fn marked(
    crawled: &CrawledRepository,
    arguments: &TriggersArguments,
    rules: &Rules,
    progress: &Progress,
) -> anyhow::Result<Marked> {
    let mut marked = Marked { rows: Vec::new(), tally: analysis::triggers::Tally::default() };
    for language in Language::ALL {
        if !crawled.repository.files().iter().any(|file| file.language == language) {
            continue;
        }
        let mut tool = arguments.tool.open(&arguments.engine, &crawled.repository, language)?;
        let mut on_file = |_: &Found| progress.add(1);
        let found = insert(&mut *tool, &crawled.repository, language, rules, &mut on_file);
        marked.tally += &found.tally;
        let row = |function| StoredFunction::new(function, crawled, tool.name(), rules);
        marked.rows.extend(found.functions.into_iter().map(row));
    }
    Ok(marked)
}

/// Returns what comes with the indices below `n`, in their order, and `None` for each that does not come.
fn in_order<T>(receiver: &Receiver<(usize, T)>, n: usize) -> impl Iterator<Item = Option<T>> {
    let mut waiting = BTreeMap::new();
    (0..n).map(move |next| {
        while !waiting.contains_key(&next) {
            let (index, item) = receiver.recv().ok()?;
            waiting.insert(index, item);
        }
        waiting.remove(&next)
    })
}

impl TriggersArguments {
    fn rules(&self) -> anyhow::Result<Rules> {
        let has_switch = self.mark_self || self.skip_builtins;
        ensure!(
            self.eligibility == Eligibility::Paper || !has_switch,
            "--mark-self and --skip-builtins change the eligibility of the paper: the released code never marks `self` and \
             built-in names"
        );
        Ok(Rules {
            eligibility: self.eligibility,
            context: self.context,
            mark_self: self.mark_self,
            skip_builtins: self.skip_builtins,
            limits: if self.no_limits { Limits::NONE } else { Limits::default() },
        })
    }

    fn repositories(&self) -> anyhow::Result<Vec<CrawledRepository>> {
        if let Some(path) = &self.input.files {
            return Ok(corpus::table::read_files(path)?);
        }
        let crawl = Crawl { cache: &corpus::cache_dir(), threads: usize::from(self.threads), offline: false };
        if let Some(path) = &self.input.manifest {
            let base = path.parent().context("a manifest is a file")?;
            return crawl.repositories(&Manifest::load(path)?, base);
        }
        crawl.repositories(&manifest_of(&self.input.repo), std::path::Path::new(""))
    }
}

/// Returns the manifest that crawls directories and keeps whatever can be read. Directories of one name are told apart by
/// their paths.
fn manifest_of(directories: &[PathBuf]) -> Manifest {
    let is_shared =
        |path: &PathBuf| directories.iter().filter(|other| other.file_name() == path.file_name()).count() > 1;
    let source = |path: &PathBuf| SourceEntry {
        spec: SourceSpec::Directory(path.clone()),
        sha256: None,
        license: None,
        split: Some(corpus::manifest::Split::Train),
        name: is_shared(path).then(|| path.display().to_string()),
    };
    Manifest {
        version: corpus::manifest::VERSION,
        name: "directories".to_owned(),
        filters: Filters {
            vendored: Vec::new(),
            gitignore: false,
            duplicate_bytes_min: usize::MAX,
            ..Filters::default()
        },
        split: SplitRule::default(),
        benchmarks: Vec::new(),
        sources: directories.iter().map(source).collect(),
    }
}

#[cfg(test)]
mod tests;
