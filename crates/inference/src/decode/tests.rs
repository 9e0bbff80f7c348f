//! Tests of the module above.

mod plain;
mod random;

use analysis::triggers::TRIGGER;
use expect_test::{Expect, expect};
use models::Tokenizer;

use super::fake::{Answers, Line, Scripted};
use super::*;
use crate::fixtures;

/// Returns every token with how it came, and what became of the questions.
fn shown(decoded: &Decoded, tokenizer: &Tokenizer) -> String {
    let token = |token: &DecodedToken| {
        let letter = match token.step {
            Step::Sampled => "",
            Step::Trigger => "?",
            Step::Chosen => "+",
            Step::Forced => "!",
        };
        format!("{}{letter}", tokenizer.decode(&[token.token]))
    };
    let tokens: Vec<String> = decoded.tokens.iter().map(token).collect();
    let outcomes: Vec<String> = decoded.questions.iter().map(|question| format!("{:?}", question.outcome)).collect();
    format!("{} | {:?} | {}", tokens.join(" "), decoded.finish, outcomes.join(", "))
}

/// What a scripted model wrote with a scripted tool.
struct Written {
    decoded: Decoded,
    shown: String,
    asked: Vec<String>,
    /// What each pass after the prompt read, row by row.
    passes: Vec<Vec<String>>,
}

fn write(lines: &[Line], mut answers: Answers, rule: DecodingRule) -> Written {
    let decoder = fixtures::asking_decoder();
    let tokenizer = decoder.tokenizer();
    let prompt = tokenizer.encode("def f():");
    // The script lives as long as the model, which borrows it.
    let lines: &'static [Line] = lines.to_vec().leak();
    let model = Scripted::new(tokenizer, &prompt, lines);
    let decoded = ToolDecoder { model: &model, tokenizer, rule }.decode(&prompt, &mut answers).unwrap();
    let passes = model.passes.borrow();
    assert_eq!(decoded.n_passes, passes.len());
    assert_eq!(decoded.n_asked, answers.asked.len());
    assert_eq!(passes[0], [prompt]);
    let row = |row: &Vec<u32>| row.iter().map(|&token| tokenizer.decode(&[token])).collect::<Vec<String>>().join(" ");
    Written {
        shown: shown(&decoded, tokenizer),
        asked: answers.asked,
        passes: passes[1..].iter().map(|rows| rows.iter().map(row).collect()).collect(),
        decoded,
    }
}

fn check(lines: &[Line], answers: Answers, rule: DecodingRule, expected: &Expect) -> Written {
    let written = write(lines, answers, rule);
    expected.assert_eq(&written.shown);
    written
}

/// Writes `x`, a trigger, what the tool gives, an opening bracket, and ends.
const LINES: [Line; 8] = [
    ("^", "x", 9.0),
    ("x", TRIGGER, 9.0),
    ("<COMP>", "y", 9.0),
    ("y", "(", 9.0),
    ("pop", "(", 9.0),
    ("push", "(", 9.0),
    ("limit", "(", 9.0),
    ("(", "", 9.0),
];

fn with(lines: &[Line]) -> Vec<Line> {
    [&LINES, lines].concat()
}

#[test]
fn the_model_chooses_among_the_suggestions_and_what_is_left_is_forced() {
    let lines = with(&[("<COMP>", "p", 2.0), ("p", "o", 1.0)]);
    let answers = Answers::new([Ok(&["push", "limit", "pop"])]);
    let written = check(
        &lines,
        answers,
        DecodingRule::paper(),
        &expect!["x <COMP>? p+ o+ p! ( | EndOfSequence | Inserted(\"pop\")"],
    );
    assert_eq!(written.asked, ["x<COMP>"]);
    assert_eq!(written.passes, [["x"], ["<COMP>"], ["p"], ["o p"], ["("]]);
    assert_eq!((&*written.decoded.text, &*written.decoded.unmarked), ("x<COMP>pop(", "xpop("));
    assert_eq!(*written.decoded.questions[0].suggestions, ["push", "limit", "pop"]);
    assert_eq!(written.decoded.questions[0].position, 1);
}

#[test]
fn the_tokens_of_an_only_suggestion_are_read_with_the_trigger_in_one_pass() {
    let answers = Answers::new([Ok(&["limit"])]);
    let written = check(
        &LINES,
        answers,
        DecodingRule::paper(),
        &expect!["x <COMP>? l! im! i! t! ( | EndOfSequence | Inserted(\"limit\")"],
    );
    assert_eq!(written.passes, [["x"], ["<COMP> l im i t"], ["("]]);
}

