//! A repository after its files were decoded and filtered one by one.

use std::collections::BTreeMap;

use rayon::prelude::*;
use repo::language::Language;
use repo::source::SourceFile;

use super::{CrawlOptions, Provenance};
use crate::decontaminate::Benchmarks;
use crate::error::one_line;
use crate::filter::{self, DropReason, Filters, Verdict};
use crate::ledger::LedgerEntry;
use crate::source::{RawContent, RawFile, RawRepository, Unit};
use crate::{Error, digest, encoding, license};

type Result<T, E = Error> = std::result::Result<T, E>;

/// A repository with the files that passed so far, sorted by path, and a ledger row for every file.
pub(crate) struct ReadRepository {
    pub(crate) name: String,
    pub(crate) provenance: Provenance,
    pub(crate) files: Vec<ReadFile>,
    pub(crate) ledger: Vec<LedgerEntry>,
}

/// A file that passed so far.
pub(crate) struct ReadFile {
    pub(crate) source: SourceFile,
    pub(crate) hash: String,
    pub(crate) ledger_row: usize,
}

/// What decides about the files of a repository.
pub(super) struct Rules<'a> {
    pub(super) filters: &'a Filters,
    pub(super) benchmarks: &'a Benchmarks,
    pub(super) options: &'a CrawlOptions<'a>,
}

/// A reason to drop something and the measurement behind it.
type Reason = (DropReason, String);

/// A file's ledger row, and its text or the reason that there is none.
type Decoded = (LedgerEntry, Result<(Language, String), Reason>);

impl ReadRepository {
    /// Gives every entry its verdict, except those that need other repositories or the import graph. Files are examined
    /// in the threads of the pool that this is called in.
    ///
    /// # Errors
    ///
    /// Returns an error if the crawl was asked to stop.
    pub(super) fn new(unit: &Unit, raw: RawRepository, rules: &Rules) -> Result<Self> {
        let stated = unit.entry.license.as_deref().map(license::normalize).or(raw.license);
        let excluded = exclusion(unit, stated.as_deref(), rules);
        let provenance = Provenance {
            source: unit.label.clone(),
            version: raw.version,
            license: stated.unwrap_or_default(),
            revision: raw.revision,
        };
        let mut repository = Self { name: unit.name.clone(), provenance, files: Vec::new(), ledger: Vec::new() };
        let mut notes = raw.notes;
        if notes.is_empty() && raw.files.is_empty() {
            notes.push((DropReason::EmptyRepository, "has no files".to_owned()));
        }
        for (reason, detail) in notes {
            repository.ledger.push(LedgerEntry::of_repository(&unit.name, &unit.label, reason, detail));
        }
        repository.examine(raw.files, excluded.as_ref(), rules)?;
        Ok(repository)
    }

    /// Removes the files for which `reason` gives one, and writes it to the ledger.
    pub(crate) fn drop_files(&mut self, mut reason: impl FnMut(&ReadFile) -> Option<Reason>) {
        let ledger = &mut self.ledger;
        self.files.retain(|file| match reason(file) {
            None => true,
            Some((reason, detail)) => {
                let row = &mut ledger[file.ledger_row];
                row.verdict = Verdict::Dropped(reason);
                row.detail = detail;
                false
            }
        });
    }

    fn examine(&mut self, files: Vec<RawFile>, excluded: Option<&Reason>, rules: &Rules) -> Result<()> {
        let blank = self.row();
        let decode = |raw: RawFile| {
            rules.options.check_stop()?;
            Ok(decode(LedgerEntry { path: raw.path, bytes: raw.bytes, ..blank.clone() }, raw.content, excluded))
        };
        let decoded = files.into_par_iter().map(decode).collect::<Result<Vec<_>>>()?;
        let reasons = check_distinct(&decoded, rules)?;
        for (row, text) in decoded {
            let text = text.and_then(|(language, text)| match &reasons[&(row.content_hash.clone(), language)] {
                Some(reason) => Err(reason.clone()),
                None => Ok((language, text)),
            });
            self.add(row, text);
        }
        Ok(())
    }

    fn add(&mut self, mut row: LedgerEntry, text: Result<(Language, String), Reason>) {
        match text {
            Err((reason, detail)) => (row.verdict, row.detail) = (Verdict::Dropped(reason), detail),
            Ok((language, text)) => self.files.push(ReadFile {
                source: SourceFile { path: row.path.clone(), language, text },
                hash: row.content_hash.clone(),
                ledger_row: self.ledger.len(),
            }),
        }
        self.ledger.push(row);
    }

    fn row(&self) -> LedgerEntry {
        let row =
            LedgerEntry::of_repository(&self.name, &self.provenance.source, DropReason::Unreadable, String::new());
        LedgerEntry { verdict: Verdict::Kept, ..row }
    }
}

/// Returns the reason to drop the whole repository.
fn exclusion(unit: &Unit, stated: Option<&str>, rules: &Rules) -> Option<Reason> {
    if !license::is_allowed(stated, &rules.filters.licenses) {
        let detail = stated.map_or_else(
            || "the repository states no license".to_owned(),
            |license| format!("the license is {}", one_line(license)),
        );
        return Some((DropReason::LicenseNotAllowed, detail));
    }
    let is_listed = rules.benchmarks.has_repository(&unit.name);
    is_listed.then(|| (DropReason::Benchmark, "the repository is listed".to_owned()))
}

/// Returns a file's ledger row, with what decoding tells, and its text or the reason that there is none.
fn decode(mut row: LedgerEntry, content: RawContent, excluded: Option<&Reason>) -> Decoded {
    let text = match (content, excluded) {
        (RawContent::Dropped(reason, detail), _) => Err((reason, detail)),
        (RawContent::Read(_), Some(excluded)) => Err(excluded.clone()),
        (RawContent::Read(content), None) => decode_content(&mut row, &content),
    };
    (row, text)
}

fn decode_content(row: &mut LedgerEntry, content: &[u8]) -> Result<(Language, String), Reason> {
    let language = Language::from_path(&row.path).ok_or((DropReason::UnsupportedLanguage, String::new()))?;
    let decoded = encoding::decode(content, language)?;
    row.encoding = decoded.encoding;
    decoded.line_endings.clone_into(&mut row.line_endings);
    row.content_hash = digest::of_text(&decoded.text);
    Ok((language, decoded.text))
}

/// Checks each distinct content once, however many copies of it there are, and returns the reason to drop it or nothing,
/// by its hash and language.
fn check_distinct(decoded: &[Decoded], rules: &Rules) -> Result<BTreeMap<(String, Language), Option<Reason>>> {
    let mut distinct: BTreeMap<(String, Language), &str> = BTreeMap::new();
    for (row, text) in decoded {
        if let Ok((language, text)) = text {
            distinct.insert((row.content_hash.clone(), *language), text);
        }
    }
    let check = |(key, text): ((String, Language), &str)| {
        rules.options.check_stop()?;
        let reason = check(&key.0, text, key.1, rules);
        Ok((key, reason))
    };
    distinct.into_par_iter().map(check).collect()
}

fn check(hash: &str, text: &str, language: Language, rules: &Rules) -> Option<Reason> {
    filter::check_content(rules.filters, text, language).or_else(|| {
        let is_listed = rules.benchmarks.has_content(hash);
        is_listed.then(|| (DropReason::Benchmark, "the content is listed".to_owned()))
    })
}
