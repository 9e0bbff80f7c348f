//! Tokens from the command line: ids, text, or a file.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, ensure};
use clap::Args;
use models::{Decoder, LanguageModel};

/// Token ids as they are written on the command line: `1,2,3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ids(pub(super) Vec<u32>);

impl FromStr for Ids {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let id = |id: &str| id.trim().parse().map_err(|_| format!("`{id}` is not a token id: write 1,2,3"));
        text.split(',').map(id).collect::<Result<_, _>>().map(Self)
    }
}

/// One text, as ids or as characters.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct TextArguments {
    /// Token ids, such as 1,2,3.
    #[arg(long, value_name = "IDS", allow_hyphen_values = true)]
    ids: Option<Ids>,
    /// A text.
    #[arg(long, allow_hyphen_values = true)]
    text: Option<String>,
    /// A file with a text.
    #[arg(long)]
    file: Option<PathBuf>,
}

impl TextArguments {
    pub(super) fn reads_text(&self) -> bool {
        self.ids.is_none()
    }

    /// Returns the tokens, at least one.
    pub(super) fn tokens(&self, decoder: &Decoder) -> anyhow::Result<Vec<u32>> {
        match (&self.ids, &self.text, &self.file) {
            (Some(ids), _, _) => checked(decoder, ids.0.clone()),
            (_, Some(text), _) => encode(decoder, text),
            (_, _, file) => encode(decoder, &read(file.as_ref().context("ids, a text or a file are needed")?)?),
        }
    }
}

/// Reads a file of text.
pub(super) fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Returns the tokens of a text.
pub(super) fn encode(decoder: &Decoder, text: &str) -> anyhow::Result<Vec<u32>> {
    let tokens = decoder.tokenizer().encode(text);
    ensure!(!tokens.is_empty(), "the text is empty: it has no tokens");
    checked(decoder, tokens)
}

/// Returns the tokens if the model knows all of them.
pub(super) fn checked(decoder: &Decoder, tokens: Vec<u32>) -> anyhow::Result<Vec<u32>> {
    let size = decoder.vocabulary_size();
    if let Some(outside) = tokens.iter().find(|&&token| token as usize >= size) {
        anyhow::bail!("token {outside} is outside the vocabulary of {size}");
    }
    Ok(tokens)
}

/// Checks that the model can read so many tokens.
pub(super) fn check_context(decoder: &Decoder, tokens: usize) -> anyhow::Result<()> {
    let context = decoder.context_tokens_max();
    ensure!(tokens <= context, "{tokens} tokens exceed the model's context of {context}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_numbers_between_commas() {
        assert_eq!("7".parse(), Ok(Ids(vec![7])));
        assert_eq!("1, 2,3".parse(), Ok(Ids(vec![1, 2, 3])));
        for (text, part) in [("", ""), ("1,,2", ""), ("1,-2", "-2"), ("1;2", "1;2"), ("4294967296", "4294967296")] {
            assert_eq!(text.parse::<Ids>(), Err(format!("`{part}` is not a token id: write 1,2,3")));
        }
    }
}
