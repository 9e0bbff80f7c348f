//! The type in what a server shows about an identifier.

use repo::Language;
use serde_json::Value;

/// Returns the type that an answer shows, if it shows one.
pub(super) fn shown_type(answer: &Value, language: Language) -> Option<String> {
    let contents = answer.get("contents")?;
    let shown = text(contents)?;
    let shown = shown.trim();
    let shown = shown.strip_prefix("```").map_or(shown, |code| code.split_once('\n').map_or("", |(_, code)| code));
    // What is shown below, after an empty line or a rule, is documentation.
    let shown =
        ["```", "\n---", "\n\n"].iter().fold(shown, |shown, end| shown.split(end).next().unwrap_or(shown)).trim();
    let found = match language {
        Language::Python => python(shown),
        Language::Java => java(shown),
    }?;
    Some(found).filter(|found| !found.is_empty() && found != "Unknown")
}

/// Returns the first text of the contents, which are a text, an object with one, or a list of either.
fn text(contents: &Value) -> Option<&str> {
    let first = contents.as_array().map_or(Some(contents), |list| list.first())?;
    first.as_str().or_else(|| first.get("value")?.as_str())
}

/// Reads `(variable) name: type`, as basedpyright and zuban write it, or `param name: type`, as Jedi does.
fn python(shown: &str) -> Option<String> {
    let (kind, rest) = match shown.strip_prefix('(') {
        Some(rest) => rest.split_once(") ")?,
        None => shown.split_once(' ')?,
    };
    let rest = rest.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(").replace(" )", ")");
    let name = rest.split(['(', ':', ' ', '[']).next().unwrap_or_default();
    match kind {
        "class" => Some(format!("type[{name}]")),
        "module" => Some("ModuleType".to_owned()),
        "function" | "method" => Some(rest.strip_prefix("def ").unwrap_or(&rest).to_owned()),
        "def" => Some(rest),
        _ => rest.split_once(": ").map(|(_, found)| found.to_owned()),
    }
}

/// Reads `type name - where`, `type a.b.C.name`, `type a.b.C.name(parameters)` or `a.b.C`, as jdtls writes it.
fn java(shown: &str) -> Option<String> {
    let line = shown.lines().next()?;
    let declared = line.split(" - ").next()?.split('(').next()?;
    let declared = declared.split(" = ").next()?.trim();
    let mut depth = 0_i32;
    let mut name = None;
    for (at, c) in declared.char_indices() {
        depth += i32::from(c == '<') - i32::from(c == '>');
        if c == ' ' && depth == 0 {
            name = Some(at);
        }
    }
    let found = name.map_or(declared, |name| &declared[..name]);
    Some(found.strip_prefix("final ").unwrap_or(found).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_of_python_are_found_in_every_shape() {
        let check = |contents: Value, expected: Option<&str>| {
            let answer = json!({"contents": contents});
            assert_eq!(shown_type(&answer, Language::Python).as_deref(), expected, "{answer}");
        };
        check(json!({"kind": "plaintext", "value": "(variable) first: Shelf"}), Some("Shelf"));
        check(
            json!({"kind": "markdown", "value": "```python\n(parameter) x: dict[str, int]\n```\n---\nx"}),
            Some("dict[str, int]"),
        );
        check(json!("(class) Shelf"), Some("type[Shelf]"));
        check(json!("(class) Shelf(a: int)"), Some("type[Shelf]"));
        check(
            json!("(method) def put(\n    self: Self,\n    item\n) -> None\n\nDoc"),
            Some("put(self: Self, item) -> None"),
        );
        check(json!("(module) os"), Some("ModuleType"));
        check(json!("param name: str\n---\nFull name: x"), Some("str"));
        check(json!("first = Shelf()\n---\nFull name: x"), None);
        check(json!("(variable) x: Unknown"), None);
        check(json!(""), None);
        check(json!([]), None);
        check(json!([{"language": "python", "value": "(constant) N: int"}, "more"]), Some("int"));
        assert_eq!(shown_type(&Value::Null, Language::Python), None);
    }

    #[test]
    fn types_of_java_are_found_in_every_shape() {
        let check = |shown: &str, expected: &str| {
            let answer = json!({"contents": [{"language": "java", "value": shown}, "Source: *x*"]});
            assert_eq!(shown_type(&answer, Language::Java).as_deref(), Some(expected));
        };
        check("Shelf shelf - Shop.order(List<String>, int)", "Shelf");
        check("Map<String, List<Integer>> shop.Shop.stock", "Map<String, List<Integer>>");
        check("int shop.Shelf.count(int a, String b)", "int");
        check("java.util.List<String>", "java.util.List<String>");
        check("int shop.Shop.MAX = 3 (0x3)", "int");
    }
}
