//! Tests of collecting and resolving imports.

use expect_test::{Expect, expect};

use super::*;

fn repository(files: &[(&str, &str)]) -> Repository {
    let files = files.iter().map(|&(path, text)| SourceFile {
        path: path.into(),
        language: Language::from_path(path).unwrap(),
        text: text.into(),
    });
    Repository::new("r", files.collect())
}

/// Renders what every file depends on; files without dependencies are left out.
fn resolved(files: &[(&str, &str)]) -> String {
    let repository = repository(files);
    let path = |index: usize| repository.files()[index].path.as_str();
    let found = resolve(&repository).into_iter().enumerate().filter(|(_, dependencies)| !dependencies.is_empty());
    let lines = found.map(|(file, dependencies)| {
        let names: Vec<&str> = dependencies.into_iter().map(path).collect();
        format!("{} -> {}", path(file), names.join(", "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn check(files: &[(&str, &str)], expected: &Expect) {
    expected.assert_eq(&resolved(files));
    let backwards: Vec<(&str, &str)> = files.iter().copied().rev().collect();
    expected.assert_eq(&resolved(&backwards));
}

fn collected(path: &str, text: &str) -> String {
    let repository = repository(&[(path, text)]);
    let imports = collect(&repository.files()[0]).into_iter();
    let lines = imports.map(|Import { kind, path, binding, .. }| format!("{kind:?} {} {binding:?}", path.join(".")));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn python_imports_are_collected_as_written() {
    let text = "\
import a.b as c, d.e
from __future__ import annotations
from . import x
from \\
    k import (  # why
        l,
    )
from ..p.q import y as z, w
def f():
    try:
        from g import *
    except ImportError:
        import h
";
    expect![[r#"
        Module a.b Some("c")
        Module d.e Some("d")
        Member { level: 1, name: "x" }  Some("x")
        Member { level: 0, name: "l" } k Some("l")
        Member { level: 2, name: "y" } p.q Some("z")
        Member { level: 2, name: "w" } p.q Some("w")
        Star { level: 0 } g None
        Module h Some("h")"#]]
    .assert_eq(&collected("m.py", text));
}

#[test]
fn java_imports_and_uses_are_collected() {
    let text = "\
package a.b;
import c.D;
import c.e.*;
import static c.D.make;
import static c.F.*;
@Tag class G<T> extends H { T t; D.Inner d; c.K k = K.of(L::new); java.util.List<M> m; }
";
    expect![[r#"
        Type c.D Some("D")
        OnDemand c.e None
        Static c.D.make Some("make")
        StaticOnDemand c.F None
        Use Tag None
        Use T None
        Use H None
        Use D.Inner None
        Use c.K None
        Use K None
        Use L None
        Use java.util.List None
        Use M None"#]]
    .assert_eq(&collected("G.java", text));
}

#[test]
fn broken_statements_give_what_they_still_name() {
    expect![[r#"
        Member { level: 0, name: "b" } a Some("b")
        Module c Some("c")"#]]
    .assert_eq(&collected("m.py", "import\nfrom a import\nimport b\nfrom import c\n"));
}

#[test]
fn python_modules_are_found_absolutely_and_relatively() {
    check(
        &[
            ("shop/__init__.py", ""),
            ("shop/cart.py", "import shop.money\nfrom .money import Money\nfrom .stock import shelf\nimport json"),
            ("shop/money.py", "import cart"),
            ("shop/stock/__init__.py", "from ..money import Money"),
            ("shop/stock/shelf.py", "from ... import beyond\nfrom .... import further"),
        ],
        &expect![[r"
            shop/cart.py -> shop/money.py, shop/stock/__init__.py, shop/stock/shelf.py
            shop/stock/__init__.py -> shop/money.py"]],
    );
}

#[test]
fn names_passed_on_are_followed_to_the_file_that_defines_them() {
    check(
        &[
            ("app.py", "from shop import Cart, helper, VERSION, missing"),
            ("shop/__init__.py", "from .orders import Cart\nfrom .tools import *\nVERSION = 1"),
            ("shop/orders/__init__.py", "from .cart import Basket as Cart"),
            ("shop/orders/cart.py", "class Basket: pass"),
            ("shop/tools.py", "def helper(): pass"),
        ],
        &expect![[r"
            app.py -> shop/__init__.py, shop/orders/cart.py, shop/tools.py
            shop/__init__.py -> shop/orders/__init__.py, shop/orders/cart.py, shop/tools.py
            shop/orders/__init__.py -> shop/orders/cart.py"]],
    );
}

#[test]
fn names_passed_around_in_a_circle_end() {
    check(
        &[
            ("app.py", "from a import thing"),
            ("a/__init__.py", "from b import thing, thing"),
            ("b/__init__.py", "from a import *\nfrom a import thing\nfrom b import *"),
        ],
        &expect![[r"
            a/__init__.py -> b/__init__.py
            app.py -> a/__init__.py
            b/__init__.py -> a/__init__.py"]],
    );
}

#[test]
fn names_bound_inside_a_function_are_not_passed_on() {
    check(
        &[
            ("app.py", "from a import f, g"),
            ("a.py", "def f():\n    from b import g\n    def g(): pass"),
            ("b.py", "def g(): pass"),
        ],
        &expect![[r"
            a.py -> b.py
            app.py -> a.py"]],
    );
}

#[test]
fn roots_are_the_top_src_package_parents_and_a_scripts_own_directory() {
    check(
        &[
            ("lib/python/tool/__init__.py", ""),
            ("lib/python/tool/main.py", "import shop.cart, helpers"),
            ("one/src/shop/cart.py", "import shop.money"),
            ("one/src/shop/money.py", ""),
            ("scripts/helpers.py", ""),
            ("scripts/run.py", "import helpers, tool.main\nfrom one.src.shop import money"),
            ("two/src/shop/cart.py", "import shop.money"),
            ("two/src/shop/money.py", ""),
        ],
        &expect![[r"
            lib/python/tool/main.py -> one/src/shop/cart.py
            one/src/shop/cart.py -> one/src/shop/money.py
            scripts/run.py -> lib/python/tool/main.py, one/src/shop/money.py, scripts/helpers.py
            two/src/shop/cart.py -> two/src/shop/money.py"]],
    );
}

#[test]
fn java_types_are_found_by_import_package_and_qualified_name() {
    check(
        &[
            (
                "m/a/A.java",
                "package a; import b.B.Inner; import static c.C.make; import d.*; class A { D d; Same s; e.E e; }",
            ),
            ("m/a/Same.java", "package a; class Same<D> { D own; Same again; List unknown; }"),
            ("m/b/B.java", "package b; import static c.C.*; public class B { class Inner { Inner next; } }"),
            ("m/c/C.java", "package c; class C { void f() { Helper.run(); } } class Helper {}"),
            ("m/d/D.java", "package d; class D extends a.A {}"),
            ("m/d/Unused.java", "package d; import java.util.*; class Unused {}"),
            ("m/e/E.java", "package e; enum E { ONE }"),
        ],
        &expect![[r"
            m/a/A.java -> m/a/Same.java, m/b/B.java, m/c/C.java, m/d/D.java, m/e/E.java
            m/b/B.java -> m/c/C.java
            m/d/D.java -> m/a/A.java"]],
    );
}

#[test]
fn of_java_types_with_one_name_the_nearest_is_taken() {
    check(
        &[
            ("one/a/A.java", "package a; class A { B b; }"),
            ("one/a/B.java", "package a; class B {}"),
            ("two/a/A.java", "package a; class A { B b; }"),
            ("two/a/B.java", "package a; class B {}"),
            ("x/Main.java", "class Main { Local l; }"),
            ("x/Local.java", "class Local {}"),
            ("y/Local.java", "class Local {}"),
        ],
        &expect![[r"
            one/a/A.java -> one/a/B.java
            two/a/A.java -> two/a/B.java
            x/Main.java -> x/Local.java"]],
    );
}

#[test]
fn odd_files_give_no_imports_and_no_panic() {
    let odd =
        ["", "\0", "import \0a", "from . import", "\"\"\"open\nimport a", "\u{feff}import a", "import a\r\n\timport b"];
    for text in odd {
        for path in ["a.py", "A.java"] {
            let n_imports = collected(path, text).lines().count();
            assert!(n_imports <= 2, "{text:?}");
        }
    }
    assert_eq!(collected("a.py", &"import a;".repeat(1 << 19)), "");
}
