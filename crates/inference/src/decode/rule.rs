//! The numbers and variants of decoding with a tool.

use std::fmt;
use std::str::FromStr;

use models::generate::BeamSearch;

use crate::{Error, Result};

/// What happens where one suggestion ends and a longer one goes on.
///
/// Parsed from and displayed as `first` and `mean_probability`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Terminal {
    /// The shorter one is inserted; the longer one is never reached.
    ///
    /// # References
    ///
    /// `ToolGen` (arXiv 2401.06391), Algorithm 3.
    #[default]
    First,
    /// The longer one is followed unless its next token would lower the mean probability of the inserted tokens.
    ///
    /// # References
    ///
    /// The released code of `ToolGen`. Probabilities are those among the whole vocabulary.
    MeanProbability,
}

/// How a text is written with a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodingRule {
    /// Most tokens written, triggers included.
    pub tokens_max: usize,
    /// The least probability of a trigger at which the tool is asked.
    pub trigger_confidence_min: f32,
    /// What happens where one suggestion ends and a longer one goes on.
    pub terminal: Terminal,
    /// How many texts are followed side by side; 1 takes the most probable token at each step.
    pub num_beams: usize,
    /// The power of the length that a score is divided by; see [`BeamSearch::length_penalty`].
    pub length_penalty: f64,
    /// How much the order of the tool counts beside the model: the probability of a suggestion at place `n`, 1 for the
    /// best, is multiplied by `n` to the power of `-rank_weight`. 0 leaves the choice to the model.
    pub rank_weight: f32,
}

impl DecodingRule {
    /// Returns the rule of the paper: every trigger is a question, and the first end of a suggestion is taken.
    #[must_use]
    pub fn paper() -> Self {
        Self {
            tokens_max: 192,
            trigger_confidence_min: 0.0,
            terminal: Terminal::First,
            num_beams: 1,
            length_penalty: 1.0,
            rank_weight: 0.0,
        }
    }

    /// Returns the rule of the released evaluation script.
    #[must_use]
    pub fn released() -> Self {
        Self { trigger_confidence_min: 0.5, terminal: Terminal::MeanProbability, ..Self::paper() }
    }

    /// Checks the numbers.
    ///
    /// # Errors
    ///
    /// Returns an error that names the parameter that is out of its range.
    pub fn check(&self) -> Result<()> {
        let wrong = |key, message| Err(models::Error::Generation { key, message }.into());
        if !(0.0..=1.0).contains(&self.trigger_confidence_min) {
            let message = format!("{} is not in 0..=1", self.trigger_confidence_min);
            return wrong("trigger_confidence_min", message);
        }
        if !(self.rank_weight.is_finite() && self.rank_weight >= 0.0) {
            return wrong("rank_weight", format!("{} is not a number of at least 0", self.rank_weight));
        }
        Ok(self.beam_search().check()?)
    }

    /// Returns how texts are followed side by side.
    pub(super) fn beam_search(&self) -> BeamSearch {
        BeamSearch { num_beams: self.num_beams, length_penalty: self.length_penalty, early_stopping: false }
    }
}

impl Default for DecodingRule {
    fn default() -> Self {
        Self::paper()
    }
}

impl fmt::Display for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "first",
            Self::MeanProbability => "mean_probability",
        })
    }
}

impl FromStr for Terminal {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "first" => Ok(Self::First),
            "mean_probability" => Ok(Self::MeanProbability),
            _ => Err(Error::UnknownTerminal(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused_by_name() {
        for (rule, message) in [
            (DecodingRule { trigger_confidence_min: 1.5, ..DecodingRule::paper() }, "trigger_confidence_min: 1.5 is"),
            (DecodingRule { trigger_confidence_min: f32::NAN, ..DecodingRule::paper() }, "trigger_confidence_min: NaN"),
            (DecodingRule { rank_weight: -1.0, ..DecodingRule::paper() }, "rank_weight: -1 is"),
            (DecodingRule { num_beams: 0, ..DecodingRule::paper() }, "num_beams: 0 follows"),
            (DecodingRule { length_penalty: f64::INFINITY, ..DecodingRule::paper() }, "length_penalty: inf"),
        ] {
            let error = rule.check().unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
        assert!(DecodingRule::paper().check().is_ok() && DecodingRule::released().check().is_ok());
    }

    #[test]
    fn variants_are_named() {
        for terminal in [Terminal::First, Terminal::MeanProbability] {
            assert_eq!(terminal.to_string().parse::<Terminal>().unwrap(), terminal);
        }
        let error = "last".parse::<Terminal>().unwrap_err().to_string();
        assert_eq!(error, "unknown terminal rule `last`, expected `first` or `mean_probability`");
    }
}
