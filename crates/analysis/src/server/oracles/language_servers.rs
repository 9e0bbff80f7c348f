//! The language servers for Python and Java, on a small package.

use super::python::{SHOP, shop};
use super::*;
use crate::diagnostics::DiagnosticKind;
use crate::server::{LanguageServer, LanguageServerOptions, Limits, Placeholder, Program};

const JAVA: &str = "\
package shop;

import java.util.List;

public class Shop extends Base {
    private final String name;

    Shop(String name) {
        this.name = name;
    }

    int order(List<String> items, int amount) {
        Shelf shelf = new Shelf();
        int total = amount;
        total += shelf.count();
        return total;
    }
}
";

fn start(variable_name: &str, repository: &Repository, language: Language) -> LanguageServer {
    let program = Program::parse(&variable(variable_name));
    let (placeholder, limits) = (Placeholder::None, Limits::default());
    LanguageServer::new(repository, &LanguageServerOptions { program, language, placeholder, limits }).unwrap()
}

fn at(from: &str, to: &str) -> Caret<'static> {
    assert!(SHOP.contains(from));
    caret("shop/shop.py", &SHOP.replacen(from, to, 1))
}

/// Asks a server for Python all that it can be asked.
fn check_python(server: &mut LanguageServer) {
    let shop = shop();
    let names = check_completions(
        server,
        &at("return first", "return |first"),
        &["Shelf", "amount", "first", "größe", "len", "os", "self"],
        &["def", "put", "return"],
    );
    assert!(names.len() > 120, "{names:?}");
    check_completions(server, &at("self.name", "self.|name"), &["name", "order", "put"], &["amount", "len"]);
    let prefixed = check_completions(server, &at("return first", "return fi|rst"), &["first"], &["Shelf"]);
    assert!(prefixed.iter().all(|name| name.starts_with("fi")));

    let timed = Instant::now();
    let definitions = |server: &mut LanguageServer, caret: &Caret<'_>| describe(&shop, server.definitions(caret));
    assert_eq!(definitions(server, &at("Shelf()", "Sh|elf()")), ["Shelf at `Shelf` of shop/stock.py"]);
    assert_eq!(definitions(server, &at("name: str", "name: s|tr")), ["str in builtins"]);
    tell(server.name(), "2 definitions", timed);
    let timed = Instant::now();
    assert_eq!(server.inferred_type(&at("return first", "return fi|rst")).unwrap().as_deref(), Some("Shelf"));
    tell(server.name(), "hover", timed);
    let symbols = describe(&shop, server.symbols("shop/shop.py", SHOP));
    assert!(symbols.contains(&"order at `order` of shop/shop.py".to_owned()), "{symbols:?}");
    assert!(!server.type_definitions(&at("return first", "return fi|rst")).unwrap().is_empty());
    assert!(server.usage().failures.is_empty(), "{}", server.usage());
    assert!(server.outside_cpu_seconds() > 0.0);
}

/// Returns the kinds of mistakes in the shop with a piece of it replaced, and the code at them.
fn mistakes(server: &mut LanguageServer, from: &str, to: &str) -> Vec<(DiagnosticKind, String)> {
    let text = SHOP.replacen(from, to, 1);
    let timed = Instant::now();
    let found = server.diagnostics("shop/shop.py", &text).unwrap();
    tell(server.name(), "diagnostics", timed);
    found.into_iter().map(|found| (found.kind, text[found.span].to_owned())).collect()
}

fn check_types(server: &mut LanguageServer) {
    let undefined = mistakes(server, "return first", "return zz_bogus");
    assert_eq!(undefined, [(DiagnosticKind::UndefinedName, "zz_bogus".to_owned())]);
    let no_member = mistakes(server, "return first", "return first.zz_bogus");
    assert!(
        matches!(&no_member[..], [(DiagnosticKind::NoMember, code)] if code.ends_with("zz_bogus")),
        "{no_member:?}"
    );
}

fn check_syntax(server: &mut LanguageServer) {
    let broken = mistakes(server, "return first", "return (]");
    assert!(broken.iter().any(|(kind, _)| *kind == DiagnosticKind::SyntaxError), "{broken:?}");
    assert_eq!(mistakes(server, "", ""), []);
}

