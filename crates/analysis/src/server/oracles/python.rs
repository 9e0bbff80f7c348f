//! The tools for Python, on a small package.

use super::*;
use crate::diagnostics::DiagnosticKind;
use crate::server::{JediOptions, JediWorker, Limits, Placeholder};

pub(super) const SHOP: &str = "\
import os
from shop.stock import Shelf, größe


class Shop(Shelf):
    def __init__(self, name: str) -> None:
        self.name = name

    def order(self, amount: int) -> Shelf:
        first = Shelf()
        return first
";

const STOCK: &str = "\
größe = 3


class Shelf:
    def put(self, item):
        return item
";

pub(super) fn shop() -> Repository {
    repository(Language::Python, &[("shop/__init__.py", ""), ("shop/shop.py", SHOP), ("shop/stock.py", STOCK)])
}

fn jedi(placeholder: Placeholder) -> JediWorker {
    let python = variable("RETORT_JEDI_PYTHON").into();
    JediWorker::new(&shop(), &JediOptions { python, placeholder, limits: Limits::default() }).unwrap()
}

#[test]
fn jedi_answers_every_question_that_it_can() {
    let mut jedi = jedi(Placeholder::None);
    let at = |from: &str, to: &str| caret("shop/shop.py", &SHOP.replacen(from, to, 1));
    let names = check_completions(
        &mut jedi,
        &at("return first", "return |first"),
        &["Shelf", "amount", "first", "größe", "len", "os", "self"],
        &["def", "put", "return"],
    );
    assert!(names.len() > 150, "{names:?}");
    check_completions(&mut jedi, &at("self.name", "self.|name"), &["name", "order", "put"], &["amount", "len"]);
    let prefixed = check_completions(&mut jedi, &at("return first", "return fi|rst"), &["first", "filter"], &["Shelf"]);
    assert!(prefixed.iter().all(|name| name.starts_with("fi")));

    let shop = shop();
    let definitions = |jedi: &mut JediWorker, caret: &Caret<'_>| describe(&shop, jedi.definitions(caret));
    assert_eq!(definitions(&mut jedi, &at("Shelf()", "Sh|elf()")), ["Shelf at `Shelf` of shop/stock.py"]);
    assert_eq!(definitions(&mut jedi, &at("größe", "grö|ße")), ["größe at `größe` of shop/stock.py"]);
    assert_eq!(definitions(&mut jedi, &at("name: str", "name: s|tr")), ["str in builtins"]);
    assert_eq!(jedi.inferred_type(&at("return first", "return fi|rst")).unwrap().as_deref(), Some("Shelf"));
    assert_eq!(jedi.inferred_type(&at("= name", "= na|me")).unwrap().as_deref(), Some("str"));

    let broken = jedi.diagnostics("shop/shop.py", "x = (\né ] = 3\n").unwrap();
    assert!(!broken.is_empty() && broken.iter().all(|found| found.kind == DiagnosticKind::SyntaxError));
    assert_eq!(jedi.diagnostics("shop/shop.py", SHOP).unwrap(), []);
    assert_eq!(jedi.usage().failures.len(), 0, "{}", jedi.usage());
    assert!(jedi.outside_cpu_seconds() > 0.1);
}

#[test]
fn the_placeholder_brings_back_what_a_cut_statement_hides_from_jedi() {
    let unfinished = "def order(self, amount):\n    total = amount\n    for item in |\n\n\ndef after():\n    pass\n";
    let mut with = jedi(Placeholder::AtCaret);
    check_completions(
        &mut with,
        &caret("shop/new.py", unfinished),
        &["amount", "self", "total"],
        &["retort_placeholder"],
    );
    let mut without = jedi(Placeholder::None);
    assert!(without.completions(&caret("shop/new.py", unfinished)).is_ok());
}

#[test]
fn jedi_survives_its_own_failures() {
    let mut jedi = jedi(Placeholder::None);
    let deep = format!("x = {}1{}|\n", "(".repeat(3_000), ")".repeat(3_000));
    let failed = jedi.completions(&caret("deep.py", &deep)).map(drop);
    let next = names(jedi.completions(&caret("shop/new.py", "value = 1\nval|")).unwrap());
    assert_eq!(next, ["value"]);
    assert_eq!(jedi.usage().n_questions, 2);
    assert_eq!(u64::from(failed.is_err()), jedi.usage().failures.values().sum::<u64>());
}
