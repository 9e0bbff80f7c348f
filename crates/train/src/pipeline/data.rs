//! The data stages: repositories into `files.parquet` and `ledger.parquet`, samples into `samples.parquet`.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, ensure};
use corpus::crawl::{Corpus, CrawlEvent, CrawlOptions, CrawledRepository, crawl as crawl_sources};
use corpus::dataset::Dataset;
use corpus::manifest::{Manifest, Split};
use corpus::samples::{Sample, SampleRule, SplitCounts, sample};
use corpus::{filter, ledger, table};
use eval::report::{CorpusSummary, RepositorySummary};
use repo::candidates::{CandidateRule, candidates_for};
use repo::targets::{SpanRule, TargetKind};

use super::{Options, StageSummary};
use crate::evaluator::Interrupted;
use crate::experiment::{RetrieverExperiment, Setting};
use crate::progress::Progress;
use crate::stage::{Fingerprint, Stage, hash_file};
use crate::task::{Cluster, Task};

pub(super) const FILES: &str = "files.parquet";
const LEDGER: &str = "ledger.parquet";
const SAMPLES: &str = "samples.parquet";

/// Crawls the experiment's manifest, unless neither it nor what it points at has changed.
pub(super) fn crawl(setting: &Setting, options: &Options) -> anyhow::Result<StageSummary> {
    let path = &setting.manifest;
    let manifest = Manifest::load(path)?;
    let base = path.parent().unwrap_or(Path::new(""));
    let directory = &setting.dataset;
    std::fs::create_dir_all(directory).with_context(|| format!("cannot create {}", directory.display()))?;
    let inputs = Fingerprint::of(&[
        ("format", format!("crawl {}", corpus::schema::VERSION).as_bytes()),
        ("manifest", &std::fs::read(path)?),
        ("sources", manifest.content_fingerprint(base)?.as_bytes()),
    ]);
    let stage = Stage::new(directory, "crawl", inputs);
    let skipped = stage.is_done();
    if !skipped {
        let should_stop = || options.interrupter.should_stop();
        let crawl = Crawl { cache: &options.cache, threads: setting.threads(), offline: options.offline };
        let corpus = crawl.run(&manifest, base, &should_stop)?;
        table::write_files(&directory.join(FILES), &corpus.repositories)?;
        table::write_ledger(&directory.join(LEDGER), &corpus.ledger)?;
        stage.finish(&[FILES, LEDGER])?;
    }
    let counts = ledger::count(&table::read_ledger(&directory.join(LEDGER))?);
    let kept = counts.get("kept").copied().unwrap_or_default();
    let seen: usize = counts.values().sum();
    ensure!(kept > 0, "the crawl kept none of {seen} files; see {}", directory.join(LEDGER).display());
    let result = format!("{kept} of {seen} files kept, of {} sources", manifest.sources.len());
    Ok(StageSummary { name: "crawl", skipped, seconds: 0.0, result, path: directory.join(FILES) })
}

/// How a manifest is crawled.
#[derive(Clone, Copy, Debug)]
pub struct Crawl<'a> {
    /// Where downloads are kept.
    pub cache: &'a Path,
    /// Threads; 0 for one per core.
    pub threads: usize,
    /// Whether downloads are forbidden.
    pub offline: bool,
}

