//! Small repositories with `^` at the caret.

mod robust;

use std::borrow::Cow;

use expect_test::{Expect, expect};
use repo::{Language, Repository, SourceFile};

use crate::caret::Caret;
use crate::intelligence::{CodeIntelligence, Origin, Place};
use crate::java::JavaEngine;

fn repository(files: &[(&str, &str)]) -> Repository {
    let file = |(path, text): &(&str, &str)| SourceFile {
        path: (*path).into(),
        language: Language::Java,
        text: (*text).into(),
    };
    Repository::new("r", files.iter().map(file).collect())
}

/// Two packages with a small hierarchy.
const LIBRARY: [(&str, &str); 2] = [
    (
        "base/Shape.java",
        "package base;
public abstract class Shape<T> implements Comparable<Shape<T>> {
    public static final int LIMIT = 3;
    protected T owner;
    private int hidden;
    public T getOwner() { return owner; }
    public abstract double area(int scale);
    public static <E> Shape<E> of(E owner) { return null; }
    public int compareTo(Shape<T> other) { return 0; }
    public static class Builder { public Builder with(String name) { return this; } }
    public enum Color { RED, GREEN; public Color next() { return RED; } }
    public interface Visitor { void visit(Shape<?> shape, int depth); }
}
",
    ),
    (
        "base/Point.java",
        "package base;\npublic record Point(int x, int y) { public Point { } int sum() { return x + y; } }\n",
    ),
];

/// Puts `body` into a method of a class that uses the library.
fn program(body: &str) -> String {
    format!(
        "package app;
import base.Shape;
import base.Point;
import java.util.*;
import static base.Shape.Color.RED;
class Circle extends Shape<String> {{
    private final List<Point> points = new ArrayList<>();
    static int count;
    public double area(int scale) {{ return scale; }}
    void run(String name, int... sizes) {{
        {body}
    }}
    static void main() {{ }}
}}
"
    )
}

/// Asks at `^` of a text that is not in the repository, or is another in it.
fn ask<T>(text: &str, stored: Option<&str>, question: impl FnOnce(&mut JavaEngine<'_>, &Caret<'_>) -> T) -> T {
    let byte = text.find('^').unwrap();
    let text = text.replacen('^', "", 1);
    let mut files = LIBRARY.to_vec();
    files.push(("app/Circle.java", stored.unwrap_or(&text)));
    let repository = repository(&files);
    let mut engine = JavaEngine::new(&repository);
    question(&mut engine, &Caret::new("app/Circle.java", Cow::Borrowed(&text), byte))
}

/// The suggestions of a place, those that every object or file has left out.
fn names(text: &str) -> String {
    let suggestions = ask(text, None, |engine, caret| engine.completions(caret).unwrap());
    let is_own = |name: &str| {
        !["equals", "getClass", "hashCode", "notify", "notifyAll", "toString", "wait", "clone", "finalize"]
            .contains(&name)
    };
    let wanted = [Origin::Local, Origin::Enclosing, Origin::Member];
    let own = suggestions.iter().filter(|found| is_own(&found.name) && wanted.contains(&found.origin));
    own.map(|found| found.name.as_str()).collect::<Vec<_>>().join(" ")
}

fn check(body: &str, expected: &Expect) {
    expected.assert_eq(&names(&program(body)));
}

fn has(text: &str, name: &str) -> bool {
    let suggestions = ask(text, None, |engine, caret| engine.completions(caret).unwrap());
    suggestions.iter().any(|found| found.name == name)
}

#[test]
fn names_in_scope_are_those_declared_before_the_caret() {
    check(
        "int a = 1; { int b; } for (int c : sizes) { ^d(); } int e;",
        &expect!["Builder Color LIMIT Visitor a area c compareTo count getOwner main name of owner points run sizes"],
    );
}

#[test]
fn a_binding_does_not_suggest_itself() {
    check(
        "int fresh = ^fresh;",
        &expect!["Builder Color LIMIT Visitor area compareTo count getOwner main name of owner points run sizes"],
    );
    check("int ^fresh = 1;", &expect![""]);
}

