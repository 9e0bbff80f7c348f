//! What is wrong in small Python files.

use expect_test::{Expect, expect};

use crate::intelligence::CodeIntelligence;
use crate::python::definitions::fixture::ask;

fn check(text: &str, expected: &Expect) {
    let files = [("a.py", "$0"), ("b.py", "x = 1\n"), ("broken.py", "class C(\n")];
    let found = ask(&files, |engine, caret| engine.diagnostics(caret.path, text).unwrap());
    let lines = found.iter().map(|found| format!("{:?} {:?} {:?}", found.kind, found.span, &text[found.span.clone()]));
    expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn sound_text_has_nothing_wrong() {
    check("", &expect![[""]]);
    check("import b\nfrom b import x\nprint(b.x + x)\n", &expect![[""]]);
    check("import numpy as np\nfrom torch import nn\nnp.array(nn.x).y\n", &expect![[""]]);
}

#[test]
fn undefined_names_and_missing_members_are_found() {
    check("def f(a):\n    return a + nothing\n", &expect![[r#"UndefinedName 25..32 "nothing""#]]);
    check(
        "import b\nb.y\nfrom b import z\n''.nothing\n",
        &expect![[r#"
        NoMember 11..12 "y"
        NoMember 27..28 "z"
        NoMember 32..39 "nothing""#]],
    );
    check("class A:\n    def f(self):\n        return self.missing\n", &expect![[r#"NoMember 46..53 "missing""#]]);
    check("class A: ...\ndef f(a: A | None):\n    a.missing()\n", &expect![[r#"NoMember 39..46 "missing""#]]);
    check("class A:\n    x = 1\nclass B: ...\ndef f(a: A | B):\n    a.x + a.y\n", &expect![[r#"NoMember 61..62 "y""#]]);
    check("def f(): ...\nf.label = 1\nf.other\n", &expect![[r#"NoMember 27..32 "other""#]]);
    check(
        "from typing import Callable\ndef f(g: Callable[[], int]):\n    g.__name__ + g.other\n",
        &expect![[r#"NoMember 76..81 "other""#]],
    );
    check("nothing # type: ignore\n", &expect![[r#"UndefinedName 0..7 "nothing""#]]);
}

#[test]
fn broken_syntax_is_found() {
    check(
        "def f(:\n    pass\nx = )\n",
        &expect![[r#"
        SyntaxError 6..7 ":"
        SyntaxError 7..8 "\n"
        SyntaxError 21..22 ")"
        SyntaxError 22..23 "\n""#]],
    );
    check("print 'two'\n", &expect![[r#"SyntaxError 6..11 "'two'""#]]);
    check("return 1\n", &expect![[r#"SyntaxError 0..8 "return 1""#]]);
    check("from broken import C\nC()\n", &expect![]);
}
