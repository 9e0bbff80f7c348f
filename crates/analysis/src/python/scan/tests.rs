//! Nesting, sizes and open brackets of small texts.

use super::*;
use proptest::prelude::*;

fn closed(text: &str) -> String {
    let byte = text.find('|').unwrap();
    let text = text.replace('|', "");
    closers(&text, byte).into_owned()
}

#[test]
fn what_a_cut_statement_leaves_open_is_closed() {
    assert_eq!(closed("f(a, [b, {|\n\n@property\ndef g(): pass\n"), "}])");
    assert_eq!(closed("f(a, |\n\nif x:\n    g()\n"), ")");
    assert_eq!(closed("x = f'{a.|\ny = 1\n"), "}'");
}

#[test]
fn what_the_text_closes_itself_is_left() {
    assert_eq!(closed("f(a,\n  |\n  b)\n"), "");
    assert_eq!(closed("f(|)\n"), "");
    assert_eq!(closed("x = |\n"), "");
    assert_eq!(closed("# f(|\n"), "");
    assert_eq!(closed("x = f'{a:#x}'\ny = |\n"), "");
}

#[test]
fn nesting_counts_what_no_comma_ends() {
    assert_eq!(size("x = [1, 2, 3, 4, 5]\ny = 1\n").nesting, 4);
    assert!(size(&"(".repeat(500)).nesting >= 500);
    assert!(size(&"1+".repeat(500)).nesting >= 1000);
    assert!(size(&format!("x = [{}]", "1,".repeat(500))).nesting < 10);
    assert!(size(&format!("'{}'", "(".repeat(500))).nesting < 10);
}

#[test]
fn blocks_count_by_indentation() {
    assert_eq!(blocks("if a:\n  if b:\n\n    c\nd\n"), 3);
    assert_eq!(blocks(""), 0);
}

proptest! {
    #[test]
    fn any_text_is_scanned(text in "[a(\\[{}\\])'\"f#\\\\\n, é]{0,60}") {
        let byte = text.char_indices().map(|(at, _)| at).nth(20).unwrap_or(text.len());
        closers(&text, byte);
        prop_assert!(size(&text).nesting <= text.len());
    }
}
