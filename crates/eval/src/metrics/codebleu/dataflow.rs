//! Where the values of variables come from, and how much of it two texts share.
//!
//! ```text
//! tree -> tokens -> walk (assignments, branches, loops) -> items, one per token -> variables numbered -> shared
//! ```

mod items;

mod tokens;

mod walk;

use repo::Language;

use super::tree::FlatTree;

/// Trees with more levels have no data flow: the original recurses, and Python stops it at about a thousand.
pub const DEPTH_MAX: usize = 980;

/// The number of steps after which a text has no data flow. The original runs loops twice at every level, so that its
/// time doubles with each.
pub const STEPS_MAX: usize = 1 << 22;

/// Returns how many data-flow items of the target the prediction has, and how many the target has.
///
/// # References
///
/// `CodeBLEU`, `corpus_dataflow_match`: items are compared with multiplicity.
pub(super) fn matches(prediction: &FlatTree<'_>, target: &FlatTree<'_>, language: Language) -> (usize, usize) {
    let predicted = items::normalized(walk::edges(prediction, language));
    let wanted = items::normalized(walk::edges(target, language));
    (items::shared(predicted, &wanted), wanted.len())
}

#[cfg(test)]
mod tests {
    use repo::syntax::Preorder;

    use super::*;

    fn counts(prediction: &str, target: &str, language: Language) -> (usize, usize) {
        let (left, right) = (language.parse(prediction), language.parse(target));
        let left = FlatTree::new(prediction, left.as_ref().map(Preorder::new));
        matches(&left, &FlatTree::new(target, right.as_ref().map(Preorder::new)), language)
    }

    #[test]
    fn variables_are_numbered_in_order() {
        assert_eq!(counts("a = 1\nb = a", "x = 1\ny = x", Language::Python), (4, 4));
        assert_eq!(counts("a = 1\nb = 2", "x = 1\ny = x", Language::Python), (2, 4));
        assert_eq!(counts("int a = 1; a++;", "int x = 1; x++;", Language::Java), (3, 3));
    }

    #[test]
    fn branches_and_loops_are_followed() {
        let code = "x = 0\nif c:\n    x = 1\nelse:\n    x = 2\nfor i in x:\n    x = x + i\nwhile x:\n    y = x\n";
        let (matches, total) = counts(code, code, Language::Python);
        assert!(matches == total && total > 8, "{matches} of {total}");
    }

    #[test]
    fn what_would_take_forever_has_no_data_flow() {
        let loops: String = (0..40).map(|depth| " ".repeat(depth) + "while x:\n").collect();
        let code = loops + &" ".repeat(40) + "x = x\n";
        assert_eq!(counts(&code, &code, Language::Python), (0, 0));
        let deep = format!("x = {}1\n", "1+\\\n".repeat(2 * DEPTH_MAX));
        assert_eq!(counts(&deep, &deep, Language::Python), (0, 0));
    }
}