#[test]
fn the_first_end_of_a_suggestion_is_taken_by_the_paper() {
    let lines = with(&[("<COMP>", "name", 9.0), ("name", "s", 8.0), ("name", "(", 7.0), ("names", "(", 9.0)]);
    let answers = || Answers::new([Ok(&["names", "name"])]);
    // What follows is free: the model may write the longer name itself.
    let written = check(
        &lines,
        answers(),
        DecodingRule::paper(),
        &expect!["x <COMP>? name! s ( | EndOfSequence | Inserted(\"name\")"],
    );
    assert_eq!(written.passes, [["x"], ["<COMP> name"], ["s"], ["("]]);
}

#[test]
fn a_longer_suggestion_is_followed_unless_the_mean_probability_drops() {
    let rule = || DecodingRule { terminal: Terminal::MeanProbability, ..DecodingRule::paper() };
    let answers = || Answers::new([Ok(&["names", "name"])]);
    let lines = |logit| with(&[("<COMP>", "name", 9.0), ("name", "s", logit), ("name", "(", 9.0), ("names", "(", 9.0)]);
    let written =
        check(&lines(20.0), answers(), rule(), &expect!["x <COMP>? name! s! ( | EndOfSequence | Inserted(\"names\")"]);
    assert_eq!(written.passes, [["x"], ["<COMP>"], ["name"], ["s"], ["("]], "probabilities are read one by one");
    check(&lines(8.0), answers(), rule(), &expect!["x <COMP>? name! ( | EndOfSequence | Inserted(\"name\")"]);
    // The same probability does not lower the mean.
    let even = with(&[("<COMP>", "name", 9.0), ("name", "s", 9.0), ("name", "(", 9.0), ("names", "(", 9.0)]);
    check(&even, answers(), rule(), &expect!["x <COMP>? name! s! ( | EndOfSequence | Inserted(\"names\")"]);
    // Behind the last fork tokens are forced together again.
    let answers = Answers::new([Ok(&["name", "names_limit"])]);
    let written = check(
        &lines(20.0),
        answers,
        rule(),
        &expect!["x <COMP>? name! s! _! l! im! i! t! ( | EndOfSequence | Inserted(\"names_limit\")"],
    );
    assert_eq!(written.passes[3], ["s _ l im i t"]);
}

#[test]
fn without_an_answer_the_model_goes_on_and_does_not_ask_twice() {
    let lines = with(&[("<COMP>", TRIGGER, 12.0)]);
    for (answer, expected) in [
        (Ok(&[][..]), expect!["x <COMP>? y ( | EndOfSequence | Nothing"]),
        (Ok(&["<COMP>a", "a<|endoftext|>", ""][..]), expect!["x <COMP>? y ( | EndOfSequence | Nothing"]),
        (Err(Refusal::Deadline), expect!["x <COMP>? y ( | EndOfSequence | Refused(Deadline)"]),
        (Err(Refusal::Failed("out".into())), expect!["x <COMP>? y ( | EndOfSequence | Refused(Failed(\"out\"))"]),
    ] {
        let is_refused = answer.is_err();
        let written = check(&lines, Answers::new([answer]), DecodingRule::paper(), &expected);
        assert_eq!((written.decoded.n_asked, written.decoded.n_refused), (1, usize::from(is_refused)));
        assert_eq!(written.passes, [["x"], ["<COMP>"], ["y"], ["("]]);
    }
}

#[test]
fn a_text_does_not_end_inside_a_suggestion() {
    let lines = with(&[("<COMP>", "", 30.0), ("p", "", 30.0), ("po", "", 30.0)]);
    let answers = Answers::new([Ok(&["pop", "push"])]);
    check(&lines, answers, DecodingRule::paper(), &expect!["x <COMP>? p! o+ p! | EndOfSequence | Inserted(\"pop\")"]);
    // Without a suggestion it may end behind the trigger.
    check(&lines, Answers::default(), DecodingRule::paper(), &expect!["x <COMP>? | EndOfSequence | Nothing"]);
}

