//! Crawls of repositories made in a temporary directory, hostile ones among them.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::*;
use crate::{Error, dataset, ledger, samples};

mod archives;
mod directories;
mod git;

/// Two modules of which one imports the other.
const A: &str = "\"\"\"Module a of the repository, long enough to be no trivial file at all.\"\"\"\n\n\ndef f(x):\n    return x + 1\n";
const B: &str = "from a import f\n\n\ndef g(x):\n    # Calls f, which is in the module a, so that there is an edge between the two.\n    return f(x)\n";

/// A place to crawl in: `data/` holds the sources, `cache/` what the crawl may write.
struct Place {
    root: TempDir,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("data")).unwrap();
        Self { root }
    }

    fn data(&self, name: &str) -> PathBuf {
        self.root.path().join("data").join(name)
    }

    fn cache(&self) -> PathBuf {
        self.root.path().join("cache")
    }

    /// Writes files below `data/`.
    fn write(&self, files: &[(&str, &[u8])]) {
        for (name, content) in files {
            let path = self.data(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    /// Crawls a manifest without its head; a line without `=` and `[` is a source.
    fn crawl(&self, manifest: &str) -> Result<Corpus> {
        self.crawl_with(manifest, 2)
    }

    fn crawl_with(&self, manifest: &str, threads: usize) -> Result<Corpus> {
        self.crawl_until(manifest, threads, &|| false)
    }

    fn crawl_until(&self, manifest: &str, threads: usize, should_stop: &(dyn Fn() -> bool + Sync)) -> Result<Corpus> {
        let mut text = String::from("version = 1\nname = 'test'\n");
        for line in manifest.lines().map(str::trim) {
            let is_source =
                ["dir:", "dirs:", "git:", "archive:", "pypi:", "deb:"].iter().any(|kind| line.starts_with(kind));
            let written = if is_source { format!("[[source]]\nspec = '{line}'\n") } else { format!("{line}\n") };
            text.push_str(&written);
        }
        let manifest = Manifest::parse(&text, Path::new("test.toml"))?;
        let options = CrawlOptions { cache: &self.cache(), threads, offline: true, progress: &|_| (), should_stop };
        crawl(&manifest, &self.root.path().join("data"), &options)
    }

    /// Returns every path below the root, without what is below the cache.
    fn all_paths(&self) -> Vec<PathBuf> {
        let mut waiting = vec![self.root.path().to_path_buf()];
        let mut paths = Vec::new();
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.symlink_metadata().unwrap().is_dir() && path != self.cache() {
                    waiting.push(path.clone());
                }
                paths.push(path);
            }
        }
        paths.retain(|path| *path != self.cache());
        paths.sort();
        paths
    }
}

/// Returns the ledger as lines: repository, path, verdict, detail.
fn verdicts(corpus: &Corpus) -> String {
    let line = |entry: &LedgerEntry| {
        let line = format!("{} | {} | {} | {}", entry.repository, entry.path, entry.verdict.name(), entry.detail);
        line.trim_end().to_owned() + "\n"
    };
    corpus.ledger.iter().map(line).collect()
}

fn chain(error: &Error) -> String {
    causes(error)
}

