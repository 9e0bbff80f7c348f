//! `train analyze triggers`.

mod summary;

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use analysis::triggers::{Context, Eligibility, Limits, Rules};
use anyhow::{Context as _, ensure};
use clap::Args;
use corpus::crawl::CrawledRepository;
use corpus::filter::Filters;
use corpus::manifest::{Manifest, SourceEntry, SplitRule};
use corpus::source::SourceSpec;

use super::engine::{Engine, ToolArguments};
use crate::marking::Marking;
use crate::pipeline::Crawl;
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
    let repositories = arguments.repositories()?;
    let start = Instant::now();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(usize::from(arguments.threads)).build()?;
    let marking = Marking {
        rules: arguments.rules()?,
        open: &|repository, language| arguments.tool.open(&arguments.engine, repository, language),
        pool: &pool,
        should_stop: &|| false,
    };
    let mut summary = Summary::default();
    marking.write(&repositories, &arguments.output, |marked| summary.add(marked))?;
    summary.finish(&arguments.output, start.elapsed(), pool.current_num_threads());
    if arguments.json { summary.write_json(out) } else { summary.write_table(out) }
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
