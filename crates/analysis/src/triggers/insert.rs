//! The insertion itself: functions of a file or repository, and a tool that is asked at their identifiers.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use repo::functions::functions_in;
use repo::{Function, Language, Repository, SourceFile};

use super::code::{self, Bare, Identifier, Leaves};
use super::docstring::clean;
use super::marks::{Mark, TRIGGER, mark};
use super::reason::DropReason;
use super::rules::{Context, Rules};
use crate::caret::Caret;
use crate::intelligence::CodeIntelligence;

/// A documented function and its marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedFunction {
    /// Path of the file.
    pub path: String,
    /// The language of the file.
    pub language: Language,
    /// The function within the file.
    pub function: Function,
    /// The function's own text.
    pub text: String,
    /// The docstring as it is written, with its quotes or comment signs.
    pub docstring_raw: String,
    /// What the docstring says in its first sentence; see [`clean`].
    pub docstring: String,
    /// The marks, in order; offsets are bytes of `text`, all of them in the body.
    pub marks: Vec<Mark>,
}

impl MarkedFunction {
    /// Returns the signature, which the text begins with.
    #[must_use]
    pub fn signature(&self) -> &str {
        &self.text[..self.function.signature.len()]
    }

    /// Returns the text behind the signature.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.text[self.function.signature.len()..]
    }

    /// Returns the body with a trigger at each mark.
    #[must_use]
    pub fn marked_body(&self) -> String {
        let start = self.function.signature.len();
        mark(self.body(), self.marks.iter().map(|mark| mark.offset - start))
    }
}

/// What was counted on the way.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// Functions seen, documented or not.
    pub n_functions: usize,
    /// Functions that are not marked, by the reason.
    pub dropped: BTreeMap<DropReason, usize>,
    /// Questions that the tool was asked.
    pub n_questions: usize,
    /// Questions that the tool did not answer, by the [kind](crate::Error::kind) of failure; they leave no mark.
    pub failures: BTreeMap<&'static str, usize>,
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        self.n_functions += other.n_functions;
        self.n_questions += other.n_questions;
        for (reason, n) in &other.dropped {
            *self.dropped.entry(*reason).or_default() += n;
        }
        for (kind, n) in &other.failures {
            *self.failures.entry(kind).or_default() += n;
        }
    }
}

/// The marked functions of a file or repository, and what was counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Found {
    /// The functions, by path and position.
    pub functions: Vec<MarkedFunction>,
    /// The counts.
    pub tally: Tally,
}

/// Marks the documented functions of the files of one language, and calls `on_file` after each file.
pub fn insert(
    tool: &mut dyn CodeIntelligence,
    repository: &Repository,
    language: Language,
    rules: &Rules,
    on_file: &mut dyn FnMut(&Found),
) -> Found {
    let files: Vec<&SourceFile> = repository.files().iter().filter(|file| file.language == language).collect();
    let is_too_large = files.len() > rules.limits.files_max;
    let mut all = Found::default();
    for file in files {
        let found = insertion(tool, file, rules, is_too_large.then_some(DropReason::LargeRepository));
        on_file(&found);
        all.tally += &found.tally;
        all.functions.extend(found.functions);
    }
    all
}

/// Marks the documented functions of one file.
///
/// # References
///
/// `ToolGen` (arXiv 2401.06391), Algorithm 1. A question that the tool fails to answer counts as one without
/// suggestions, as in the released code.
pub fn insert_file(tool: &mut dyn CodeIntelligence, file: &SourceFile, rules: &Rules) -> Found {
    insertion(tool, file, rules, None)
}

fn insertion(
    tool: &mut dyn CodeIntelligence,
    file: &SourceFile,
    rules: &Rules,
    mut too_large: Option<DropReason>,
) -> Found {
    let Some(tree) = file.language.parse(&file.text) else { return Found::default() };
    if file.text.lines().count() > rules.limits.file_lines_max {
        too_large = too_large.or(Some(DropReason::LongFile));
    }
    let functions = functions_in(&tree, &file.text, file.language);
    let leaves = Leaves::of(&tree);
    let mut asker = Asker { tool, file, rules, answers: BTreeMap::new(), tally: Tally::default() };
    asker.tally.n_functions = functions.len();
    let mut marked = Vec::new();
    for function in functions {
        match check(&function, &leaves, file, rules, too_large) {
            Ok((docstring, bare)) => marked.push(asker.marked(function, docstring, &bare, &leaves)),
            Err(reason) => *asker.tally.dropped.entry(reason).or_default() += 1,
        }
    }
    Found { functions: marked, tally: asker.tally }
}

