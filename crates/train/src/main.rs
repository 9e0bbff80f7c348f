//! The command line of Retort: `train EXPERIMENT.toml`, and verbs for single stages.

use std::process::ExitCode;

fn main() -> ExitCode {
    train::cli::main()
}
