//! Tests of the target rules.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::fixtures;
use crate::graph::DependencyGraph;
use crate::language::Language;
use crate::random;
use crate::source::Repository;

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.into(), language: Language::from_path(path).unwrap(), text: text.into() }
}

fn texts<'a>(file: &'a SourceFile, targets: &[Target]) -> Vec<&'a str> {
    targets.iter().map(|target| &file.text[target.span.clone()]).collect()
}

/// Puts a bar before every target, so that its leading space is seen.
fn marked(targets: &[&str]) -> String {
    targets.iter().map(|target| format!("|{target}")).collect::<Vec<_>>().join("\n")
}

fn check_lines(path: &str, text: &str, expected: &Expect) {
    let file = file(path, text);
    expected.assert_eq(&marked(&texts(&file, &line_targets(&file))));
}

#[test]
fn python_lines_are_code_after_a_line() {
    let text = "\
first = 1
second = 2  # kept

after_blank = 3
# comment
def f(x):
    \"\"\"Docstring
    over lines.\"\"\"
    text = \"\"\"not a
    docstring\"\"\"
    second = 2  # kept
    return x\r
)
";
    check_lines(
        "a.py",
        text,
        &expect![[r#"
            |second = 2  # kept
            |def f(x):
            |    text = """not a
            |    docstring"""
            |    return x
            |)"#]],
    );
}

