//! Types inferred, expected and reachable in small Python files.

use expect_test::{Expect, expect};

use crate::intelligence::{CodeIntelligence, Place};
use crate::python::definitions::fixture::ask;

fn check_inferred(text: &str, expected: &Expect) {
    let found = ask(&[("a.py", text)], |engine, caret| engine.inferred_type(caret).unwrap());
    expected.assert_eq(&found.unwrap_or_else(|| "-".to_owned()));
}

fn check_expected(text: &str, expected: &Expect) {
    let found = ask(&[("a.py", text)], |engine, caret| engine.expected_type(caret).unwrap());
    expected.assert_eq(&found.unwrap_or_else(|| "-".to_owned()));
}

const SHOP: &str = "\
import os
from dataclasses import dataclass
@dataclass
class Item:
    name: str
    price: int = 0
class Shop:
    items: list[Item]
    def __init__(self, owner: str, size=3):
        self.owner = owner
        self.size = size
        self.first: Item | None = None
    def add(self, item: Item, *, times: int = 1) -> 'Shop':
        return self
    async def load(self, path: str) -> Item: ...
    @property
    def total(self) -> float:
        return sum(item.price for item in self.items)
shop = Shop('me')
";

fn shop(line: &str) -> String {
    format!("{SHOP}{line}\n")
}

#[test]
fn expressions_have_the_type_that_ty_infers() {
    check_inferred(&shop("sh$0op"), &expect!["Shop"]);
    check_inferred(&shop("shop.items$0[0].name"), &expect!["list[Item]"]);
    check_inferred(&shop("shop.items[0].$0name"), &expect!["str"]);
    check_inferred(&shop("shop.size$0"), &expect!["int"]);
    check_inferred(&shop("shop.owner$0"), &expect!["str"]);
    check_inferred(&shop("shop.first$0"), &expect!["Item | None"]);
    check_inferred(&shop("shop.total$0"), &expect!["float"]);
    check_inferred(&shop("shop.add$0"), &expect!["def add(item: Item, *, times: int = 1) -> Shop"]);
    check_inferred(&shop("$0Shop"), &expect!["type[Shop]"]);
    check_inferred(&shop("$0os"), &expect!["ModuleType"]);
    check_inferred(&shop("shop.add(item$0=1)"), &expect!["Item"]);
    check_inferred("def f(x: int, y$0=1): pass\n", &expect!["int"]);
    check_inferred("def $0f(x: int, y=1): pass\n", &expect!["def f(x: int, y=1) -> Any"]);
    check_inferred("for x$0 in {1: 'a'}.items(): pass\n", &expect!["tuple[int, str]"]);
    check_inferred("import os.$0path\n", &expect!["ModuleType"]);
    check_inferred(
        "from os.path import $0join\n",
        &expect![
            "Overload[Callable[..., LiteralString], Callable[..., str], Callable[..., bytes]] | Overload[Callable[..., LiteralString], Callable[..., str], Callable[..., bytes]]"
        ],
    );
}

#[test]
fn what_is_not_known_has_no_type() {
    check_inferred("import numpy\nnumpy.arr$0ay\n", &expect!["-"]);
    check_inferred("def f(x): x$0\n", &expect!["-"]);
    check_inferred("nothing$0\n", &expect!["-"]);
    check_inferred("return$0\n", &expect!["-"]);
    check_inferred("x = $0\n", &expect!["-"]);
}

#[test]
fn arguments_must_fit_their_parameter() {
    check_expected(&shop("shop.add($0)"), &expect!["Item"]);
    check_expected(&shop("shop.add($0"), &expect!["Item"]);
    check_expected(&shop("shop.add(shop.items[0], times=$0)"), &expect!["int"]);
    check_expected(&shop("shop.add(sh$0op.items[0])"), &expect!["Item"]);
    check_expected(&shop("shop.add(shop.$0)"), &expect!["Item"]);
    check_expected(&shop("Shop($0)"), &expect!["str"]);
    check_expected(&shop("Shop('', $0)"), &expect!["-"]);
    check_expected(&shop("Item('', $0)"), &expect!["int"]);
    check_expected(&shop("shop.items.append($0)"), &expect!["Item"]);
    check_expected(&shop("os.path.exists($0)"), &expect!["int | str | bytes | PathLike[str] | PathLike[bytes]"]);
    check_expected(&shop("print($0)"), &expect!["-"]);
}

