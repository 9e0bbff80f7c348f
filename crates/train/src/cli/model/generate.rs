//! `train model generate`.

use std::io::Write;

use anyhow::ensure;
use clap::Args;
use models::Decoder;
use models::generate::{BeamSearch, Generated, GenerationRule, Prompt, Sampling, Strategy, generate};
use models::tokenizer::Tokenizer;
use serde::Serialize;

use super::ModelArguments;
use super::input::{Ids, encode};

/// Arguments of `train model generate`.
#[derive(Debug, Args)]
pub(in crate::cli) struct GenerateArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    prompts: PromptArguments,
    /// Most tokens written after a prompt.
    #[arg(long, default_value_t = 64)]
    tokens_max: usize,
    /// Draws tokens at random: below 1 sharpens, above 1 flattens, 0 is greedy.
    #[arg(long, allow_hyphen_values = true)]
    temperature: Option<f64>,
    /// Draws from this many of the most probable tokens.
    #[arg(long)]
    top_k: Option<usize>,
    /// Draws from the fewest tokens that together reach this probability.
    #[arg(long)]
    top_p: Option<f64>,
    /// Decides what is drawn; the prompts after the first have the seeds that follow.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Follows this many continuations side by side.
    #[arg(long, conflicts_with_all = ["temperature", "top_k", "top_p"])]
    beams: Option<usize>,
    /// The power of the length that the score of a continuation is divided by.
    #[arg(long, default_value_t = 1.0, requires = "beams", allow_hyphen_values = true)]
    length_penalty: f64,
    /// Ends the search as soon as as many continuations as beams have ended.
    #[arg(long, requires = "beams")]
    early_stopping: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct PromptArguments {
    /// A text to continue, or the source of an encoder-decoder; several may be given.
    #[arg(long, allow_hyphen_values = true)]
    prompt: Vec<String>,
    /// A text to continue as token ids, such as 1,2,3; several may be given.
    #[arg(long, value_name = "IDS", allow_hyphen_values = true)]
    prompt_ids: Vec<Ids>,
}

#[derive(Debug, Serialize)]
struct Found {
    texts: Vec<Continuation>,
}

#[derive(Debug, Serialize)]
struct Continuation {
    prompt_tokens: Vec<u32>,
    tokens: Vec<u32>,
    /// None without a tokenizer.
    text: Option<String>,
    /// In nats, one for each token.
    log_probabilities: Vec<f32>,
    /// The sum of log-probabilities with the end of the sequence; beam search divides it by its penalty.
    score: f64,
    finish: &'static str,
}

pub(super) fn run(arguments: &GenerateArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let decoder = arguments.model.decoder(!arguments.prompts.prompt.is_empty())?;
    let prompts = arguments.prompts(&decoder)?;
    let rule = GenerationRule { tokens_max: arguments.tokens_max, strategy: arguments.strategy() };
    let generated = generate(&decoder, &prompts, &rule)?;
    let text = |(prompt, generated)| text(decoder.tokenizer_if_any(), prompt, generated);
    let texts = prompts.into_iter().zip(generated).map(text).collect();
    arguments.model.write(&Found { texts }, out, table)
}

impl GenerateArguments {
    fn prompts(&self, decoder: &Decoder) -> anyhow::Result<Vec<Prompt>> {
        let ids = self.prompts.prompt_ids.iter().map(|ids| Ok(ids.0.clone()));
        let texts = self.prompts.prompt.iter().map(|text| encode(decoder, text));
        let tokens: Vec<Vec<u32>> = ids.chain(texts).collect::<anyhow::Result<_>>()?;
        ensure!(!tokens.is_empty(), "there are no prompts");
        let prompt = |(index, tokens)| Prompt { tokens, seed: self.seed.wrapping_add(index) };
        Ok((0..).zip(tokens).map(prompt).collect())
    }

    fn strategy(&self) -> Strategy {
        if let Some(num_beams) = self.beams {
            let (length_penalty, early_stopping) = (self.length_penalty, self.early_stopping);
            return Strategy::Beam(BeamSearch { num_beams, length_penalty, early_stopping });
        }
        if self.temperature.is_none() && self.top_k.is_none() && self.top_p.is_none() {
            return Strategy::Greedy;
        }
        let temperature = self.temperature.unwrap_or(1.0);
        Strategy::Sample(Sampling { temperature, top_k: self.top_k, top_p: self.top_p })
    }
}

fn text(tokenizer: Option<&Tokenizer>, prompt: Prompt, generated: Generated) -> Continuation {
    Continuation {
        prompt_tokens: prompt.tokens,
        text: tokenizer.map(|tokenizer| tokenizer.decode(&generated.tokens)),
        tokens: generated.tokens,
        log_probabilities: generated.log_probabilities,
        score: generated.score,
        finish: generated.finish.name(),
    }
}

fn table(found: &Found, out: &mut dyn Write) -> anyhow::Result<()> {
    for (index, text) in found.texts.iter().enumerate() {
        let n = text.tokens.len();
        writeln!(out, "prompt {index}: {n} tokens, score {:.6}, ended by {}", text.score, text.finish)?;
        let ids = || text.tokens.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        writeln!(out, "{}", text.text.clone().unwrap_or_else(ids))?;
    }
    Ok(())
}
