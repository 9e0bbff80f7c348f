//! The names behind triggers, found in text as the regular expressions of `ToolGen`'s released code find them.

use analysis::triggers::TRIGGER;
use repo::identifiers::is_word;

use super::super::python_text::is_space;

/// Returns the names behind the triggers of a text, in order: matches of `\W(\w+\.)*<COMP>(\w+)\s*([^\w\.=]|$)`, the
/// last of the dotted names before the trigger with the name behind it.
pub(super) fn marked(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
    // Where the search goes on: a match takes up the character behind the name.
    let mut from = 0;
    for (trigger, _) in text.match_indices(TRIGGER) {
        let Some(dotted) = dotted_start(text, from, trigger) else { continue };
        let behind = &text[trigger + TRIGGER.len()..];
        let name = &behind[..behind.len() - behind.trim_start_matches(is_word).len()];
        let Some(taken) = taken(&behind[name.len()..]).filter(|_| !name.is_empty()) else { continue };
        keys.push(format!("{}{name}", &text[dotted..trigger]));
        from = trigger + TRIGGER.len() + name.len() + taken;
    }
    keys
}

/// Returns where the dotted name before a trigger begins, the trigger itself if there is none; `None` if no character
/// that is not of a word stands before it all, from `from` on.
fn dotted_start(text: &str, from: usize, trigger: usize) -> Option<usize> {
    let before = text.get(from..trigger)?;
    let dotted = before.strip_suffix('.').map(|object| object.trim_end_matches(is_word));
    if let Some(outside) = dotted.filter(|outside| outside.len() + 1 < before.len() && !outside.is_empty()) {
        return Some(from + outside.len());
    }
    before.ends_with(|c| !is_word(c)).then_some(trigger)
}

/// Returns how much of `behind`, which follows a name, the match takes up; `None` if there is no match.
fn taken(behind: &str) -> Option<usize> {
    let rest = behind.trim_start_matches(is_space);
    let space = behind.len() - rest.len();
    match rest.chars().next() {
        None => Some(behind.len()),
        Some(next) if !is_word(next) && !matches!(next, '.' | '=') => Some(space + next.len_utf8()),
        Some(_) => (space > 0).then_some(space),
    }
}

/// Returns whether a text holds a name as a whole word.
pub(super) fn holds_word(text: &str, name: &str) -> bool {
    text.match_indices(name)
        .any(|(start, _)| !text[..start].ends_with(is_word) && !text[start + name.len()..].starts_with(is_word))
}

/// Returns whether a name seems to be bound by the function itself.
pub(super) fn is_bound(key: &str, function: &str, signature: &str) -> bool {
    let root = key.split('.').next().unwrap_or_default();
    let is_assigned = behind(function, "", root).any(|rest| reaches(rest, "=", 0));
    let is_alias = behind(function, "as", root).any(|rest| rest.trim_start_matches(is_space).starts_with(':'));
    let is_looped = behind(function, "for", root).any(|rest| reaches(rest, "in", 1));
    let is_imported = behind(function, "from", key).any(|rest| reaches(rest, "import", 1));
    is_assigned || is_alias || is_looped || is_imported || !key.contains('.') && holds_word(signature, root)
}

/// Returns what follows each `name` that stands behind `opening` and white space.
fn behind<'t>(text: &'t str, opening: &'t str, name: &'t str) -> impl Iterator<Item = &'t str> {
    let follows = move |start: usize| {
        let before = text[..start].trim_end_matches(is_space);
        before.len() < start && before.ends_with(opening)
    };
    text.match_indices(name).filter(move |(start, _)| follows(*start)).map(|(start, _)| &text[start + name.len()..])
}

/// Returns whether `(\W+\w+)*`, at least `spaces_min` characters of white space and `closing` begin `rest`, which follows
/// a name.
fn reaches(rest: &str, closing: &str, spaces_min: usize) -> bool {
    rest.match_indices(closing).any(|(start, _)| {
        let between = rest[..start].trim_end_matches(is_space);
        let n_spaces = rest[..start].len() - between.len();
        let is_between = between.is_empty() || !between.starts_with(is_word) && between.ends_with(is_word);
        n_spaces >= spaces_min && is_between
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_a_trigger_and_one_dotted_name_before_it_give() {
        let text =
            "def f(self): return self.<COMP>area(<COMP>x, a.b.<COMP>c)\n<COMP>y = <COMP>z.<COMP>w\n<COMP>k=<COMP>v";
        // The parenthesis belongs to the match before, `z` and `k` are followed by a period and an equals sign.
        assert_eq!(marked(text), ["self.area", "b.c", "y", "z.w", "v"]);
    }
}
