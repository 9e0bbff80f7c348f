//! Documented functions with triggers, as they are stored.

use std::ops::Range;

use analysis::triggers::{Context, Eligibility, Mark, MarkedFunction, Rules, mark, unmark};
use repo::language::Language;

use crate::crawl::CrawledRepository;
use crate::manifest::Split;

/// A row of `functions.parquet`: `signature` + `body` is the function's text in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFunction {
    /// The split of the file.
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
    /// The class that the function is a member of; empty if none.
    pub class: String,
    /// The function's name.
    pub name: String,
    /// The function in the file, in bytes.
    pub span: Range<usize>,
    /// What the docstring says in its first sentence.
    pub docstring: String,
    /// The docstring as written, with its quotes or comment signs.
    pub docstring_raw: String,
    /// The signature as written.
    pub signature: String,
    /// What follows the signature, as written.
    pub body: String,
    /// The body with a trigger before each marked identifier.
    pub marked_body: String,
    /// The marks; offsets are bytes of `signature` + `body`.
    pub marks: Vec<Mark>,
    /// The name of the completion tool.
    pub tool: String,
    /// Which identifiers the tool was asked about.
    pub eligibility: Eligibility,
    /// What the tool saw.
    pub context: Context,
}

impl StoredFunction {
    /// Makes the row of a function of a crawled repository.
    ///
    /// # Panics
    ///
    /// Panics if the function is not from a file of the repository.
    #[must_use]
    pub fn new(function: MarkedFunction, crawled: &CrawledRepository, tool: &str, rules: &Rules) -> Self {
        let provenance = &crawled.provenance;
        let file = crawled.repository.position(&function.path).expect("the function is from the repository");
        Self {
            split: crawled.splits[file],
            repository: crawled.repository.name.clone(),
            source: provenance.source.clone(),
            version: provenance.version.clone(),
            revision: provenance.revision.clone(),
            license: provenance.license.clone(),
            language: function.language,
            signature: function.signature().to_owned(),
            body: function.body().to_owned(),
            marked_body: function.marked_body(),
            class: function.function.class.unwrap_or_default(),
            name: function.function.name,
            span: function.function.span,
            path: function.path,
            docstring: function.docstring,
            docstring_raw: function.docstring_raw,
            marks: function.marks,
            tool: tool.to_owned(),
            eligibility: rules.eligibility,
            context: rules.context,
        }
    }

    /// Returns the function with a trigger at each mark.
    #[must_use]
    pub fn marked_text(&self) -> String {
        mark(&(self.signature.clone() + &self.body), self.marks.iter().map(|mark| mark.offset))
    }

    /// Returns whether the marks are in the body and removing them gives the body as written.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let start = self.signature.len();
        let offsets: Option<Vec<usize>> = self.marks.iter().map(|mark| mark.offset.checked_sub(start)).collect();
        let length = start + self.body.len();
        self.span.len() == length
            && offsets.is_some_and(|offsets| unmark(&self.marked_body, offsets).as_ref() == Some(&self.body))
    }

    /// Returns the bytes of the texts, for batches of bounded size.
    pub(crate) fn n_bytes(&self) -> usize {
        self.docstring_raw.len() + self.signature.len() + self.body.len() + self.marked_body.len()
    }
}