impl Crawl<'_> {
    fn run(&self, manifest: &Manifest, base: &Path, should_stop: &(dyn Fn() -> bool + Sync)) -> anyhow::Result<Corpus> {
        let progress = Progress::new("crawling", manifest.sources.len(), "sources");
        let event = |event: CrawlEvent| match event {
            CrawlEvent::Clustered { .. } => progress.add(1),
            event => tracing::debug!("{event:?}"),
        };
        let Self { cache, threads, offline } = *self;
        let options = CrawlOptions { cache, threads, offline, progress: &event, should_stop };
        match crawl_sources(manifest, base, &options) {
            Err(corpus::Error::Interrupted) => Err(Interrupted.into()),
            corpus => Ok(corpus?),
        }
    }

    /// Crawls a manifest, whose relative paths start at `base`, into memory and returns the repositories that have files.
    ///
    /// # Errors
    ///
    /// Returns an error if a source cannot be read.
    pub fn repositories(&self, manifest: &Manifest, base: &Path) -> anyhow::Result<Vec<CrawledRepository>> {
        let mut repositories = self.run(manifest, base, &|| false)?.repositories;
        repositories.retain(|crawled| !crawled.repository.files().is_empty());
        Ok(repositories)
    }

    /// Crawls a manifest into a directory and returns the number of files by verdict.
    ///
    /// # Errors
    ///
    /// Returns an error if a source cannot be read or a table cannot be written.
    pub fn write(&self, manifest: &Path, output: &Path) -> anyhow::Result<BTreeMap<&'static str, usize>> {
        let base = manifest.parent().unwrap_or(Path::new(""));
        let corpus = self.run(&Manifest::load(manifest)?, base, &|| false)?;
        std::fs::create_dir_all(output).with_context(|| format!("cannot create {}", output.display()))?;
        table::write_files(&output.join(FILES), &corpus.repositories)?;
        table::write_ledger(&output.join(LEDGER), &corpus.ledger)?;
        Ok(ledger::count(&corpus.ledger))
    }
}

/// Draws the samples, unless nothing they depend on has changed.
pub(super) fn samples(experiment: &RetrieverExperiment) -> anyhow::Result<StageSummary> {
    let directory = experiment.setting().dataset;
    let sections = serde_json::to_vec(&(&experiment.dataset.samples, &experiment.dataset.span, experiment.seed))?;
    let inputs = Fingerprint::of(&[
        ("format", format!("samples {}", corpus::schema::VERSION).as_bytes()),
        ("sections", &sections),
        ("files", hash_file(&directory.join(FILES))?.as_bytes()),
    ]);
    let stage = Stage::new(&directory, "samples", inputs);
    let skipped = stage.is_done();
    if !skipped {
        let repositories = table::read_files(&directory.join(FILES))?;
        let mut samples = Vec::new();
        for rule in rules(experiment)? {
            samples.extend(sample(&repositories, &rule));
        }
        samples.sort_by_key(|sample| sample.split);
        check(experiment, &samples)?;
        table::write_samples(&directory.join(SAMPLES), &samples)?;
        stage.finish(&[SAMPLES])?;
    }
    let samples = table::read_samples(&directory.join(SAMPLES))?;
    let n = |split: Split| samples.iter().filter(|sample| sample.split == split).count();
    let result = format!("{} train, {} validation, {} test", n(Split::Train), n(Split::Validation), n(Split::Test));
    Ok(StageSummary { name: "samples", skipped, seconds: 0.0, result, path: directory.join(SAMPLES) })
}

/// Returns one rule for each kind of target, each with its own counts.
fn rules(experiment: &RetrieverExperiment) -> anyhow::Result<Vec<SampleRule>> {
    let wanted = &experiment.dataset.samples;
    let kinds = ["span", "line", "api_call"];
    let count = |counts: &BTreeMap<String, usize>, kind: &str| counts.get(kind).copied().unwrap_or_default();
    let rule = |kind: &str| {
        Ok(SampleRule {
            seed: experiment.seed,
            counts: SplitCounts {
                train: count(&wanted.train, kind),
                validation: count(&wanted.validation, kind),
                test: count(&wanted.test, kind),
            },
            kinds: vec![TargetKind::from_str(kind)?],
            span: SpanRule::from(&experiment.dataset.span),
        })
    };
    kinds.into_iter().map(rule).collect()
}

/// Refuses a split without samples, and says where there are fewer than asked for.
fn check(experiment: &RetrieverExperiment, samples: &[Sample]) -> anyhow::Result<()> {
    let wanted = &experiment.dataset.samples;
    for (split, counts) in
        [(Split::Train, &wanted.train), (Split::Validation, &wanted.validation), (Split::Test, &wanted.test)]
    {
        let asked: usize = counts.values().sum();
        let found = samples.iter().filter(|sample| sample.split == split).count();
        ensure!(
            found > 0,
            "the repositories of the {split} split give no sample; the manifest's `split` keys say which they are"
        );
        if found < asked {
            tracing::warn!("{split}: {found} samples found, {asked} asked for");
        }
    }
    Ok(())
}

