//! The windows of a repository, ready to be compared with queries, and which of them a cursor may see.

use std::collections::BTreeMap;

use models::{Tokenizer, Workers};
use repo::candidates::{Candidate, CodeCandidate};
use repo::language::Language;
use repo::source::SourceFile;

use crate::Variant;
use crate::jaccard::TokenSet;
use crate::retriever::{Embeddings, Retriever, similarity};
use crate::windows::{Location, Window, WindowRule, lines, windows};

/// How windows are compared with a query.
#[derive(Debug, Clone, Copy)]
pub enum Similarity<'a> {
    /// As sets of tokens.
    Jaccard(&'a Tokenizer),
    /// By a dense retriever, which reads windows as it reads candidates.
    Dense(Retriever<'a>),
}

/// The windows of a repository, built once for all cursors in it.
#[derive(Debug)]
pub struct WindowIndex<'a> {
    files: BTreeMap<&'a str, &'a SourceFile>,
    windows: Vec<Window>,
    similarity: Similarity<'a>,
    vectors: Vectors,
}

#[derive(Debug)]
enum Vectors {
    Sets(Vec<TokenSet>),
    Dense(Embeddings),
}

/// What a cursor may see: other files, and its own up to the first line that the prompt shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeakGuard<'a> {
    /// The path of the cursor's file.
    pub path: &'a str,
    /// The first line that the prompt shows, 0-based.
    pub context_start: usize,
}

impl LeakGuard<'_> {
    /// Returns whether lines of a file that end before `end` may be shown.
    #[must_use]
    pub fn admits(&self, path: &str, end: usize) -> bool {
        path != self.path || end <= self.context_start
    }
}

impl<'a> WindowIndex<'a> {
    /// Cuts files into windows and computes what each is compared by.
    #[must_use]
    pub fn new(files: &[&'a SourceFile], rule: WindowRule, similarity: Similarity<'a>, workers: &Workers) -> Self {
        let windows = windows(files, rule);
        let files: BTreeMap<&str, &SourceFile> = files.iter().map(|file| (file.path.as_str(), *file)).collect();
        let vectors = match similarity {
            Similarity::Jaccard(tokenizer) => {
                Vectors::Sets(workers.map(windows.iter().collect(), |_, window| TokenSet::of(&window.code, tokenizer)))
            }
            Similarity::Dense(retriever) => {
                let text = |window: &Window| text(&files, window);
                Vectors::Dense(retriever.embed_candidates(&windows.iter().map(text).collect::<Vec<_>>(), &|_| ()))
            }
        };
        Self { files, windows, similarity, vectors }
    }

    /// Returns a window.
    ///
    /// # Panics
    ///
    /// Panics if there is no such window.
    #[must_use]
    pub fn window(&self, index: usize) -> &Window {
        &self.windows[index]
    }

    /// Returns the lines and the language of a file of the index.
    pub(super) fn file(&self, path: &str) -> (Vec<&'a str>, Language) {
        let file = self.files[path];
        (lines(&file.text), file.language)
    }

    /// Returns the `k` windows most similar to each query that its guard admits, best first, with their similarities.
    ///
    /// A window with several places is left out only if the guard admits none of them. Of equally similar windows the
    /// paper's variant puts the earlier first, the released code the later.
    #[must_use]
    pub fn top(
        &self,
        queries: &[(String, LeakGuard<'_>)],
        k: usize,
        variant: Variant,
        workers: &Workers,
    ) -> Vec<Vec<(usize, f64)>> {
        let similarities = self.similarities(queries, workers);
        let rows = queries.iter().zip(similarities).collect();
        workers.map(rows, |_, ((_, guard), similarities): (&(String, LeakGuard<'_>), Vec<f64>)| {
            let admits = |location: &Location| guard.admits(&location.path, location.lines.end);
            let seen = |index: &usize| self.windows[*index].locations.iter().any(admits);
            let mut seen: Vec<usize> = (0..self.windows.len()).filter(seen).collect();
            if variant == Variant::Released {
                seen.reverse();
            }
            seen.sort_by(|a, b| similarities[*b].total_cmp(&similarities[*a]));
            seen.into_iter().take(k).map(|index| (index, similarities[index])).collect()
        })
    }

    fn similarities(&self, queries: &[(String, LeakGuard<'_>)], workers: &Workers) -> Vec<Vec<f64>> {
        match (&self.vectors, self.similarity) {
            (Vectors::Sets(sets), Similarity::Jaccard(tokenizer)) => {
                workers.map(queries.iter().collect(), |_, (query, _)| {
                    let query = TokenSet::of(query, tokenizer);
                    sets.iter().map(|set| query.jaccard(set)).collect()
                })
            }
            (Vectors::Dense(embeddings), Similarity::Dense(retriever)) => {
                let texts: Vec<&str> = queries.iter().map(|(query, _)| query.as_str()).collect();
                let queries = retriever.embed_queries(&texts, &|_| ());
                let row = |query: usize| {
                    let similar = |window| f64::from(similarity(queries.vector(query), embeddings.vector(window)));
                    (0..embeddings.len()).map(similar).collect()
                };
                (0..texts.len()).map(row).collect()
            }
            _ => unreachable!("the vectors are those of the similarity"),
        }
    }
}

/// Returns a window as the retriever reads it: as a candidate at its first place.
fn text(files: &BTreeMap<&str, &SourceFile>, window: &Window) -> String {
    let Location { path, lines } = &window.locations[0];
    let language = files[path.as_str()].language;
    Candidate::Code(candidate(path, language, lines.clone(), window.code.clone())).text(language)
}

/// Returns lines of a file as a candidate, numbered as the file numbers them.
pub(super) fn candidate(path: &str, language: Language, lines: std::ops::Range<usize>, code: String) -> CodeCandidate {
    CodeCandidate { path: path.to_owned(), language, listed: (lines.start + 1, lines.end), lines, code }
}
