//! Greedy decoding with a KV cache.

use std::fmt;
use std::str::FromStr;

use models::decoder::{LanguageModel, nll};

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

/// Why a completion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model ended the sequence; that token is not part of the completion.
    EndOfSequence,
    /// The stop rule was reached; the token that reached it is part of the completion.
    Stopped,
    /// The limit on tokens was reached, or the end of the model's context.
    TokensMax,
}

/// The tokens a model wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The tokens.
    pub tokens: Vec<u32>,
    /// The log-probability of each of them, in nats.
    pub log_probabilities: Vec<f32>,
    /// Why there are no more.
    pub finish: Finish,
}

/// Continues a prompt with the most probable token at each step; of equally probable ones, the lowest.
///
/// `stop` sees the tokens written so far, after each of them. At most as many tokens are written as the model's context
/// has room for.
///
/// # Panics
///
/// Panics if the prompt is empty or longer than the model's context.
pub fn greedy<M: LanguageModel>(
    model: &M,
    prompt: &[u32],
    tokens_max: usize,
    stop: impl Fn(&[u32]) -> bool,
) -> Generated {
    assert!(!prompt.is_empty(), "a prompt has tokens");
    assert!(prompt.len() <= model.context_tokens_max(), "the prompt fits the model's context");
    let mut cache = model.new_cache();
    let logits = model.feed(&mut cache, prompt);
    let room = model.context_tokens_max() - prompt.len();
    greedy_from(model, &mut cache, logits, tokens_max.min(room), stop)
}

/// Continues a sequence that a model has read: `cache` holds it and `logits` follow its last token.
///
/// The caller sees to it that `tokens_max` more tokens fit the model's context.
pub fn greedy_from<M: LanguageModel>(
    model: &M,
    cache: &mut M::Cache,
    mut logits: Vec<f32>,
    tokens_max: usize,
    stop: impl Fn(&[u32]) -> bool,
) -> Generated {
    let ends = model.eos();
    let mut generated = Generated { tokens: Vec::new(), log_probabilities: Vec::new(), finish: Finish::TokensMax };
    while generated.tokens.len() < tokens_max {
        let (token, log_probability) = most_probable(&logits);
        if ends.contains(&token) {
            generated.finish = Finish::EndOfSequence;
            break;
        }
        generated.tokens.push(token);
        generated.log_probabilities.push(log_probability);
        if stop(&generated.tokens) {
            generated.finish = Finish::Stopped;
            break;
        }
        if generated.tokens.len() < tokens_max {
            logits = model.feed(cache, &[token]);
        }
    }
    generated
}

/// Continues a sequence after the white space that a seam left out of it, which is written first.
///
/// Each token up to the end of the white space is the most probable of those that agree with it; the last of them may
/// hold the beginning of what follows. They come before the at most `tokens_max` others in what is returned.
///
/// The caller sees to it that all of them fit the model's context.
pub fn greedy_over_seam<M: LanguageModel>(
    model: &M,
    cache: &mut M::Cache,
    mut logits: Vec<f32>,
    (mut white_space, seam): (&str, &SeamTokens),
    tokens_max: usize,
    stop: impl Fn(&[u32]) -> bool,
) -> Generated {
    let mut over = Generated { tokens: Vec::new(), log_probabilities: Vec::new(), finish: Finish::TokensMax };
    while let Some((token, text)) = seam.most_probable(&logits, white_space).filter(|_| !white_space.is_empty()) {
        over.tokens.push(token);
        over.log_probabilities.push(-nll(&logits, token));
        white_space = white_space.get(text.len()..).unwrap_or_default();
        logits = model.feed(cache, &[token]);
    }
    let so_far = over.tokens.clone();
    let rest = greedy_from(model, cache, logits, tokens_max, |tokens| stop(&[&so_far, tokens].concat()));
    over.tokens.extend(rest.tokens);
    over.log_probabilities.extend(rest.log_probabilities);
    Generated { finish: rest.finish, ..over }
}

