//! Trigger insertion over many repositories at once, into one table that does not depend on the threads.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

use analysis::CodeIntelligence;
use analysis::triggers::{Found, Rules, Tally, insert};
use anyhow::Context;
use corpus::crawl::CrawledRepository;
use corpus::functions::StoredFunction;
use rayon::ThreadPool;
use rayon::prelude::*;
use repo::{Language, Repository};

use crate::evaluator::Interrupted;
use crate::progress::Progress;

/// What came of one repository.
#[derive(Debug, Default)]
pub struct Marked {
    /// The functions that are kept.
    pub rows: Vec<StoredFunction>,
    /// What was counted.
    pub tally: Tally,
}

/// How repositories are marked.
pub struct Marking<'a> {
    /// Where triggers go.
    pub rules: Rules,
    /// Opens the completion tool for the files of one language of a repository.
    pub open: &'a OpenTool<'a>,
    /// The threads.
    pub pool: &'a ThreadPool,
    /// Tells whether to give up.
    pub should_stop: &'a (dyn Fn() -> bool + Sync),
}

/// Opens a completion tool.
pub type OpenTool<'a> =
    dyn for<'r> Fn(&'r Repository, Language) -> anyhow::Result<Box<dyn CodeIntelligence + 'r>> + Sync + 'a;

impl Marking<'_> {
    /// Marks the functions of all repositories and writes them to `output`; `on_marked` sees each repository's, in order.
    ///
    /// # Errors
    ///
    /// Returns an error if a tool cannot be started, if the table cannot be written, or [`Interrupted`] if this was to
    /// stop; an old table is then still there.
    pub fn write(
        &self,
        repositories: &[CrawledRepository],
        output: &Path,
        mut on_marked: impl FnMut(&Marked),
    ) -> anyhow::Result<()> {
        let n_files = repositories.iter().map(|crawled| crawled.repository.files().len()).sum();
        let progress = Progress::new("marking", n_files, "files");
        let marked = |crawled: &CrawledRepository| self.marked(crawled, &progress);
        // Repositories are marked in any order and written in theirs.
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel(2 * self.pool.current_num_threads());
            let work = || {
                repositories
                    .iter()
                    .enumerate()
                    .par_bridge()
                    .try_for_each_with(sender, |sender, (index, crawled)| sender.send((index, marked(crawled))))
            };
            // Nobody receives any more only if writing failed, which is the error that is reported.
            scope.spawn(|| self.pool.install(work).ok());
            let groups = in_order(&receiver, repositories.len()).map(|marked| {
                let marked = marked.context("a thread ended before its repository was marked")??;
                on_marked(&marked);
                Ok::<_, anyhow::Error>(marked.rows)
            });
            corpus::table::write_functions(output, groups)
        })
    }

    /// Marks the functions of a repository, with one tool for each language.
    fn marked(&self, crawled: &CrawledRepository, progress: &Progress) -> anyhow::Result<Marked> {
        let mut marked = Marked::default();
        for language in Language::ALL {
            if (self.should_stop)() {
                return Err(Interrupted.into());
            }
            if !crawled.repository.files().iter().any(|file| file.language == language) {
                continue;
            }
            let mut tool = (self.open)(&crawled.repository, language)?;
            let mut on_file = |_: &Found| progress.add(1);
            let found = insert(&mut *tool, &crawled.repository, language, &self.rules, &mut on_file);
            marked.tally += &found.tally;
            let row = |function| StoredFunction::new(function, crawled, tool.name(), &self.rules);
            marked.rows.extend(found.functions.into_iter().map(row));
        }
        Ok(marked)
    }
}

/// Returns what comes with the indices below `n`, in their order, and `None` for each that does not come.
fn in_order<T>(receiver: &Receiver<(usize, T)>, n: usize) -> impl Iterator<Item = Option<T>> {
    let mut waiting = BTreeMap::new();
    (0..n).map(move |next| {
        while !waiting.contains_key(&next) {
            let (index, item) = receiver.recv().ok()?;
            waiting.insert(index, item);
        }
        waiting.remove(&next)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_out_of_order_is_put_in_order() {
        let (sender, receiver) = sync_channel(8);
        for index in [2, 0, 1, 4] {
            sender.send((index, index * 10)).unwrap();
        }
        drop(sender);
        assert_eq!(in_order(&receiver, 5).collect::<Vec<_>>(), [Some(0), Some(10), Some(20), None, Some(40)]);
    }
}
