//! Licenses: what a repository states, as an SPDX expression, and whether it is allowed.

/// Spellings that registries and projects use, in lower case, with the SPDX identifier they mean.
const SPELLINGS: [(&str, &str); 19] = [
    ("mit license", "MIT"),
    ("the mit license", "MIT"),
    ("apache software license", "Apache-2.0"),
    ("apache license 2.0", "Apache-2.0"),
    ("apache license, version 2.0", "Apache-2.0"),
    ("apache license version 2.0", "Apache-2.0"),
    ("apache 2.0", "Apache-2.0"),
    ("apache 2", "Apache-2.0"),
    ("apache2", "Apache-2.0"),
    ("bsd license", "BSD"),
    ("3-clause bsd license", "BSD-3-Clause"),
    ("bsd 3-clause", "BSD-3-Clause"),
    ("new bsd", "BSD-3-Clause"),
    ("new bsd license", "BSD-3-Clause"),
    ("2-clause bsd license", "BSD-2-Clause"),
    ("bsd 2-clause", "BSD-2-Clause"),
    ("isc license (iscl)", "ISC"),
    ("mozilla public license 2.0 (mpl 2.0)", "MPL-2.0"),
    ("python software foundation license", "PSF-2.0"),
];

/// Phrases of license texts, in lower case with single spaces, the more specific first.
const PHRASES: [(&str, &str); 12] = [
    ("gnu affero general public license", "AGPL"),
    ("gnu lesser general public license", "LGPL"),
    ("gnu general public license", "GPL"),
    ("mozilla public license version 2.0", "MPL-2.0"),
    ("mozilla public license, version 2.0", "MPL-2.0"),
    ("apache license version 2.0", "Apache-2.0"),
    ("licensed under the apache license, version 2.0", "Apache-2.0"),
    ("permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"),
    ("permission to use, copy, modify, and/or distribute this software for any purpose", "ISC"),
    ("this is free and unencumbered software released into the public domain", "Unlicense"),
    ("neither the name of", "BSD-3-Clause"),
    ("redistribution and use in source and binary forms", "BSD-2-Clause"),
];

/// The longest statement that is taken for an expression rather than a license text, in bytes.
const EXPRESSION_BYTES_MAX: usize = 120;

/// Returns the SPDX spelling of a license statement.
pub(crate) fn normalize(statement: &str) -> String {
    let statement = statement.trim();
    let lower = statement.to_lowercase();
    let known = SPELLINGS.iter().find(|(spelling, _)| *spelling == lower);
    known.map_or(statement, |(_, identifier)| identifier).to_owned()
}

/// Returns the license that a license file grants, from its text.
pub(crate) fn of_text(text: &str) -> Option<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    PHRASES.iter().find(|(phrase, _)| text.contains(phrase)).map(|(_, identifier)| (*identifier).to_owned())
}

/// Returns the license that the core metadata of a Python package states: the expression, else the classifiers, else the
/// short form of the old field.
pub(crate) fn of_metadata(metadata: &str) -> Option<String> {
    let header = metadata.split("\n\n").next().unwrap_or_default();
    let field = |name| field(header, name);
    let short = |value: &&str| value.len() <= EXPRESSION_BYTES_MAX && !value.eq_ignore_ascii_case("unknown");
    let old = field("License").find(short).map(normalize).filter(|license| is_identifier(license));
    let classifiers: Vec<String> = field("Classifier")
        .filter_map(|classifier| classifier.strip_prefix("License :: ")?.rsplit(" :: ").next())
        .filter(|classifier| *classifier != "OSI Approved")
        .map(normalize)
        .collect();
    let expression = field("License-Expression").next().map(normalize);
    expression.or(old).or_else(|| (!classifiers.is_empty()).then(|| classifiers.join(" OR ")))
}

/// Returns whether the license is allowed: every identifier of some alternative is in the list. An empty list allows
/// everything.
pub(crate) fn is_allowed(license: Option<&str>, allowed: &[String]) -> bool {
    if allowed.is_empty() {
        return true;
    }
    let Some(license) = license else { return false };
    let padded = license.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = padded.split_whitespace().collect();
    if license.len() > EXPRESSION_BYTES_MAX {
        return false;
    }
    let mut expression = Expression { words: &words, allowed };
    expression.alternatives() && expression.words.is_empty()
}

