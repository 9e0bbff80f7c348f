//! The tasks of a published benchmark, as an evaluation takes them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use corpus::manifest::Split;
use corpus::samples::Sample;
use corpus::source::SourceSpec;
use eval::benchmark::{BenchmarkTask, Format, GivenChunk, read};
use repo::candidates::{CandidateRule, CodeCandidate, candidates_for};
use repo::language::Language;
use repo::source::{Repository, SourceFile};
use repo::targets::TargetKind;

use crate::experiment::{BenchmarkConfig, RetrieverExperiment};
use crate::stage::{Fingerprint, hash_file};
use crate::task::{Cluster, Task};

/// A benchmark that stands for the test samples.
#[derive(Debug)]
pub(super) struct Benchmark {
    tasks: Vec<BenchmarkTask>,
    /// By name; those that a task asks for and that are there.
    repositories: BTreeMap<String, Repository>,
    /// What the file and the repositories hold.
    pub(super) fingerprint: String,
    /// The file, its hash and its size, as a report names them.
    pub(super) identity: String,
}

impl Benchmark {
    /// Reads the file, and the repositories if there is a folder of them.
    pub(super) fn read(experiment: &RetrieverExperiment, config: &BenchmarkConfig) -> anyhow::Result<Self> {
        let setting = experiment.setting();
        let path = setting.path(&config.file);
        let format = match &config.format {
            Some(name) => name.parse::<Format>().map_err(anyhow::Error::msg)?,
            None => Format::of(&path)?,
        };
        let tasks = read(&path, format)?;
        let folder = config.repositories.as_ref().map(|folder| setting.path(folder));
        let repositories = folder.map(|folder| open(&folder, &tasks)).transpose()?.unwrap_or_default();
        let hash = hash_file(&path)?;
        let mut parts = vec![("file", hash.as_bytes())];
        for repository in repositories.values() {
            parts.extend(
                repository
                    .files()
                    .iter()
                    .flat_map(|file| [("path", file.path.as_bytes()), ("text", file.text.as_bytes())]),
            );
        }
        let fingerprint = Fingerprint::of(&parts).as_str().to_owned();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let identity = format!("{name} ({}), {format}, {} tasks", &hash[..12], tasks.len());
        Ok(Self { tasks, repositories, fingerprint, identity })
    }

    /// Returns the tasks, with every other file of their repository as candidates, as the published evaluation has them.
    pub(super) fn tasks(&self, experiment: &RetrieverExperiment) -> anyhow::Result<Vec<Task>> {
        let rule = CandidateRule::from(&experiment.candidates);
        let mut clusters: BTreeMap<&str, Arc<Cluster>> = BTreeMap::new();
        for (name, repository) in &self.repositories {
            let cluster = Cluster { name: name.clone(), files: repository.files().to_vec() };
            clusters.insert(name, Arc::new(cluster));
        }
        let retrieves = experiment.arms().iter().any(crate::evaluation::Arm::retrieves);
        let task = |task: &BenchmarkTask| {
            let cluster = match clusters.get(task.repository.as_str()) {
                Some(cluster) => Arc::clone(cluster),
                None if retrieves => bail!(
                    "the repository `{}` of the task `{}` is not in `evaluation.benchmark.repositories`; without it only \
                     the arms none and given can run",
                    task.repository,
                    task.id
                ),
                None => Arc::new(Cluster { name: task.repository.clone(), files: Vec::new() }),
            };
            let files: Vec<&SourceFile> = cluster.files.iter().filter(|file| file.language == task.language).collect();
            let own = cluster.files.iter().find(|file| file.path == task.path);
            Ok(Task {
                candidates: candidates_for(&files, &task.path, &rule),
                sample: sample(task, own)?,
                given: given(task),
                cluster: Arc::clone(&cluster),
            })
        };
        self.tasks.iter().map(task).collect()
    }
}

/// Opens the repositories that tasks ask for; one that is not there is left out.
fn open(folder: &Path, tasks: &[BenchmarkTask]) -> anyhow::Result<BTreeMap<String, Repository>> {
    let mut repositories = BTreeMap::new();
    for task in tasks {
        let path = folder.join(&task.repository);
        if repositories.contains_key(&task.repository) || !path.is_dir() {
            continue;
        }
        let spec: SourceSpec = format!("dir:{}", path.display()).parse()?;
        let opened = corpus::open(&spec, None).with_context(|| format!("cannot read {}", path.display()))?;
        repositories.extend(opened.into_iter().next().map(|repository| (task.repository.clone(), repository)));
    }
    Ok(repositories)
}

/// Returns a task as a sample; where the benchmark leaves out what follows the target, the file says it.
fn sample(task: &BenchmarkTask, own: Option<&SourceFile>) -> anyhow::Result<Sample> {
    let after = || task.rest_of(&own?.text);
    let right_context = task.right_context.clone().or_else(after).unwrap_or_default();
    let start = task.left_context.len();
    Ok(Sample {
        id: task.id.clone(),
        split: Split::Test,
        repository: task.repository.clone(),
        source: String::new(),
        version: String::new(),
        revision: String::new(),
        license: String::new(),
        path: task.path.clone(),
        language: task.language,
        kind: kind(&task.kind)?,
        span: start..start + task.target.len(),
        cluster: 0,
        content_hash: blake3::hash(
            [&task.left_context, &task.target, &right_context].map(String::as_str).concat().as_bytes(),
        )
        .to_hex()
        .to_string(),
        left_context: task.left_context.clone(),
        target: task.target.clone(),
        right_context,
    })
}

fn kind(name: &str) -> anyhow::Result<TargetKind> {
    if name == TargetKind::Function.name() { Ok(TargetKind::Function) } else { Ok(name.parse()?) }
}

/// Returns the pieces that the benchmark itself shows.
fn given(task: &BenchmarkTask) -> Vec<CodeCandidate> {
    let piece = |chunk: &GivenChunk| {
        let n_lines = chunk.text.lines().count();
        CodeCandidate {
            path: chunk.path.clone(),
            language: Language::from_path(&chunk.path).unwrap_or(task.language),
            lines: 0..n_lines,
            listed: (0, n_lines),
            code: chunk.text.clone(),
        }
    };
    task.given.iter().flat_map(|given| &given.chunks).map(piece).collect()
}
