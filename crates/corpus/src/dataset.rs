//! A dataset directory: `files.parquet`, `samples.parquet` and `ledger.parquet`.

use std::collections::BTreeMap;
use std::path::Path;

use repo::source::SourceFile;

use crate::crawl::{Corpus, CrawledRepository};
use crate::manifest::Split;
use crate::samples::Sample;
use crate::schema::Table;
use crate::{Error, Result, table};

/// A dataset as training and evaluation read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// The repositories with their clusters, in the order of the manifest; those without files are left out.
    pub repositories: Vec<CrawledRepository>,
    /// The samples: train, validation, test.
    pub samples: Vec<Sample>,
    positions: BTreeMap<String, usize>,
}

/// Writes the three tables of a dataset into a directory.
///
/// # Errors
///
/// Returns an error if a table cannot be written.
pub fn write(directory: &Path, corpus: &Corpus, samples: &[Sample]) -> Result<()> {
    table::write_files(&directory.join(Table::Files.file_name()), &corpus.repositories)?;
    table::write_samples(&directory.join(Table::Samples.file_name()), samples)?;
    table::write_ledger(&directory.join(Table::Ledger.file_name()), &corpus.ledger)
}

impl Dataset {
    /// Reads the files and samples of a dataset directory.
    ///
    /// # Errors
    ///
    /// Returns an error if a table is missing, damaged or of another schema version, or if a sample is not from the
    /// files beside it.
    pub fn open(directory: &Path) -> Result<Self> {
        let repositories = table::read_files(&directory.join(Table::Files.file_name()))?;
        let path = directory.join(Table::Samples.file_name());
        let positions =
            repositories.iter().enumerate().map(|(index, crawled)| (crawled.repository.name.clone(), index)).collect();
        let dataset = Self { repositories, samples: table::read_samples(&path)?, positions };
        match dataset.samples.iter().find(|sample| !dataset.holds(sample)) {
            None => Ok(dataset),
            Some(sample) => {
                let message =
                    format!("the sample {} does not fit the files beside it: build the dataset again", sample.id);
                Err(Error::Schema { path, message })
            }
        }
    }

    /// Returns the repository with a name.
    #[must_use]
    pub fn repository(&self, name: &str) -> Option<&CrawledRepository> {
        self.positions.get(name).map(|index| &self.repositories[*index])
    }

    /// Returns the samples of a split.
    pub fn samples_of(&self, split: Split) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| sample.split == split)
    }

    /// Returns the files of the sample's cluster, each after those it depends on, the sample's own file among them.
    ///
    /// # Panics
    ///
    /// Panics if the sample is not from this dataset.
    #[must_use]
    pub fn cluster_files(&self, sample: &Sample) -> Vec<&SourceFile> {
        let crawled = self.repository(&sample.repository).expect("the sample is from this dataset");
        let files = crawled.repository.files();
        crawled.clusters[sample.cluster].files.iter().map(|file| &files[*file]).collect()
    }

    fn holds(&self, sample: &Sample) -> bool {
        let holds = || {
            let crawled = self.repository(&sample.repository)?;
            let index = crawled.repository.position(&sample.path)?;
            let in_cluster = crawled.clusters.get(sample.cluster)?.files.contains(&index);
            Some(in_cluster && crawled.hashes[index] == sample.content_hash)
        };
        holds().unwrap_or(false)
    }
}
