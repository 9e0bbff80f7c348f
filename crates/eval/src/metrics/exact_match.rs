//! Four ways to say that a prediction is right.

use super::python_text::{is_space, strip, stripped_lines};

/// Says whether the stripped non-blank lines of both texts are equal.
///
/// Both texts are passed as [`super::cceval::without_comments`] leaves them, the prediction cut to its first statement.
///
/// # References
///
/// `CrossCodeEval`, `process_examples`. Lines end at a newline only.
#[must_use]
pub fn cceval(prediction: &str, target: &str) -> bool {
    newline_lines(prediction).eq(newline_lines(target))
}

/// Says whether the first stripped non-blank lines of the prediction, as many as the target has, equal those of the
/// target.
///
/// # References
///
/// `RepoCoder`, `compute_EM`.
#[must_use]
pub fn repoeval(prediction: &str, target: &str) -> bool {
    let target = stripped_lines(target);
    let prediction = stripped_lines(prediction);
    prediction.len() >= target.len() && prediction[..target.len()] == target[..]
}

/// Says whether, without whitespace, one of the texts starts with the other.
///
/// An empty prediction therefore counts as right, and so does a prediction that stops after the first right letter: do
/// not compare arms by this number alone. It is kept to reproduce what `RLCoder` prints for its `GitHubEval` set.
///
/// # References
///
/// `RLCoder`, `main.py`, branch `github_eval`.
#[must_use]
pub fn rlcoder_github(prediction: &str, target: &str) -> bool {
    let packed = |text: &str| text.chars().filter(|c| !is_space(*c)).collect::<String>();
    let (prediction, target) = (packed(prediction), packed(target));
    prediction.starts_with(&target) || target.starts_with(&prediction)
}

/// Says whether both texts are equal as [`super::toolgen::clean`] leaves them.
///
/// # References
///
/// `ToolGen`, `compute_metrics`.
#[must_use]
pub fn toolgen(cleaned_prediction: &str, cleaned_target: &str) -> bool {
    cleaned_prediction == cleaned_target
}

fn newline_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').map(strip).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cceval_ignores_indentation_and_blank_lines_only() {
        assert!(cceval("  a(\n\n b)", "a(\nb)\n"));
        assert!(!cceval("a(b)", "a(\nb)"));
        assert!(!cceval("a\nb", "a"));
    }

    #[test]
    fn repoeval_ignores_what_follows_the_lines_of_the_target() {
        assert!(repoeval("a\n\nb\nrest", " a\nb"));
        assert!(!repoeval("a", "a\nb"));
    }

    #[test]
    fn a_prefix_match_holds_for_an_empty_prediction() {
        assert!(rlcoder_github("", "return x"));
        assert!(rlcoder_github("re turn", "return x"));
        assert!(rlcoder_github("return x + 1", "return x"));
        assert!(!rlcoder_github("return y", "return x"));
    }
}
