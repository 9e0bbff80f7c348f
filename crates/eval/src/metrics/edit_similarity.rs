//! Three edit similarities: they differ in distance, in cut, in what whitespace counts and in unit.

use rapidfuzz::distance::{indel, levenshtein};

use super::python_text::{strip, stripped_lines, words};

/// Returns the ratio of the stripped texts as a whole number from 0 to 100.
///
/// The ratio is one minus the number of insertions and deletions over the summed lengths in characters; halves round to
/// the even number. Two empty texts score 100, an empty and another text 0.
///
/// # References
///
/// `CrossCodeEval`, `cal_edit_sim`: fuzzywuzzy's `fuzz.ratio` with python-Levenshtein installed.
#[must_use]
pub fn cceval(prediction: &str, target: &str) -> f64 {
    whole_ratio(strip(prediction), strip(target))
}

/// Returns the ratio of both texts, each run of whitespace made one space, as a whole number from 0 to 100.
///
/// The ratio is that of [`cceval`]; both texts are passed as [`super::toolgen::clean`] leaves them.
///
/// # References
///
/// `ToolGen`, `compute_metrics`: `fuzz.ratio` of fuzzywuzzy.
#[must_use]
pub fn toolgen(cleaned_prediction: &str, cleaned_target: &str) -> f64 {
    let collapsed = |text: &str| words(text).collect::<Vec<_>>().join(" ");
    whole_ratio(&collapsed(cleaned_prediction), &collapsed(cleaned_target))
}

/// The whole-number ratio of fuzzywuzzy with python-Levenshtein installed.
fn whole_ratio(prediction: &str, target: &str) -> f64 {
    if prediction == target {
        return 100.0;
    }
    if prediction.is_empty() || target.is_empty() {
        return 0.0;
    }
    let distance = indel::distance(prediction.chars(), target.chars());
    let length = prediction.chars().count() + target.chars().count();
    (100.0 * (1.0 - distance as f64 / length as f64)).round_ties_even()
}

/// Returns one minus the Levenshtein distance over the longer length, from 0 to 1.
///
/// Compared are the stripped non-blank lines joined by newlines, of the prediction only as many as the target has. Two
/// empty texts score 1, where the original divides by zero.
///
/// # References
///
/// `RepoCoder`, `compute_ES`.
#[must_use]
pub fn repoeval(prediction: &str, target: &str) -> f64 {
    let target = stripped_lines(target);
    let mut prediction = stripped_lines(prediction);
    prediction.truncate(target.len());
    let (prediction, target) = (prediction.join("\n"), target.join("\n"));
    let longest = prediction.chars().count().max(target.chars().count());
    if longest == 0 {
        return 1.0;
    }
    1.0 - levenshtein::distance(prediction.chars(), target.chars()) as f64 / longest as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value} is not {expected}");
    }

    #[test]
    fn a_replacement_costs_two_of_the_summed_lengths() {
        close(cceval(" abcd ", "abxd"), 75.0);
        close(cceval("", ""), 100.0);
        close(cceval("", "a"), 0.0);
    }

    #[test]
    fn runs_of_whitespace_count_as_one_space() {
        close(toolgen("a  b\n\n\tc\u{1f}", "a b c"), 100.0);
        close(toolgen("a b", "ab"), 80.0);
        close(toolgen(" ", ""), 100.0);
    }

    #[test]
    fn halves_round_to_the_even_number() {
        close(cceval("a", "abbbbbbbbbbbbbb"), 12.0);
        close(cceval("abc", "abcbb"), 75.0);
        close(cceval("abc", "abcbbbbbbbbbb"), 38.0);
    }

    #[test]
    fn a_replacement_costs_one_of_the_longer_length() {
        close(repoeval("abcd", "abxd"), 0.75);
        close(repoeval("a\nrest of it", "a"), 1.0);
        close(repoeval("", ""), 1.0);
    }
}
