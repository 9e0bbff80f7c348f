//! `train model score`.

use std::io::Write;

use anyhow::ensure;
use clap::Args;
use models::{Decoder, LanguageModel};
use serde::Serialize;

use super::input::{Ids, TextArguments, check_context, checked, encode};
use super::{ModelArguments, Token};

/// Arguments of `train model score`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ScoreArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    text: TextArguments,
    /// What comes before the text and is not scored; the source of an encoder-decoder.
    #[arg(long, conflicts_with = "prompt_ids", allow_hyphen_values = true)]
    prompt: Option<String>,
    /// The same as token ids, such as 1,2,3.
    #[arg(long, value_name = "IDS", allow_hyphen_values = true)]
    prompt_ids: Option<Ids>,
}

#[derive(Debug, Serialize)]
struct Found {
    prompt_tokens: Vec<u32>,
    tokens: Vec<Scored>,
    n_scored: usize,
    /// In nats.
    sum: f64,
    perplexity: f64,
}

#[derive(Debug, Serialize)]
struct Scored {
    #[serde(flatten)]
    token: Token,
    /// In nats; none for a first token with nothing before it.
    nll: Option<f32>,
}

pub(super) fn run(arguments: &ScoreArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let decoder = arguments.model.decoder(arguments.text.reads_text() || arguments.prompt.is_some())?;
    let prompt = arguments.prompt(&decoder)?;
    let tokens = arguments.text.tokens(&decoder)?;
    if decoder.model().network().start_token().is_some() {
        ensure!(!prompt.is_empty(), "{} is an encoder-decoder: give its source as --prompt", arguments.model.model);
        check_context(&decoder, prompt.len().max(tokens.len()))?;
    } else {
        check_context(&decoder, prompt.len() + tokens.len())?;
    }
    let nlls = score(&decoder, &prompt, &tokens)?;
    let sum: f64 = nlls.iter().flatten().map(|&nll| f64::from(nll)).sum();
    let n_scored = nlls.iter().flatten().count();
    let scored = |(&id, nll): (&u32, Option<f32>)| Scored { token: Token::new(&decoder, id), nll };
    let found = Found {
        prompt_tokens: prompt,
        tokens: tokens.iter().zip(nlls).map(scored).collect(),
        n_scored,
        sum,
        perplexity: (sum / n_scored as f64).exp(),
    };
    arguments.model.write(&found, out, table)
}

impl ScoreArguments {
    fn prompt(&self, decoder: &Decoder) -> anyhow::Result<Vec<u32>> {
        match (&self.prompt, &self.prompt_ids) {
            (Some(text), _) => encode(decoder, text),
            (_, Some(ids)) => checked(decoder, ids.0.clone()),
            _ => Ok(Vec::new()),
        }
    }
}

/// Returns the NLL of every token; without a prompt the first serves as one.
fn score(decoder: &Decoder, prompt: &[u32], tokens: &[u32]) -> anyhow::Result<Vec<Option<f32>>> {
    let n_read = usize::from(prompt.is_empty());
    ensure!(tokens.len() > n_read, "one token without a prompt has nothing to be predicted from: add --prompt");
    let mut cache = decoder.new_cache();
    let logits = decoder.feed(&mut cache, if prompt.is_empty() { &tokens[..1] } else { prompt });
    let nlls = decoder.score_from(&cache, &logits, &tokens[n_read..]);
    Ok(std::iter::repeat_n(None, n_read).chain(nlls.into_iter().map(Some)).collect())
}

fn table(found: &Found, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "{:>8} {:>12}  spelling", "token", "NLL (nats)")?;
    for scored in &found.tokens {
        let nll = scored.nll.map_or("-".to_owned(), |nll| format!("{nll:.6}"));
        writeln!(out, "{:>8} {nll:>12}  {}", scored.token.id, scored.token.shown())?;
    }
    writeln!(out, "{:>8} {:>12.6}  nats over {} tokens", "sum", found.sum, found.n_scored)?;
    Ok(writeln!(out, "perplexity {:.6}", found.perplexity)?)
}
