//! Tests on a function whose tokens are written down.

use super::*;
use expect_test::expect;
use inference::decode::{Decoded, DecodedToken, Finish};
use inference::function::Place;
use models::{Decoder, DeviceSpec, RowInit, device, random_model};
use repo::{Language, SourceFile};

const TRIGGER: &str = "<COMP>";

fn tokenizer() -> Tokenizer {
    let directory = tempfile::tempdir().unwrap();
    random_model::write_llama(directory.path(), 1).unwrap();
    let mut decoder = Decoder::load(directory.path(), &device::resolve(&DeviceSpec::Cpu).unwrap()).unwrap();
    decoder.add_tokens(&[TRIGGER], RowInit::Mean).unwrap();
    decoder.tokenizer().clone()
}

/// Returns a function of which the parts were written by these steps.
fn written(tokenizer: &Tokenizer, parts: &[(Step, &str)]) -> CompletedFunction {
    let mut tokens = Vec::new();
    let mut questions = Vec::new();
    for &(step, text) in parts {
        if step == Step::Trigger {
            let suggestions = (0..12).map(|n| format!("name{n}")).collect();
            let outcome = Outcome::Inserted("größe".into());
            questions.push(Question { position: tokens.len(), confidence: 0.75, suggestions, outcome });
        }
        let ids = tokenizer.encode(text).into_iter();
        tokens.extend(ids.map(|token| DecodedToken { token, step, log_probability: 0.0 }));
    }
    let text: String = parts.iter().map(|part| part.1).collect();
    let body = text.replace(TRIGGER, "");
    let decoded = Decoded {
        tokens,
        text: text.clone(),
        unmarked: body.clone(),
        score: -1.0,
        finish: Finish::EndOfSequence,
        n_asked: questions.len(),
        questions,
        n_refused: 0,
        tool_seconds: 0.0,
        n_passes: 1,
    };
    CompletedFunction { text: format!("def f(self):{body}"), body, marked_body: text, decoded }
}

fn with_shown(check: impl Fn(&Shown<'_>)) {
    let file = SourceFile { path: "a.py".into(), language: Language::Python, text: "def f(self): pass\n".into() };
    let function = OpenFunction::find(&file, Place::Name("f")).unwrap().with_docstring("Return it.");
    let tokenizer = tokenizer();
    let parts = [
        (Step::Sampled, "\n    return self."),
        (Step::Trigger, TRIGGER),
        (Step::Chosen, "grö"),
        (Step::Forced, "ße"),
        (Step::Sampled, "()"),
    ];
    check(&Shown { function: &function, written: &written(&tokenizer, &parts), tokenizer: &tokenizer });
}

#[test]
fn what_came_from_the_tool_is_underlined_on_a_terminal_only() {
    with_shown(|shown| {
        let text = |on_terminal| {
            let mut out = Vec::new();
            shown.print(on_terminal, &mut out).unwrap();
            String::from_utf8(out).unwrap().replace('\x1b', "ESC")
        };
        let plain = "def f(self):\n    \"\"\"Return it.\"\"\"\n    return self.größe()\n";
        assert_eq!(text(false), plain);
        assert_eq!(text(true), plain.replace("größe", "ESC[4mgröESC[0mESC[2;4mßeESC[0m"));
    });
}

#[test]
fn the_trace_tells_each_question() {
    with_shown(|shown| {
        let mut out = Vec::new();
        shown.trace(&mut out).unwrap();
        expect![[r"

            1. return self.<COMP>, 0.75 sure, 12 suggestions
               name0, name1, name2, name3, name4, name5, name6, name7, name8, name9, ...
               -> größe

            1 triggers, 1 asked, 0.000 s for the tool
        "]]
        .assert_eq(&String::from_utf8(out).unwrap());
    });
}

#[test]
fn programs_are_told_how_each_token_came() {
    with_shown(|shown| {
        let found = shown.json();
        assert_eq!((&found["finish"], &found["span"]), (&json!("end_of_sequence"), &json!([0, 17])));
        let steps: Vec<&str> =
            found["tokens"].as_array().unwrap().iter().map(|token| token["step"].as_str().unwrap()).collect();
        assert!(["sampled", "trigger", "chosen", "forced"].iter().all(|step| steps.contains(step)), "{steps:?}");
        let question = &found["questions"][0];
        assert_eq!((&question["outcome"], &question["inserted"]), (&json!("inserted"), &json!("größe")));
        assert_eq!((&question["n_suggestions"], question["suggestions"].as_array().unwrap().len()), (&json!(12), 10));
    });
}
