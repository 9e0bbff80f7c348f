//! The functions stage: triggers into `functions.parquet`; and the functions that an experiment uses.

use analysis::Native;
use analysis::triggers::Rules;
use anyhow::ensure;
use corpus::functions::StoredFunction;
use corpus::manifest::Split;
use corpus::table;
use models::Tokenizer;

use super::data::FILES;
use super::{Options, StageSummary};
use crate::examples::{Functions, Statistics};
use crate::experiment::GeneratorExperiment;
use crate::marking::Marking;
use crate::stage::{Fingerprint, Stage, hash_file};

pub(super) const FUNCTIONS: &str = "functions.parquet";

/// Inserts triggers, unless nothing they depend on has changed.
pub(super) fn mark(experiment: &GeneratorExperiment, options: &Options) -> anyhow::Result<StageSummary> {
    let setting = experiment.setting();
    let triggers = &experiment.dataset.triggers;
    let inputs = Fingerprint::of(&[
        ("format", format!("functions {}", corpus::schema::VERSION).as_bytes()),
        ("tool", env!("CARGO_PKG_VERSION").as_bytes()),
        ("triggers", &serde_json::to_vec(triggers)?),
        ("files", hash_file(&setting.dataset.join(FILES))?.as_bytes()),
    ]);
    let stage = Stage::new(&setting.dataset, "functions", inputs);
    let path = setting.dataset.join(FUNCTIONS);
    let skipped = stage.is_done();
    if !skipped {
        let repositories = table::read_files(&setting.dataset.join(FILES))?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(setting.threads()).build()?;
        let marking = Marking {
            rules: Rules::from(triggers),
            open: &|repository, _| Ok(Box::new(Native::new(repository))),
            pool: &pool,
            should_stop: &|| options.interrupter.should_stop(),
        };
        marking.write(&repositories, &path, |_| ())?;
        stage.finish(&[FUNCTIONS])?;
    }
    let (mut n, mut n_marks) = (0, 0);
    for function in table::stream_functions(&path)? {
        n += 1;
        n_marks += function?.marks.len();
    }
    ensure!(n > 0, "the repositories hold no documented function that can be used; see {}", path.display());
    let result = format!("{n} functions, {n_marks} triggers");
    Ok(StageSummary { name: "functions", skipped, seconds: 0.0, result, path })
}

/// Returns a hash of what the data stages produced.
pub(super) fn fingerprint(experiment: &GeneratorExperiment) -> anyhow::Result<String> {
    hash_file(&experiment.setting().dataset.join(FUNCTIONS))
}

/// Returns the functions that an experiment uses, and says how many were left out and why.
///
/// # Errors
///
/// Returns an error if the table cannot be read, or if a split has no function.
pub fn choose(experiment: &GeneratorExperiment, tokenizer: &Tokenizer) -> anyhow::Result<Functions> {
    let all = table::read_functions(&experiment.setting().dataset.join(FUNCTIONS))?;
    let config = &experiment.dataset.functions;
    let functions = Functions::choose(all, config, tokenizer, experiment.seed);
    for split in Split::ALL {
        ensure!(
            !functions.of(split).is_empty(),
            "the repositories of the {split} split give no function; the manifest's `split` keys say which they are"
        );
        tracing::info!("{split}: {}", described(functions.of(split), tokenizer));
    }
    for ((split, reason), n) in &functions.dropped {
        tracing::info!("{split}: {n} functions left out: {reason}");
    }
    Ok(functions)
}

/// Returns the means over functions, beside those of the paper.
pub(super) fn described(functions: &[StoredFunction], tokenizer: &Tokenizer) -> String {
    let (own, paper) = (Statistics::of(functions, tokenizer), Statistics::PAPER);
    format!(
        "{} functions (paper {}), on average {:.2} docstring tokens ({}), {:.2} code tokens ({}), {:.2} triggers ({})",
        own.n,
        paper.n,
        own.docstring_tokens,
        paper.docstring_tokens,
        own.code_tokens,
        paper.code_tokens,
        own.marks,
        paper.marks
    )
}
