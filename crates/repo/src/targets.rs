//! Targets: the spans of a file that a model is asked to complete.
//!
//! Three rules: random spans as RLCoder trains on, single lines and API calls as RepoEval asks for. The text before a
//! span is the left context, the text after it the right context; the three together are the file.

mod api_call;
mod line;
mod span;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::error::Error;
use crate::source::SourceFile;

pub use api_call::api_call_targets;
pub use line::line_targets;
pub use span::{SpanRule, random_span};

/// A span to complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Path of the file.
    pub path: String,
    /// The span in bytes of the file's text.
    pub span: Range<usize>,
    /// The rule that chose the span.
    pub kind: TargetKind,
}

/// The rules by which targets are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetKind {
    /// A random span, as RLCoder trains on.
    Span,
    /// One line of code, as in RepoEval.
    Line,
    /// The lines of a call into the repository's own API, as in RepoEval.
    ApiCall,
    /// The body of a function, as in RepoEval. Benchmarks bring it; none is drawn from a corpus.
    Function,
}

impl TargetKind {
    /// Every kind that is drawn from a corpus.
    pub const ALL: [Self; 3] = [Self::Span, Self::Line, Self::ApiCall];

    /// Returns the stable name: `span`, `line`, `api_call` or `function`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Span => "span",
            Self::Line => "line",
            Self::ApiCall => "api_call",
            Self::Function => "function",
        }
    }
}

impl fmt::Display for TargetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TargetKind {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let kind = Self::ALL.into_iter().find(|kind| kind.name() == name);
        kind.ok_or_else(|| Error::UnknownTargetKind(name.to_owned()))
    }
}

/// The lines of a text as byte spans without their line endings, by row as tree-sitter counts them.
fn line_spans(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let spans = text.split_inclusive('\n').map(|line| {
        let content = line.strip_suffix('\n').unwrap_or(line);
        let content = content.strip_suffix('\r').unwrap_or(content);
        let span = start..start + content.len();
        start += line.len();
        span
    });
    spans.collect()
}

fn target_in(file: &SourceFile, span: Range<usize>, kind: TargetKind) -> Target {
    Target { path: file.path.clone(), span, kind }
}

#[cfg(test)]
mod tests;
