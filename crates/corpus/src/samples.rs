//! Samples: completions with their left context, target and right context, drawn from the clusters.
//!
//! For each split and kind of target, repositories take turns in the order of the dataset, each giving at most one sample
//! a turn, until the number asked for is reached or all are exhausted: a large repository does not crowd out small ones.
//! Within a repository, random spans walk over its clusters in a shuffled order, one sample a visit, as in RLCoder
//! (whose walk makes one pass; this one makes as many as needed); line and API-call targets are drawn from all eligible
//! ones without replacement. Each (kind, split, repository) has its own random stream, so that adding a repository does
//! not change what is drawn from another.

use std::collections::BTreeSet;
use std::ops::Range;

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use repo::graph::DependencyGraph;
use repo::language::Language;
use repo::random;
use repo::source::SourceFile;
use repo::targets::{self, SpanRule, Target, TargetKind};

use crate::crawl::CrawledRepository;
use crate::manifest::Split;

/// How many visits in a row, for each cluster, may give nothing new before a repository counts as exhausted.
const FAILED_VISITS_MAX: usize = 50;

/// Which samples are drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRule {
    /// The seed of the random streams.
    pub seed: u64,
    /// How many samples of each kind a split gets.
    pub counts: SplitCounts,
    /// The kinds of targets.
    pub kinds: Vec<TargetKind>,
    /// The numbers of random spans.
    pub span: SpanRule,
}

/// A number for each split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SplitCounts {
    /// For training.
    pub train: usize,
    /// For validation.
    pub validation: usize,
    /// For test.
    pub test: usize,
}

impl SplitCounts {
    /// Returns the number of a split.
    #[must_use]
    pub fn of(&self, split: Split) -> usize {
        match split {
            Split::Train => self.train,
            Split::Validation => self.validation,
            Split::Test => self.test,
        }
    }
}

/// A completion: `left_context + target + right_context` is the text of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// `KIND:REPOSITORY/PATH:START-END`, unique in a dataset.
    pub id: String,
    /// The split.
    pub split: Split,
    /// The repository's name.
    pub repository: String,
    /// The source, as the manifest writes it.
    pub source: String,
    /// The version of a package or the git revision asked for; else empty.
    pub version: String,
    /// What pins the repository's content; see [`Provenance`](crate::crawl::Provenance).
    pub revision: String,
    /// The repository's license; empty if unknown.
    pub license: String,
    /// The path of the file.
    pub path: String,
    /// The language of the file.
    pub language: Language,
    /// How the target was chosen.
    pub kind: TargetKind,
    /// The target in the file, in bytes.
    pub span: Range<usize>,
    /// The index of the cluster in its repository.
    pub cluster: usize,
    /// The text before the target.
    pub left_context: String,
    /// The text to complete.
    pub target: String,
    /// The text after the target.
    pub right_context: String,
    /// The blake3 hash of the file's text.
    pub content_hash: String,
}

/// Draws samples: train, validation and test, in each the kinds in the order of the rule.
#[must_use]
pub fn sample(repositories: &[CrawledRepository], rule: &SampleRule) -> Vec<Sample> {
    let mut samples = Vec::new();
    for split in Split::ALL {
        for kind in &rule.kinds {
            samples.extend(take_turns(repositories, rule, split, *kind));
        }
    }
    samples
}

fn take_turns(repositories: &[CrawledRepository], rule: &SampleRule, split: Split, kind: TargetKind) -> Vec<Sample> {
    let count = rule.counts.of(split);
    let is_open = |crawled: &&CrawledRepository| count > 0 && crawled.splits.contains(&split);
    let mut draws: Vec<Draw> =
        repositories.iter().filter(is_open).map(|crawled| Draw::new(crawled, rule, split, kind)).collect();
    let mut samples = Vec::new();
    while samples.len() < count && !draws.is_empty() {
        draws.retain_mut(|draw| match draw.next() {
            Some(sample) => {
                samples.push(sample);
                true
            }
            None => false,
        });
    }
    samples.truncate(count);
    samples
}

/// What is still to be drawn from one repository.
struct Draw<'a> {
    crawled: &'a CrawledRepository,
    split: Split,
    way: Way<'a>,
}

enum Way<'a> {
    Walk(Box<Walk<'a>>),
    Listed(Vec<Target>),
}

