//! The crawl: from a manifest to repositories with clusters and splits, and a ledger of every file.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use repo::graph::{Cluster, DependencyGraph};
use repo::source::Repository;

use crate::decontaminate::Benchmarks;
use crate::filter::{DropReason, FailedRepositories, Verdict};
use crate::ledger::LedgerEntry;
use crate::manifest::{Manifest, Split, SplitBy};
use crate::source::{self, Reading, Unit};
use crate::{Error, Result, dedup, split};

mod text;

pub(crate) use text::ReadRepository;
use text::Rules;

/// How a crawl runs; none of it changes the result.
pub struct CrawlOptions<'a> {
    /// The directory for downloads and clones.
    pub cache: &'a Path,
    /// How many repositories are read at a time, and how many files examined; 0 means one for each core.
    pub threads: usize,
    /// Whether the network may not be used.
    pub offline: bool,
    /// Called from any thread as the crawl goes on.
    pub progress: &'a (dyn Fn(CrawlEvent) + Sync),
    /// Asked from any thread before each repository and each file; when it says yes, the crawl ends with
    /// [`Error::Interrupted`].
    pub should_stop: &'a (dyn Fn() -> bool + Sync),
}

impl CrawlOptions<'_> {
    fn check_stop(&self) -> Result<()> {
        if (self.should_stop)() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// A step of a crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CrawlEvent {
    /// The repositories are known.
    Started {
        /// How many there are.
        n_repositories: usize,
    },
    /// A repository is being fetched and read.
    Reading {
        /// Its name.
        repository: String,
    },
    /// A repository was read and filtered; duplicates and files without dependencies are still in it.
    Read {
        /// Its name.
        repository: String,
        /// How many of its files passed so far.
        n_kept: usize,
        /// How many were dropped.
        n_dropped: usize,
    },
    /// The import graph of a repository was built.
    Clustered {
        /// Its name.
        repository: String,
        /// How many clusters it has.
        n_clusters: usize,
    },
}

/// Where a repository came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// The source as the manifest writes it.
    pub source: String,
    /// The version of a package; for git the revision asked for; else empty.
    pub version: String,
    /// The license: what the manifest says, else what the repository states, else empty.
    pub license: String,
    /// What pins the content: `sha256:` of an archive or wheel, `commit:` of a git repository, `blake3:` of the kept
    /// files of a directory.
    pub revision: String,
}

/// A repository that was crawled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrawledRepository {
    /// The files that passed all filters, those in no cluster among them.
    pub repository: Repository,
    /// Where it came from.
    pub provenance: Provenance,
    /// The split of each file; the same for all, unless the manifest splits by file.
    pub splits: Vec<Split>,
    /// The clusters: more than one file each, every file after those it depends on.
    pub clusters: Vec<Cluster>,
    /// The blake3 hash of each file's text.
    pub hashes: Vec<String>,
}

/// What a crawl gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corpus {
    /// The repositories, in the order of the manifest.
    pub repositories: Vec<CrawledRepository>,
    /// One row for each file seen, by repository in the order of the manifest, then by path.
    pub ledger: Vec<LedgerEntry>,
}

/// Crawls the sources of a manifest, whose relative paths start at `base_dir`.
///
/// # Errors
///
/// Returns an error if a source cannot be read as a whole and the manifest does not say to skip it, if two repositories
/// have one name, if a benchmark list cannot be read, or if the crawl was asked to stop. The error is that of the first
/// source in the manifest.
pub fn crawl(manifest: &Manifest, base_dir: &Path, options: &CrawlOptions) -> Result<Corpus> {
    let benchmarks = Benchmarks::load(&manifest.benchmarks, base_dir)?;
    let units = source::units(manifest, base_dir)?;
    (options.progress)(CrawlEvent::Started { n_repositories: units.len() });
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build()?;
    let reading = Reading { filters: &manifest.filters, cache: options.cache, offline: options.offline };
    let mut repositories = read_all(&units, &pool, |unit| read(unit, &reading, &benchmarks, &pool, options))?;
    dedup::drop_duplicates(&mut repositories, manifest.filters.duplicate_bytes_min);
    let cluster = |repository: ReadRepository| cluster(repository, options);
    let clustered: Result<Vec<_>> = pool.install(|| repositories.into_par_iter().map(cluster).collect());
    let (mut repositories, ledgers): (Vec<_>, Vec<_>) = clustered?.into_iter().unzip();
    assign_splits(manifest, &units, &mut repositories);
    Ok(Corpus { repositories, ledger: ledgers.concat() })
}

