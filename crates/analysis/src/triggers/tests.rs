//! Tests of the insertion with a tool that follows a script.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use repo::{Language, Repository, SourceFile};

use super::*;
use crate::caret::Caret;
use crate::diagnostics::Diagnostic;
use crate::error::{Error, Result};
use crate::intelligence::{CodeIntelligence, Definition, Header, Origin, Suggestion, TypeDefinition};

/// Suggests the same names everywhere, and keeps the line up to the caret of each question.
#[derive(Default)]
struct Script {
    names: Vec<&'static str>,
    is_broken: bool,
    asked: Vec<String>,
}

impl CodeIntelligence for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn completions(&mut self, caret: &Caret<'_>) -> Result<Vec<Suggestion>> {
        let (before, after) = caret.text.split_at(caret.byte);
        self.asked.push(format!("{before}|{after}"));
        if self.is_broken {
            return Err(unsupported());
        }
        Ok(self.names.iter().map(|name| Suggestion { name: (*name).into(), origin: Origin::Unknown }).collect())
    }

    fn definitions(&mut self, _: &Caret<'_>) -> Result<Vec<Definition>> {
        Err(unsupported())
    }

    fn inferred_type(&mut self, _: &Caret<'_>) -> Result<Option<String>> {
        Err(unsupported())
    }

    fn expected_type(&mut self, _: &Caret<'_>) -> Result<Option<String>> {
        Err(unsupported())
    }

    fn reachable_types(&mut self, _: &Caret<'_>) -> Result<Vec<TypeDefinition>> {
        Err(unsupported())
    }

    fn headers(&mut self, _: &Caret<'_>) -> Result<Vec<Header>> {
        Err(unsupported())
    }

    fn diagnostics(&mut self, _: &str, _: &str) -> Result<Vec<Diagnostic>> {
        Err(unsupported())
    }
}

fn unsupported() -> Error {
    Error::Unsupported { tool: "script".into(), question: "this" }
}

