//! Reading an experiment file: overrides, suggestions, and errors that point at the line.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::de::{DeTable, DeValue};

use super::{Experiment, GeneratorExperiment, Kind, RetrieverExperiment, validate};

/// What is wrong with an experiment file or an override.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// The file cannot be read.
    #[error("cannot read the experiment {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A line of the file is wrong.
    #[error("{path}:{line}: {message}\n    {text}")]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: usize,
        /// What is wrong, with a suggestion where there is one.
        message: String,
        /// The line as written.
        text: String,
    },
    /// The file as a whole is wrong: a key is missing, say.
    #[error("{path}: {message}")]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// An override is wrong.
    #[error("--set {argument}: {message}")]
    Override {
        /// The override as typed.
        argument: String,
        /// What is wrong, with a suggestion where there is one.
        message: String,
    },
}

/// An experiment of one kind, as a file has it.
trait ExperimentFile: DeserializeOwned {
    /// Notes where the file lies, whose stem names an experiment without a name.
    fn placed(self, stem: &str, directory: &Path) -> Self;

    /// Sets the keys that depend on another one, unless they are given themselves.
    fn reconciled(self, _is_given: impl Fn(&str) -> bool) -> Self {
        self
    }

    /// Checks every value that its type leaves open.
    fn validate(&self) -> Result<(), validate::Problem>;
}

impl ExperimentFile for RetrieverExperiment {
    fn placed(self, stem: &str, directory: &Path) -> Self {
        let name = if self.name.is_empty() { stem.to_owned() } else { self.name };
        Self { name, directory: directory.to_path_buf(), ..self }
    }

    fn reconciled(mut self, is_given: impl Fn(&str) -> bool) -> Self {
        self.reconcile(is_given);
        self
    }

    fn validate(&self) -> Result<(), validate::Problem> {
        validate::retriever(self)
    }
}

impl ExperimentFile for GeneratorExperiment {
    fn placed(self, stem: &str, directory: &Path) -> Self {
        let name = if self.name.is_empty() { stem.to_owned() } else { self.name };
        Self { name, directory: directory.to_path_buf(), ..self }
    }

    fn validate(&self) -> Result<(), validate::Problem> {
        validate::generator(self)
    }
}

/// Loads an experiment, applies overrides of the form `key.path=value`, and validates the result.
///
/// # Errors
///
/// Returns the first problem, pointing at its line or at the override that caused it.
pub fn load(path: &Path, overrides: &[String]) -> Result<Experiment, ExperimentError> {
    #[derive(Deserialize)]
    struct Head {
        kind: Kind,
    }
    let text = std::fs::read_to_string(path).map_err(|source| ExperimentError::Read { path: path.into(), source })?;
    let head: Head = toml::from_str(&text).map_err(|error| in_file(path, &text, &error))?;
    Ok(match head.kind {
        Kind::Retriever => Experiment::Retriever(Box::new(load_as(path, &text, overrides)?)),
        Kind::Generator => Experiment::Generator(Box::new(load_as(path, &text, overrides)?)),
    })
}

