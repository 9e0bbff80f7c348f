//! A sample as the loops use it: a cursor, a target, and the candidates of its cluster.

use std::sync::Arc;

use corpus::samples::Sample;
use inference::Cursor;
use inference::strategies::ChoiceRequest;
use repo::candidates::CodeCandidate;
use repo::source::SourceFile;

/// The files of which one may help to complete another.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// A name that no other cluster of the dataset has.
    pub name: String,
    /// The files, those to complete in among them.
    pub files: Vec<SourceFile>,
}

/// One sample with the candidates that the other files of its cluster give.
#[derive(Clone, Debug)]
pub struct Task {
    /// The sample.
    pub sample: Sample,
    /// Code from other files, in file order.
    pub candidates: Vec<CodeCandidate>,
    /// The code from other files that a benchmark itself shows, most similar first.
    pub given: Vec<CodeCandidate>,
    /// The cluster of the sample's file.
    pub cluster: Arc<Cluster>,
}

impl Task {
    /// Returns where the completion is wanted.
    #[must_use]
    pub fn cursor(&self) -> Cursor<'_> {
        let sample = &self.sample;
        Cursor {
            path: &sample.path,
            language: sample.language,
            left_context: &sample.left_context,
            right_context: &sample.right_context,
        }
    }

    /// Returns the task as a question to a retriever.
    #[must_use]
    pub fn request(&self) -> ChoiceRequest<'_> {
        ChoiceRequest { cursor: self.cursor(), candidates: &self.candidates }
    }
}