/// Returns a hash of what the data stages produced.
pub(super) fn fingerprint(experiment: &RetrieverExperiment) -> anyhow::Result<String> {
    let directory = experiment.setting().dataset;
    let files = hash_file(&directory.join(FILES))?;
    let samples = hash_file(&directory.join(SAMPLES))?;
    Ok(Fingerprint::of(&[("files", files.as_bytes()), ("samples", samples.as_bytes())]).as_str().to_owned())
}

/// Returns the tasks of a split: its samples with the candidates of the other files of their clusters.
///
/// # Errors
///
/// Returns an error if the dataset cannot be read.
pub fn tasks(experiment: &RetrieverExperiment, split: Split) -> anyhow::Result<Vec<Task>> {
    let dataset = Dataset::open(&experiment.setting().dataset)?;
    let rule = CandidateRule::from(&experiment.candidates);
    let mut clusters: BTreeMap<(&str, usize), Arc<Cluster>> = BTreeMap::new();
    let task = |sample: &Sample| {
        let key = (dataset.repository(&sample.repository).map_or("", |of| &of.repository.name), sample.cluster);
        let cluster = clusters.entry(key).or_insert_with(|| {
            let files = dataset.cluster_files(sample).into_iter().cloned().collect();
            Arc::new(Cluster { name: format!("{}#{}", sample.repository, sample.cluster), files })
        });
        Task {
            candidates: candidates_for(&dataset.cluster_files(sample), &sample.path, &rule),
            sample: sample.clone(),
            given: Vec::new(),
            cluster: Arc::clone(cluster),
        }
    };
    Ok(dataset.samples_of(split).map(task).collect())
}

/// Returns where the data came from and what was left out, as the report shows it.
pub(super) fn summary(experiment: &RetrieverExperiment) -> anyhow::Result<CorpusSummary> {
    let setting = experiment.setting();
    let dataset = Dataset::open(&setting.dataset)?;
    let places: Vec<(&str, Split)> =
        dataset.samples.iter().map(|sample| (sample.repository.as_str(), sample.split)).collect();
    summary_of(&setting, &dataset.repositories, &places)
}

/// Returns where the data came from, given the repository and split of each sample.
pub(super) fn summary_of(
    setting: &Setting,
    repositories: &[CrawledRepository],
    samples: &[(&str, Split)],
) -> anyhow::Result<CorpusSummary> {
    let ledger = table::read_ledger(&setting.dataset.join(LEDGER))?;
    let mut dropped: BTreeMap<String, usize> =
        ledger::count(&ledger).into_iter().map(|(name, n)| (name.to_owned(), n)).collect();
    let n_files_kept = dropped.remove(filter::KEPT).unwrap_or_default();
    let repositories = repositories.iter().map(|crawled| {
        let name = &crawled.repository.name;
        RepositorySummary {
            name: name.clone(),
            version: crawled.provenance.version.clone(),
            license: crawled.provenance.license.clone(),
            split: splits(&crawled.splits),
            n_files: crawled.repository.files().len(),
            n_clusters: crawled.clusters.len(),
            n_samples: samples.iter().filter(|(repository, _)| repository == name).count(),
        }
    });
    let n_of = |split| samples.iter().filter(|(_, of)| *of == split).count();
    Ok(CorpusSummary {
        dataset: setting.manifest.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        repositories: repositories.collect(),
        n_files_seen: ledger.len(),
        n_files_kept,
        dropped,
        samples: Split::ALL.map(|split| (split.to_string(), n_of(split))).into(),
    })
}

fn splits(of_files: &[Split]) -> String {
    let present = Split::ALL.into_iter().filter(|split| of_files.contains(split));
    present.map(|split| split.to_string()).collect::<Vec<_>>().join(", ")
}