/// Returns the token with the largest logit and its log-probability.
fn most_probable(logits: &[f32]) -> (u32, f32) {
    let mut best = (0, f32::NEG_INFINITY);
    for (token, &logit) in logits.iter().enumerate() {
        if logit > best.1 {
            best = (token, logit);
        }
    }
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - best.1).exp()).sum();
    (best.0 as u32, -sum.ln() as f32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const END: u32 = 9;

    /// A model that continues `[.., t]` by the script's rule and checks that nothing is fed twice.
    struct Scripted {
        next: fn(&[u32]) -> u32,
        context_tokens_max: usize,
    }

    impl LanguageModel for Scripted {
        type Cache = Vec<u32>;

        fn vocabulary_size(&self) -> usize {
            10
        }

        fn new_cache(&self) -> Vec<u32> {
            Vec::new()
        }

        fn feed(&self, cache: &mut Vec<u32>, tokens: &[u32]) -> Vec<f32> {
            assert!(!tokens.is_empty());
            cache.extend(tokens);
            assert!(cache.len() <= self.context_tokens_max);
            let mut logits = vec![0.0; self.vocabulary_size()];
            logits[(self.next)(cache) as usize] = 2.0;
            logits
        }

        fn eos(&self) -> Vec<u32> {
            vec![END]
        }

        fn context_tokens_max(&self) -> usize {
            self.context_tokens_max
        }
    }

    fn counting() -> Scripted {
        Scripted { next: |tokens| (tokens[tokens.len() - 1] + 1) % 10, context_tokens_max: 100 }
    }

    #[test]
    fn decoding_ends_before_the_end_of_the_sequence() {
        let generated = greedy(&counting(), &[3], 64, |_| false);
        assert_eq!(generated.tokens, [4, 5, 6, 7, 8]);
        assert_eq!(generated.finish, Finish::EndOfSequence);
    }

    #[test]
    fn decoding_ends_at_the_limit_and_at_the_end_of_the_context() {
        let generated = greedy(&counting(), &[1, 2], 3, |_| false);
        assert_eq!((generated.tokens, generated.finish), (vec![3, 4, 5], Finish::TokensMax));
        let short = Scripted { context_tokens_max: 4, ..counting() };
        assert_eq!(greedy(&short, &[1, 2], 64, |_| false).tokens, [3, 4]);
        assert!(greedy(&counting(), &[1], 0, |_| false).tokens.is_empty());
    }

    #[test]
    fn the_token_that_reaches_the_stop_is_kept() {
        let generated = greedy(&counting(), &[0], 64, |tokens| tokens.ends_with(&[4]));
        assert_eq!((generated.tokens, generated.finish), (vec![1, 2, 3, 4], Finish::Stopped));
    }

    #[test]
    fn log_probabilities_are_those_of_the_softmax() {
        let generated = greedy(&counting(), &[0], 2, |_| false);
        let expected = 2.0 - (2.0_f64.exp() + 9.0).ln();
        for log_probability in generated.log_probabilities {
            assert!((f64::from(log_probability) - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn the_lowest_of_equally_probable_tokens_is_taken() {
        assert_eq!(most_probable(&[0.0, 1.0, 1.0]).0, 1);
        assert_eq!(most_probable(&[f32::NAN, -3.0, f32::NEG_INFINITY]).0, 1);
    }

    #[test]
    #[should_panic(expected = "the prompt fits")]
    fn a_prompt_longer_than_the_context_is_a_bug() {
        greedy(&Scripted { context_tokens_max: 1, ..counting() }, &[1, 2], 1, |_| false);
    }

    #[test]
    fn a_line_ends_after_something_that_is_not_blank() {
        assert!(Stop::Line.reached("\n  return x\n"));
        assert!(!Stop::Line.reached("\n   "));
        assert!(!Stop::Line.reached("x = 1"));
        assert!(!Stop::Never.reached("x\n"));
        assert_eq!("line".parse::<Stop>().unwrap().to_string(), "line");
        assert!("lines".parse::<Stop>().is_err());
    }

    proptest! {
        #[test]
        fn decoding_with_the_cache_equals_reading_everything_again(
            prompt in prop::collection::vec(0_u32..9, 1..6),
            tokens_max in 0_usize..12,
        ) {
            let model = Scripted { next: |tokens| tokens.iter().sum::<u32>() * 7 % 10, context_tokens_max: 100 };
            let mut all = prompt.clone();
            while all.len() < prompt.len() + tokens_max {
                let (token, _) = most_probable(&model.feed(&mut model.new_cache(), &all));
                if token == END {
                    break;
                }
                all.push(token);
            }
            prop_assert_eq!(&greedy(&model, &prompt, tokens_max, |_| false).tokens[..], &all[prompt.len()..]);
        }
    }
}
