//! Marks, and writing them into a text and taking them out.

/// What is written before an identifier that the tool can suggest.
pub const TRIGGER: &str = "<COMP>";

/// A place where the tool is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// The byte of the unmarked text at which the identifier begins.
    pub offset: usize,
    /// How many identifiers the tool suggests there, the right one among them.
    pub n_suggestions: usize,
}

/// Writes a [`TRIGGER`] into `text` at each of `offsets`, which are bytes of `text` in order.
///
/// # Panics
///
/// Panics if the offsets are not in order or not on character boundaries of `text`.
#[must_use]
pub fn mark(text: &str, offsets: impl IntoIterator<Item = usize>) -> String {
    let mut marked = String::with_capacity(text.len());
    let mut written = 0;
    for offset in offsets {
        marked.push_str(&text[written..offset]);
        marked.push_str(TRIGGER);
        written = offset;
    }
    marked.push_str(&text[written..]);
    marked
}

/// Takes out the triggers that [`mark`] wrote at `offsets` of the unmarked text, and no other.
///
/// Returns `None` if one of them is not where it should be.
#[must_use]
pub fn unmark(marked: &str, offsets: impl IntoIterator<Item = usize>) -> Option<String> {
    let mut text = String::with_capacity(marked.len());
    let mut rest = marked;
    for offset in offsets {
        let (before, after) = rest.split_at_checked(offset.checked_sub(text.len())?)?;
        text.push_str(before);
        rest = after.strip_prefix(TRIGGER)?;
    }
    text.push_str(rest);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_trigger_stands_before_its_identifier() {
        assert_eq!(mark("x = größe.y", [4, 12]), "x = <COMP>größe.<COMP>y");
        assert_eq!(mark("", []), "");
    }

    #[test]
    fn what_was_not_marked_is_not_unmarked() {
        assert_eq!(unmark("x = y", [4]), None);
        assert_eq!(unmark("x", [9]), None);
        assert_eq!(unmark("é<COMP>", [1]), None);
        assert_eq!(unmark("<COMP>a<COMP>b", [1, 0]), None);
    }

    fn text_and_offsets(text: &'static str) -> impl Strategy<Value = (String, Vec<usize>)> {
        (text, prop::collection::vec(any::<prop::sample::Index>(), 0..8)).prop_map(|(text, indices)| {
            let boundaries: Vec<usize> = (0..=text.len()).filter(|&at| text.is_char_boundary(at)).collect();
            let mut offsets: Vec<usize> = indices.iter().map(|index| *index.get(&boundaries)).collect();
            offsets.sort_unstable();
            (text, offsets)
        })
    }

    proptest! {
        #[test]
        fn removing_marks_gives_the_text((text, offsets) in text_and_offsets("(<COMP>|<CO|MP>|[a-zé😀 \n.<>]){0,12}")) {
            let marked = mark(&text, offsets.iter().copied());
            prop_assert_eq!(marked.len(), text.len() + offsets.len() * TRIGGER.len());
            prop_assert_eq!(unmark(&marked, offsets), Some(text));
        }

        #[test]
        fn deleting_every_trigger_gives_a_text_that_holds_none((text, offsets) in text_and_offsets("(<CO|MP>|[a-zé😀 \n.<>]){0,12}")) {
            // `<CO` and `MP>` may meet.
            let (text, offsets) = if text.contains(TRIGGER) { (String::new(), Vec::new()) } else { (text, offsets) };
            prop_assert_eq!(mark(&text, offsets).replace(TRIGGER, ""), text);
        }
    }
}
