//! `train model logits`.

use std::io::Write;

use anyhow::{bail, ensure};
use clap::Args;
use models::Decoder;
use models::decoder::nll;
use serde::Serialize;

use super::input::{Ids, TextArguments, check_context, checked, encode};
use super::{ModelArguments, Token};

/// Arguments of `train model logits`.
#[derive(Debug, Args)]
pub(in crate::cli) struct LogitsArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    text: TextArguments,
    /// What an encoder-decoder reads before the text.
    #[arg(long, conflicts_with = "source_ids", allow_hyphen_values = true)]
    source: Option<String>,
    /// The same as token ids, such as 1,2,3.
    #[arg(long, value_name = "IDS", allow_hyphen_values = true)]
    source_ids: Option<Ids>,
    /// Only the logits of what follows the whole text.
    #[arg(long, conflicts_with = "positions")]
    last: bool,
    /// Only these positions, from 0 [default: all].
    #[arg(long, value_delimiter = ',')]
    positions: Vec<usize>,
    /// How many of the most probable tokens to show.
    #[arg(long, default_value_t = 10)]
    top: usize,
}

#[derive(Debug, Serialize)]
struct Found {
    /// Empty but for an encoder-decoder.
    source_tokens: Vec<u32>,
    tokens: Vec<u32>,
    vocabulary_size: usize,
    positions: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    position: usize,
    token: Token,
    /// The most probable tokens that may follow, the most probable first.
    top: Vec<Next>,
    /// The logit of every token.
    logits: Vec<f32>,
}

#[derive(Debug, Serialize)]
struct Next {
    #[serde(flatten)]
    token: Token,
    logit: f32,
    log_probability: f32,
}

pub(super) fn run(arguments: &LogitsArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let decoder = arguments.model.decoder(arguments.text.reads_text() || arguments.source.is_some())?;
    let source = arguments.source(&decoder)?;
    let start = decoder.model().network().start_token();
    let tokens: Vec<u32> = start.into_iter().chain(arguments.text.tokens(&decoder)?).collect();
    check_context(&decoder, tokens.len().max(source.len()))?;
    let positions = arguments.positions(tokens.len())?;
    let logits = match start {
        Some(_) => decoder.target_logits_at(&source, &tokens, &positions),
        None => decoder.logits_at(&tokens, &positions),
    };
    let position = |(position, logits): (usize, Vec<f32>)| Row {
        position,
        token: Token::new(&decoder, tokens[position]),
        top: top(&decoder, &logits, arguments.top),
        logits,
    };
    let positions: Vec<Row> = positions.into_iter().zip(logits).map(position).collect();
    let vocabulary_size = positions.first().map_or(0, |position| position.logits.len());
    arguments.model.write(&Found { source_tokens: source, tokens, vocabulary_size, positions }, out, table)
}

impl LogitsArguments {
    /// Returns the source of an encoder-decoder, and nothing for another model.
    fn source(&self, decoder: &Decoder) -> anyhow::Result<Vec<u32>> {
        let source = match (&self.source, &self.source_ids) {
            (Some(text), _) => Some(encode(decoder, text)?),
            (_, Some(ids)) => Some(checked(decoder, ids.0.clone())?),
            _ => None,
        };
        let model = &self.model.model;
        match (decoder.model().network().start_token(), source) {
            (Some(_), Some(source)) => Ok(source),
            (Some(_), None) => {
                bail!("{model} is an encoder-decoder, whose logits depend on a source: add --source or --source-ids")
            }
            (None, Some(_)) => bail!("{model} is a decoder alone and reads no source: put it before the text"),
            (None, None) => Ok(Vec::new()),
        }
    }

    fn positions(&self, n: usize) -> anyhow::Result<Vec<usize>> {
        if self.last {
            return Ok(vec![n - 1]);
        }
        if self.positions.is_empty() {
            return Ok((0..n).collect());
        }
        for position in &self.positions {
            ensure!(*position < n, "position {position} is not one of the text's {n}, which begin at 0");
        }
        Ok(self.positions.clone())
    }
}

/// Returns the `n` most probable tokens; of equally probable ones the lowest come first.
fn top(decoder: &Decoder, logits: &[f32], n: usize) -> Vec<Next> {
    let mut ids: Vec<u32> = (0..logits.len() as u32).collect();
    ids.sort_by(|a, b| logits[*b as usize].total_cmp(&logits[*a as usize]));
    let next =
        |id| Next { token: Token::new(decoder, id), logit: logits[id as usize], log_probability: -nll(logits, id) };
    ids.into_iter().take(n).map(next).collect()
}

fn table(found: &Found, out: &mut dyn Write) -> anyhow::Result<()> {
    for position in &found.positions {
        writeln!(out, "after position {}: token {} {}", position.position, position.token.id, position.token.shown())?;
        writeln!(out, "{:>8} {:>12} {:>12}  spelling", "token", "logit", "log prob.")?;
        for next in &position.top {
            let (id, spelling) = (next.token.id, next.token.shown());
            writeln!(out, "{id:>8} {:>12.6} {:>12.6}  {spelling}", next.logit, next.log_probability)?;
        }
    }
    Ok(())
}
