//! `train analyze`: every verb on the fixture repositories, as a user calls it.

use clap::Parser;
use serde_json::Value;
use train::cli::{Cli, run};

use crate::root;

const CART: &str = "src/shop/orders/cart.py";
const DESK: &str = "src/main/java/org/example/library/service/LendingDesk.java";

fn output(arguments: &[&str]) -> anyhow::Result<String> {
    let cli = Cli::try_parse_from(["train", "analyze"].iter().chain(arguments))?;
    let mut out = Vec::new();
    run(cli, &mut out)?;
    Ok(String::from_utf8(out)?)
}

fn fixture(name: &str) -> String {
    root().join("tests/fixtures").join(name).to_str().unwrap().to_owned()
}

/// Asks about the place `offset` bytes into the first occurrence of `pattern` in a file.
fn ask(
    verb: &str,
    repository: &str,
    file: &str,
    (pattern, offset): (&str, usize),
    more: &[&str],
) -> anyhow::Result<String> {
    let repository = fixture(repository);
    let text = std::fs::read_to_string(format!("{repository}/{file}"))?;
    let byte = (text.find(pattern).expect("the fixture has the pattern") + offset).to_string();
    output(&[&[verb, "--repo", &repository, "--file", file, "--byte", &byte], more].concat())
}

fn json(verb: &str, repository: &str, file: &str, place: (&str, usize), more: &[&str]) -> Vec<Value> {
    let text = ask(verb, repository, file, place, &[more, &["--json"]].concat()).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn names(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["name"].as_str().unwrap()).collect()
}

#[test]
fn members_are_completed_in_a_whole_and_in_an_unfinished_function() {
    for more in [&[][..], &["--truncate"]] {
        let rows = json("completions", "python_shop", CART, ("discounts.find(", 10), more);
        assert!(names(&rows).contains(&"find"), "{:?}", names(&rows));
        let rows = json("completions", "python_shop", CART, ("self._discounts.append", 5), more);
        assert!(names(&rows).contains(&"_discounts") && names(&rows).contains(&"subtotal"), "{:?}", names(&rows));
        let rows = json("completions", "java_library", DESK, ("member.obstacle", 7), more);
        assert!(names(&rows).contains(&"obstacle") && names(&rows).contains(&"loanOf"), "{:?}", names(&rows));
    }
}

#[test]
fn definitions_are_followed_into_other_files() {
    let rows = json("definition", "python_shop", CART, ("discounts.find", 11), &[]);
    assert_eq!(rows[0]["place"]["path"], "src/shop/orders/discounts.py");
    let rows = json("definition", "java_library", DESK, ("catalog.find", 9), &[]);
    assert_eq!(rows[0]["place"]["path"], "src/main/java/org/example/library/service/Catalog.java");
    let rows = json("definition", "java_library", DESK, ("String.format", 8), &[]);
    assert!(rows[0]["place"]["module"].as_str().unwrap().starts_with("java.lang"), "{rows:?}");
}

#[test]
fn types_are_inferred_expected_and_reachable() {
    let rows = json("type", "python_shop", CART, ("CartLine(product, wanted)", 18), &[]);
    assert_eq!(rows[1]["type"], "int", "{rows:?}");
    let rows = json("type", "java_library", DESK, ("book.copies", 1), &[]);
    assert_eq!(rows[0]["type"], "Book", "{rows:?}");
    let place = ("discount.saving(self", 16);
    let text = ask("type", "python_shop", CART, place, &[]).unwrap();
    assert!(text.starts_with("inferred") && text.contains("\nexpected"), "{text}");
}

#[test]
fn headers_are_those_in_scope() {
    let rows = json("headers", "python_shop", CART, ("line = self.remove(sku)", 0), &[]);
    assert!(rows.iter().any(|row| row["name"] == "quantity" && row["origin"] == "local"), "{rows:?}");
    let rows = json("headers", "java_library", DESK, ("members.put", 0), &[]);
    let member = rows.iter().find(|row| row["name"] == "member" && row["origin"] == "local");
    assert_eq!(member.expect("the local is in scope")["declaration"], "Member member");
}

#[test]
fn fixtures_are_without_fault_and_mistakes_are_found() {
    for (repository, file) in [("python_shop", CART), ("java_library", DESK)] {
        let clean = output(&["diagnostics", "--repo", &fixture(repository), "--file", file]).unwrap();
        assert_eq!(clean, "", "{file}");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.py"), "import os\n\ndef f():\n    return os.getcwdd() + undefined\n").unwrap();
    let repository = folder.path().to_str().unwrap();
    let text = output(&["diagnostics", "--repo", repository, "--file", "a.py"]).unwrap();
    assert_eq!(text, "a.py:4: no_member getcwdd\na.py:4: undefined_name undefined\n");
}

#[test]
fn the_benchmark_prints_one_row_for_each_kind_and_writes_the_same_as_values() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("table.csv");
    let (fixtures, csv_path) = (root().join("tests/fixtures"), csv.to_str().unwrap());
    let packages = fixtures.to_str().unwrap();
    let text = output(&["benchmark", packages, "--online", "40", "--csv", csv_path]).unwrap();
    assert!(text.contains("documented functions"), "{text}");
    let table = std::fs::read_to_string(csv).unwrap();
    let found = |mode: &str| {
        let row = table.lines().find(|line| line.starts_with(&format!("native,{mode},uses,"))).unwrap();
        row.split(',').nth(4).unwrap().parse::<f64>().unwrap()
    };
    assert!(found("intact") > 0.85 && found("online") > 0.75, "{table}");
    let error = format!("{:#}", output(&["benchmark", packages, "--csv", "no/such/folder.csv"]).unwrap_err());
    assert!(error.contains("cannot write no/such/folder.csv"), "{error}");
}

#[test]
fn questions_that_cannot_be_asked_say_why() {
    let repository = fixture("python_shop");
    let error = |arguments: &[&str]| format!("{:#}", output(arguments).unwrap_err());
    let place = ["--repo", &repository, "--file"];
    let with = |more: &[&str]| error(&[&["completions"], &place[..], more].concat());
    assert!(with(&["src/no.py", "--byte", "0"]).contains("no file src/no.py"));
    assert!(with(&[CART, "--byte", "999999"]).contains("past the end"));
    assert!(with(&[CART, "--byte", "0", "--truncate"]).contains("no function stands around byte 0"));
    assert!(with(&[CART, "--byte", "0", "--engine", "pyright"]).contains("an engine is native"));
    assert!(with(&[CART, "--byte", "0", "--engine", "lsp:no-such-server"]).contains("no-such-server"));
    let empty = tempfile::tempdir().unwrap();
    let path = empty.path().to_str().unwrap();
    let text = error(&["completions", "--repo", path, "--file", "a.py", "--byte", "0"]);
    assert!(text.contains("no Python and no Java file"), "{text}");
}