fn load_as<E: ExperimentFile>(path: &Path, text: &str, overrides: &[String]) -> Result<E, ExperimentError> {
    let mut experiment: E = toml::from_str(text).map_err(|error| in_file(path, text, &error))?;
    if !overrides.is_empty() {
        experiment = overridden(path, text, overrides)?;
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let is_given = |key: &str| span_of(text, key).is_some() || overrides.iter().any(|argument| sets(argument, key));
    let experiment = experiment.placed(&stem, path.parent().unwrap_or(Path::new(""))).reconciled(is_given);
    experiment.validate().map_err(|problem| locate(path, text, overrides, &problem))?;
    Ok(experiment)
}

/// Applies the overrides one after the other, so that an error names the one that caused it.
fn overridden<E: ExperimentFile>(path: &Path, text: &str, overrides: &[String]) -> Result<E, ExperimentError> {
    let mut table: toml::Table = toml::from_str(text).map_err(|error| in_file(path, text, &error))?;
    let mut experiment = None;
    for argument in overrides {
        let wrong = |message: String| ExperimentError::Override { argument: argument.clone(), message };
        let (key, value) = argument.split_once('=').ok_or_else(|| wrong("expected key.path=value".into()))?;
        set(&mut table, key.trim(), parse_value(value.trim())).map_err(wrong)?;
        let parsed = table.clone().try_into().map_err(|error: toml::de::Error| wrong(suggest(error.message())))?;
        experiment = Some(parsed);
    }
    Ok(experiment.expect("at least one override"))
}

/// Reads an override's value as TOML, or as a bare string where it is none.
fn parse_value(value: &str) -> toml::Value {
    toml::from_str::<toml::Table>(&format!("value = {value}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| toml::Value::String(value.to_owned()))
}

fn set(table: &mut toml::Table, key: &str, value: toml::Value) -> Result<(), String> {
    let mut parts = key.split('.').peekable();
    let mut table = table;
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            table.insert(part.to_owned(), value);
            return Ok(());
        }
        table = table
            .entry(part)
            .or_insert_with(|| toml::Value::Table(toml::Table::new()))
            .as_table_mut()
            .ok_or_else(|| format!("`{part}` is not a section"))?;
    }
    Err("the key is empty".into())
}

fn in_file(path: &Path, text: &str, error: &toml::de::Error) -> ExperimentError {
    let message = suggest(error.message());
    // A missing section has no line to point at.
    let is_missing = message.starts_with("missing field");
    match error.span().filter(|span| span.start < text.len() && !(is_missing && span.start == 0)) {
        Some(span) => at(path, text, span, message),
        None => ExperimentError::File { path: path.into(), message },
    }
}

fn at(path: &Path, text: &str, span: Range<usize>, message: String) -> ExperimentError {
    let line = text[..span.start].matches('\n').count();
    ExperimentError::Line {
        path: path.into(),
        line: line + 1,
        message,
        text: text.lines().nth(line).unwrap_or_default().trim_end().to_owned(),
    }
}

/// Points a semantic problem at the override or the line that holds its key, or else at the file.
fn locate(path: &Path, text: &str, overrides: &[String], problem: &validate::Problem) -> ExperimentError {
    let message = format!("`{}` {}", problem.key, problem.reason);
    if let Some(argument) = overrides.iter().rev().find(|argument| sets(argument, &problem.key)) {
        return ExperimentError::Override { argument: argument.clone(), message };
    }
    match span_of(text, &problem.key) {
        Some(span) => at(path, text, span, message),
        None => ExperimentError::File { path: path.into(), message },
    }
}

/// Returns whether an override sets a key.
fn sets(argument: &str, key: &str) -> bool {
    argument.split('=').next().is_some_and(|set| set.trim() == key)
}

/// Returns where a dotted key's value stands in the file.
fn span_of(text: &str, key: &str) -> Option<Range<usize>> {
    let root = DeTable::parse(text).ok()?;
    let mut parts = key.split('.');
    let mut value = root.get_ref().get(parts.next()?)?;
    for part in parts {
        value = match value.get_ref() {
            DeValue::Table(table) => table.get(part)?,
            _ => return None,
        };
    }
    Some(value.span())
}

/// Adds "did you mean" to an unknown-key or unknown-value message.
fn suggest(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (Some(unknown), true) = (quoted.next(), message.starts_with("unknown ")) else {
        return message.to_owned();
    };
    let nearest = quoted.map(|known| (strsim::damerau_levenshtein(unknown, known), known)).min();
    match nearest {
        Some((distance, known)) if distance <= 2 + unknown.len() / 4 => {
            let kind = if message.starts_with("unknown variant") { "value" } else { "key" };
            format!("unknown {kind} `{unknown}`; did you mean `{known}`?")
        }
        _ => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const MINIMAL: &str = r#"kind = "retriever"
version = 1
seed = 7

[dataset]
manifest = "m.toml"
[dataset.samples]
train = { span = 4 }
validation = { span = 2 }
test = { line = 2 }

[encoder]
model = "random:bert"

[evaluator]
model = "random:llama"

[optimizer]
learning_rate = 1e-3
"#;

    fn check(text: &str, overrides: &[&str], expected: Expect) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("e.toml");
        std::fs::write(&path, text).unwrap();
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let result = match load(&path, &overrides) {
            Ok(Experiment::Retriever(experiment)) => {
                format!("{} {}", experiment.name, experiment.optimizer.learning_rate)
            }
            Ok(Experiment::Generator(_)) => panic!("the file asks for a retriever"),
            Err(error) => error.to_string().replace(&path.display().to_string(), "e.toml"),
        };
        expected.assert_eq(&result);
    }

    #[test]
    fn a_minimal_file_takes_the_published_defaults() {
        check(MINIMAL, &[], expect!["e 0.001"]);
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line_and_a_suggestion() {
        let text = MINIMAL.replace("learning_rate", "learning_rat");
        check(
            &text,
            &[],
            expect![[r#"
            e.toml:19: unknown key `learning_rat`; did you mean `learning_rate`?
                learning_rat = 1e-3"#]],
        );
    }

    #[test]
    fn a_wrong_type_points_at_its_line() {
        let text = MINIMAL.replace("seed = 7", "seed = \"seven\"");
        check(
            &text,
            &[],
            expect![[r#"
            e.toml:3: invalid type: string "seven", expected u64
                seed = "seven""#]],
        );
    }

    #[test]
    fn a_missing_section_is_named() {
        check(
            &MINIMAL.replace("[evaluator]\nmodel = \"random:llama\"\n", ""),
            &[],
            expect![[r#"
e.toml: missing field `evaluator`"#]],
        );
    }

    #[test]
    fn an_override_replaces_a_value_and_may_open_a_section() {
        check(MINIMAL, &["optimizer.learning_rate=3e-5"], expect!["e 0.00003"]);
        check(MINIMAL, &["training.epochs=2", "name=other"], expect!["other 0.001"]);
    }

    #[test]
    fn a_wrong_override_is_named_with_a_suggestion() {
        check(
            MINIMAL,
            &["training.epoch=2"],
            expect!["--set training.epoch=2: unknown key `epoch`; did you mean `epochs`?"],
        );
        check(MINIMAL, &["training.epochs"], expect!["--set training.epochs: expected key.path=value"]);
    }

    #[test]
    fn a_value_out_of_range_points_at_its_line_or_override() {
        check(
            &MINIMAL.replace("1e-3", "-1e-3"),
            &[],
            expect![[r#"
            e.toml:19: `optimizer.learning_rate` must be positive
                learning_rate = -1e-3"#]],
        );
        check(
            MINIMAL,
            &["optimizer.learning_rate=0"],
            expect!["--set optimizer.learning_rate=0: `optimizer.learning_rate` must be positive"],
        );
    }

    #[test]
    fn compat_decides_what_the_file_leaves_open() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("e.toml");
        let text = MINIMAL.replace("seed = 7", "seed = 7\ncompat = \"released\"") + "[reward]\nformula = \"paper\"\n";
        std::fs::write(&path, text).unwrap();
        let load = |overrides: &[&str]| {
            let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
            let Experiment::Retriever(experiment) = load(&path, &overrides).unwrap() else { panic!("a retriever") };
            let patience = experiment.training.early_stopping.patience;
            (experiment.candidates.variant, experiment.prompt.variant, experiment.reward.formula, patience)
        };
        let (paper, released) = (super::super::Variant::Paper, super::super::Variant::Released);
        assert_eq!(load(&[]), (released, released, paper, 0));
        let overrides = ["prompt.variant=paper", "training.early_stopping.patience=3"];
        assert_eq!(load(&overrides), (released, paper, paper, 3));
        assert_eq!(load(&["compat=paper"]), (paper, paper, paper, 5));
    }

    const GENERATOR: &str = r#"kind = "generator"
version = 1
seed = 7

[dataset]
manifest = "m.toml"

[generator]
model = "random:llama"

[training]
epochs = 2
"#;

    fn check_generator(text: &str, overrides: &[&str], expected: Expect) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("g.toml");
        std::fs::write(&path, text).unwrap();
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        let result = match load(&path, &overrides) {
            Ok(Experiment::Generator(experiment)) => {
                let (training, optimizer) = (&experiment.training, &experiment.optimizer);
                format!("{} {} {}", training.epochs, training.batch_size, optimizer.learning_rate)
            }
            Ok(Experiment::Retriever(_)) => panic!("the file asks for a generator"),
            Err(error) => error.to_string().replace(&path.display().to_string(), "g.toml"),
        };
        expected.assert_eq(&result);
    }

    #[test]
    fn a_generator_has_defaults_of_its_own() {
        check_generator(GENERATOR, &[], expect!["2 32 0.000005"]);
        check_generator(GENERATOR, &["optimizer.learning_rate=1e-4"], expect!["2 32 0.0001"]);
    }

    #[test]
    fn what_does_not_go_together_is_refused_by_its_key() {
        check_generator(
            GENERATOR,
            &["dataset.marked=false"],
            expect!["g.toml: `evaluation.arms` can only be `plain`: this model knows no trigger"],
        );
        check_generator(
            GENERATOR,
            &["training.micro_batch_tokens_max=64"],
            expect![
                "--set training.micro_batch_tokens_max=64: `training.micro_batch_tokens_max` must not be below layout.tokens_max"
            ],
        );
        check_generator(
            GENERATOR,
            &["evaluation.arms=[\"toolgen\"]"],
            expect![[
                r#"--set evaluation.arms=["toolgen"]: `evaluation.arms` has the unknown arm `toolgen`; the arms are plain, toolgen_paper, toolgen_released, toolgen_beam, toolgen_ranked"#
            ]],
        );
        check_generator(GENERATOR, &["adapter.rank=0"], expect!["g.toml: `adapter` rank: 0 is not at least 1"]);
        check_generator(
            GENERATOR,
            &["encoder.model=x"],
            expect![
                "--set encoder.model=x: unknown field `encoder`, expected one of `kind`, `version`, `name`, `seed`, `hardware`, `dataset`, `generator`, `layout`, `adapter`, `optimizer`, `training`, `evaluation`"
            ],
        );
    }

    #[test]
    fn every_prefix_of_a_file_is_an_error_or_an_experiment() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("e.toml");
        for end in 0..MINIMAL.len() {
            std::fs::write(&path, &MINIMAL[..end]).unwrap();
            drop(load(&path, &[]));
        }
    }
}
