//! What a file declares at its top, found without parsing it.

use repo::identifiers::is_word;

use super::scan::{Scan, Token};

/// What a glance at a file says: its package, and the types at its top.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Glance {
    pub(super) package: String,
    pub(super) types: Vec<String>,
}

/// Reads package and top-level types of a file without parsing it.
pub(super) fn glance(text: &str) -> Glance {
    let mut glance = Glance::default();
    let (mut depth, mut last, mut in_package) = (0_usize, "", false);
    for (_, token) in Scan::new(text, 0..text.len()) {
        match token {
            Token::Sign(b'{' | b'(') => depth += 1,
            Token::Sign(b'}' | b')') => depth = depth.saturating_sub(1),
            Token::Sign(b';') => in_package = false,
            Token::Sign(b'.') if in_package => glance.package.push('.'),
            Token::Comment => continue,
            Token::Sign(_) => {}
            Token::Word("package") if depth == 0 && glance.package.is_empty() => in_package = true,
            Token::Word(word) if in_package => glance.package.push_str(word),
            Token::Word(word) => {
                let is_name = word.starts_with(is_word) && !matches!(word, "class" | "interface" | "enum" | "record");
                if depth == 0 && is_name && matches!(last, "class" | "interface" | "enum" | "record") {
                    glance.types.push(word.to_owned());
                }
                last = word;
                continue;
            }
        }
        last = "";
    }
    glance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glance_finds_package_and_types() {
        let text =
            "/* class X */ package a.b; import c.D; @A(b = C.class) public final class E { class F {} } enum G {}";
        assert_eq!(glance(text), Glance { package: "a.b".into(), types: vec!["E".into(), "G".into()] });
    }
}
