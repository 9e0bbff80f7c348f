//! Pylint, on the small package of the tools for Python.

use super::python::{SHOP, shop};
use super::*;
use crate::diagnostics::DiagnosticKind;
use crate::server::{Limits, Pylint, PylintOptions, PylintReport};

fn pylint() -> Pylint {
    let python = variable("RETORT_JEDI_PYTHON").into();
    Pylint::new(&shop(), &PylintOptions { python, limits: Limits::default() }).unwrap()
}

fn check(pylint: &mut Pylint, text: &str) -> Vec<(DiagnosticKind, String)> {
    let start = Instant::now();
    let PylintReport { diagnostics, complaint } = pylint.check("shop/shop.py", text).unwrap();
    tell("pylint", "check", start);
    assert_eq!(complaint, "");
    diagnostics.into_iter().map(|found| (found.kind, text[found.span].to_owned())).collect()
}

#[test]
fn pylint_finds_what_is_wrong_beside_the_file() {
    let mut pylint = pylint();
    let wrong = SHOP.replace("        return first", "        self.put(missing).pop()\n        return first.gone");
    let expected =
        [(DiagnosticKind::UndefinedName, "missing".to_owned()), (DiagnosticKind::NoMember, "first.gone".to_owned())];
    for _ in 0..2 {
        assert_eq!(check(&mut pylint, &wrong), expected);
        assert_eq!(check(&mut pylint, SHOP), []);
    }
    let broken = check(&mut pylint, &SHOP.replace("return first", "return (first"));
    assert_eq!(broken.iter().map(|found| found.0).collect::<Vec<_>>(), [DiagnosticKind::SyntaxError]);
    // What is installed beside pylint is not there for the repository, and its fellow modules are.
    let imported = "import pylint\nfrom shop import stock\n\nprint(pylint.nothing, stock.nothing)\n";
    assert_eq!(check(&mut pylint, imported), [(DiagnosticKind::NoMember, "stock.nothing".to_owned())]);
    assert_eq!(pylint.usage().to_string(), "6 questions, 0 restarts, 0 incomplete, 0 failures");
}