/// Reads the units in threads of their own, as many as the pool has.
///
/// A thread of the pool that waits for the files of one repository would begin with the next one, and so hold any number
/// of them in memory; these threads do nothing while they wait for the pool.
fn read_all(
    units: &[Unit],
    pool: &rayon::ThreadPool,
    read: impl Fn(&Unit) -> Result<ReadRepository> + Sync,
) -> Result<Vec<ReadRepository>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|index| *index < units.len());
        std::iter::from_fn(take).map(|index| (index, read(&units[index]))).collect::<Vec<_>>()
    };
    let mut results = std::thread::scope(|scope| {
        let n_threads = pool.current_num_threads().min(units.len());
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Vec<_>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().flat_map(join).collect::<Vec<_>>()
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

fn read(
    unit: &Unit,
    reading: &Reading,
    benchmarks: &Benchmarks,
    pool: &rayon::ThreadPool,
    options: &CrawlOptions,
) -> Result<ReadRepository> {
    options.check_stop()?;
    (options.progress)(CrawlEvent::Reading { repository: unit.name.clone() });
    let raw = match source::read(unit, reading) {
        Ok(raw) => raw,
        // The signal that asks for the stop also ends `git` and `pip`: that is no failure of the repository.
        Err(_) if (options.should_stop)() => return Err(Error::Interrupted),
        Err(error) if reading.filters.failed_repositories == FailedRepositories::Skip => {
            tracing::warn!(repository = unit.name, %error, "repository skipped");
            source::RawRepository { notes: vec![(DropReason::RepositoryFailed, causes(&error))], ..Default::default() }
        }
        Err(error) => return Err(error),
    };
    let rules = Rules { filters: reading.filters, benchmarks, options };
    let repository = pool.install(|| ReadRepository::new(unit, raw, &rules))?;
    let n_dropped = repository.ledger.len() - repository.files.len();
    (options.progress)(CrawlEvent::Read { repository: unit.name.clone(), n_kept: repository.files.len(), n_dropped });
    Ok(repository)
}

fn causes(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Builds the import graph and gives the files in no cluster their verdict.
fn cluster(read: ReadRepository, options: &CrawlOptions) -> Result<(CrawledRepository, Vec<LedgerEntry>)> {
    options.check_stop()?;
    let mut ledger = read.ledger;
    let (mut files, mut hashes, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for file in read.files {
        files.push(file.source);
        hashes.push(file.hash);
        rows.push(file.ledger_row);
    }
    let repository = Repository::new(read.name, files);
    let clusters = DependencyGraph::build(&repository).clusters();
    for row in unclustered(&clusters, &rows) {
        ledger[row].verdict = Verdict::Dropped(DropReason::NoCrossFileDependency);
    }
    (options.progress)(CrawlEvent::Clustered { repository: repository.name.clone(), n_clusters: clusters.len() });
    let mut provenance = read.provenance;
    if provenance.revision.is_empty() {
        provenance.revision = content_revision(&repository, &hashes);
    }
    let splits = vec![Split::Train; hashes.len()];
    Ok((CrawledRepository { repository, provenance, splits, clusters, hashes }, ledger))
}

/// Returns the ledger rows of the files in no cluster, given the row of each file.
fn unclustered(clusters: &[Cluster], rows: &[usize]) -> Vec<usize> {
    let mut is_clustered = vec![false; rows.len()];
    for file in clusters.iter().flat_map(|cluster| &cluster.files) {
        is_clustered[*file] = true;
    }
    rows.iter().zip(is_clustered).filter(|(_, is_clustered)| !is_clustered).map(|(row, _)| *row).collect()
}

fn content_revision(repository: &Repository, hashes: &[String]) -> String {
    let mut state = blake3::Hasher::new();
    for (file, hash) in repository.files().iter().zip(hashes) {
        state.update(format!("{hash} {}\n", file.path).as_bytes());
    }
    format!("blake3:{}", state.finalize().to_hex())
}

fn assign_splits(manifest: &Manifest, units: &[Unit], repositories: &mut [CrawledRepository]) {
    let rule = &manifest.split;
    let open: Vec<usize> = (0..units.len()).filter(|index| units[*index].entry.split.is_none()).collect();
    let names: Vec<String> = open.iter().map(|index| units[*index].name.clone()).collect();
    let mut of_open = split::assign(rule, &names).into_iter();
    for (unit, crawled) in units.iter().zip(repositories) {
        let split = unit.entry.split.or_else(|| of_open.next()).expect("one for each open unit");
        crawled.splits.fill(split);
        if unit.entry.split.is_none() && rule.by == SplitBy::File {
            crawled.splits = split::assign_files(rule, &crawled.repository, &crawled.clusters);
        }
    }
}

#[cfg(test)]
mod tests;
