//! Which tool is asked, as the command line names it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use analysis::server::{JediOptions, JediWorker, LanguageServer, LanguageServerOptions, Limits, Placeholder, Program};
use analysis::{CodeIntelligence, Native};
use clap::Args;
use repo::{Language, Repository};

/// A completion tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) enum Engine {
    /// The engines of this crate, in process.
    Native,
    /// A Jedi worker.
    Jedi(Placeholder),
    /// A language server: its command line.
    LanguageServer { command: String, placeholder: Placeholder },
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, placeholder) = match text.strip_suffix("+placeholder") {
            Some(name) => (name, Placeholder::AtCaret),
            None => (text, Placeholder::None),
        };
        match name {
            "native" if placeholder == Placeholder::None => Ok(Self::Native),
            "jedi" => Ok(Self::Jedi(placeholder)),
            _ => match name.strip_prefix("lsp:").filter(|command| !command.trim().is_empty()) {
                Some(command) => Ok(Self::LanguageServer { command: command.to_owned(), placeholder }),
                None => {
                    Err("an engine is native, jedi, jedi+placeholder, lsp:COMMAND or lsp:COMMAND+placeholder".into())
                }
            },
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, placeholder) = match self {
            Self::Native => ("native", Placeholder::None),
            Self::Jedi(placeholder) => ("jedi", *placeholder),
            // The program alone: paths and arguments say nothing about the answers.
            Self::LanguageServer { command, placeholder } => {
                let program = command.split_whitespace().next().unwrap_or_default();
                (program.rsplit('/').next().unwrap_or_default(), *placeholder)
            }
        };
        let suffix = if placeholder == Placeholder::AtCaret { "+placeholder" } else { "" };
        write!(f, "{name}{suffix}")
    }
}

/// What the tools outside this process may take.
#[derive(Debug, Args)]
pub(in crate::cli) struct ToolArguments {
    /// The Python interpreter that has Jedi installed.
    #[arg(long, value_name = "FILE", default_value = "python3")]
    python: PathBuf,
    /// The longest time a tool may take for one answer, in seconds; the first after a start may take two minutes.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    deadline_seconds: u64,
    /// The most memory that the processes of a tool may hold together, in MiB.
    #[arg(long, default_value_t = 4096, value_parser = clap::value_parser!(u64).range(64..))]
    memory_mib_max: u64,
}

impl ToolArguments {
    fn limits(&self) -> Limits {
        Limits {
            deadline: Duration::from_secs(self.deadline_seconds),
            memory_bytes_max: self.memory_mib_max << 20,
            ..Limits::default()
        }
    }

    /// Opens a repository with a tool.
    ///
    /// `language` is that of the files asked about.
    pub(in crate::cli) fn open<'a>(
        &self,
        engine: &Engine,
        repository: &'a Repository,
        language: Language,
    ) -> anyhow::Result<Box<dyn CodeIntelligence + 'a>> {
        Ok(match engine {
            Engine::Native => Box::new(Native::new(repository)),
            Engine::Jedi(placeholder) => {
                let python = self.python.clone();
                let options = JediOptions { python, placeholder: *placeholder, limits: self.limits() };
                Box::new(JediWorker::new(repository, &options)?)
            }
            Engine::LanguageServer { command, placeholder } => {
                let (program, placeholder, limits) = (Program::parse(command), *placeholder, self.limits());
                let options = LanguageServerOptions { program, language, placeholder, limits };
                Box::new(LanguageServer::new(repository, &options)?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_named_on_one_line() {
        assert_eq!("native".parse(), Ok(Engine::Native));
        assert_eq!("jedi+placeholder".parse(), Ok(Engine::Jedi(Placeholder::AtCaret)));
        let server = Engine::LanguageServer { command: "zuban server".into(), placeholder: Placeholder::None };
        assert_eq!("lsp:zuban server".parse(), Ok(server));
        for wrong in ["", "lsp:", "lsp: ", "native+placeholder", "pyright"] {
            assert!(wrong.parse::<Engine>().is_err(), "{wrong}");
        }
    }
}