#[test]
fn the_limit_cuts_a_suggestion_short() {
    let answers = || Answers::new([Ok(&["limit"])]);
    let rule = |tokens_max| DecodingRule { tokens_max, ..DecodingRule::paper() };
    let written = check(&LINES, answers(), rule(4), &expect!["x <COMP>? l! im! | TokensMax | CutShort"]);
    assert_eq!(written.passes, [["x"]], "what is not followed is not read");
    check(&LINES, answers(), rule(6), &expect!["x <COMP>? l! im! i! t! | TokensMax | Inserted(\"limit\")"]);
    let written = check(&LINES, answers(), rule(2), &expect!["x <COMP>? | TokensMax | CutShort"]);
    assert!(written.asked.is_empty(), "nothing could be inserted");
    let answers = Answers::new([Ok(&["pop", "push"])]);
    check(&LINES, answers, rule(4), &expect!["x <COMP>? p! o+ | TokensMax | CutShort"]);
    check(&LINES, Answers::default(), rule(0), &expect![" | TokensMax | "]);
}

#[test]
fn a_trigger_that_the_model_is_not_sure_of_is_no_question() {
    let lines = with(&[("x", TRIGGER, 9.0), ("x", "z", 9.0)]);
    let rule = |trigger_confidence_min| DecodingRule { trigger_confidence_min, ..DecodingRule::paper() };
    let trigger = |confidence| {
        let lines = [&lines[..], &[("x", "z", confidence)]].concat();
        let answers = Answers::new([Ok(&["limit"])]);
        write(&lines, answers, rule(0.5))
    };
    let sure = trigger(2.0);
    assert_eq!(sure.shown, "x <COMP>? l! im! i! t! ( | EndOfSequence | Inserted(\"limit\")");
    assert!(sure.decoded.questions[0].confidence > 0.9);
    let unsure = trigger(8.999);
    assert_eq!(unsure.shown, "x <COMP>? y ( | EndOfSequence | Unsure");
    assert!(unsure.asked.is_empty() && unsure.decoded.questions[0].confidence < 0.5);
}

#[test]
fn the_order_of_the_tool_adds_to_the_choice_of_the_model() {
    let lines = with(&[("<COMP>", "p", 1.0), ("<COMP>", "l", 0.5)]);
    let answers = || Answers::new([Ok(&["limit", "pop"])]);
    let rule = |rank_weight| DecodingRule { rank_weight, ..DecodingRule::paper() };
    check(&lines, answers(), rule(0.0), &expect!["x <COMP>? p+ o! p! ( | EndOfSequence | Inserted(\"pop\")"]);
    check(&lines, answers(), rule(1.0), &expect!["x <COMP>? l+ im! i! t! ( | EndOfSequence | Inserted(\"limit\")"]);
}

#[test]
fn forced_tokens_cost_nothing() {
    let lines = with(&[("<COMP>", "p", 2.0)]);
    let answers = Answers::new([Ok(&["pop", "limit"])]);
    let decoded = write(&lines, answers, DecodingRule::paper()).decoded;
    let log_probability = |logit: f64, n_others: f64| logit - (logit.exp() + n_others).ln();
    let n_others = (fixtures::asking_decoder().tokenizer().vocabulary_size() - 1) as f64;
    let sampled = log_probability(9.0, n_others);
    // The token `x`, the trigger, one of two suggestions, a bracket and the end.
    let total = 4.0 * sampled + log_probability(2.0, 1.0);
    assert!((decoded.score - total / 5.0).abs() < 1e-6, "{} {}", decoded.score, total / 5.0);
    assert!(decoded.tokens.iter().all(|token| (token.step == Step::Forced) == (token.log_probability == 0.0)));
}

#[test]
fn texts_that_are_followed_side_by_side_have_questions_of_their_own() {
    let rule = |num_beams| DecodingRule { num_beams, ..DecodingRule::paper() };
    let lines =
        with(&[("x", "z", 8.5), ("z", "(", 9.0), ("limit", "(", 3.0), ("limit", ")", 3.0), ("limit", "=", 3.0)]);
    let answers = || Answers::new([Ok(&["limit"])]);
    check(&lines, answers(), rule(1), &expect!["x <COMP>? l! im! i! t! ( | EndOfSequence | Inserted(\"limit\")"]);
    // The text with the trigger begins better and goes on worse.
    let written = check(&lines, answers(), rule(2), &expect!["x z ( | EndOfSequence | "]);
    assert_eq!(written.passes[1], ["<COMP> l im i t", "z"]);
    assert_eq!((written.asked, written.decoded.n_asked), (vec!["x<COMP>".to_owned()], 1));
}