impl<'a> Draw<'a> {
    fn new(crawled: &'a CrawledRepository, rule: &'a SampleRule, split: Split, kind: TargetKind) -> Self {
        let mut rng = random::stream(rule.seed, &format!("samples/{kind}/{split}/{}", crawled.repository.name));
        let way = if kind == TargetKind::Span {
            Way::Walk(Box::new(Walk::new(crawled, &rule.span, rng)))
        } else {
            let mut targets = listed(crawled, split, kind);
            targets.shuffle(&mut rng);
            Way::Listed(targets)
        };
        Self { crawled, split, way }
    }

    fn next(&mut self) -> Option<Sample> {
        let (crawled, split) = (self.crawled, self.split);
        match &mut self.way {
            Way::Walk(walk) => walk.next(crawled, split),
            Way::Listed(targets) => {
                std::iter::from_fn(|| targets.pop()).find_map(|target| Sample::new(crawled, split, &target))
            }
        }
    }
}

/// Returns the eligible targets of a kind in the clustered files of a split, by path and position.
fn listed(crawled: &CrawledRepository, split: Split, kind: TargetKind) -> Vec<Target> {
    let repository = &crawled.repository;
    let mut files: Vec<usize> = crawled.clusters.iter().flat_map(|cluster| cluster.files.iter().copied()).collect();
    files.retain(|file| crawled.splits[*file] == split);
    files.sort_unstable();
    match kind {
        TargetKind::ApiCall => {
            let graph = DependencyGraph::build(repository);
            let of_file = |file: &usize| targets::api_call_targets(repository, &graph.dependencies(*file), *file);
            files.par_iter().flat_map_iter(of_file).collect()
        }
        _ => files.par_iter().flat_map_iter(|file| targets::line_targets(&repository.files()[*file])).collect(),
    }
}

/// A walk over the clusters of a repository, round and round.
struct Walk<'a> {
    rule: &'a SpanRule,
    rng: ChaCha8Rng,
    clusters: Vec<Vec<&'a SourceFile>>,
    n_visits: usize,
    seen: BTreeSet<(String, usize, usize)>,
}

impl<'a> Walk<'a> {
    fn new(crawled: &'a CrawledRepository, rule: &'a SpanRule, mut rng: ChaCha8Rng) -> Self {
        let files = crawled.repository.files();
        let of_cluster = |cluster: &repo::graph::Cluster| cluster.files.iter().map(|file| &files[*file]).collect();
        let mut clusters: Vec<Vec<&SourceFile>> = crawled.clusters.iter().map(of_cluster).collect();
        clusters.shuffle(&mut rng);
        Self { rule, rng, clusters, n_visits: 0, seen: BTreeSet::new() }
    }

    fn next(&mut self, crawled: &CrawledRepository, split: Split) -> Option<Sample> {
        for _ in 0..self.clusters.len() * FAILED_VISITS_MAX {
            let files = &self.clusters[self.n_visits % self.clusters.len()];
            self.n_visits += 1;
            let Some(target) = targets::random_span(files, self.rule, &mut self.rng) else { continue };
            let Some(sample) = Sample::new(crawled, split, &target) else { continue };
            if self.seen.insert((target.path, target.span.start, target.span.end)) {
                return Some(sample);
            }
        }
        None
    }
}