#[test]
fn basedpyright_answers() {
    let mut server = start("RETORT_LSP_BASEDPYRIGHT", &shop(), Language::Python);
    check_python(&mut server);
    check_types(&mut server);
    check_syntax(&mut server);
}

#[test]
fn zuban_answers() {
    let mut server = start("RETORT_LSP_ZUBAN", &shop(), Language::Python);
    check_python(&mut server);
    check_types(&mut server);
    check_syntax(&mut server);
}

#[test]
fn jedi_language_server_answers() {
    let mut server = start("RETORT_LSP_JEDI", &shop(), Language::Python);
    check_python(&mut server);
    check_syntax(&mut server);
}

#[test]
fn jdtls_answers() {
    let folder = "src/main/java/shop";
    let path = |name: &str| format!("{folder}/{name}.java");
    let (shop, base, shelf) = (path("Shop"), path("Base"), path("Shelf"));
    let shelf_text =
        "package shop;\n\nclass Shelf {\n    int size;\n\n    int count() {\n        return size;\n    }\n}\n";
    let base_text = "package shop;\n\nclass Base {\n    protected int inherited;\n}\n";
    let repository = repository(Language::Java, &[(&shop, JAVA), (&base, base_text), (&shelf, shelf_text)]);
    let mut server = start("RETORT_LSP_JDTLS", &repository, Language::Java);
    let at = |from: &str, to: &str| {
        assert!(JAVA.contains(from));
        caret(&shop, &JAVA.replacen(from, to, 1))
    };
    let expected = ["amount", "inherited", "items", "name", "order", "shelf", "total"];
    check_completions(&mut server, &at("return total", "return |total"), &expected, &["count", "return"]);
    // The parentheses behind the caret let jdtls offer methods only.
    check_completions(&mut server, &at("shelf.count", "shelf.|count"), &["count", "hashCode"], &["amount", "size"]);
    check_completions(&mut server, &at("shelf.count()", "shelf.|"), &["count", "hashCode", "size"], &["amount"]);
    check_completions(&mut server, &at("new Shelf", "new She|lf"), &["Shelf"], &["amount"]);

    let definitions = |server: &mut LanguageServer, caret: &Caret<'_>| describe(&repository, server.definitions(caret));
    let timed = Instant::now();
    let count = definitions(&mut server, &at("shelf.count", "shelf.co|unt"));
    assert_eq!(count, [format!("count at `count` of {shelf}")]);
    assert_eq!(definitions(&mut server, &at("List<", "Li|st<")), ["List in java.util"]);
    tell(server.name(), "2 definitions", timed);
    let timed = Instant::now();
    assert_eq!(server.inferred_type(&at("shelf.count", "she|lf.count")).unwrap().as_deref(), Some("Shelf"));
    assert_eq!(server.inferred_type(&at("shelf.count", "shelf.cou|nt")).unwrap().as_deref(), Some("int"));
    tell(server.name(), "2 hovers", timed);
    let symbols = describe(&repository, server.symbols(&shop, JAVA));
    assert!(symbols.contains(&format!("order at `order` of {shop}")), "{symbols:?}");

    let timed = Instant::now();
    let text = JAVA.replacen("shelf.count()", "shelf.nope() + zzBogus + zzCall()", 1);
    let found = server.diagnostics(&shop, &text).unwrap();
    tell(server.name(), "diagnostics", timed);
    let found: Vec<_> = found.into_iter().map(|found| (found.kind, &text[found.span])).collect();
    let expected = [
        (DiagnosticKind::NoMember, "nope"),
        (DiagnosticKind::UndefinedName, "zzBogus"),
        (DiagnosticKind::UndefinedName, "zzCall"),
    ];
    assert_eq!(found, expected);
    let broken = server.diagnostics(&shop, &JAVA.replacen("return total;", "return total", 1)).unwrap();
    assert!(broken.iter().any(|found| found.kind == DiagnosticKind::SyntaxError), "{broken:?}");
    assert!(server.usage().failures.is_empty(), "{}", server.usage());
}
