//! Where the names of a small package are defined.

use expect_test::{Expect, expect};

use super::fixture::ask;
use crate::intelligence::{CodeIntelligence, Place};

/// Checks the definitions of the identifier at `$0`, one a line.
fn check(files: &[(&str, &str)], expected: &Expect) {
    let found = ask(files, |engine, caret| engine.definitions(caret).unwrap());
    let text = |path: &str| files.iter().find(|file| file.0 == path).unwrap().1.replace("$0", "");
    let lines = found.into_iter().map(|definition| match definition.place {
        Place::Repository { path, span } => {
            let before = text(&path)[..span.start].matches('\n').count() + 1;
            format!("{} {path}:{before} {:?}", definition.name, &text(&path)[span])
        }
        Place::Outside { module } => format!("{} in {module}", definition.name),
    });
    expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

const SHAPES: (&str, &str) = (
    "app/shapes.py",
    "\
import math
import numpy as np

class Shape:
    sides: int = 0
    def area(self, scale=1):
        self.last = scale
        return math.pi

class Square(Shape):
    pass
",
);
const PACKAGE: (&str, &str) = ("app/__init__.py", "from .shapes import Square as Box, np\n");

#[test]
fn locals_parameters_and_functions_are_found_where_they_are_bound() {
    check(
        &[("a.py", "def f(x):\n    y = x\n    if y:\n        y = 2\n    return $0y\n")],
        &expect![[r#"
        y a.py:2 "y"
        y a.py:4 "y""#]],
    );
    check(&[("a.py", "def f(x):\n    return x$0\n")], &expect![[r#"x a.py:1 "x""#]]);
    check(&[("a.py", "def f(x): pass\n$0f(1)\n")], &expect![[r#"f a.py:1 "f""#]]);
    check(&[("a.py", "def f(x): pass\nf($0x=1)\n")], &expect![[r#"x a.py:1 "x""#]]);
    check(&[("a.py", "def $0f(x): pass\n")], &expect![[r#"f a.py:1 "f""#]]);
    check(&[("a.py", "try:\n    pass\nexcept E as $0e:\n    e\n")], &expect![[r#"e a.py:3 "e""#]]);
}

#[test]
fn imports_are_followed_to_the_definition() {
    check(
        &[PACKAGE, SHAPES, ("main.py", "from app import $0Box\n")],
        &expect![[r#"Square app/shapes.py:10 "Square""#]],
    );
    check(
        &[PACKAGE, SHAPES, ("main.py", "from app import Box\n$0Box()\n")],
        &expect![[r#"Square app/shapes.py:10 "Square""#]],
    );
    check(&[PACKAGE, SHAPES, ("main.py", "import app.$0shapes\n")], &expect![[r#"shapes app/shapes.py:1 """#]]);
    check(
        &[PACKAGE, SHAPES, ("main.py", "from app.$0shapes import Shape\n")],
        &expect![[r#"shapes app/shapes.py:1 """#]],
    );
    check(
        &[PACKAGE, SHAPES, ("app/other.py", "from .$0shapes import Shape\n")],
        &expect![[r#"shapes app/shapes.py:1 """#]],
    );
    check(&[PACKAGE, SHAPES, ("main.py", "import app\napp.$0shapes\n")], &expect![[r#"shapes app/shapes.py:1 """#]]);
}

#[test]
fn members_are_found_in_the_class_that_has_them() {
    check(
        &[PACKAGE, SHAPES, ("main.py", "from app import Box\nBox().$0area()\n")],
        &expect![[r#"area app/shapes.py:6 "area""#]],
    );
    check(
        &[PACKAGE, SHAPES, ("main.py", "from app import Box\nBox().$0last\n")],
        &expect![[r#"last app/shapes.py:7 "last""#]],
    );
    check(
        &[PACKAGE, SHAPES, ("main.py", "from app import Box\nBox().area($0scale=2)\n")],
        &expect![[r#"scale app/shapes.py:6 "scale""#]],
    );
    check(
        &[PACKAGE, SHAPES, ("main.py", "def f(x: 'app.shapes.$0Shape'): pass\nimport app.shapes\n")],
        &expect![[r#"Shape app/shapes.py:4 "Shape""#]],
    );
}

#[test]
fn what_the_repository_lacks_is_outside() {
    check(
        &[("a.py", "import os.path\nos.path.$0join\n")],
        &expect![[r"
        join in ntpath
        join in posixpath"]],
    );
    check(&[("a.py", "$0len('')\n")], &expect!["len in builtins"]);
    check(&[("a.py", "import $0os.path\n")], &expect!["os in os"]);
    check(&[("a.py", "import numpy.linalg as $0la\n")], &expect!["linalg in numpy.linalg"]);
    check(&[("a.py", "from numpy import array\n$0array\n")], &expect!["array in numpy"]);
    check(&[PACKAGE, SHAPES, ("main.py", "from app import np\n$0np\n")], &expect!["numpy in numpy"]);
}

#[test]
fn what_is_no_identifier_or_unknown_has_no_definition() {
    check(&[("a.py", "x = $0 1\n")], &expect![]);
    check(&[("a.py", "$0return\n")], &expect![]);
    check(&[("a.py", "$0nothing\n")], &expect![]);
    check(&[("a.py", "import numpy\nnumpy.$0array\n")], &expect![]);
}
