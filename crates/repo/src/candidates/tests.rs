//! Tests of the candidate rules: examples, golden values and properties.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::Value;

use super::*;

const RULES: [(&str, CandidateRule); 3] = [
    ("paper", CandidateRule::SplitAggregate { lines_max: SPLIT_LINES_MAX, variant: SplitVariant::Paper }),
    ("released", CandidateRule::SplitAggregate { lines_max: SPLIT_LINES_MAX, variant: SplitVariant::Released }),
    ("window", CandidateRule::FixedWindow { lines: WINDOW_LINES }),
];

fn python(text: &str) -> SourceFile {
    SourceFile { path: "shop/cart.py".into(), language: Language::Python, text: text.into() }
}

fn check(text: &str, rule: &CandidateRule, expected: &Expect) {
    let candidates = candidates(&python(text), rule).into_iter();
    let lines = candidates.map(|c| format!("{:?} {:?} {:?}", c.lines, c.listed, c.code));
    expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn released_never_exceeds_the_limit() {
    let rule = CandidateRule::SplitAggregate { lines_max: 2, variant: SplitVariant::Released };
    check(
        "a\n\nb\n\nc\nd\ne\n\nf\n",
        &rule,
        &expect![[r#"
            0..3 (1, 2) "a\nb"
            4..6 (3, 4) "c\nd"
            6..9 (5, 6) "e\nf""#]],
    );
}

#[test]
fn paper_appends_whole_mini_blocks_while_below_the_limit() {
    let rule = CandidateRule::SplitAggregate { lines_max: 2, variant: SplitVariant::Paper };
    check(
        "a\n\nb\nc\nd\n\ne\n\nf\n",
        &rule,
        &expect![[r#"
            0..5 (1, 5) "a\nb\nc\nd"
            6..9 (7, 9) "e\nf""#]],
    );
}

#[test]
fn windows_ignore_blank_lines() {
    let rule = CandidateRule::FixedWindow { lines: 2 };
    check(
        "a\n\n\nb\nc\r\n \t\r\n",
        &rule,
        &expect![[r#"
            0..4 (0, 1) "a\nb"
            4..5 (2, 2) "c""#]],
    );
}

#[test]
fn files_without_code_give_no_candidates() {
    for (_, rule) in RULES {
        assert_eq!(candidates(&python(""), &rule), []);
        assert_eq!(candidates(&python("\n \r\n\t\n"), &rule), []);
    }
}

#[test]
fn one_long_line_is_one_candidate() {
    let line = "1+".repeat(3 << 19);
    for (_, rule) in RULES {
        let candidates = candidates(&python(&line), &rule);
        assert_eq!(candidates.len(), 1);
        assert_eq!(candidates[0].code, line);
    }
}

#[test]
fn the_file_with_the_target_gives_none() {
    let (cart, mut stock) = (python("a"), python("b"));
    stock.path = "shop/stock.py".into();
    let candidates = candidates_for(&[&cart, &stock], "shop/cart.py", &CandidateRule::default());
    assert_eq!(candidates.iter().map(|c| c.code.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn text_is_a_comment_in_either_language() {
    let code = candidates(&python("\nclass Cart:\n    lines = 1  \n"), &CandidateRule::default()).remove(0);
    let code = Candidate::Code(code);
    expect![[r"
        # file path: shop/cart.py
        # lines: 2-3
        # class Cart:
        #     lines = 1"]]
    .assert_eq(&code.text(Language::Python));
    expect!["// the code above is enough, nothing from other files is needed here"]
        .assert_eq(&Candidate::Stop.text(Language::Java));
}

/// The golden file's cases are fixture files, or runs of (non-blank, blank) lines.
fn golden_text(case: &Value) -> String {
    if let Some(path) = case["fixture"].as_str() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/");
        return std::fs::read_to_string(format!("{root}{path}")).unwrap();
    }
    let mut text = String::new();
    for run in case["runs"].as_array().unwrap() {
        let count = |index: usize| run[index].as_u64().unwrap() as usize;
        text.push_str(&"code\n".repeat(count(0)));
        text.push_str(&" \n".repeat(count(1)));
    }
    text
}

fn summary(candidates: &[CodeCandidate]) -> Value {
    let row = |c: &CodeCandidate| {
        serde_json::json!([c.lines.start, c.lines.end, c.listed.0, c.listed.1, c.code.chars().count()])
    };
    let rows: Vec<Value> = candidates.iter().map(row).collect();
    let last = &rows[rows.len().saturating_sub(3)..];
    serde_json::json!({ "count": rows.len(), "first": rows[..rows.len().min(12)], "last": last })
}

#[test]
fn candidates_match_the_reference_script() {
    let golden = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/split_aggregate.json"));
    let cases: Vec<Value> = serde_json::from_str(golden).unwrap();
    assert!(cases.len() > 10);
    for case in cases {
        let file = python(&golden_text(&case["input"]));
        for (name, rule) in &RULES {
            assert_eq!(summary(&candidates(&file, rule)), case[name], "{name} of {}", case["input"]);
        }
    }
}

fn source_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![3 => "[a-z]{1,3}", 1 => "[ \t]{0,2}"];
    let ending = prop_oneof![Just("\n"), Just("\r\n")];
    prop::collection::vec((line, ending), 0..80)
        .prop_map(|lines| lines.into_iter().map(|(line, ending)| line + ending).collect())
}

proptest! {
    #[test]
    fn code_is_the_non_blank_lines_in_order(text in source_text(), lines_max in 1..20_usize) {
        let expected: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        for rule in [
            CandidateRule::SplitAggregate { lines_max, variant: SplitVariant::Paper },
            CandidateRule::SplitAggregate { lines_max, variant: SplitVariant::Released },
            CandidateRule::FixedWindow { lines: lines_max },
        ] {
            let candidates = candidates(&python(&text), &rule);
            let code: Vec<&str> = candidates.iter().flat_map(|c| c.code.lines()).collect();
            prop_assert_eq!(&code, &expected);
            prop_assert!(candidates.is_sorted_by(|a, b| a.lines.end <= b.lines.start));
        }
    }

    #[test]
    fn no_candidate_exceeds_its_limit(text in source_text(), lines_max in 1..20_usize) {
        let rule = CandidateRule::SplitAggregate { lines_max, variant: SplitVariant::Released };
        for candidate in candidates(&python(&text), &rule) {
            prop_assert!(candidate.code.lines().count() <= lines_max);
        }
        let rule = CandidateRule::SplitAggregate { lines_max, variant: SplitVariant::Paper };
        for candidate in candidates(&python(&text), &rule) {
            let all: Vec<&str> = text.lines().collect();
            let mini_blocks = all[candidate.lines].split(|line| line.trim().is_empty());
            let lengths: Vec<usize> = mini_blocks.map(<[_]>::len).filter(|&length| length > 0).collect();
            prop_assert!(lengths[..lengths.len() - 1].iter().sum::<usize>() < lines_max);
        }
    }
}
