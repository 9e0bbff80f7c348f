//! The code of a function: its identifiers, and its text without docstring and comments.

use std::ops::Range;

use repo::syntax::Preorder;
use repo::{Function, Language};
use tree_sitter::Tree;

use super::reason::DropReason;
use super::rules::Limits;

/// The leaves of a file's tree by what they are, each in order of position.
#[derive(Default)]
pub(super) struct Leaves {
    identifiers: Vec<Identifier>,
    comments: Vec<Range<usize>>,
    /// Everything but comments; a string is one, whatever it holds.
    tokens: Vec<Range<usize>>,
}

/// An identifier of the code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identifier {
    pub(super) span: Range<usize>,
    /// Whether it stands in an f-string.
    pub(super) is_in_string: bool,
}

impl Leaves {
    pub(super) fn of(tree: &Tree) -> Self {
        let mut leaves = Self::default();
        let mut string: Option<usize> = None;
        let mut walk = Preorder::new(tree);
        while let Some(node) = walk.next() {
            string = string.filter(|&depth| walk.depth() > depth);
            let is_whole = string.is_none();
            match node.kind() {
                "comment" | "line_comment" | "block_comment" => leaves.comments.push(node.byte_range()),
                "string" | "string_literal" if is_whole => {
                    leaves.tokens.push(node.byte_range());
                    string = Some(walk.depth());
                }
                "identifier" | "type_identifier" if !node.byte_range().is_empty() => {
                    leaves.identifiers.push(Identifier { span: node.byte_range(), is_in_string: !is_whole });
                    leaves.tokens.extend(is_whole.then(|| node.byte_range()));
                }
                _ if node.child_count() == 0 && is_whole && !node.byte_range().is_empty() => {
                    leaves.tokens.push(node.byte_range());
                }
                _ => {}
            }
        }
        leaves
    }

    /// Returns the identifiers of a function's body.
    pub(super) fn identifiers_of(&self, function: &Function) -> &[Identifier] {
        within(&self.identifiers, &function.body, |identifier| identifier.span.start)
    }

    /// Returns whether a function has more than `max` tokens without docstring and comments, space and line ends counted.
    pub(super) fn exceed(&self, max: usize, function: &Function, text: &str) -> bool {
        let tokens = within(&self.tokens, &function.span, |token| token.start);
        // Functions may nest as deep as a text is long: those that are far too large are not looked at.
        if tokens.len().saturating_sub(1) > max {
            return true;
        }
        let tokens: Vec<_> = tokens.iter().filter(|token| Some(*token) != function.docstring.as_ref()).collect();
        let gaps = tokens.windows(2).map(|pair| match &text[pair[0].end..pair[1].start] {
            "" => 0,
            gap => gap.rsplit_once('\n').map_or(1, |(_, indentation)| 1 + usize::from(!indentation.is_empty())),
        });
        tokens.len() + gaps.sum::<usize>() + 1 > max
    }
}

fn within<'a, T>(items: &'a [T], span: &Range<usize>, start: impl Fn(&T) -> usize) -> &'a [T] {
    let first = items.partition_point(|item| start(item) < span.start);
    let end = items.partition_point(|item| start(item) < span.end);
    &items[first..end.max(first)]
}

/// A function's text without its docstring and comments.
#[derive(Debug)]
pub(super) struct Bare {
    pub(super) text: String,
    /// What was cut out of the function's own text, in order, and how many bytes were cut out before it.
    cuts: Vec<(Range<usize>, usize)>,
}

impl Bare {
    pub(super) fn new(function: &Function, leaves: &Leaves, text: &str) -> Self {
        let own = &text[function.span.clone()];
        let comments = within(&leaves.comments, &function.span, |comment| comment.start).iter();
        let docstring = function.docstring.iter().filter(|span| span.start >= function.span.start);
        let mut pieces: Vec<Range<usize>> = comments.chain(docstring).map(|span| shifted(span, function)).collect();
        pieces.sort_by_key(|piece| piece.start);
        let mut bare = Self { text: String::with_capacity(own.len()), cuts: Vec::new() };
        let mut kept = 0;
        for piece in pieces {
            let cut = with_blank_line(&piece, own);
            let cut = cut.start.max(kept)..cut.end.max(kept);
            bare.text.push_str(&own[kept..cut.start]);
            kept = cut.end;
            bare.cuts.push((cut.clone(), cut.start - bare.text.len()));
        }
        bare.text.push_str(&own[kept..]);
        bare
    }

