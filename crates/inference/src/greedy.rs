//! When a completion ends, and greedy decoding over a seam.

use models::decoder::{BatchedLanguageModel, nll};
use models::generate::greedy_from;

pub use models::generate::{Finish, Generated};

use crate::seam::SeamTokens;

/// When a completion ends, besides the end of the sequence and the limit on tokens.
///
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stop {
    /// Never.
    #[default]
    Never,
    /// At the end of so many lines that are not blank.
    Lines(usize),
}

impl Stop {
    /// Returns whether a completion that so far has this text is complete.
    #[must_use]
    pub fn reached(self, text: &str) -> bool {
        match self {
            Self::Never => false,
            Self::Lines(n) => {
                let ended = text.rsplit_once('\n').map_or("", |(ended, _)| ended);
                ended.lines().filter(|line| !line.trim().is_empty()).count() >= n
            }
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
    fn lines_end_after_something_that_is_not_blank() {
        assert!(Stop::Lines(1).reached("\n  return x\n"));
        assert!(!Stop::Lines(1).reached("\n   "));
        assert!(!Stop::Lines(1).reached("x = 1"));
        assert!(!Stop::Lines(2).reached("x = 1\n\ny"));
        assert!(Stop::Lines(2).reached("x = 1\n\ny\n"));
        assert!(!Stop::Never.reached("x\n"));
    }
}