#[test]
fn java_lines_hold_more_than_braces() {
    let text = "\
class A {
    /* comment
       over lines */ int a;
    // comment
    int b() {
        return a;
    }
}
";
    check_lines(
        "A.java",
        text,
        &expect![[r"
            |       over lines */ int a;
            |    int b() {
            |        return a;"]],
    );
}

fn check_calls(files: &[(&str, &str)], path: &str, expected: &Expect) {
    let repository = Repository::new("r", files.iter().map(|(path, text)| file(path, text)).collect());
    let index = repository.position(path).unwrap();
    let dependencies = DependencyGraph::build(&repository).dependencies(index);
    let targets = api_call_targets(&repository, &dependencies, index);
    assert!(targets.iter().all(|target| target.path == path && target.kind == TargetKind::ApiCall));
    expected.assert_eq(&marked(&texts(&repository.files()[index], &targets)));
}

#[test]
fn python_calls_count_if_imported_and_defined_in_the_repository() {
    let app = "\
import os, shop.money
from shop import stock as s
from shop.money import Money as M, total
from os import path
a = total(M(1),
          M(2))
b = s.shelf(3); c = path.total()
d = shop.money.total(4).total(5)
e = local.total(6) + s.unknown(7) + print(8)
class Own(M): pass
M.parse(
    9,
)
";
    check_calls(
        &[
            ("app.py", app),
            ("shop/money.py", "class Money:\n    def parse(x): pass\ndef total(*xs): pass"),
            ("shop/stock.py", "def shelf(n): pass"),
        ],
        "app.py",
        &expect![[r"
            |a = total(M(1),
            |a = total(M(1),
                      M(2))
            |          M(2))
            |b = s.shelf(3); c = path.total()
            |d = shop.money.total(4).total(5)
            |M.parse(
                9,
            )"]],
    );
}

#[test]
fn java_calls_count_on_types_variables_and_static_imports() {
    let app = "\
import static shop.Money.total;
import shop.*;
class App {
    private final Cart cart = new Cart();
    int both;
    void run(Money money, String both, java.util.List<Cart> carts) {
        cart.add(money);
        this.cart.add(
            money);
        Money.parse(\"1\");
        total(money);
        both.add(money);
        money.unknown();
        other.cart.add(money);
        for (Cart each : carts) { each.add(money); }
        carts.add(null);
    }
}
";
    check_calls(
        &[
            ("App.java", app),
            ("shop/Cart.java", "package shop; public class Cart { public void add(Money m) {} }"),
            (
                "shop/Money.java",
                "package shop; public class Money { static Money parse(String s) {} static int total(Money m) {} }",
            ),
        ],
        "App.java",
        &expect![[r#"
            |    private final Cart cart = new Cart();
            |        cart.add(money);
            |        this.cart.add(
                        money);
            |        Money.parse("1");
            |        total(money);
            |        for (Cart each : carts) { each.add(money); }"#]],
    );
}

#[test]
fn odd_files_give_no_targets_and_no_panic() {
    for text in ["", "\n", "\0", "x = '", "f(\0)\r\n\tg(", "\u{feff}é(é)"] {
        for path in ["a.py", "A.java"] {
            let repository = Repository::new("r", vec![file(path, text)]);
            let n_targets = line_targets(&repository.files()[0]).len();
            assert!(n_targets <= 1, "{text:?}");
            assert_eq!(api_call_targets(&repository, &[], 0), []);
        }
    }
}

#[test]
fn a_span_never_lies_in_the_first_file() {
    let text = "word ".repeat(600);
    let (first, second, third) = (file("a.py", &text), file("b.py", &text), file("c.py", &text));
    let mut rng = random::stream(1, "spans");
    let mut paths: Vec<String> = Vec::new();
    for _ in 0..50 {
        paths.extend(random_span(&[&first, &second, &third], &SpanRule::default(), &mut rng).map(|t| t.path));
    }
    paths.sort();
    paths.dedup();
    assert_eq!(paths, ["b.py", "c.py"]);
    assert_eq!(random_span(&[&first], &SpanRule::default(), &mut rng), None);
    assert_eq!(random_span(&[], &SpanRule::default(), &mut rng), None);
}

#[test]
fn a_span_depends_on_the_stream_alone() {
    let words: Vec<String> = (0..2_000).map(|i| format!("w{i}")).collect();
    let text = words.join(" ");
    let files = [&file("a.py", ""), &file("b.py", &text)];
    let draw = |seed| random_span(&files, &SpanRule::default(), &mut random::stream(seed, "spans")).unwrap();
    assert_eq!(draw(3), draw(3));
    assert_ne!(draw(3), draw(4));
}

#[test]
fn every_fixture_cluster_gives_spans_lines_and_calls() {
    for name in ["python_shop", "java_library"] {
        let repository = fixtures::load(name);
        let graph = DependencyGraph::build(&repository);
        let mut rng = random::stream(1, "spans");
        for cluster in graph.clusters() {
            let files = fixtures::cluster_files(&repository, &cluster);
            let n_spans = (0..100).filter(|_| random_span(&files, &SpanRule::default(), &mut rng).is_some()).count();
            assert!(n_spans > 30, "{n_spans} spans of {:?}", files[0].path);
            let calls = |&file: &usize| api_call_targets(&repository, &graph.dependencies(file), file).len();
            let n_calls: usize = cluster.files.iter().map(calls).sum();
            let n_lines: usize = files.iter().map(|file| line_targets(file).len()).sum();
            assert!(n_calls >= 2 && n_lines > 50, "{n_calls} calls, {n_lines} lines of {:?}", files[0].path);
        }
    }
}

#[test]
fn a_file_too_short_for_the_rule_gives_no_span() {
    let files = [&file("a.py", ""), &file("b.py", "one two three")];
    assert_eq!(random_span(&files, &SpanRule::default(), &mut random::stream(1, "spans")), None);
}

proptest! {
    #[test]
    fn a_span_and_its_contexts_are_the_file(
        words in prop::collection::vec("[a-zé]{0,4}(\n|\r\n)?", 0..900),
        seed in any::<u64>(),
    ) {
        let file = file("b.py", &words.join(" "));
        let rule = SpanRule::default();
        let Some(target) = random_span(&[&file, &file], &rule, &mut random::stream(seed, "spans")) else {
            return Ok(());
        };
        let (left, rest) = file.text.split_at(target.span.start);
        let (middle, right) = rest.split_at(target.span.len());
        prop_assert_eq!(format!("{left}{middle}{right}"), file.text.clone());
        prop_assert!(left.ends_with(' '));
        prop_assert!(right.is_empty() || right.starts_with(' '));

        let n_pieces = words.len().max(1);
        let (before, within) = (left.matches(' ').count(), middle.split(' ').count());
        let share = before as f64 / n_pieces as f64;
        prop_assert!((0.19..0.81).contains(&share));
        prop_assert!((32..=64).contains(&within) || right.is_empty());
        prop_assert!(left.split_whitespace().count() > 80);
        prop_assert!(middle.split_whitespace().count() > 8);
    }

    #[test]
    fn line_targets_are_whole_distinct_lines(text in "([a-z =()#{};\"]{0,8}(\n|\r\n)){0,20}") {
        for path in ["a.py", "A.java"] {
            let file = file(path, &text);
            let lines: Vec<&str> = text.lines().collect();
            let targets = line_targets(&file);
            let found = texts(&file, &targets);
            prop_assert!(found.iter().all(|line| lines.contains(line)));
            let mut distinct: Vec<&str> = found.iter().map(|line| line.trim()).collect();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), found.len());
        }
    }
}
