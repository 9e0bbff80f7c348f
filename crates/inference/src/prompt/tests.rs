//! Prompts: budgets, seams and what is shown.

use super::*;
use crate::fixtures::{self, code};
use crate::infill::InfillTokens;
use expect_test::expect;
use proptest::prelude::*;

const LEFT: &str = "import os\n\n\ndef main():\n    path = os.";

fn rule(cross_tokens_max: usize, context_tokens_max: usize) -> PromptRule {
    PromptRule { cross_tokens_max, context_tokens_max, ..PromptRule::default() }
}

fn cursor(left_context: &str) -> Cursor<'_> {
    Cursor { path: "app/main.py", language: Language::Python, left_context, right_context: "" }
}

#[test]
fn a_prompt_is_the_candidates_the_path_and_the_left_context() {
    let tokenizer = fixtures::tokenizer();
    let (first, second) = (code("a.py", "x = 1\ny = 2"), code("b.py", "class B: pass"));
    let prompt = build(&tokenizer, &rule(512, 1024), cursor(LEFT), &[&first, &second, &Candidate::Stop, &first]);
    expect![[r"
        # file path: a.py
        # lines: 1-2
        # x = 1
        # y = 2

        # file path: b.py
        # lines: 1-1
        # class B: pass

        # file path: app/main.py

        import os


        def main():
            path = os."]]
    .assert_eq(&tokenizer.decode(&prompt.tokens));
    assert_eq!(prompt.shown, [Shown::Whole, Shown::Whole, Shown::Not, Shown::Not]);
    assert_eq!((prompt.cross_bytes_dropped, prompt.left_bytes_dropped), (0, 0));
    assert_eq!(prompt.tokens.len(), prompt.cross_tokens + prompt.path_tokens + prompt.left_tokens);
}

#[test]
fn nothing_chosen_leaves_the_path_and_the_left_context() {
    let tokenizer = fixtures::tokenizer();
    for chosen in [&[][..], &[&Candidate::Stop][..]] {
        let prompt = build(&tokenizer, &rule(512, 1024), cursor("x = "), chosen);
        assert_eq!(tokenizer.decode(&prompt.tokens), "\n\n# file path: app/main.py\n\nx = ");
        assert_eq!((prompt.cross_tokens, prompt.cross_bytes_dropped), (0, 0));
    }
}

#[test]
fn the_path_is_a_comment_of_the_language_but_a_hash_comment_in_the_released_code() {
    let tokenizer = fixtures::tokenizer();
    let cursor = Cursor { path: "A.java", language: Language::Java, left_context: "int x", right_context: "" };
    let released = PromptRule { variant: Variant::Released, ..PromptRule::default() };
    let text = |rule| tokenizer.decode(&build(&tokenizer, &rule, cursor, &[]).tokens);
    assert_eq!(text(PromptRule::default()), "\n\n// file path: A.java\n\nint x");
    assert_eq!(text(released), "\n\n# file path: A.java\n\nint x");
}

#[test]
fn candidates_over_their_budget_are_cut_and_counted() {
    let tokenizer = fixtures::tokenizer();
    let (first, second) = (code("a.py", "x = 1"), code("b.py", "y = 2"));
    let whole = tokenizer.encode(&first.text(Language::Python)).len();
    let shown = |cross_tokens_max| {
        let prompt = build(&tokenizer, &rule(cross_tokens_max, 1024), cursor(LEFT), &[&first, &second]);
        assert_eq!(prompt.cross_tokens, cross_tokens_max);
        (prompt.shown, prompt.cross_bytes_dropped)
    };
    let bytes = first.text(Language::Python).len() + 2 + second.text(Language::Python).len();
    assert_eq!(shown(0), (vec![Shown::Not, Shown::Not], bytes));
    assert_eq!(shown(whole - 1).0, [Shown::Partly, Shown::Not]);
    assert_eq!(shown(whole).0, [Shown::Whole, Shown::Not]);
    assert_eq!(shown(whole + 6).0, [Shown::Whole, Shown::Partly]);
}

#[test]
fn the_limit_on_characters_counts_characters() {
    let tokenizer = fixtures::tokenizer();
    let candidate = code("ä.py", &"return self.name\n".repeat(9));
    let rule = PromptRule { cross_chars_per_token: 1, ..rule(60, 1024) };
    let prompt = build(&tokenizer, &rule, cursor(LEFT), &[&candidate]);
    let text = candidate.text(Language::Python);
    let first: String = text.chars().take(60).collect();
    assert_eq!(tokenizer.decode(&prompt.tokens[..prompt.cross_tokens]), first);
    assert_eq!(prompt.cross_bytes_dropped, text.len() - first.len());
    assert_eq!(prompt.shown, [Shown::Partly]);
}

#[test]
fn the_released_code_merges_tokens_across_the_seams_of_the_same_text() {
    let tokenizer = fixtures::tokenizer();
    let tokens = |variant| {
        let rule = PromptRule { variant, ..PromptRule::default() };
        build(&tokenizer, &rule, cursor("     return 1"), &[&code("a.py", "x = 1")]).tokens
    };
    let (paper, released) = (tokens(Variant::Paper), tokens(Variant::Released));
    assert_eq!(tokenizer.decode(&paper), tokenizer.decode(&released));
    assert!(released.len() < paper.len());
}

#[test]
fn the_left_context_is_cut_from_the_left_to_what_remains() {
    let tokenizer = fixtures::tokenizer();
    let text = "value = 1\n".repeat(200);
    let candidate = code("a.py", "x = 1");
    let prompt = build(&tokenizer, &rule(20, 100), cursor(&text), &[&candidate]);
    assert_eq!(prompt.left_tokens, 100 - 20 - prompt.path_tokens - 10);
    assert_eq!(prompt.tokens.len(), 90);
    let shown = &text[prompt.left_bytes_dropped..];
    assert!(tokenizer.decode(&prompt.tokens).ends_with(shown));
    assert_eq!(tokenizer.encode(shown).len(), prompt.left_tokens);
}

#[test]
fn a_budget_the_path_exceeds_leaves_the_end_of_the_path() {
    let tokenizer = fixtures::tokenizer();
    let prompt = build(&tokenizer, &rule(20, 8), cursor(LEFT), &[&code("a.py", "x = 1")]);
    assert_eq!((prompt.tokens.len(), prompt.cross_tokens, prompt.left_tokens), (8, 0, 0));
    assert_eq!(prompt.start_tokens_dropped, prompt.path_tokens - 8);
    assert_eq!(prompt.left_bytes_dropped, LEFT.len());
    assert!("# file path: app/main.py\n\n".ends_with(&tokenizer.decode(&prompt.tokens)));
}

#[test]
fn the_begin_token_comes_first() {
    let tokenizer = fixtures::tokenizer();
    for variant in [Variant::Paper, Variant::Released] {
        let rule = PromptRule { begin_token: Some(2), variant, ..PromptRule::default() };
        let prompt = build(&tokenizer, &rule, cursor(LEFT), &[]);
        assert_eq!(prompt.tokens[0], 2);
        assert_eq!(prompt.tokens.len(), 1 + prompt.path_tokens + prompt.left_tokens);
    }
}

#[test]
fn a_frame_gives_the_prompts_that_building_each_alone_gives() {
    let tokenizer = fixtures::tokenizer();
    let text = "value = 1\n".repeat(50);
    let frame = PromptFrame::new(&tokenizer, &rule(30, 120), cursor(&text));
    for candidate in [code("a.py", "x = 1"), code("b.py", "def f(): pass"), Candidate::Stop] {
        assert_eq!(frame.build(&[&candidate]), build(&tokenizer, &rule(30, 120), cursor(&text), &[&candidate]));
    }
}

proptest! {
    #[test]
    fn a_prompt_never_exceeds_its_budget(
        left in "[a-e \n]{0,200}",
        texts in prop::collection::vec("[a-e =é]{1,60}", 0..4),
        cross_tokens_max in 0_usize..80,
        context_tokens_max in 0_usize..120,
        released in any::<bool>(),
    ) {
        let tokenizer = fixtures::tokenizer();
        let variant = if released { Variant::Released } else { Variant::Paper };
        let rule = PromptRule { variant, ..rule(cross_tokens_max, context_tokens_max) };
        let candidates: Vec<Candidate> = texts.iter().map(|text| code("a.py", text)).collect();
        let candidates: Vec<&Candidate> = candidates.iter().collect();
        let prompt = build(&tokenizer, &rule, cursor(&left), &candidates);
        prop_assert!(prompt.tokens.len() <= context_tokens_max);
        prop_assert!(prompt.cross_tokens <= cross_tokens_max);
        prop_assert_eq!(prompt.shown.len(), candidates.len());
        prop_assert!(prompt.shown.is_sorted_by(|a, b| a >= b));
    }
}

#[test]
fn a_model_that_fills_in_the_middle_reads_what_follows_before_it_writes() {
    let tokenizer = fixtures::infill_tokenizer();
    let tokens = InfillTokens::find(&tokenizer).unwrap();
    let infill = Infill { tokens, right_tokens_max: 4 };
    let rule = PromptRule { infill: Some(infill), ..rule(40, 100) };
    let cursor = Cursor { right_context: "join(a, b)\nprint(path)\n", ..cursor(LEFT) };
    let chosen = code("a.py", "x = 1");
    let prompt = build(&tokenizer, &rule, cursor, &[&chosen]);
    let right = infill.right(&tokenizer, cursor.right_context);
    assert_eq!(right, tokenizer.encode(cursor.right_context)[..4]);
    let [after, before] = [prompt.tokens.len() - right.len() - 1, prompt.tokens.len() - right.len() - 2];
    assert_eq!(prompt.tokens[0], tokens.prefix);
    assert_eq!(prompt.tokens[before], tokens.suffix);
    assert_eq!(prompt.tokens[after..prompt.tokens.len() - 1], right);
    assert_eq!(prompt.tokens.last(), Some(&tokens.middle));
    assert!(tokenizer.decode(&prompt.tokens[1..before]).ends_with("path = os."));
    assert!(prompt.tokens.len() <= 100);
    assert_eq!(InfillTokens::find(&fixtures::tokenizer()), None);
}

#[test]
fn a_right_context_takes_its_room_from_the_left_one() {
    let tokenizer = fixtures::infill_tokenizer();
    let infill = Infill { tokens: InfillTokens::find(&tokenizer).unwrap(), right_tokens_max: 20 };
    let left = "x = y\n".repeat(60);
    let right = "z = x\n".repeat(60);
    let cursor = Cursor { right_context: &right, ..cursor(&left) };
    let with = build(&tokenizer, &PromptRule { infill: Some(infill), ..rule(16, 96) }, cursor, &[]);
    let without = build(&tokenizer, &rule(16, 96), cursor, &[]);
    assert_eq!(with.left_tokens + 20 + 3, without.left_tokens);
    assert!(with.tokens.len() <= 96);
}