#[test]
fn members_follow_a_dot() {
    check("points.get(0).^x();", &expect!["x y"]);
    check("this.^x;", &expect!["LIMIT area compareTo count getOwner main of owner points run"]);
    check("Shape.^x", &expect!["Builder Color LIMIT Visitor of"]);
    check(
        "RED.next().^",
        &expect!["GREEN RED compareTo describeConstable getDeclaringClass name next ordinal valueOf values"],
    );
    check("Shape.of(points).getOwner().iterator().next().^", &expect!["x y"]);
    check("sizes.^", &expect!["length"]);
    check("new Shape.Builder().with(\"a\").^with(name);", &expect!["with"]);
}

#[test]
fn lambdas_loops_and_patterns_have_types() {
    check("points.stream().filter(p -> p.^", &expect!["x y"]);
    check("points.stream().map(p -> p.sum()).forEach(i -> i.longV^", &expect!["longValue"]);
    check("for (var p : points) { p.^ }", &expect!["x y"]);
    check("Object o = name; if (o instanceof Point q && q.^", &expect!["x y"]);
    check("Shape.Visitor v = (shape, depth) -> { shape.^ };", &expect!["LIMIT area compareTo getOwner of owner"]);
    check("new Object() { int own; void f() { ow^n++; } };", &expect!["own owner"]);
    check("class Inner { int deep; Inner self() { return this; } } new Inner().self().^", &expect!["deep self"]);
    check("try (java.io.StringReader r = null) { r.rea^ } catch (Exception e) { }", &expect!["read ready"]);
    check("Map<String, Point> m = null; m.entrySet().iterator().next().getValue().^", &expect!["x y"]);
    check(
        "switch (RED) { case ^",
        &expect![
            "Builder Color GREEN LIMIT RED Visitor area compareTo count getOwner main name of owner points run sizes"
        ],
    );
}

#[test]
fn types_packages_and_imports_are_completed() {
    assert!(
        has(&program("new ^"), "Builder") && has(&program("new ^"), "ArrayList") && has(&program("new ^"), "Point")
    );
    assert!(!has(&program("new ^"), "points"));
    assert!(has(&program("java.util.concurrent.^"), "TimeUnit"));
    assert!(has(&program("if (name instanceof base.^Point) { }"), "Point"));
    assert!(has("package app; import java.ut^ class A {}", "util"));
    assert!(has("package app;\nimport base.^\nclass A {}", "Shape"));
    assert!(has("package app;\nimport base.Shape;\nclass A extends ^ {}", "Shape"));
    assert!(has("package app;\nimport base.Shape;\nclass A extends Shape<^> { int b; }", "A"));
    assert!(has("@interface N { int size(); } @N(si^ = 1) class A {}", "size"));
    assert!(has("@interface N { int size(); } class A { @N(^) int b; }", "size"));
    assert!(has("class A { void f() { label: while (true) break ^; } }", "label"));
}

#[test]
fn nothing_is_suggested_in_comments_and_literals() {
    check("// na^", &expect![""]);
    check("String s = \"na^\";", &expect![""]);
}

#[test]
fn an_unfinished_function_keeps_its_scope() {
    let whole = program("int local = 1; for (Point p : points) { if (p.x() > local) { count++; } }");
    let cut = whole.replace("{ if (p.x() > local) { count++; } }\n    }", "{ if (p.x() > lo^");
    let found = ask(&cut, Some(&whole), |engine, caret| engine.completions(caret).unwrap());
    assert_eq!(found.iter().map(|found| &*found.name).collect::<Vec<_>>(), ["local"]);
    // The same in a text that the repository has not.
    assert_eq!(names(&cut), "local");
}

fn told(body: &str, question: impl FnOnce(&mut JavaEngine<'_>, &Caret<'_>) -> Option<String>) -> String {
    ask(&program(body), None, question).unwrap_or_default()
}

#[test]
fn expressions_have_types() {
    let inferred = |body: &str| told(body, |engine, caret| engine.inferred_type(caret).unwrap());
    let cases = [
        ("get^Owner();", "String"),
        ("points.stream().map(p -> p.x()).^toList();", "List<Integer>"),
        ("Arrays.as^List(new Point(1, 2));", "List<Point>"),
        ("var m = 1 + 2L; ^m++;", "long"),
        ("var t = name + 1; ^t.length();", "String"),
        ("int[][] grid = null; var row = grid[0]; ^row.clone();", "int[]"),
        ("sizes.len^gth;", "int"),
        ("Optional.of(name).or^Else(null);", "String"),
        ("Object o = ^unknown;", ""),
        ("poi^nts.size();", "List<Point>"),
    ];
    let found = cases.map(|(body, _)| inferred(body));
    assert_eq!(found, cases.map(|(_, expected)| expected));
}

