//! The piece of a text that a question is about: the member around the caret, parsed alone.
//!
//! Most questions come from within a body, and an edit there changes nothing that other code sees. So only the member
//! is parsed, between the braces of a class of its own, and everything around it is as the repository has it. A text
//! that differs elsewhere is parsed as a whole, once per question.

use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

use repo::Language;
use tree_sitter::{Node, Tree};

use super::brackets::closing;
use super::class::{ClassId, ClassKind, Home, MemberKind};
use super::outline::Outline;
use super::scan::{is_opaque, readable};
use super::store::{FileTypes, Store};
use crate::caret::Caret;

/// The identifier that stands at the caret where the text has none.
pub(super) const PLACEHOLDER: &str = "CARET__";

/// A parsed piece of text, kept for the next question about the same piece.
pub(super) struct Parsed {
    pub(super) text: String,
    pub(super) tree: Tree,
}

/// Where the caret is.
pub(super) struct Focus {
    pub(super) parsed: Rc<Parsed>,
    /// The start of the identifier at the caret, within the parsed text.
    pub(super) at: usize,
    pub(super) home: Home,
    pub(super) file: Rc<FileTypes>,
    /// The types around the member, outermost first.
    pub(super) around: Vec<ClassId>,
    /// Whether the member at the caret belongs to the type and not to an object.
    pub(super) is_static: bool,
    /// What the parsed text has before the member; nothing where the caret is between members.
    pub(super) wrapper: usize,
    /// The start of the member in the file.
    start: usize,
    /// What was put in at the caret, and where the parsed text goes on with the file.
    inserted: Range<usize>,
    /// From where on the file's declarations have moved in the caret's text, and by how much.
    moved: (usize, isize),
}

/// A member in its text.
struct Piece {
    file: Rc<FileTypes>,
    home: Home,
    around: Vec<ClassId>,
    /// The member's bytes and form, unless the caret is between members.
    member: Option<(Range<usize>, MemberKind, bool)>,
}

impl Focus {
    /// Finds the caret; `None` if the text cannot be parsed, or if the caret is in a comment or literal.
    pub(super) fn new(store: &Store<'_>, caret: &Caret<'_>, last: &mut Option<Rc<Parsed>>) -> Option<Self> {
        let edit = Edit::of(caret);
        let Some((piece, span)) = within_member(store, caret) else {
            return Self::whole(store, caret, &edit, last);
        };
        let (start, end, text) = (span.start, span.end, &caret.text[span]);
        let at = caret.byte - start;
        if is_opaque(text, 0, at) {
            return None;
        }
        let is_sound = matches!(piece.home, Home::File(index) if store.repository.files()[index].text == caret.text);
        let edited = if is_sound && edit.is_kept { Cow::Borrowed(text) } else { Cow::Owned(edit.apply(text, at)) };
        let mut focus = Self::in_piece(store, piece, &edited, edit.start - start, last)?;
        focus.start = start;
        if let Some(old) = store.repository.file(caret.path) {
            let distance = caret.text.len().cast_signed() - old.text.len().cast_signed();
            focus.moved = (end.saturating_add_signed(-distance), distance);
        }
        focus.inserted = focus.wrapper + at..focus.wrapper + at + edited.len() - text.len() + edit.n_replaced;
        Some(focus)
    }

    /// Parses the whole text, and then the member at the caret.
    fn whole(store: &Store<'_>, caret: &Caret<'_>, edit: &Edit, last: &mut Option<Rc<Parsed>>) -> Option<Self> {
        if is_opaque(&caret.text, 0, caret.byte) {
            return None;
        }
        let text = edit.apply(&caret.text, caret.byte);
        let tree = Language::Java.parse(&readable(&text))?;
        let file = store.edit(store.repository.position(caret.path), Outline::of(&tree, &text));
        let mut piece = piece_at(store, file, Home::Edited, edit.start);
        let inserted = caret.byte..caret.byte + text.len() - caret.text.len() + edit.n_replaced;
        let moved = (inserted.end, -inserted.len().cast_signed());
        let Some((span, ..)) = piece.member.clone() else {
            piece.around.retain(|id| store.class(*id).span.contains(&edit.start));
            return Some(Self {
                parsed: Rc::new(Parsed { text, tree }),
                at: edit.start,
                home: piece.home,
                file: piece.file,
                around: piece.around,
                is_static: false,
                wrapper: 0,
                start: 0,
                inserted,
                moved,
            });
        };
        let mut focus = Self::in_piece(store, piece, &text[span.clone()], edit.start - span.start, last)?;
        let shift = |byte: usize| (byte + focus.wrapper).saturating_sub(span.start);
        (focus.inserted, focus.start) = (shift(inserted.start)..shift(inserted.end), span.start);
        focus.moved = moved;
        Some(focus)
    }

