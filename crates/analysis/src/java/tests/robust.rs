//! Any text at any caret gives an answer, in bounded time.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use repo::{Language, Repository, SourceFile};

use crate::caret::Caret;
use crate::intelligence::CodeIntelligence;
use crate::java::JavaEngine;

const PATH: &str = "a/A.java";

fn repository(text: &str) -> Repository {
    Repository::new("r", vec![SourceFile { path: PATH.into(), language: Language::Java, text: text.into() }])
}

fn ask_everything(engine: &mut JavaEngine<'_>, text: &str, byte: usize) {
    let caret = Caret::new(PATH, Cow::Borrowed(text), byte);
    let first = engine.completions(&caret).unwrap();
    engine.definitions(&caret).unwrap();
    engine.inferred_type(&caret).unwrap();
    engine.expected_type(&caret).unwrap();
    engine.reachable_types(&caret).unwrap();
    engine.headers(&caret).unwrap();
    assert_eq!(engine.completions(&caret).unwrap(), first, "{text:?} {byte}");
}

/// Code that uses most of the grammar.
const CODE: &str = r#"
package a;
import java.util.*;
import static java.util.Collections.*;
@Deprecated(since = "1")
public class A<T extends Comparable<T>> extends AbstractList<T> implements Iterable<T> {
    private int a, b[] = {1, 2};
    static { int c = 1; }
    enum E { X(1) { int f() { return 2; } }, Y; E() {} E(int i) {} int f() { return 1; } }
    record R(int x, List<String> y) { R { } static R of() { return new R(1, emptyList()); } }
    @interface N { int value() default 1; }
    interface I { default void g(T t) throws Exception { } int h(); }
    class B extends A<T>.C { } class C extends B { }
    public T get(int i) { return null; }
    public int size() {
        label: for (int i = 0, n = b.length; i < n; i++) { if (i > 2) continue label; else break; }
        Runnable r = () -> { var q = new Object() { int z = 1; }; q.z++; };
        Comparator<R> c = Comparator.comparing(R::x).thenComparing(o -> o.y().get(0));
        try (var s = new java.io.StringReader("é")) { s.read(); } catch (RuntimeException | java.io.IOException e) { throw e; }
        switch (E.X) { case X: int k = 1; break; case Y -> { } default: }
        Object o = a > 1 ? (Object) "s" : b[0]; if (!(o instanceof R w)) return 1; w.y();
        do { synchronized (this) { super.size(); } } while (A.this.a == 1 || o instanceof R(int x, var y) && x > 1);
        return switch (a) { case 1 -> 2; default -> { yield 3; } };
    }
}
"#;

#[test]
fn every_caret_of_a_sound_text_is_answered() {
    let repository = repository(CODE);
    let mut engine = JavaEngine::new(&repository);
    for (byte, _) in CODE.char_indices().step_by(7) {
        ask_everything(&mut engine, CODE, byte);
    }
    engine.diagnostics(PATH, CODE).unwrap();
}

#[test]
fn every_text_cut_short_is_answered() {
    let repository = repository(CODE);
    let mut engine = JavaEngine::new(&repository);
    let boundaries: Vec<usize> = CODE.char_indices().map(|(byte, _)| byte).collect();
    for byte in boundaries.into_iter().step_by(7) {
        ask_everything(&mut engine, &CODE[..byte], byte);
        engine.diagnostics(PATH, &CODE[..byte]).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn any_small_text_is_answered(
        words in prop::collection::vec(prop::sample::select(vec![
            "class", "A", "B", "extends", "{", "}", "(", ")", "<", ">", ".", ";", ",", "=", "new", "int", "x", "y", "this",
            "super", "->", "::", "[", "]", "\"", "'", "/*", "*/", "//", "\n", "é", "import", "package", "static", "@", "enum",
            "record", "switch", "case", "instanceof", "for", "try", "return", "interface", "?", ":", "&&", "1", "var",
        ]), 0..24),
        at in 0.0..1.0,
        is_known in any::<bool>(),
    ) {
        let text = words.join(" ");
        let repository = repository(if is_known { &text } else { CODE });
        let mut engine = JavaEngine::new(&repository);
        let mut byte = (text.len() as f64 * at) as usize;
        while !text.is_char_boundary(byte) {
            byte -= 1;
        }
        ask_everything(&mut engine, &text, byte);
        engine.diagnostics(PATH, &text).unwrap();
    }

    #[test]
    fn any_piece_taken_out_of_a_text_is_survived(start in 0..CODE.len(), length in 0_usize..300, n_cut in 0_usize..40) {
        let boundary = |byte: usize| (byte..=CODE.len()).find(|byte| CODE.is_char_boundary(*byte)).unwrap();
        let (start, end) = (boundary(start), boundary((start + length).min(CODE.len())));
        let last = boundary(CODE.len() - n_cut.min(CODE.len() - end));
        let text = [&CODE[..start], &CODE[end..last]].concat();
        let repository = repository(CODE);
        ask_everything(&mut JavaEngine::new(&repository), &text, start);
    }
}

fn timed(text: &str, byte: usize) -> Duration {
    let repository = repository(text);
    let mut engine = JavaEngine::new(&repository);
    let started = Instant::now();
    ask_everything(&mut engine, text, byte);
    started.elapsed()
}

#[test]
fn a_text_of_a_million_levels_is_answered_in_time() {
    let sum = format!("{}\n", "1+".repeat(500)).repeat(3_000);
    let text = format!("class A {{ int a;\n int f() {{ int x = \n{sum}1; return a; }} }}");
    let took = timed(&text, text.rfind('1').unwrap());
    assert!(took < Duration::from_secs(90), "{took:?}");
}

#[test]
fn a_long_chain_and_deep_nesting_are_answered_in_time() {
    let chain = ".append(1)\n".repeat(10_000);
    let text = format!("class A {{ void f() {{ new StringBuilder()\n{chain}.length(); }} }}");
    let took = timed(&text, text.rfind("length").unwrap());
    assert!(took < Duration::from_mins(1), "{took:?}");
    let nested = "class A { ".repeat(1_000) + "int x = y;" + &" }".repeat(1_000);
    let took = timed(&nested, nested.find('y').unwrap());
    assert!(took < Duration::from_mins(1), "{took:?}");
    let calls = format!("class A {{ int f(int x) {{ return {}1{}; }} }}", "f(".repeat(2_000), ")".repeat(2_000));
    let took = timed(&calls, calls.find('1').unwrap());
    assert!(took < Duration::from_mins(1), "{took:?}");
}

#[test]
fn a_class_of_a_hundred_thousand_members_is_answered_in_time() {
    let members: Vec<String> = (0..100_000).map(|index| format!("int a{index};\n")).collect();
    let members = members.concat();
    let text = format!("class A {{\n{members}int f() {{ return a1; }} }}");
    let took = timed(&text, text.rfind("a1").unwrap());
    assert!(took < Duration::from_mins(1), "{took:?}");
}
