//! Small repositories and what the engine suggests in them.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use repo::{Language, Repository, SourceFile};

use super::{Limit, PythonEngine};
use crate::caret::Caret;
use crate::intelligence::{CodeIntelligence, Origin, Suggestion};

fn engine(files: &[(&str, &str)]) -> PythonEngine {
    let source = |(path, text): &(&str, &str)| SourceFile {
        path: (*path).into(),
        language: Language::Python,
        text: (*text).into(),
    };
    PythonEngine::new(&Repository::new("fixture", files.iter().map(source).collect()))
}

/// Asks at `$0` of the first file.
fn suggestions(files: &[(&str, &str)]) -> Vec<Suggestion> {
    let (path, text) = files[0];
    let byte = text.find("$0").unwrap();
    let text = text.replacen("$0", "", 1);
    let mut files = files.to_vec();
    files[0].1 = &text;
    engine(&files).completions(&Caret::new(path, text.as_str().into(), byte)).unwrap()
}

/// Leaves out what every object and every file has.
fn check(files: &[(&str, &str)], expected: &Expect) {
    let own = suggestions(files).into_iter().filter(|it| it.origin != Origin::Builtin && !it.name.starts_with("__"));
    let lines: Vec<String> = own.map(|it| format!("{} {}", it.origin.name(), it.name)).collect();
    expected.assert_eq(&lines.join("\n"));
}

fn check_text(text: &str, expected: &Expect) {
    check(&[("a.py", text)], expected);
}

