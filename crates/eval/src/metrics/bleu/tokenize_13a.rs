//! The tokens of `sacrebleu`, which are those of the campaigns on machine translation.

use super::super::python_text::{strip_end, words};

/// Cuts a text into words, with punctuation apart but for periods and commas within numbers.
///
/// # References
///
/// `sacrebleu` 2.5, `Tokenizer13a`, which repeats `mteval-v13a.pl`.
#[must_use]
pub fn tokenize_13a(text: &str) -> Vec<String> {
    let text = strip_end(text).replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    let text = [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")]
        .into_iter()
        .fold(text, |text, (entity, sign)| text.replace(entity, sign));
    let is_point = |c: char| matches!(c, '.' | ',');
    let is_digit = |c: char| c.is_ascii_digit();
    let mut spaced: Vec<char> = Vec::new();
    for character in format!(" {text} ").chars() {
        if is_sign(character) { spaced.extend([' ', character, ' ']) } else { spaced.push(character) }
    }
    let spaced = apart(&spaced, |a, b| !is_digit(a) && is_point(b), |a, b| vec![a, ' ', b, ' ']);
    let spaced = apart(&spaced, |a, b| is_point(a) && !is_digit(b), |a, b| vec![' ', a, ' ', b]);
    let spaced = apart(&spaced, |a, b| is_digit(a) && b == '-', |a, b| vec![a, ' ', b, ' ']);
    words(&spaced.into_iter().collect::<String>()).map(str::to_owned).collect()
}

/// Returns whether a character is punctuation that always stands apart; the apostrophe is not, nor are `,`, `-` and `.`.
fn is_sign(character: char) -> bool {
    matches!(character, '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/')
}

/// Replaces every pair that `matches`, from left to right, without overlap.
fn apart(text: &[char], matches: impl Fn(char, char) -> bool, with: impl Fn(char, char) -> Vec<char>) -> Vec<char> {
    let mut kept = Vec::with_capacity(text.len());
    let mut index = 0;
    while let Some(first) = text.get(index) {
        match text.get(index + 1) {
            Some(second) if matches(*first, *second) => {
                kept.extend(with(*first, *second));
                index += 2;
            }
            _ => {
                kept.push(*first);
                index += 1;
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_stand_apart_but_not_points_in_numbers() {
        let tokens = |text: &str| tokenize_13a(text).join(" ");
        assert_eq!(tokens("f(a.b, 1.5)  # it's x[0]-1"), "f ( a . b , 1.5 ) # it's x [ 0 ] -1");
        assert_eq!(tokens("a-\nb &lt;c&gt; &amp;&quot; 3-4 ..."), "ab < c > & \" 3 - 4 . . .");
        assert_eq!(tokens(" \n"), "");
    }
}
