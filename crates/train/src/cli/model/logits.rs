//! `train model logits`.

use std::io::Write;

use anyhow::ensure;
use clap::Args;
use models::Decoder;
use models::decoder::nll;
use serde::Serialize;

use super::input::{TextArguments, check_context};
use super::{ModelArguments, Token};

/// Arguments of `train model logits`.
#[derive(Debug, Args)]
pub(in crate::cli) struct LogitsArguments {
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    text: TextArguments,
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
    let decoder = arguments.model.decoder(arguments.text.reads_text())?;
    ensure!(
        decoder.model().network().start_token().is_none(),
        "{} is an encoder-decoder, whose logits depend on a source: see `train model score --prompt SOURCE`",
        arguments.model.model
    );
    let tokens = arguments.text.tokens(&decoder)?;
    check_context(&decoder, tokens.len())?;
    let positions = arguments.positions(tokens.len())?;
    let logits = decoder.logits_at(&tokens, &positions);
    let position = |(position, logits): (usize, Vec<f32>)| Row {
        position,
        token: Token::new(&decoder, tokens[position]),
        top: top(&decoder, &logits, arguments.top),
        logits,
    };
    let positions: Vec<Row> = positions.into_iter().zip(logits).map(position).collect();
    let vocabulary_size = positions.first().map_or(0, |position| position.logits.len());
    arguments.model.write(&Found { tokens, vocabulary_size, positions }, out, table)
}

impl LogitsArguments {
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