#[test]
fn names_come_from_the_nearest_scope_first() {
    check_text(
        "import os\nclass C:\n    field = 1\n    def f(self, x):\n        y = 1\n        def g(z):\n            return $0\n        w = 2\n",
        &expect![[r"
            local z
            enclosing g
            enclosing self
            enclosing w
            enclosing x
            enclosing y
            global C
            global os"]],
    );
}

#[test]
fn builtins_come_last_and_without_those_of_stubs_alone() {
    let names: Vec<String> = suggestions(&[("a.py", "$0")]).into_iter().map(|it| it.name).collect();
    assert!(["ArithmeticError", "__name__", "print", "zip"].iter().all(|name| names.iter().any(|it| it == name)));
    assert!(!names.iter().any(|name| name == "reveal_type" || name == "_T" || name == "sys"));
}

#[test]
fn a_name_is_not_suggested_by_its_own_first_binding() {
    check_text(
        "def f(a):\n    $0new = a\n    print(new)\n",
        &expect![[r"
        local a
        global f"]],
    );
    check_text(
        "def f(a):\n    new = a\n    $0new = a\n",
        &expect![[r"
        local a
        local new
        global f"]],
    );
}

#[test]
fn a_class_body_is_seen_from_itself_alone() {
    check_text(
        "class C:\n    one = 1\n    two = $0\n",
        &expect![[r"
        local one
        global C"]],
    );
    check_text(
        "class C:\n    one = 1\n    def f(self):\n        $0\n",
        &expect![[r"
        local self
        global C"]],
    );
}

#[test]
fn comprehensions_see_their_variables() {
    check_text(
        "def f(rows):\n    return [$0 for row in rows]\n",
        &expect![[r"
        local row
        local rows
        global f"]],
    );
    check_text(
        "def f(rows):\n    return [row.x for $0\n\nclass A: pass\n",
        &expect![[r"
        local row
        local rows
        global A
        global f"]],
    );
}

#[test]
fn members_come_from_the_class_its_ancestors_and_its_methods() {
    check(
        &[
            ("a.py", "from b import B\nclass A(B):\n    def f(self):\n        self.own = 1\n        self.$0\n"),
            ("b.py", "class B:\n    shared = 1\n    def g(self):\n        self.inherited = 2\n"),
        ],
        &expect![[r"
            member f
            member g
            member inherited
            member own
            member shared"]],
    );
}

#[test]
fn a_union_has_the_members_of_all_its_parts() {
    check_text(
        "class A:\n    a = 1\nclass B:\n    b = 1\ndef f(x: A | B | None):\n    x.$0\n",
        &expect![[r"
            member a
            member b"]],
    );
}

#[test]
fn results_and_arguments_are_found_where_nothing_is_annotated() {
    let class = "class A:\n    name = 1\ndef make():\n    return A()\n";
    check_text(&format!("{class}def f(x):\n    x.$0\nf(make())\n"), &expect!["member name"]);
    check_text(&format!("{class}def f():\n    x = make()\n    x.$0\n"), &expect!["member name"]);
    check_text(
        &format!(
            "{class}class B:\n    def __init__(self, a):\n        self.a = a\n    def f(self):\n        self.a.$0\nB(A())\n"
        ),
        &expect!["member name"],
    );
    check_text(
        "def f(x):\n    x.$0\nf(f)\ndef g(x): return g(x)\ng(1).$0\n".replacen("x.$0", "x", 1).as_str(),
        &expect![""],
    );
}

#[test]
fn modules_are_completed_in_every_kind_of_import() {
    let files = |text| [("p/a.py", text), ("p/__init__.py", ""), ("p/b.py", "value = 1\n"), ("p/q/__init__.py", "")];
    check(
        &files("from p.$0 import x\n"),
        &expect![[r"
        package a
        package b
        package q"]],
    );
    check(
        &files("from . import $0\n"),
        &expect![[r"
        member a
        member b
        member q"]],
    );
    check(&files("from .b import $0\n"), &expect!["member value"]);
    check(
        &files("import p.b\np.$0\n"),
        &expect![[r"
        member a
        member b
        member q"]],
    );
    assert!(suggestions(&files("import $0\n")).iter().any(|it| it.name == "p"));
}

#[test]
fn keyword_arguments_stand_before_names() {
    let text = "def f(one, two, *, three=3): pass\nf(1, three=3, $0)\n";
    check_text(
        text,
        &expect![[r"
        keyword_argument two
        global f"]],
    );
    check_text(
        "class A:\n    def f(self, one): pass\nA().f($0",
        &expect![[r"
        keyword_argument one
        global A"]],
    );
}

#[test]
fn code_within_strings_is_code_and_other_text_is_not() {
    check_text(
        "def f(x):\n    return f'{$0}'\n",
        &expect![[r"
        local x
        global f"]],
    );
    check_text("def f(x):\n    return '$0'\n", &expect![""]);
    check_text("x = 1  # $0\n", &expect![""]);
    check_text("x = 1\nx.1$0\n", &expect![""]);
}

#[test]
fn what_is_typed_selects() {
    check_text(
        "apple = apricot = banana = 1\nprint(ap$0)\n",
        &expect![[r"
        global apple
        global apricot"]],
    );
    check_text("import os\ndef f(fork):\n    fo$0r = 1\n", &expect!["local fork"]);
}

#[test]
fn an_answer_does_not_depend_on_earlier_ones() {
    let files = [("a.py", "x = 1\nx\n"), ("b.py", "from a import x, y\nx\n")];
    let mut engine = engine(&files);
    let ask = |engine: &mut PythonEngine, path, text: &str| {
        engine.completions(&Caret::new(path, text.to_owned().into(), text.len())).unwrap()
    };
    let first = ask(&mut engine, "b.py", "import a\na.");
    ask(&mut engine, "a.py", "y = 1\nz = 2\n");
    ask(&mut engine, "c.py", "new = 1\n");
    assert_eq!(ask(&mut engine, "b.py", "import a\na."), first);
    assert!(!ask(&mut engine, "b.py", "import ").iter().any(|it| it.name == "c"));
}

#[test]
fn texts_beyond_the_limits_are_answered_by_words() {
    let deep = format!("word = {}1\nwo", "1+".repeat(1_500_000));
    let wide = format!("class A:\n{}A.m", "    m = 1\n".repeat(100_000));
    let branches = format!("x = 1\n{}x", "if x: pass\n".repeat(2_000));
    for (text, limit) in [(deep, Limit::Bytes), (wide, Limit::Statements), (branches, Limit::Statements)] {
        let mut engine = engine(&[("a.py", &text), ("b.py", "import a\n")]);
        assert_eq!(engine.limits_met().get("a.py"), Some(&limit));
        let end = Caret::new("a.py", text.as_str().into(), text.len());
        engine.completions(&end).unwrap();
        assert!(engine.completions(&Caret::new("b.py", "import a\na.".into(), 11)).is_ok());
    }
}

#[test]
fn deep_texts_within_the_limits_are_inferred() {
    let texts = ["x = 1\n".to_owned() + &"x = x + 1\n".repeat(9_000), format!("x = {}1\n", "1+".repeat(240))];
    for text in texts {
        let text = text + "x.re";
        let mut engine = engine(&[("a.py", &text)]);
        let found = engine.completions(&Caret::new("a.py", text.as_str().into(), text.len())).unwrap();
        assert!(found.iter().any(|it| it.name == "real"), "{:?}", engine.limits_met());
    }
}

fn is_ordered(suggestions: &[Suggestion]) -> bool {
    let mut names: Vec<&str> = suggestions.iter().map(|it| it.name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).all(|pair| pair[0] != pair[1])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_caret_of_any_text_is_answered_the_same_twice(
        text in "(x|self|é|def f\\(x\\)|class C|\\(|\\)|\\[|\\{|:|,|=|\\.|@|\n|\n    |import |from |for |in |f'|'''|#| ){0,24}",
        at in 0_usize..60,
    ) {
        let byte = text.char_indices().map(|(byte, _)| byte).nth(at).unwrap_or(text.len());
        let mut engine = engine(&[("a.py", "x = 1\n")]);
        let caret = Caret::new("a.py", text.as_str().into(), byte);
        let first = engine.completions(&caret).unwrap();
        prop_assert!(is_ordered(&first), "{:?}", first);
        engine.completions(&Caret::new("a.py", "y = 2\n".into(), 0)).unwrap();
        prop_assert_eq!(engine.completions(&caret).unwrap(), first);
        prop_assert!(engine.limits_met().is_empty(), "{:?}", engine.limits_met());
    }
}
