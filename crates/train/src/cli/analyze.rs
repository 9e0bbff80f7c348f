//! Verbs that show what an IDE knows about a repository.

mod triggers;

use std::io::Write;

use analysis::CodeIntelligence;
use analysis::java::JavaEngine;
use analysis::python::PythonEngine;
use clap::{Subcommand, ValueEnum};
use repo::language::Language;
use repo::source::Repository;

/// Verbs of `train analyze`.
#[derive(Debug, Subcommand)]
pub(super) enum AnalyzeVerb {
    /// Writes the documented functions of repositories with <COMP> before each identifier that the completion tool knows.
    #[command(after_help = "Examples:\n  \
        train analyze triggers --repo src/project --output functions.parquet\n  \
        train analyze triggers --manifest datasets/quickstart.toml --output functions.parquet\n  \
        train analyze triggers --files datasets/quickstart/files.parquet --output functions.parquet --json\n  \
        train analyze triggers --repo a --repo b --output functions.parquet --eligibility released --context unfinished\n\n\
        What a row holds is told in crates/corpus/src/schema.rs; `train corpus inspect` shows it.")]
    Triggers(triggers::TriggersArguments),
}

/// Runs a verb and writes what it found.
pub(super) fn run(verb: &AnalyzeVerb, out: &mut dyn Write) -> anyhow::Result<()> {
    match verb {
        AnalyzeVerb::Triggers(arguments) => triggers::run(arguments, out),
    }
}

/// A completion tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// Our own engines, in process.
    #[default]
    Native,
}

impl Engine {
    /// Starts the tool for the files of one language of a repository.
    fn start<'a>(self, repository: &'a Repository, language: Language) -> Box<dyn CodeIntelligence + 'a> {
        match (self, language) {
            (Self::Native, Language::Python) => Box::new(PythonEngine::new(repository)),
            (Self::Native, Language::Java) => Box::new(JavaEngine::new(repository)),
        }
    }
}
