//! Verbs that ask what an IDE knows about a repository.

pub(super) mod ask;
mod benchmark;
pub(super) mod engine;
mod triggers;

use std::io::Write;

use clap::Subcommand;

/// Verbs of `train analyze`.
#[derive(Debug, Subcommand)]
pub(super) enum AnalyzeVerb {
    /// Prints the identifiers that may stand at a place, most recently used first.
    #[command(after_help = "Examples:\n  \
        train analyze completions --repo . --file src/app.py --byte 1042\n  \
        train analyze completions --repo . --file src/app.py --byte 1042 --truncate --json\n  \
        train analyze completions --repo . --file src/app.py --byte 1042 --engine jedi --python .venv/bin/python\n\n\
        An identifier that begins before the place is completed; one that stands behind it is read as code.")]
    Completions(ask::PlaceArguments),
    /// Prints where the identifier at a place is defined, imports followed.
    Definition(ask::PlaceArguments),
    /// Prints the type inferred of the expression at a place, the type expected there, and the definitions reachable
    /// from it.
    Type(ask::PlaceArguments),
    /// Prints the headers of the values in scope at a place, innermost scope first.
    Headers(ask::PlaceArguments),
    /// Prints what is wrong in a file: syntax, undefined names, missing members.
    Diagnostics(ask::FileArguments),
    /// Writes the documented functions of repositories with <COMP> before each identifier that the completion tool knows.
    #[command(after_help = "Examples:\n  \
        train analyze triggers --repo src/project --output functions.parquet\n  \
        train analyze triggers --manifest datasets/quickstart.toml --output functions.parquet\n  \
        train analyze triggers --files datasets/quickstart/files.parquet --output functions.parquet --json\n  \
        train analyze triggers --repo a --repo b --output functions.parquet --eligibility released --context unfinished\n\n\
        What a row holds is told in crates/corpus/src/schema.rs; `train corpus inspect` shows it.")]
    Triggers(triggers::TriggersArguments),
    /// Compares completion tools on a folder of packages: what they find, by kind of identifier, and what a call costs.
    #[command(after_help = "Examples:\n  \
        train analyze benchmark packages/\n  \
        train analyze benchmark packages/ --engine jedi --engine native --python .venv/bin/python --online 1000\n\n\
        Asked for are the identifiers in the bodies of documented functions. Run a release build: the time is part of \
        the result.")]
    Benchmark(benchmark::BenchmarkArguments),
}

/// Runs a verb and writes its results to `out`.
pub(super) fn run(verb: &AnalyzeVerb, out: &mut dyn Write) -> anyhow::Result<()> {
    match verb {
        AnalyzeVerb::Completions(arguments) => ask::place(ask::Question::Completions, arguments, out),
        AnalyzeVerb::Definition(arguments) => ask::place(ask::Question::Definition, arguments, out),
        AnalyzeVerb::Type(arguments) => ask::place(ask::Question::Type, arguments, out),
        AnalyzeVerb::Headers(arguments) => ask::place(ask::Question::Headers, arguments, out),
        AnalyzeVerb::Diagnostics(arguments) => ask::diagnostics(arguments, out),
        AnalyzeVerb::Triggers(arguments) => triggers::run(arguments, out),
        AnalyzeVerb::Benchmark(arguments) => benchmark::benchmark(arguments, out),
    }
}