fn script(names: &[&'static str]) -> Script {
    Script { names: names.to_vec(), ..Script::default() }
}

fn file(language: Language, text: &str) -> SourceFile {
    let path = if language == Language::Python { "a.py" } else { "A.java" };
    SourceFile { path: path.into(), language, text: text.into() }
}

fn check(names: &[&'static str], file: &SourceFile, rules: &Rules, expected: &Expect) -> Found {
    let found = insert_file(&mut script(names), file, rules);
    let mut lines = Vec::new();
    for function in &found.functions {
        let counts: Vec<usize> = function.marks.iter().map(|mark| mark.n_suggestions).collect();
        let (signature, body) = (function.signature(), function.marked_body());
        lines.push(format!("{}: {signature}{body} {counts:?}", function.docstring));
        let marked = mark(&function.text, function.marks.iter().map(|mark| mark.offset));
        assert_eq!(marked, function.signature().to_owned() + &function.marked_body());
        assert_eq!(unmark(&marked, function.marks.iter().map(|mark| mark.offset)).unwrap(), function.text);
    }
    lines.push(format!("{:?}", found.tally.dropped));
    expected.assert_eq(&lines.join("\n"));
    found
}

const PYTHON: &str = "\
class A:
    @property
    def total(self, scale=limit):
        \"\"\"Returns the sum of all.\"\"\"
        # the total of it
        values = self.load(name=f'{scale}')
        return sum(values)  # total

    def short(self):
        \"\"\"Returns nothing at all.\"\"\"
        return
";

#[test]
fn known_identifiers_of_the_body_are_marked() {
    let found = check(
        &["self", "load", "scale", "sum", "values", "total"],
        &file(Language::Python, PYTHON),
        &Rules::default(),
        &expect![[r#"
            Returns the sum of all.: def total(self, scale=limit):
                    """Returns the sum of all."""
                    # the total of it
                    <COMP>values = self.<COMP>load(name=f'{<COMP>scale}')
                    return <COMP>sum(<COMP>values)  # total [6, 6, 6, 6, 6]
            {TrivialBody: 1}"#]],
    );
    assert_eq!((found.tally.n_functions, found.tally.n_questions), (2, 6));
    assert_eq!(found.functions[0].docstring_raw, "\"\"\"Returns the sum of all.\"\"\"");
}

#[test]
fn self_is_marked_and_builtins_are_not_if_the_switches_say_so() {
    check(
        &["self", "load", "scale", "sum", "values"],
        &file(Language::Python, PYTHON),
        &Rules { mark_self: true, skip_builtins: true, ..Rules::default() },
        &expect![[r#"
            Returns the sum of all.: def total(self, scale=limit):
                    """Returns the sum of all."""
                    # the total of it
                    <COMP>values = <COMP>self.<COMP>load(name=f'{<COMP>scale}')
                    return sum(<COMP>values)  # total [5, 5, 5, 5, 5]
            {TrivialBody: 1}"#]],
    );
}

#[test]
fn the_released_code_looks_into_no_string_and_counts_no_builtin() {
    check(
        &["self", "load", "scale", "sum", "values"],
        &file(Language::Python, PYTHON),
        &Rules { eligibility: Eligibility::Released, mark_self: true, ..Rules::default() },
        &expect![[r#"
            Returns the sum of all.: def total(self, scale=limit):
                    """Returns the sum of all."""
                    # the total of it
                    <COMP>values = self.<COMP>load(name=f'{scale}')
                    return sum(<COMP>values)  # total [3, 3, 3]
            {TrivialBody: 1}"#]],
    );
}

#[test]
fn java_methods_are_marked_with_their_javadoc_as_docstring() {
    check(
        &["String", "name", "Item", "find"],
        &file(
            Language::Java,
            "class A {\n/** Finds the item. */\nItem get(String key) {\n  // name\n  Item item = this.find(\"name\");\n  \
             return item.name;\n}\n/** Tests the item. */ void testGet() {\n}\n/** Does it later on. */ void later() {\n}}",
        ),
        &Rules::default(),
        &expect![[r#"
            Finds the item.: Item get(String key) {
              // name
              <COMP>Item item = this.<COMP>find("name");
              return item.<COMP>name;
            } [4, 4, 4]
            {DocstringOpening: 1, TrivialBody: 1}"#]],
    );
}

#[test]
fn an_unfinished_function_ends_at_the_caret_without_docstring_and_comments() {
    let text =
        "def f(a):  # one\n    \"\"\"Does it at once.\"\"\"\n\n    # two\n    b = a  # three\n    return b\n\nc = 1\n";
    let mut tool = script(&["a", "b"]);
    let rules = Rules { context: Context::Unfinished, ..Rules::default() };
    let found = insert_file(&mut tool, &file(Language::Python, text), &rules);
    expect![[r"
        def f(a):

            |

        c = 1
        ---
        def f(a):

            b = |

        c = 1
        ---
        def f(a):

            b = a
            return |

        c = 1
    "]]
    .assert_eq(&tool.asked.join("---\n"));
    assert_eq!(found.functions[0].marks.len(), 3);
}

#[test]
fn nested_functions_are_asked_about_once() {
    let text = "def f(a):\n    '''Returns it at once.'''\n    def g():\n        '''Returns it inside.'''\n        b = a\n        return b\n    return g\n";
    let mut tool = script(&["a"]);
    let found = insert_file(&mut tool, &file(Language::Python, text), &Rules::default());
    assert_eq!(found.functions.iter().map(|function| function.marks.len()).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(tool.asked.len(), 5);
}

#[test]
fn every_function_is_kept_or_dropped_for_a_reason() {
    let text = "\
async def a():
    '''Waits for it all.'''
    await b()
def b(): return a
def c():
    '''Writes the mark here.'''
    x = '<COMP>'
    return x
def test_d():
    '''Reads the mark here.'''
    x = 1
    return x
def e(): return 1  # '''Reads it.'''
def f():
    '''Reads the mark here.'''
    return x
def g():
    '''Reads the mark here.'''
    x = [1, 2, 3, 4]
    return x
def h():
    '''Reads the mark here.'''; return x
";
    let limits = Limits { code_tokens_max: 24, ..Limits::default() };
    let found = check(
        &["x"],
        &file(Language::Python, text),
        &Rules { limits, ..Rules::default() },
        &expect![[r"
            Reads the mark here.: def f():
                '''Reads the mark here.'''
                return <COMP>x [1]
            Reads the mark here.: def h():
                '''Reads the mark here.'''; return <COMP>x [1]
            {NoDocstring: 2, Async: 1, Test: 1, ManyTokens: 1, LiteralTrigger: 1}"]],
    );
    let n_dropped: usize = found.tally.dropped.values().sum();
    assert_eq!(found.tally.n_functions, found.functions.len() + n_dropped);
}

#[test]
fn large_files_and_repositories_are_dropped_whole() {
    let file = file(Language::Python, PYTHON);
    let repository = Repository::new("r", vec![file]);
    let dropped = |limits: Limits| {
        let rules = Rules { limits, ..Rules::default() };
        let (mut tool, mut n_files) = (script(&[]), 0);
        let found = insert(&mut tool, &repository, Language::Python, &rules, &mut |_| n_files += 1);
        assert_eq!(n_files, 1);
        found.tally.dropped
    };
    let counts = |reason, n| BTreeMap::from([(reason, n)]);
    assert_eq!(dropped(Limits { files_max: 0, ..Limits::NONE }), counts(DropReason::LargeRepository, 2));
    assert_eq!(dropped(Limits { file_lines_max: 10, ..Limits::NONE }), counts(DropReason::LongFile, 2));
    assert_eq!(dropped(Limits { code_lines_max: 2, ..Limits::NONE }).get(&DropReason::LongCode), Some(&1));
}

#[test]
fn a_tool_that_does_not_answer_leaves_no_mark_and_is_counted() {
    let mut tool = Script { is_broken: true, ..Script::default() };
    let found = insert_file(&mut tool, &file(Language::Python, PYTHON), &Rules::default());
    assert!(found.functions[0].marks.is_empty());
    assert_eq!(found.tally.failures, BTreeMap::from([("unsupported", 6)]));
}

#[test]
fn bare_code_keeps_its_marks() {
    let text = "def f(a):  # x\n    '''Does it.'''; b = a # y\n\n    # z\n    return b\n    # end";
    let (code, offsets) = bare(text, Language::Python, &[text.find("b =").unwrap(), text.rfind('b').unwrap(), 7]);
    assert_eq!(code, "def f(a):\n    b = a\n\n    return b");
    assert_eq!(mark(&code, [offsets[0], offsets[1]]), "def f(a):\n    <COMP>b = a\n\n    return <COMP>b");
    assert_eq!(offsets[2], 7);
    let (code, _) = bare("void f() {\n  /* a\n b */\n  g(/* c */ 1); // d\n}", Language::Java, &[]);
    assert_eq!(code, "void f() {\n  g( 1);\n}");
    assert_eq!(bare("no function", Language::Java, &[3]), ("no function".into(), vec![3]));
}

proptest! {
    #[test]
    fn marks_never_change_the_text(
        text in "(def f\\(a\\):|class A:|\n|    |a = 1|# a|'''Does it all.'''|\"|f'\\{a\\}'|/\\*\\* Does it all. \\*/|void f\\(\\) \\{|class A \\{|\\}|a;|// a|é|<COMP>){0,40}"
    ) {
        for language in Language::ALL {
            for context in [Context::Intact, Context::Unfinished] {
                let rules = Rules { context, ..Rules::default() };
                let found = insert_file(&mut script(&["a", "f", "A"]), &file(language, &text), &rules);
                for function in found.functions {
                    let marked = mark(&function.text, function.marks.iter().map(|mark| mark.offset));
                    prop_assert_eq!(marked.replace(TRIGGER, ""), text[function.function.span].to_owned());
                }
            }
        }
    }
}
