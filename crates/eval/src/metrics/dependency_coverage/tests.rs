//! Tests against the regular expressions themselves, and of both readings on a small repository.

use analysis::Native;
use analysis::triggers::{Context, Eligibility, Rules, insert_file};
use corpus::manifest::Split;
use repo::{Language, Repository, SourceFile};

use super::*;

const SHAPES: &str = "\
import math
from units import scale

class Square:
    def __init__(self, side):
        self.side = side

    def area(self, factor):
        '''Return the area of it.'''
        # the area
        total = scale(self.side, factor)
        label = f'{self.side}'
        return math.pow(total, 2) + self.area(factor)
";

fn repository() -> Repository {
    let file = |path: &str, text: &str| SourceFile { path: path.into(), language: Language::Python, text: text.into() };
    let units = file("units.py", "def scale(value, factor):\n    return value * factor\n");
    Repository::new("shapes", vec![file("shapes.py", SHAPES), units])
}

/// Returns the method `area` as it is stored.
fn area(repository: &Repository) -> StoredFunction {
    let file = repository.file("shapes.py").unwrap();
    let found = insert_file(&mut Native::new(repository), file, &Rules::default()).functions;
    let [found]: [_; 1] = found.try_into().unwrap();
    StoredFunction {
        split: Split::Test,
        repository: repository.name.clone(),
        source: String::new(),
        version: String::new(),
        revision: String::new(),
        license: String::new(),
        language: found.language,
        signature: found.signature().to_owned(),
        body: found.body().to_owned(),
        marked_body: found.marked_body(),
        class: String::new(),
        name: found.function.name,
        span: found.function.span,
        path: found.path,
        docstring: found.docstring,
        docstring_raw: found.docstring_raw,
        marks: found.marks,
        tool: "native".into(),
        eligibility: Eligibility::Paper,
        context: Context::Intact,
    }
}

fn names(names: &BTreeSet<String>) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

#[test]
fn names_behind_triggers_are_those_of_the_regular_expressions() {
    let golden = include_str!("../../../../../tests/golden/dependency_coverage.json");
    let cases: Vec<(String, String, Vec<String>)> = serde_json::from_str(golden).unwrap();
    assert!(cases.iter().filter(|case| !case.2.is_empty()).count() > 100);
    for (signature, body, expected) in cases {
        let marked = without_strings(&format!("{signature}\n    {body}"));
        let plain = marked.replace(TRIGGER, "");
        let found: BTreeSet<String> =
            keys::marked(&marked).into_iter().filter(|key| !keys::is_bound(key, &plain, &signature)).collect();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected, "{signature}\n{body}");
    }
}

#[test]
fn marks_give_dotted_names_that_the_function_does_not_bind() {
    let repository = repository();
    let area = area(&repository);
    // `scale` follows white space and has `label =` behind it. Its parenthesis is taken up, so what follows is `side`
    // without its object; `factor` is a parameter.
    assert_eq!(names(&by_marks(&area)), ["math.pow", "self.area", "side"]);
}

#[test]
fn definitions_give_what_the_repository_defines_outside_the_function() {
    let repository = repository();
    let (file, area) = (repository.file("shapes.py").unwrap(), area(&repository));
    let found = by_definitions(&mut Native::new(&repository), file, &area).unwrap();
    assert_eq!(names(&found), ["scale", "side"]);
}

#[test]
fn names_are_sought_as_whole_words_outside_of_literals() {
    let sought = ["scale", "self.side", "pow", "side"].map(str::to_owned).into();
    let coverage = Coverage::of(sought, "def area(self):\n    return rescale(<COMP>self.<COMP>side) + 'scale'");
    assert_eq!((names(&coverage.hits), names(&coverage.misses)), (vec!["self.side", "side"], vec!["pow", "scale"]));
    assert_eq!((coverage.n_names(), coverage.rate()), (4, Some(0.5)));
    assert_eq!(Coverage::default().rate(), None);
}