    /// Returns where a byte of the function's own text is here; one that was cut out is where it would stand.
    pub(super) fn offset(&self, own: usize) -> usize {
        let n_before = self.cuts.partition_point(|(cut, _)| cut.start < own);
        let last = n_before.checked_sub(1).map(|last| &self.cuts[last]);
        own - last.map_or(0, |(cut, before)| before + cut.end.min(own) - cut.start)
    }
}

fn shifted(span: &Range<usize>, function: &Function) -> Range<usize> {
    span.start - function.span.start..span.end.min(function.span.end) - function.span.start
}

/// Extends a piece of `text` that is to be cut out to the lines that it leaves blank, and over a semicolon behind it.
fn with_blank_line(piece: &Range<usize>, text: &str) -> Range<usize> {
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\u{c}');
    let before = text[..piece.start].trim_end_matches(is_space);
    let after = text[piece.end..].trim_start_matches(is_space);
    let after_start = text.len() - after.len();
    if after.is_empty() {
        return before.trim_end().len()..text.len();
    }
    match (before.ends_with('\n'), after.strip_prefix('\n')) {
        (true, Some(next)) => before.len()..text.len() - next.len(),
        (false, Some(_)) => before.len()..after_start,
        (_, None) if after.starts_with(';') => {
            piece.start..text.len() - after.trim_start_matches(';').trim_start_matches(is_space).len()
        }
        (_, None) => piece.clone(),
    }
}

/// Returns the text of a function without docstring and comments, and where the bytes `offsets` of it are there.
///
/// `text` is one function, as a [`MarkedFunction`](super::MarkedFunction) has it. A text that is none stays as it is.
#[must_use]
pub fn bare(text: &str, language: Language, offsets: &[usize]) -> (String, Vec<usize>) {
    let unchanged = || (text.to_owned(), offsets.to_vec());
    let Some(tree) = language.parse(text) else { return unchanged() };
    let functions = repo::functions::functions_in(&tree, text, language);
    let Some(function) = functions.first().filter(|function| function.span == (0..text.len())) else {
        return unchanged();
    };
    let bare = Bare::new(function, &Leaves::of(&tree), text);
    let moved = offsets.iter().map(|offset| bare.offset(*offset)).collect();
    (bare.text, moved)
}

/// Returns why the code of a function is not worth learning from, if so.
pub(super) fn check(function: &Function, bare: &Bare, language: Language, limits: &Limits) -> Option<DropReason> {
    let n_lines = bare.text.lines().filter(|line| !line.trim().is_empty()).count();
    let body = &bare.text[bare.offset(function.signature.len())..];
    if n_lines == 1 {
        Some(DropReason::SingleLine)
    } else if is_trivial(body.trim(), language) {
        Some(DropReason::TrivialBody)
    } else {
        (n_lines > limits.code_lines_max).then_some(DropReason::LongCode)
    }
}

/// Returns whether a function is a test by its name.
pub(super) fn is_test(name: &str, language: Language) -> bool {
    match language {
        Language::Python => name.starts_with("test_"),
        Language::Java => name.strip_prefix("test").is_some_and(|rest| rest.starts_with(|c: char| !c.is_lowercase())),
    }
}

/// Returns whether a body does nothing. The bodies of the released code, and as ours the ellipsis and Java's.
fn is_trivial(body: &str, language: Language) -> bool {
    match language {
        Language::Python => {
            matches!(body, "" | "pass" | "..." | "return" | "raise NotImplementedError" | "raise NotImplementedError()")
        }
        Language::Java => {
            let body = body.trim_start_matches('{').trim_end_matches('}').trim();
            matches!(body, "" | "return;" | "throw new UnsupportedOperationException();")
        }
    }
}