#[test]
fn other_places_ask_for_types_too() {
    check_expected("def f() -> list[int]:\n    return $0\n", &expect!["list[int]"]);
    check_expected("def f() -> 'list[int] | None':\n    return 1 if f() else $0\n", &expect!["list[int] | None"]);
    check_expected("def f():\n    return $0\n", &expect!["-"]);
    check_expected(
        "from typing import Iterator\ndef f() -> Iterator[int]:\n    yield 1\n    return $0\n",
        &expect!["-"],
    );
    check_expected("x: dict[str, int] = $0\n", &expect!["dict[str, int]"]);
    check_expected("x: dict[str, list[int]] = {'a': [$0]}\n", &expect!["int"]);
    check_expected("x: dict[str, list[int]] = {$0: []}\n", &expect!["str"]);
    check_expected("def f() -> tuple[int, str] | None:\n    return 1, $0\n", &expect!["str"]);
    check_expected("x: list[int] = [y for y in $0]\n", &expect!["-"]);
    check_expected("x: int\nx = $0\n", &expect!["int"]);
    check_expected(&shop("shop.first = $0"), &expect!["Item | None"]);
    check_expected(&shop("if shop.items[0].name == $0: pass"), &expect!["str"]);
    check_expected(&shop("if $0 != 3: pass"), &expect!["int"]);
    check_expected(&shop("if $0 in shop.items: pass"), &expect!["-"]);
    check_expected(&shop("async def g() -> Item:\n    return await $0"), &expect!["Awaitable[Item]"]);
    check_expected("def f(x: float = $0): pass\n", &expect!["float"]);
    check_expected("raise $0\n", &expect!["BaseException | type[BaseException]"]);
    check_expected("$0\n", &expect!["-"]);
}

fn check_reachable(text: &str, expected: &Expect) {
    let found = ask(&[("a.py", text)], |engine, caret| engine.reachable_types(caret).unwrap());
    let place = |place| match place {
        Place::Repository { path, span } => format!("{path}:{}", span.start),
        Place::Outside { module } => module,
    };
    let lines =
        found.into_iter().map(|found| format!("# {} {}\n{}", found.name, place(found.place), found.declaration));
    expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn types_are_reached_through_members_and_parameters() {
    check_reachable(
        &shop("shop.add($0)"),
        &expect![[r"
        # Item a.py:61
        class Item
            name: str
            price: int"]],
    );
    check_reachable(
        &shop("sh$0op"),
        &expect![[r"
        # Shop a.py:106
        class Shop
            items: list[Item]
            def __init__(self, owner: str, size=3)
            def add(self, item: Item, *, times: int = 1) -> 'Shop'
            async def load(self, path: str) -> Item
            @property
            def total(self) -> float
            first: Item | None
            owner: str
            size: int
        # Item a.py:61
        class Item
            name: str
            price: int"]],
    );
    check_reachable(
        "\
from enum import Enum
from pathlib import Path
class Color(Enum):
    RED = 1
    BLUE = 2
class Base:
    path: Path
class Node(Base):
    def __init__(self, parent: 'Node | None', color=Color.RED):
        self.parent = parent
        self.color: Color = color
        self.count = 1
        self.count = 'x'
    class Inner: ...
    @classmethod
    def make(cls, names: list[str], *, deep: bool = False) -> 'dict[str, Node]': ...
def f() -> list[Node]:
    return $0
",
        &expect![[r"
            # Node a.py:124
            class Node(Base)
                def __init__(self, parent: 'Node | None', color=Color.RED)
                class Inner
                @classmethod
                def make(cls, names: list[str], *, deep: bool = False) -> 'dict[str, Node]'
                color: Color
                count: int | str
                parent: Node | None
            # Base a.py:97
            class Base
                path: Path
            # Color a.py:53
            class Color(Enum)
                RED: int
                BLUE: int
            # Path pathlib
            class Path(PurePath)
            # Enum enum
            class Enum(metaclass=EnumMeta)"]],
    );
    check_reachable(
        "class A:\n    size = 1\n    def f(self):\n        return sel$0f\n",
        &expect![[r"
        # A a.py:6
        class A
            size: int
            def f(self)"]],
    );
    check_reachable("x: int = $0\n", &expect![]);
    check_reachable("$0\n", &expect![]);
}