impl Sample {
    /// Returns the sample of a target, if its file is of the split and in a cluster.
    fn new(crawled: &CrawledRepository, split: Split, target: &Target) -> Option<Self> {
        let index = crawled.repository.position(&target.path).filter(|index| crawled.splits[*index] == split)?;
        let cluster = crawled.clusters.iter().position(|cluster| cluster.files.contains(&index))?;
        let file = &crawled.repository.files()[index];
        let (left_context, rest) = file.text.split_at_checked(target.span.start)?;
        let (text, right_context) = rest.split_at_checked(target.span.len()).filter(|(text, _)| !text.is_empty())?;
        let (provenance, name) = (&crawled.provenance, &crawled.repository.name);
        Some(Self {
            id: format!("{}:{name}/{}:{}-{}", target.kind, file.path, target.span.start, target.span.end),
            split,
            repository: name.clone(),
            source: provenance.source.clone(),
            version: provenance.version.clone(),
            revision: provenance.revision.clone(),
            license: provenance.license.clone(),
            path: file.path.clone(),
            language: file.language,
            kind: target.kind,
            span: target.span.clone(),
            cluster,
            left_context: left_context.to_owned(),
            target: text.to_owned(),
            right_context: right_context.to_owned(),
            content_hash: crawled.hashes[index].clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use repo::graph::Cluster;
    use repo::source::Repository;

    use super::*;
    use crate::crawl::Provenance;

    fn crawled(name: &str, split: Split, n_files: usize) -> CrawledRepository {
        let function = |i| format!("def function_{i}(x, y):\n    value = x + y * {i}\n    return [ value , x ]\n\n");
        let body = (0..60).map(function).collect::<Vec<_>>().concat();
        let files: Vec<SourceFile> = (0..n_files)
            .map(|i| {
                let import = if i > 0 { format!("from m0 import function_{i}\n") } else { String::new() };
                SourceFile {
                    path: format!("m{i}.py"),
                    language: Language::Python,
                    text: format!("{import}é = {i}\n{body}"),
                }
            })
            .collect();
        let hashes = files.iter().map(|file| crate::digest::of_text(&file.text)).collect();
        let clusters = vec![Cluster { files: (0..n_files).collect() }];
        let provenance = Provenance {
            source: format!("dir:{name}"),
            version: String::new(),
            license: "MIT".into(),
            revision: "blake3:0".into(),
        };
        CrawledRepository {
            repository: Repository::new(name, files),
            provenance,
            splits: vec![split; n_files],
            clusters,
            hashes,
        }
    }

    fn rule(kinds: &[TargetKind], counts: [usize; 3]) -> SampleRule {
        let [train, validation, test] = counts;
        SampleRule {
            seed: 7,
            counts: SplitCounts { train, validation, test },
            kinds: kinds.to_vec(),
            span: SpanRule::default(),
        }
    }

    #[test]
    fn samples_are_cut_out_of_their_file_and_are_unique() {
        let repositories = [crawled("a", Split::Train, 4), crawled("b", Split::Test, 3)];
        let samples = sample(&repositories, &rule(&[TargetKind::Span, TargetKind::Line], [20, 5, 10]));
        let counts = Split::ALL.map(|split| samples.iter().filter(|sample| sample.split == split).count());
        assert_eq!(counts, [40, 0, 20]);
        let ids: BTreeSet<&str> = samples.iter().map(|sample| sample.id.as_str()).collect();
        assert_eq!(ids.len(), samples.len());
        for sample in &samples {
            let crawled = repositories.iter().find(|crawled| crawled.repository.name == sample.repository).unwrap();
            let file = crawled.repository.file(&sample.path).unwrap();
            assert_eq!(format!("{}{}{}", sample.left_context, sample.target, sample.right_context), file.text);
            assert_eq!(&file.text[sample.span.clone()], sample.target);
        }
    }

    #[test]
    fn repositories_take_turns() {
        let repositories = [crawled("a", Split::Train, 9), crawled("b", Split::Train, 2)];
        let samples = sample(&repositories, &rule(&[TargetKind::Span], [6, 0, 0]));
        let names: Vec<&str> = samples.iter().map(|sample| sample.repository.as_str()).collect();
        assert_eq!(names, ["a", "b", "a", "b", "a", "b"]);
    }

    #[test]
    fn another_repository_does_not_change_what_is_drawn() {
        let alone = sample(&[crawled("a", Split::Train, 3)], &rule(&TargetKind::ALL, [5, 0, 0]));
        let beside = sample(
            &[crawled("b", Split::Train, 3), crawled("a", Split::Train, 3)],
            &rule(&TargetKind::ALL, [10, 0, 0]),
        );
        let of_a: Vec<&Sample> = beside.iter().filter(|sample| sample.repository == "a").collect();
        assert_eq!(of_a, alone.iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_repository_with_little_to_give_ends_the_walk() {
        let samples = sample(&[crawled("a", Split::Train, 2)], &rule(&[TargetKind::Line], [100_000, 0, 0]));
        assert!(!samples.is_empty() && samples.len() < 1_000);
        let mut small = crawled("a", Split::Train, 2);
        small.clusters.clear();
        assert_eq!(sample(&[small], &rule(&TargetKind::ALL, [3, 3, 3])), []);
    }

    #[test]
    fn a_file_gives_samples_to_its_own_split_only() {
        let mut repository = crawled("a", Split::Train, 6);
        repository.splits[3] = Split::Test;
        let samples = sample(&[repository], &rule(&[TargetKind::Span, TargetKind::Line], [30, 0, 10]));
        assert_eq!(samples.len(), 80);
        assert!(samples.iter().all(|sample| (sample.split == Split::Test) == (sample.path == "m3.py")));
    }
}
