//! Dependency Coverage: how much of what the true function takes from its repository stands in the predicted one.
//!
//! What counts as a dependency has two readings, each a set of names: by the triggers of the true function
//! ([`by_marks`], what the released code computes) and by where its identifiers are defined ([`by_definitions`], as the
//! paper words it). The rate of a test set is all names found over all names sought, so a [`Coverage`] holds both.

mod keys;

use std::collections::BTreeSet;

use analysis::occurrences::occurrences;
use analysis::triggers::{TRIGGER, bare, mark};
use analysis::{Caret, CodeIntelligence, Place};
use corpus::functions::StoredFunction;
use repo::SourceFile;

use super::toolgen::{clean, without_strings};

/// The names sought in one predicted function, and those found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Names that stand in the prediction.
    pub hits: BTreeSet<String>,
    /// Names that do not.
    pub misses: BTreeSet<String>,
}

impl Coverage {
    /// Seeks each name as a whole word in the text of a function, triggers and string literals left out.
    #[must_use]
    pub fn of(names: BTreeSet<String>, function: &str) -> Self {
        let text = clean(function);
        let (hits, misses) = names.into_iter().partition(|name| keys::holds_word(&text, name));
        Self { hits, misses }
    }

    /// Returns the number of names sought.
    #[must_use]
    pub fn n_names(&self) -> usize {
        self.hits.len() + self.misses.len()
    }

    /// Returns the share of the names that were found; `None` if none was sought.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        (self.n_names() > 0).then(|| self.hits.len() as f64 / self.n_names() as f64)
    }
}

/// Returns the dependencies of a function by its triggers.
///
/// A name is what stands behind a trigger, with one dotted name before it (`self.area`), unless a word, a period or an
/// equals sign follows directly. Left out is what seems to be bound by the function itself, in a generous reading: a
/// first part that follows white space somewhere and has any `word =` behind it, one bound by `as x:` or `for x in`, a
/// module that is imported from, and a single name that occurs in the signature.
///
/// # References
///
/// `ToolGen` (arXiv 2401.06391), the released `compute_metrics`, whose regular expressions this follows to the letter.
/// One of them takes up the character behind a name, so in `<COMP>f(<COMP>x)` no `x` is found.
#[must_use]
pub fn by_marks(function: &StoredFunction) -> BTreeSet<String> {
    let text = function.signature.clone() + &function.body;
    let offsets: Vec<usize> = function.marks.iter().map(|mark| mark.offset).collect();
    let (code, offsets) = bare(&text, function.language, &offsets);
    let marked = without_strings(&mark(&code, offsets));
    let plain = marked.replace(TRIGGER, "");
    let is_dependency = |key: &String| !keys::is_bound(key, &plain, &function.signature);
    keys::marked(&marked).into_iter().filter(is_dependency).collect()
}

/// Returns the dependencies of a function by definitions: the identifiers of its body that are defined in the repository
/// and not within the function.
///
/// `file` is the file of the function as it is in the repository that `tool` knows.
///
/// # Errors
///
/// Returns an error if the tool gives no answer.
///
/// # References
///
/// `ToolGen` (arXiv 2401.06391): "repository-level dependencies" are attributes, functions and other identifiers that
/// the repository defines. Released is [`by_marks`].
pub fn by_definitions(
    tool: &mut dyn CodeIntelligence,
    file: &SourceFile,
    function: &StoredFunction,
) -> analysis::Result<BTreeSet<String>> {
    let body = function.span.start + function.signature.len()..function.span.end;
    let mut names = BTreeSet::new();
    for occurrence in occurrences(&file.text, file.language) {
        if !body.contains(&occurrence.span.start) || names.contains(&file.text[occurrence.span.clone()]) {
            continue;
        }
        let definitions = tool.definitions(&Caret::intact(file, occurrence.span.start))?;
        let is_own = |path: &str, byte: usize| path == file.path && function.span.contains(&byte);
        let is_elsewhere = |place: &Place| match place {
            Place::Repository { path, span } => !is_own(path, span.start),
            Place::Outside { .. } => false,
        };
        if definitions.iter().any(|definition| is_elsewhere(&definition.place)) {
            names.insert(file.text[occurrence.span].to_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