    /// Stands at the beginning of a member of a text that is as the store has it.
    pub(super) fn in_member(
        store: &Store<'_>,
        file: &Rc<FileTypes>,
        home: Home,
        member: &Range<usize>,
        text: &str,
        last: &mut Option<Rc<Parsed>>,
    ) -> Option<Self> {
        let piece = piece_at(store, file.clone(), home, member.start);
        let mut focus = Self::in_piece(store, piece, text.get(member.clone())?, 0, last)?;
        focus.start = member.start;
        Some(focus)
    }

    fn in_piece(
        store: &Store<'_>,
        piece: Piece,
        member: &str,
        at: usize,
        last: &mut Option<Rc<Parsed>>,
    ) -> Option<Self> {
        let (_, kind, is_static) = piece.member?;
        let is_annotation = piece.around.last().is_some_and(|id| store.class(*id).kind == ClassKind::Annotation);
        let wrapper = match kind {
            MemberKind::EnumConstant => "enum X {",
            MemberKind::Method if is_annotation => "@interface X {",
            _ => "class X {",
        };
        let text = [wrapper, member, "\n}"].concat();
        let parsed = if let Some(parsed) = last.take().filter(|parsed| parsed.text == text) {
            parsed
        } else {
            let tree = Language::Java.parse(&readable(&text))?;
            Rc::new(Parsed { text, tree })
        };
        *last = Some(parsed.clone());
        Some(Self {
            parsed,
            at: wrapper.len() + at,
            home: piece.home,
            file: piece.file,
            around: piece.around,
            is_static,
            wrapper: wrapper.len(),
            start: 0,
            inserted: 0..0,
            moved: (usize::MAX, 0),
        })
    }

    /// Returns the nodes from the root to the token at the caret.
    pub(super) fn path(&self) -> Vec<Node<'_>> {
        path_to(&self.parsed.tree, self.at)
    }

    /// Returns where the bytes of a declaration of the file are in the caret's text.
    pub(super) fn moved(&self, span: &Range<usize>) -> Range<usize> {
        let (from, distance) = self.moved;
        let byte = |byte: usize| if byte >= from { byte.saturating_add_signed(distance) } else { byte };
        byte(span.start)..byte(span.end)
    }

    /// Returns the bytes of the file that are those of the parsed text, if they are the file's.
    pub(super) fn in_file(&self, span: &Range<usize>) -> Option<Range<usize>> {
        let n_inserted = self.inserted.len();
        let byte = |byte: usize| {
            let is_behind = n_inserted > 0 && byte >= self.inserted.end;
            let byte = byte.checked_sub(self.wrapper + if is_behind { n_inserted } else { 0 })?;
            Some(byte + self.start)
        };
        Some(byte(span.start)?..byte(span.end)?)
    }
}

/// Returns the nodes from the root to the token that `at` is in or before.
pub(super) fn path_to(tree: &Tree, at: usize) -> Vec<Node<'_>> {
    let mut cursor = tree.walk();
    let mut path = vec![cursor.node()];
    while cursor.goto_first_child() {
        while cursor.node().end_byte() <= at {
            if !cursor.goto_next_sibling() {
                return path;
            }
        }
        path.push(cursor.node());
    }
    path
}

/// What is put in at the caret so that the text can be parsed.
struct Edit {
    /// The start of the identifier at the caret.
    start: usize,
    /// Bytes behind the caret that the placeholder takes the place of.
    n_replaced: usize,
    /// What stands at the caret in its place.
    insertion: &'static str,
    is_kept: bool,
}

fn is_keyword(word: &str) -> bool {
    Language::Java.keywords().binary_search(&word).is_ok()
}