fn field<'a>(header: &'a str, name: &'static str) -> impl Iterator<Item = &'a str> {
    let values = header.lines().filter_map(move |line| line.strip_prefix(name)?.strip_prefix(": "));
    values.map(str::trim).filter(|value| !value.is_empty())
}

fn is_identifier(license: &str) -> bool {
    license.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '+' | ' ' | '(' | ')'))
        && license.split_whitespace().count() <= 5
        && !license.contains("Copyright")
}

/// A recursive-descent evaluator; the length limit bounds its depth.
struct Expression<'a> {
    words: &'a [&'a str],
    allowed: &'a [String],
}

impl Expression<'_> {
    fn alternatives(&mut self) -> bool {
        let mut allowed = self.conjunction();
        while self.take("OR") {
            allowed |= self.conjunction();
        }
        allowed
    }

    fn conjunction(&mut self) -> bool {
        let mut allowed = self.operand();
        while self.take("AND") {
            allowed &= self.operand();
        }
        allowed
    }

    fn operand(&mut self) -> bool {
        if self.take("(") {
            let allowed = self.alternatives();
            return self.take(")") && allowed;
        }
        let is_operand = |word: &&&str| !matches!(**word, "OR" | "AND" | "(" | ")");
        let n_words = self.words.iter().take_while(is_operand).count();
        let (name, rest) = self.words.split_at(n_words);
        self.words = rest;
        let name = normalize(&name.join(" "));
        self.allowed.iter().any(|allowed| normalize(allowed).eq_ignore_ascii_case(&name))
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.words.first().is_some_and(|first| first.eq_ignore_ascii_case(word));
        if found {
            self.words = &self.words[1..];
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_evaluated() {
        let allowed = ["MIT", "Apache-2.0", "BSD-3-Clause"].map(str::to_owned);
        let check = |license: &str| is_allowed(Some(license), &allowed);
        assert!(check("MIT"));
        assert!(check("MIT License"));
        assert!(check("mit"));
        assert!(check("GPL-3.0-only OR MIT"));
        assert!(check("MIT AND Apache-2.0"));
        assert!(check("(GPL-2.0 OR MIT) AND BSD-3-Clause"));
        assert!(!check("(GPL-2.0 OR MIT) AND GPL-3.0"));
        assert!(!check("MIT AND GPL-3.0"));
        assert!(!check("GPL-3.0"));
        assert!(!check("(MIT"));
        assert!(!check(&format!("{}MIT", "(".repeat(100_000))));
        assert!(!is_allowed(None, &allowed));
        assert!(is_allowed(None, &[]));
    }

    #[test]
    fn package_metadata_is_read_in_its_three_forms() {
        let of = |text: &str| of_metadata(text);
        assert_eq!(
            of("Name: a\nLicense-Expression: MIT OR Apache-2.0\n\nLicense: no\n").as_deref(),
            Some("MIT OR Apache-2.0")
        );
        assert_eq!(
            of("Name: a\nLicense: BSD-3-Clause\nClassifier: License :: OSI Approved :: BSD License\n").as_deref(),
            Some("BSD-3-Clause")
        );
        assert_eq!(
            of("License: Copyright 2008 A\nClassifier: License :: OSI Approved :: BSD License\n").as_deref(),
            Some("BSD")
        );
        assert_eq!(of("License: UNKNOWN\n"), None);
        assert_eq!(of("Name: a\n\nLicense: MIT\n"), None);
    }

    #[test]
    fn license_texts_are_recognized() {
        assert_eq!(
            of_text("Permission is hereby granted, free of\n charge, to any person obtaining a copy").as_deref(),
            Some("MIT")
        );
        assert_eq!(
            of_text("Redistribution and use in source and binary forms\n... Neither the name of X").as_deref(),
            Some("BSD-3-Clause")
        );
        assert_eq!(of_text("GNU GENERAL PUBLIC LICENSE").as_deref(), Some("GPL"));
        assert_eq!(of_text("All rights reserved."), None);
    }
}
