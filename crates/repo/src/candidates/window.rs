//! Fixed windows: non-blank lines cut at equal distances.

use super::{FILE_LINES_MAX, Line, Piece};

/// Cuts the lines into windows of `length`, as long as a window starts within the first [`FILE_LINES_MAX`] lines.
pub(super) fn fixed(lines: &[Line<'_>], length: usize) -> Vec<Piece> {
    let length = length.max(1);
    let starts = (0..lines.len().min(FILE_LINES_MAX)).step_by(length);
    let ranges = starts.map(|start| start..(start + length).min(lines.len()));
    ranges.map(|range| Piece { listed: (range.start, range.end - 1), range }).collect()
}