/// Returns the cleaned docstring and the bare code of a function, or why it is dropped.
fn check(
    function: &Function,
    leaves: &Leaves,
    file: &SourceFile,
    rules: &Rules,
    too_large: Option<DropReason>,
) -> Result<(String, Bare), DropReason> {
    let own = || &file.text[function.span.clone()];
    let raw = &file.text[function.docstring.clone().ok_or(DropReason::NoDocstring)?];
    if let Some(reason) = too_large.or(function.is_async.then_some(DropReason::Async)) {
        return Err(reason);
    }
    let docstring = clean(raw, file.language)?;
    if code::is_test(&function.name, file.language) {
        return Err(DropReason::Test);
    }
    if leaves.exceed(rules.limits.code_tokens_max, function, &file.text) {
        return Err(DropReason::ManyTokens);
    }
    if own().contains(TRIGGER) || docstring.contains(TRIGGER) {
        return Err(DropReason::LiteralTrigger);
    }
    let bare = Bare::new(function, leaves, &file.text);
    code::check(function, &bare, file.language, &rules.limits).map_or(Ok((docstring, bare)), Err)
}

/// A tool, the file that it is asked about, and what it said so far.
struct Asker<'a> {
    tool: &'a mut dyn CodeIntelligence,
    file: &'a SourceFile,
    rules: &'a Rules,
    /// Answers about the file as it is: nested functions share them with the functions around them.
    answers: BTreeMap<usize, Option<usize>>,
    tally: Tally,
}

impl Asker<'_> {
    fn marked(&mut self, function: Function, docstring: String, bare: &Bare, leaves: &Leaves) -> MarkedFunction {
        let mut marks = Vec::new();
        for identifier in leaves.identifiers_of(&function) {
            let offset = identifier.span.start - function.span.start;
            let answer = self.answer(identifier, &function, bare);
            marks.extend(answer.map(|n_suggestions| Mark { offset, n_suggestions }));
        }
        let raw = function.docstring.clone().unwrap_or_default();
        MarkedFunction {
            path: self.file.path.clone(),
            language: self.file.language,
            text: self.file.text[function.span.clone()].to_owned(),
            docstring_raw: self.file.text[raw].to_owned(),
            docstring,
            marks,
            function,
        }
    }

    /// Returns how many identifiers the tool suggests, if `identifier` is eligible and among them.
    fn answer(&mut self, identifier: &Identifier, function: &Function, bare: &Bare) -> Option<usize> {
        let (file, start) = (self.file, identifier.span.start);
        let name = &file.text[identifier.span.clone()];
        if !self.rules.is_eligible(name, identifier.is_in_string, file.language) {
            return None;
        }
        match self.rules.context {
            Context::Unfinished => {
                let written = &bare.text[..bare.offset(start - function.span.start)];
                self.ask(&Caret::unfinished(file, function.span.clone(), written), name)
            }
            Context::Intact => {
                if let Some(answer) = self.answers.get(&start) {
                    return *answer;
                }
                let answer = self.ask(&Caret::intact(file, start), name);
                self.answers.insert(start, answer);
                answer
            }
        }
    }

    fn ask(&mut self, caret: &Caret<'_>, name: &str) -> Option<usize> {
        self.tally.n_questions += 1;
        match self.tool.completions(caret) {
            Ok(mut suggestions) => {
                suggestions.retain(|suggestion| !self.rules.is_skipped(&suggestion.name, self.file.language));
                suggestions.iter().any(|suggestion| suggestion.name == name).then_some(suggestions.len())
            }
            Err(error) => {
                *self.tally.failures.entry(error.kind()).or_default() += 1;
                None
            }
        }
    }
}
