//! The values in scope at places of small Python files.

use expect_test::{Expect, expect};

use crate::intelligence::CodeIntelligence;
use crate::python::definitions::fixture::ask;

fn check(text: &str, expected: &Expect) {
    let other = "def area(a: int, b=2) -> float: ...\nclass Base: ...\nlimit = 3\n";
    let found = ask(&[("a.py", text), ("b.py", other)], |engine, caret| engine.headers(caret).unwrap());
    let lines = found.iter().map(|header| format!("{} {}: {}", header.origin.name(), header.name, header.declaration));
    expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn names_come_from_the_innermost_scope_first() {
    check(
        "\
import os.path
import numpy as np
from b import area as surface, Base, limit
from nowhere import thing as other
from typing import Union
Either = Union[int, str]
count: int = 1
size = [1]
def outer(a, *args: str, b: list[int] | None = None, **options):
    inside = 'x'
    async def inner(
        x: int,  # how many
        y=(1, 2),
    ) -> str:
        z = area(1)
        for i in range(x):
            $0
        later = 2
    hidden = 3
class Derived(Base, metaclass=type):
    member = 1
    def method(self): ...
end = None
",
        &expect![[r"
            local i: i: int
            local x: x: int
            local y: y: tuple[int, int]
            local z: z
            enclosing a: a
            enclosing args: args: tuple[str, ...]
            enclosing b: b: list[int] | None
            enclosing hidden: hidden: int
            enclosing inner: async def inner(x: int, y=(1, 2)) -> str
            enclosing inside: inside: str
            enclosing options: options: dict[str, Any]
            global Base: class Base
            global Derived: class Derived(Base, metaclass=type)
            global Either: Either = Union[int, str]
            global Union: from typing import Union
            global count: count: int
            global end: end: None
            global limit: limit: int
            global np: import numpy as np
            global os: import os.path
            global other: from nowhere import thing as other
            global outer: def outer(a, *args: str, b: list[int] | None = None, **options)
            global size: size: list[int]
            global surface: def surface(a: int, b=2) -> float"]],
    );
}

#[test]
fn names_bound_behind_the_caret_are_left_out_where_it_stands() {
    check("before = 1\nx = $0\nafter = 2\n", &expect!["global before: before: int"]);
    check(
        "def f():\n    return [$0 for x in 'a']\n",
        &expect![[r"
        local x: x: str
        global f: def f()"]],
    );
    check(
        "class A:\n    one = 1\n    two = on$0e\n    three = 3\n",
        &expect![[r"
        local one: one: int
        global A: class A"]],
    );
    check(
        "class A:\n    one = 1\n    def f(self):\n        self.$0\n",
        &expect![[r"
        local self: self: Self
        global A: class A"]],
    );
}

#[test]
fn odd_places_have_headers_too() {
    check(
        "def f(x):\n    y = 1\n    # $0\n    z = 1\n",
        &expect![[r"
        local x: x
        local y: y: int
        global f: def f(x)"]],
    );
    check("# $0\nx = 1\n", &expect![]);
    check(
        "x = 1\ndef f($0",
        &expect![[r"
        global f: def f(retort_placeholder__)
        global x: x: int"]],
    );
    check("$0", &expect![]);
}