#[test]
fn places_have_expected_types() {
    let expected = |body: &str| told(body, |engine, caret| engine.expected_type(caret).unwrap());
    let cases = [
        ("area(^);", "int"),
        ("Point p = new Point(1, ^2);", "int"),
        ("Shape<String> s = ^", "Shape<String>"),
        ("if (^) { }", "boolean"),
        ("while (count > ^1) { }", "int"),
        ("points.add(^);", "Point"),
        ("name = ^name;", "String"),
        ("Runnable r = () -> { }; Comparator<Point> c = (a, b) -> ^;", "int"),
        ("String s = name.^trim();", "String"),
        ("^", ""),
    ];
    let found = cases.map(|(body, _)| expected(body));
    assert_eq!(found, cases.map(|(_, expected)| expected));
    let text = program("").replace("return scale;", "return ^scale;");
    assert_eq!(ask(&text, None, |engine, caret| engine.expected_type(caret).unwrap()).as_deref(), Some("double"));
}

#[test]
fn identifiers_have_definitions() {
    let define = |text: &str| {
        let defined = ask(text, None, |engine, caret| engine.definitions(caret).unwrap());
        let place = |place: &Place| match place {
            Place::Repository { path, span } => {
                let own = text.replacen('^', "", 1);
                let stored = LIBRARY.iter().find(|(stored, _)| stored == path).map_or(&*own, |(_, text)| text);
                format!("{path} {}: {}", stored[..span.start].lines().count(), &stored[span.clone()])
            }
            Place::Outside { module } => module.clone(),
        };
        defined.iter().map(|found| format!("{} in {}", found.name, place(&found.place))).collect::<Vec<_>>().join(", ")
    };
    let bodies =
        ["int a = 1; ^a++;", "area(^count);", "get^Owner();", "^RED.next();", "Poi^nt p;", "name.len^gth();", "x.^y"];
    let found = bodies.map(|body| define(&program(body)));
    expect![[r"
        a in app/Circle.java 11: a
        count in app/Circle.java 8: count
        getOwner in base/Shape.java 6: getOwner
        RED in base/Shape.java 11: RED
        Point in base/Point.java 2: Point
        length in java.lang
    "]]
    .assert_eq(&found.join("\n"));
}

#[test]
fn reachable_types_and_headers_are_declared() {
    let reached = ask(&program("Shape.Color c = ^;"), None, |engine, caret| engine.reachable_types(caret).unwrap());
    expect![[r"
        enum Color {
            static Color[] values();
            static Color valueOf(String name);
            RED;
            GREEN;
            Color next();
        }"]]
    .assert_eq(&reached.iter().map(|found| &*found.declaration).collect::<Vec<_>>().join("\n"));
    let headers = ask(&program("int a = 1; ^"), None, |engine, caret| engine.headers(caret).unwrap());
    expect![[r"
        int a
        String name
        int[] sizes
        static int LIMIT
        double area(int scale)
        int compareTo(Shape<String> other)
        static int count
        String getOwner()
        static void main()
        static <E> Shape<E> of(E owner)
        String owner
        List<Point> points
        void run(String name, int... sizes)"]]
    .assert_eq(&headers.iter().map(|found| &*found.declaration).collect::<Vec<_>>().join("\n"));
}

#[test]
fn what_is_wrong_is_found() {
    let text = program(
        "int a = missing; Missing m; points.missing(); missing(); name.missing.b(); Shape.Missing s; Point.missing();
        Object known = points.get(0).x() + sizes.length; Map.Entry<String, Point> e = null; e.getValue().y();",
    );
    let mut files = LIBRARY.to_vec();
    files.push(("app/Circle.java", &text));
    let repository = repository(&files);
    let found = JavaEngine::new(&repository).diagnostics("app/Circle.java", &text).unwrap();
    let lines = found.iter().map(|found| format!("{:?} {}", found.kind, &text[found.span.start - 4..found.span.end]));
    expect![[r"
        UndefinedName a = missing
        UndefinedName ng; Missing
        NoMember nts.missing
        UndefinedName (); missing
        NoMember ame.missing
        NoMember ape.Missing
        NoMember int.missing"]]
    .assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}
