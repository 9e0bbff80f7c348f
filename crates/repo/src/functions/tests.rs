//! Tests of both languages.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn file(language: Language, text: &str) -> SourceFile {
    SourceFile { path: "a".into(), language, text: text.into() }
}

fn check(language: Language, text: &str, expected: &Expect) {
    let lines = functions(&file(language, text)).into_iter().map(|function| {
        let class = function.class.map_or_else(String::new, |class| class + ".");
        let is_async = if function.is_async { "async " } else { "" };
        let docstring = function.docstring.map(|span| &text[span]);
        let (signature, body) = (&text[function.signature], &text[function.body]);
        format!("{is_async}{class}{}: {signature:?} {docstring:?} {body:?}", function.name)
    });
    expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn python_functions_are_found_at_any_depth() {
    let text = "\
@decorator
def outer(a: int = 1) -> None:
    # before
    \"\"\"Does it.\"\"\"
    def inner(): return a
    class Local:
        async def method(self):
            r'''Waits.'''
            await x  # after
    # behind

class A(B):
    @property
    def b(self):
        f\"\"\"{no} docstring\"\"\"
        return 1
";
    check(
        Language::Python,
        text,
        &expect![[r#"
            outer: "def outer(a: int = 1) -> None:" Some("\"\"\"Does it.\"\"\"") "\n    # before\n    \"\"\"Does it.\"\"\"\n    def inner(): return a\n    class Local:\n        async def method(self):\n            r'''Waits.'''\n            await x  # after\n    # behind"
            inner: "def inner():" None " return a"
            async Local.method: "async def method(self):" Some("r'''Waits.'''") "\n            r'''Waits.'''\n            await x  # after"
            A.b: "def b(self):" None "\n        f\"\"\"{no} docstring\"\"\"\n        return 1""#]],
    );
}

#[test]
fn java_methods_and_constructors_are_found_with_their_javadoc() {
    let text = "\
/** Of the class. */
class A<T> {
    /** Of a field. */
    int x;
    /** Makes it. */
    // and more
    @Deprecated
    A(int x) { this.x = x; }
    abstract void none();
    /** Runs. */ static <U> U run(U u) throws E
    {
        return new Object() { /** Inside. */ void act() {} };
    }
    /**/ void plain() {}
    enum Kind { ONE { void one() {} }; void all() {} }
    record R(int a) { /** Checks. */ R { } }
}
";
    check(
        Language::Java,
        text,
        &expect![[r#"
            A.A: "@Deprecated\n    A(int x)" Some("/** Makes it. */") " { this.x = x; }"
            A.run: "static <U> U run(U u) throws E" Some("/** Runs. */") "\n    {\n        return new Object() { /** Inside. */ void act() {} };\n    }"
            act: "void act()" Some("/** Inside. */") " {}"
            A.plain: "void plain()" None " {}"
            one: "void one()" None " {}"
            Kind.all: "void all()" None " {}"
            R.R: "R" Some("/** Checks. */") " { }""#]],
    );
}

#[test]
fn broken_functions_are_left_out() {
    check(
        Language::Python,
        "def f():\n    x = = 1\n\ndef g():\n    return 1\n\ndef h():\n",
        &expect![[r#"g: "def g():" None "\n    return 1""#]],
    );
    check(
        Language::Java,
        "class A { void f() { int = 1 1; } void g() { } }",
        &expect![[r#"A.g: "void g()" None " { }""#]],
    );
}

#[test]
fn functions_nested_deeply_are_found_without_recursion() {
    let n = 3_000;
    let text: String = "class A { void f() { new Object() {".to_owned()
        + &"void g() { new Object() {".repeat(n)
        + &"}; }".repeat(n)
        + "}; } }";
    let text = text.replace('{', "{\n");
    assert_eq!(functions(&file(Language::Java, &text)).len(), n + 1);
}

proptest! {
    #[test]
    fn a_function_is_its_signature_and_its_body(text in "(def f\\(\\):|class A:|\n|    |x = 1|'d'|\"\"\"|#|/\\*\\*|\\*/|void f\\(\\) \\{|class A \\{|\\}|é){0,40}") {
        for language in Language::ALL {
            for function in functions(&file(language, &text)) {
                prop_assert_eq!(&function.span.start, &function.signature.start);
                prop_assert_eq!(&function.signature.end, &function.body.start);
                prop_assert_eq!(&function.body.end, &function.span.end);
                prop_assert!(text.get(function.span).is_some());
                prop_assert!(function.docstring.is_none_or(|span| text.get(span).is_some()));
            }
        }
    }
}