#[test]
fn duplicates_benchmarks_and_licenses_are_decided_in_manifest_order() {
    let place = Place::new();
    let listed = format!("{}x = 1\n", "# listed\n".repeat(30));
    let list =
        format!("version = 1\nrepositories = ['org/bench']\ncontents = ['{}']\n", crate::digest::of_text(&listed));
    place.write(&[
        ("list.toml", list.as_bytes()),
        ("z/a.py", A.as_bytes()),
        ("z/b.py", B.as_bytes()),
        ("z/copy.py", A.as_bytes()),
        ("z/__init__.py", b""),
        ("m/a.py", A.replace('\n', "\r\n").as_bytes()),
        ("m/listed.py", listed.as_bytes()),
        ("m/__init__.py", b""),
        ("bench/a.py", b"x = 1\n"),
        ("gpl/a.py", b"y = 1\n"),
        ("gpl/LICENSE", b"GNU GENERAL PUBLIC LICENSE"),
        ("bare/a.py", b"z = 1\n"),
    ]);
    let corpus = place
        .crawl(
            "benchmarks = ['list.toml']
            [crawl]
            licenses = ['MIT']
            dir:z
            license = 'MIT License'
            dir:m
            license = 'MIT'
            dir:bench
            license = 'MIT'
            dir:gpl
            dir:bare",
        )
        .unwrap();
    expect_test::expect![[r"
        z | __init__.py | no_cross_file_dependency |
        z | a.py | kept |
        z | b.py | kept |
        z | copy.py | duplicate | as z: a.py
        m | __init__.py | no_cross_file_dependency |
        m | a.py | duplicate | as z: a.py
        m | listed.py | benchmark | the content is listed
        bench | a.py | benchmark | the repository is listed
        gpl | LICENSE | unsupported_language |
        gpl | a.py | license_not_allowed | the license is GPL
        bare | a.py | license_not_allowed | the repository states no license
    "]]
    .assert_eq(&verdicts(&corpus));
    assert_eq!(corpus.repositories[0].provenance.license, "MIT");
    assert_eq!(ledger::count(&corpus.ledger)["duplicate"], 2);
}

#[test]
fn every_kept_row_is_a_stored_file_and_the_dataset_round_trips() {
    let place = Place::new();
    place.write(&[
        ("r/a.py", A.as_bytes()),
        ("r/b.py", B.as_bytes()),
        ("r/lone.py", b"x = 1\n"),
        ("r/README.md", b"#"),
    ]);
    let corpus = place.crawl("dir:r").unwrap();
    let rule = samples::SampleRule {
        seed: 1,
        counts: samples::SplitCounts { train: 3, validation: 0, test: 0 },
        kinds: vec![repo::targets::TargetKind::Line],
        span: repo::targets::SpanRule::default(),
    };
    let samples = samples::sample(&corpus.repositories, &rule);
    assert!(!samples.is_empty());
    let directory = place.root.path().join("dataset");
    dataset::write(&directory, &corpus, &samples).unwrap();
    let dataset = dataset::Dataset::open(&directory).unwrap();
    assert_eq!(dataset.repositories, corpus.repositories);
    assert_eq!(dataset.samples, samples);
    assert_eq!(crate::table::read_ledger(&directory.join("ledger.parquet")).unwrap(), corpus.ledger);
    let paths: Vec<&str> = dataset.cluster_files(&samples[0]).iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a.py", "b.py"]);
    let is_stored = |entry: &&LedgerEntry| {
        matches!(entry.verdict, Verdict::Kept | Verdict::Dropped(DropReason::NoCrossFileDependency))
    };
    let stored: Vec<&str> = corpus.ledger.iter().filter(is_stored).map(|entry| entry.path.as_str()).collect();
    let files: Vec<&str> = corpus.repositories[0].repository.files().iter().map(|file| file.path.as_str()).collect();
    assert_eq!(stored, files);
}

#[test]
fn one_and_four_threads_write_the_same_bytes() {
    let place = Place::new();
    for repository in ["a", "b", "c", "d", "e"] {
        for module in 0..8 {
            let text = format!(
                "from m{} import x as y\n# {repository} {module} {}\nx = 1\n",
                (module + 3) % 8,
                "word ".repeat(19)
            );
            place.write(&[
                (&format!("all/{repository}/m{module}.py"), text.as_bytes()),
                (&format!("all/{repository}/copy{module}.py"), A.as_bytes()),
            ]);
        }
    }
    let bytes_of = |threads: usize| {
        let corpus = place.crawl_with("[split]\nvalidation = 0.2\ntest = 0.2\ndirs:all", threads).unwrap();
        let rule = samples::SampleRule {
            seed: 1,
            counts: samples::SplitCounts { train: 20, validation: 5, test: 5 },
            kinds: repo::targets::TargetKind::ALL.to_vec(),
            span: repo::targets::SpanRule {
                left_words_min: 3,
                target_words_min: 3,
                ..repo::targets::SpanRule::default()
            },
        };
        let samples = samples::sample(&corpus.repositories, &rule);
        let directory = place.root.path().join(format!("dataset-{threads}"));
        dataset::write(&directory, &corpus, &samples).unwrap();
        ["files", "samples", "ledger"].map(|name| fs::read(directory.join(format!("{name}.parquet"))).unwrap())
    };
    assert_eq!(bytes_of(1), bytes_of(4));
}

#[test]
fn a_crawl_that_is_asked_to_stop_ends_wherever_it_is() {
    let place = Place::new();
    place.write(&[("r/a.py", A.as_bytes()), ("r/b.py", B.as_bytes()), ("s/c.py", b"x = 1\n"), ("bad.zip", b"PK")]);
    let manifest = "[crawl]\nfailed_repositories = 'skip'\ndir:r\ndir:s\narchive:bad.zip";
    let stop_after = |n: usize| {
        let n_asked = AtomicUsize::new(0);
        let result = place.crawl_until(manifest, 1, &|| n_asked.fetch_add(1, Ordering::Relaxed) >= n);
        (result, n_asked.into_inner())
    };
    let (whole, n_asked) = stop_after(usize::MAX);
    // Three repositories before reading and before clustering, three files before decoding and before the check, and the
    // one failure.
    assert_eq!(n_asked, 13);
    for n in 0..n_asked {
        let error = stop_after(n).0.unwrap_err();
        assert!(matches!(error, Error::Interrupted), "after {n}: {error}");
        assert_eq!(error.to_string(), "interrupted; run again");
    }
    assert_eq!(stop_after(n_asked).0.unwrap(), whole.unwrap());
}

#[test]
fn copies_of_a_file_are_checked_once_for_each_language() {
    let place = Place::new();
    let broken = ")))) %%% ((((\n".repeat(20);
    for copy in 0..100 {
        place
            .write(&[(&format!("r/copy{copy:02}.py"), A.as_bytes()), (&format!("r/z{copy:02}.py"), broken.as_bytes())]);
    }
    place.write(&[("r/A.java", A.as_bytes())]);
    let n_asked = AtomicUsize::new(0);
    let corpus = place.crawl_until("dir:r", 4, &|| n_asked.fetch_add(1, Ordering::Relaxed) == usize::MAX).unwrap();
    // One repository before reading and before clustering, its files before decoding, three contents before the check.
    assert_eq!(n_asked.into_inner(), 2 + 201 + 3);
    let counts = ledger::count(&corpus.ledger);
    assert_eq!((counts["duplicate"], counts["unparsable"], counts["no_cross_file_dependency"]), (99, 101, 1));
    assert_eq!(corpus.ledger[0].verdict, Verdict::Dropped(DropReason::Unparsable));
    assert_eq!(corpus.ledger[100].detail, "as r: copy00.py");
}

#[test]
fn splits_follow_the_manifest_then_the_rule() {
    let place = Place::new();
    for name in ["a", "b", "c", "d"] {
        place.write(&[(&format!("all/{name}/x.py"), format!("x = '{name}'\n").as_bytes()), ("own/x.py", b"y = 1\n")]);
    }
    let corpus =
        place.crawl("[split]\nvalidation = 0.25\ntest = 0.25\ndirs:all\ndir:own\nsplit = 'validation'").unwrap();
    let mut splits: Vec<Split> = corpus.repositories.iter().map(|crawled| crawled.splits[0]).collect();
    assert_eq!(splits.pop(), Some(Split::Validation));
    splits.sort();
    assert_eq!(splits, [Split::Train, Split::Train, Split::Validation, Split::Test]);
}

#[test]
fn a_manifest_that_splits_by_file_holds_out_files_of_one_repository() {
    let place = Place::new();
    place.write(&[("r/a.py", A.as_bytes())]);
    for module in 0..9 {
        place.write(&[(&format!("r/m{module}.py"), format!("from a import f\nx = f({module})\n").as_bytes())]);
    }
    let corpus = place.crawl("[split]\nby = 'file'\nvalidation = 0.3\ntest = 0.3\ndir:r").unwrap();
    let counts = Split::ALL.map(|split| corpus.repositories[0].splits.iter().filter(|s| **s == split).count());
    assert_eq!(counts, [4, 3, 3]);
}

#[test]
fn a_source_that_cannot_be_read_is_an_error_or_one_row() {
    let place = Place::new();
    place.write(&[("r/a.py", A.as_bytes()), ("bad.zip", b"PK\x03\x04 no zip")]);
    let error = place.crawl("dir:r\ndir:missing").unwrap_err();
    assert!(chain(&error).contains("source `dir:missing`: cannot find the directory"), "{}", chain(&error));
    let error = place.crawl("dir:r\narchive:bad.zip").unwrap_err();
    assert!(chain(&error).contains("source `archive:bad.zip`: cannot read the archive"), "{}", chain(&error));
    let corpus = place.crawl("[crawl]\nfailed_repositories = 'skip'\narchive:bad.zip\ndir:r").unwrap();
    assert!(verdicts(&corpus).starts_with("bad |  | repository_failed | source `archive:bad.zip`: cannot read"));
    assert_eq!(corpus.repositories[1].repository.files().len(), 1);
}

#[test]
fn the_fingerprint_of_the_sources_follows_their_content() {
    let place = Place::new();
    place.write(&[("r/a.py", A.as_bytes()), ("list.toml", b"version = 1\n")]);
    let text = "version = 1\nname = 'test'\nbenchmarks = ['list.toml']\n[[source]]\nspec = 'dir:r'\n";
    let manifest = Manifest::parse(text, Path::new("test.toml")).unwrap();
    let fingerprint = || manifest.content_fingerprint(&place.data("")).unwrap();
    let first = fingerprint();
    place.write(&[("r/a.py", A.as_bytes())]);
    assert_eq!(fingerprint(), first);
    place.write(&[("r/a.py", B.as_bytes())]);
    let second = fingerprint();
    assert_ne!(second, first);
    place.write(&[("list.toml", b"version = 1\nrepositories = ['r']\n")]);
    assert_ne!(fingerprint(), second);
}

#[test]
fn two_repositories_of_one_name_are_an_error() {
    let place = Place::new();
    place.write(&[("x/r/a.py", b""), ("y/r/a.py", b"")]);
    let message = place.crawl("dir:x/r\ndir:y/r").unwrap_err().to_string();
    assert_eq!(message, "`dir:x/r` and `dir:y/r` both give a repository named `r`: set `name` for one of them");
    assert!(place.crawl("dir:x/r\ndir:y/r\nname = 's'").is_ok());
}
