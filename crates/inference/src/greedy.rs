//! When a completion ends, and greedy decoding over a seam.

use std::fmt;
use std::str::FromStr;

use models::decoder::{BatchedLanguageModel, nll};
use models::generate::greedy_from;

pub use models::generate::{Finish, Generated};

use crate::seam::SeamTokens;
use crate::{Error, Result};

/// When a completion ends, besides the end of the sequence and the limit on tokens.
///
/// Parsed from and displayed as `never` and `line`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    /// Never.
    #[default]
    Never,
    /// At the end of the first line that is not blank, for line targets.
    Line,
}

impl Stop {
    /// Returns whether a completion that so far has this text is complete.
    #[must_use]
    pub fn reached(self, text: &str) -> bool {
        match self {
            Self::Never => false,
            Self::Line => text.trim_start().contains('\n'),
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Never => "never",
            Self::Line => "line",
        })
    }
}

impl FromStr for Stop {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "never" => Ok(Self::Never),
            "line" => Ok(Self::Line),
            _ => Err(Error::UnknownStop(text.to_owned())),
        }
    }
}

/// Continues a sequence after the white space that a seam left out of it, which is written first.
///
/// Each token up to the end of the white space is the most probable of those that agree with it; the last of them may
/// hold the beginning of what follows. They come before the at most `tokens_max` others in what is returned.
///
/// The caller sees to it that all of them fit the model's context.
pub fn greedy_over_seam<M: BatchedLanguageModel>(
    model: &M,
    cache: &mut M::Cache,
    mut logits: Vec<f32>,
    (mut white_space, seam): (&str, &SeamTokens),
    tokens_max: usize,
    stop: impl Fn(&[u32]) -> bool,
) -> Generated {
    let (mut over, mut log_probabilities) = (Vec::new(), Vec::new());
    while let Some((token, text)) = seam.most_probable(&logits, white_space).filter(|_| !white_space.is_empty()) {
        over.push(token);
        log_probabilities.push(-nll(&logits, token));
        white_space = white_space.get(text.len()..).unwrap_or_default();
        logits = model.feed(cache, &[token]);
    }
    let rest = greedy_from(model, cache, logits, tokens_max, |tokens| stop(&[&over, tokens].concat()));
    Generated {
        score: log_probabilities.iter().map(|&log_probability| f64::from(log_probability)).sum::<f64>() + rest.score,
        tokens: [over, rest.tokens].concat(),
        log_probabilities: [log_probabilities, rest.log_probabilities].concat(),
        finish: rest.finish,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_ends_after_something_that_is_not_blank() {
        assert!(Stop::Line.reached("\n  return x\n"));
        assert!(!Stop::Line.reached("\n   "));
        assert!(!Stop::Line.reached("x = 1"));
        assert!(!Stop::Never.reached("x\n"));
        assert_eq!("line".parse::<Stop>().unwrap().to_string(), "line");
        assert!("lines".parse::<Stop>().is_err());
    }
}
