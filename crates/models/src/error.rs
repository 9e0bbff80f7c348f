//! What can be wrong with a model on disk.

use std::fmt::{self, Display, Formatter, Write as _};
use std::path::{Path, PathBuf};

/// Why a model could not be loaded or saved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A file or directory could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A JSON file is not what it should be.
    #[error("{} is not a valid configuration", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The cause, with line and column.
        #[source]
        source: serde_json::Error,
    },
    /// A configuration asks for a computation that is not implemented, or contradicts itself.
    #[error("{}: {}: {}", path.display(), Printable(key), Printable(message))]
    Config {
        /// The file that holds the key.
        path: PathBuf,
        /// The key, as written in the file.
        key: String,
        /// What is wrong with its value.
        message: String,
    },
    /// The tensors of a checkpoint are not those of the model.
    #[error("the weights in {} do not fit the model: {}", path.display(), Printable(message))]
    Weights {
        /// The file or directory that holds the weights.
        path: PathBuf,
        /// Every missing, unexpected or mis-shaped tensor.
        message: String,
    },
    /// A safetensors file is missing or damaged.
    #[error("{}: {}", path.display(), Printable(message))]
    Safetensors {
        /// The file, or the directory that lacks it.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// The weights are a pickle, which can run code when it is read.
    #[error(
        "{}: a pickle can run code when read and is refused: convert it once with `python -c \"import sys, transformers \
         as t; d = sys.argv[1]; t.AutoModel.from_pretrained(d).save_pretrained(d); \
         t.AutoTokenizer.from_pretrained(d).save_pretrained(d)\" {}`",
        path.display(),
        directory.display()
    )]
    Pickle {
        /// The pickle.
        path: PathBuf,
        /// The directory of the model.
        directory: PathBuf,
    },
    /// A GGUF file is damaged or uses a feature that is not implemented.
    #[error("{}: {}", path.display(), Printable(message))]
    Gguf {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A tokenizer could not be built.
    #[error("the tokenizer of {} cannot be used: {}", path.display(), Printable(message))]
    Tokenizer {
        /// The file that describes the tokenizer.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A text cannot be generated as asked.
    #[error("{key}: {message}")]
    Generation {
        /// The parameter.
        key: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// An adapter that cannot be attached, folded or saved.
    #[error("{}: {}", Printable(key), Printable(message))]
    Adapter {
        /// The value of the configuration that is at fault.
        key: String,
        /// What is wrong.
        message: String,
    },
    /// Folding an adapter into the weights would change what the model computes.
    #[error("merging moves an output by {found}, which exceeds {max}")]
    Drift {
        /// The largest difference between two logits, or two components of vectors.
        found: f32,
        /// The largest that is allowed.
        max: f32,
    },
    /// A device name that is not known.
    #[error("unknown device `{name}`: expected auto, cpu, cuda, cuda:N or wgpu")]
    UnknownDevice {
        /// The name.
        name: String,
    },
    /// A device that this build does not have.
    #[error("device `{name}` is not compiled into this build")]
    MissingDevice {
        /// The name.
        name: String,
    },
}

/// Text that may come from a damaged file, on one line: characters that cannot be printed are escaped.
pub(crate) struct Printable<'a>(pub(crate) &'a str);

impl Display for Printable<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '\\' | '"' | '\'' => formatter.write_char(character)?,
                _ => write!(formatter, "{}", character.escape_debug())?,
            }
        }
        Ok(())
    }
}

/// The result of an operation on a model.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns an error about a key of the configuration in `path`.
    pub(crate) fn config(path: &Path, key: &str, message: impl Into<String>) -> Self {
        Self::Config { path: path.to_owned(), key: key.to_owned(), message: message.into() }
    }

    /// Returns an error about a value of an adapter's configuration.
    pub(crate) fn adapter(key: &str, message: impl Into<String>) -> Self {
        Self::Adapter { key: key.to_owned(), message: message.into() }
    }

    /// Returns a function that turns the failure to read `path` into an error.
    pub(crate) fn read(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Read { path: path.to_owned(), source }
    }

    /// Returns a function that turns the failure to write `path` into an error.
    pub(crate) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_a_file_cannot_break_the_line_or_drive_the_terminal() {
        let message = "`a\n\x1B[31m\u{202E}\u{0}\\` is not \"größe Ġ\"".to_owned();
        let path = PathBuf::from("file");
        let errors = [
            Error::config(&path, "a\rb", message.clone()),
            Error::Weights { path: path.clone(), message: message.clone() },
            Error::Safetensors { path: path.clone(), message: message.clone() },
            Error::Gguf { path: path.clone(), message: message.clone() },
            Error::Tokenizer { path, message },
        ];
        expect_test::expect![[r#"
            file: a\rb: `a\n\u{1b}[31m\u{202e}\0\` is not "größe Ġ"
            the weights in file do not fit the model: `a\n\u{1b}[31m\u{202e}\0\` is not "größe Ġ"
            file: `a\n\u{1b}[31m\u{202e}\0\` is not "größe Ġ"
            file: `a\n\u{1b}[31m\u{202e}\0\` is not "größe Ġ"
            the tokenizer of file cannot be used: `a\n\u{1b}[31m\u{202e}\0\` is not "größe Ġ""#]]
        .assert_eq(&errors.map(|error| error.to_string()).join("\n"));
    }
}
