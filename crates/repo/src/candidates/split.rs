//! Split-Aggregate: mini-blocks between blank lines, merged in file order.

use std::ops::Range;

use super::{FILE_LINES_MAX, Line, Piece};

/// Appends mini-blocks to a candidate while it is shorter than `lines_max`.
pub(super) fn paper(lines: &[Line<'_>], lines_max: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut current = 0..0;
    for mini_block in mini_blocks(lines) {
        if current.len() >= lines_max.max(1) {
            pieces.push(numbered_by_file(current.clone(), lines));
            current.start = current.end;
        }
        current.end += mini_block.len();
    }
    if !current.is_empty() {
        pieces.push(numbered_by_file(current, lines));
    }
    pieces
}

/// Appends mini-blocks, or slices of long ones, to a candidate as long as it keeps within `lines_max`.
pub(super) fn released(lines: &[Line<'_>], lines_max: usize) -> Vec<Piece> {
    let lines_max = lines_max.max(1);
    let mut pieces = Vec::new();
    let mut current = 0..0;
    for slice in mini_blocks(lines).flat_map(|mini_block| mini_block.chunks(lines_max)) {
        if current.end >= FILE_LINES_MAX {
            break;
        }
        if current.len() + slice.len() > lines_max {
            pieces.push(numbered_by_count(current.clone()));
            current.start = current.end;
        }
        current.end += slice.len();
    }
    if !current.is_empty() {
        pieces.push(numbered_by_count(current));
    }
    pieces
}

fn mini_blocks<'a, 'text>(lines: &'a [Line<'text>]) -> impl Iterator<Item = &'a [Line<'text>]> {
    lines.chunk_by(|line, next| line.number + 1 == next.number)
}

fn numbered_by_file(range: Range<usize>, lines: &[Line<'_>]) -> Piece {
    let listed = (lines[range.start].number + 1, lines[range.end - 1].number + 1);
    Piece { range, listed }
}

fn numbered_by_count(range: Range<usize>) -> Piece {
    let listed = (range.start + 1, range.end);
    Piece { range, listed }
}
