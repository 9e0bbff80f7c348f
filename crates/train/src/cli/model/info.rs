//! `train model info`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use clap::Args;
use models::info::{Description, Kind, Loaded, describe, load};
use serde::Serialize;

use super::ModelArguments;

/// Arguments of `train model info`.
#[derive(Debug, Args)]
pub(in crate::cli) struct InfoArguments {
    #[command(flatten)]
    model: ModelArguments,
}

#[derive(Debug, Serialize)]
struct Info {
    path: String,
    kind: &'static str,
    architecture: String,
    n_parameters: usize,
    vocabulary_size: usize,
    context_tokens_max: usize,
    has_tied_head: Option<bool>,
    eos: Vec<u32>,
    special_tokens: Vec<Special>,
    sizes: BTreeMap<String, u64>,
    weight_types: BTreeMap<String, usize>,
    fingerprint: String,
}

#[derive(Debug, Serialize)]
struct Special {
    id: u32,
    spelling: String,
}

pub(super) fn run(arguments: &InfoArguments, out: &mut dyn Write) -> anyhow::Result<()> {
    let path = arguments.model.path()?;
    let info = info(&path, describe(&path)?, load(&path, &arguments.model.device()?)?)?;
    arguments.model.write(&info, out, table)
}

fn info(path: &Path, description: Description, loaded: Loaded) -> anyhow::Result<Info> {
    let kind = match description.kind {
        Kind::Encoder => "encoder",
        Kind::Decoder => "decoder",
    };
    let special = loaded.special_tokens.into_iter().map(|(id, spelling)| Special { id, spelling });
    Ok(Info {
        path: path.display().to_string(),
        kind,
        architecture: description.architecture,
        n_parameters: loaded.n_parameters,
        vocabulary_size: loaded.vocabulary_size,
        context_tokens_max: loaded.context_tokens_max,
        has_tied_head: loaded.has_tied_head,
        eos: loaded.eos,
        special_tokens: special.collect(),
        sizes: description.sizes,
        weight_types: description.weight_types,
        fingerprint: models::fingerprint(path)?,
    })
}

/// Special tokens that a table shows.
const SPECIAL_SHOWN: usize = 12;

fn table(info: &Info, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut line = |name: &str, value: String| writeln!(out, "{name:<28} {value}");
    line("model", info.path.clone())?;
    line("architecture", format!("{} ({})", info.architecture, info.kind))?;
    line("parameters", info.n_parameters.to_string())?;
    for (kind, n) in &info.weight_types {
        line("weights", format!("{n} {kind}"))?;
    }
    line("vocabulary", format!("{} tokens", info.vocabulary_size))?;
    line("context", format!("{} tokens", info.context_tokens_max))?;
    if let Some(is_tied) = info.has_tied_head {
        line("head", if is_tied { "tied to the embedding" } else { "its own" }.to_owned())?;
    }
    if info.kind == "decoder" {
        line("end of sequence", info.eos.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))?;
    }
    for special in info.special_tokens.iter().take(SPECIAL_SHOWN) {
        line("special token", format!("{} {}", special.id, special.spelling.escape_debug()))?;
    }
    if let more @ 1.. = info.special_tokens.len().saturating_sub(SPECIAL_SHOWN) {
        line("special token", format!("and {more} more (--json lists all)"))?;
    }
    for (name, size) in &info.sizes {
        line(name, size.to_string())?;
    }
    line("fingerprint", info.fingerprint.clone())?;
    Ok(())
}