/// Keywords that are expressions or begin them.
const EXPRESSIONS: [&str; 6] = ["this", "super", "true", "false", "null", "new"];

impl Edit {
    fn of(caret: &Caret<'_>) -> Self {
        let start = caret.byte - caret.prefix().len();
        let word = caret.word().map(|word| &caret.text[word]).unwrap_or_default();
        let is_identifier = !word.is_empty() && !is_keyword(word) && !word.starts_with(char::is_numeric);
        let behind = &word[caret.prefix().len().min(word.len())..];
        let (insertion, n_replaced) = match word {
            _ if is_identifier => ("", 0),
            "" => (PLACEHOLDER, 0),
            _ if behind.is_empty() => ("CARET__", 0),
            _ if EXPRESSIONS.contains(&word) || word.starts_with(char::is_numeric) => (PLACEHOLDER, behind.len()),
            _ => ("CARET__; ", 0),
        };
        Self { start, n_replaced, insertion, is_kept: is_identifier }
    }

    /// Returns the text with the placeholder, and with every bracket closed that the text leaves open.
    fn apply(&self, text: &str, at: usize) -> String {
        let (before, behind) = (&text[..at], &text[at + self.n_replaced..]);
        let closing = closing(text, at);
        if closing.is_empty() {
            return [before, self.insertion, behind].concat();
        }
        // The rest of an identifier that is read as code goes before the brackets.
        let word =
            if self.is_kept { behind.find(|c| !repo::identifiers::is_word(c)).unwrap_or(behind.len()) } else { 0 };
        [before, self.insertion, &behind[..word], &closing, &behind[word..]].concat()
    }
}

/// Finds the member of the repository's own file that holds the caret and every edit of the text.
fn within_member(store: &Store<'_>, caret: &Caret<'_>) -> Option<(Piece, Range<usize>)> {
    let index = store.repository.position(caret.path)?;
    let file = &store.repository.files()[index];
    if file.language != Language::Java || !store.file(index).is_sound {
        return None;
    }
    let (old, new) = (file.text.as_bytes(), caret.text.as_bytes());
    if old == new {
        let piece = piece_at(store, store.file(index), Home::File(index), caret.byte);
        let span = piece.member.as_ref()?.0.clone();
        return Some((piece, span));
    }
    let before = &new[..caret.byte];
    let n_before = old.iter().zip(before).take_while(|(old, new)| old == new).count();
    let ends = old[n_before..].iter().rev().zip(new[n_before..].iter().rev());
    let n_behind = ends.take_while(|(old, new)| old == new).count();
    let piece = piece_at(store, store.file(index), Home::File(index), n_before);
    let (member, ..) = piece.member.clone()?;
    let is_inside = |byte: usize| member.start < byte && byte <= member.end;
    let is_after_header = text_before(&file.text, &member, n_before).contains(['{', '=', '(']);
    let (end, new_end) = (old.len() - n_behind, new.len().checked_sub(old.len() - member.end)?);
    let fits = is_inside(n_before) && is_inside(end) && is_after_header && caret.byte <= new_end;
    let is_boundary = caret.text.is_char_boundary(new_end) && member.start <= caret.byte;
    (fits && is_boundary).then_some((piece, member.start..new_end))
}

fn text_before<'text>(text: &'text str, member: &Range<usize>, end: usize) -> &'text str {
    text.get(member.start..end).unwrap_or_default()
}

/// Finds the member at a byte of a file.
fn piece_at(store: &Store<'_>, file: Rc<FileTypes>, home: Home, byte: usize) -> Piece {
    // Types are listed in the order of their start, so the last that holds the byte is the innermost.
    let mut innermost = None;
    for id in &file.types {
        let class = store.class(*id);
        if class.span.start <= byte && byte <= class.span.end {
            innermost = Some(*id);
        }
    }
    let mut around = Vec::new();
    let mut at = innermost;
    while let Some(id) = at {
        around.push(id);
        at = store.class(id).outer;
    }
    around.reverse();
    let class = innermost.map(|id| store.class(id));
    let member = class.and_then(|class| {
        let member = class.members.at(byte)?;
        Some((member.span.clone(), member.kind, member.is_static))
    });
    Piece { file, home, around, member }
}
