//! A tool that always says the same, on one small file.

use super::*;
use analysis::intelligence::{CodeIntelligence, Definition, Header, Origin, Suggestion, TypeDefinition};
use analysis::{Caret, Diagnostic, Error};
use expect_test::expect;
use repo::{Language, SourceFile};

const TEXT: &str = "\
import os

def undocumented(x):
    return x

def outer(items):
    '''Sums the sizes.'''
    total = 0
    def inner(name):
        '''Nested.'''
        return os.stat(name)
    for item in items:
        total += inner(item).st_size
    return total
";

fn repository() -> Repository {
    Repository::new("r", vec![SourceFile { path: "a.py".into(), language: Language::Python, text: TEXT.into() }])
}

/// Suggests the same names everywhere, and fails where `os` stands behind the caret.
struct Fixed(&'static [&'static str]);

impl CodeIntelligence for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn completions(&mut self, caret: &Caret<'_>) -> analysis::Result<Vec<Suggestion>> {
        if caret.text[caret.byte..].starts_with("os") {
            return Err(Error::Ended { tool: "fixed".into(), reason: "no more".into() });
        }
        let suggest = |name: &&str| Suggestion { name: (*name).to_owned(), origin: Origin::Unknown };
        Ok(self.0.iter().map(suggest).collect())
    }

    fn definitions(&mut self, _: &Caret<'_>) -> analysis::Result<Vec<Definition>> {
        Ok(Vec::new())
    }

    fn inferred_type(&mut self, _: &Caret<'_>) -> analysis::Result<Option<String>> {
        Ok(None)
    }

    fn expected_type(&mut self, _: &Caret<'_>) -> analysis::Result<Option<String>> {
        Ok(None)
    }

    fn reachable_types(&mut self, _: &Caret<'_>) -> analysis::Result<Vec<TypeDefinition>> {
        Ok(Vec::new())
    }

    fn headers(&mut self, _: &Caret<'_>) -> analysis::Result<Vec<Header>> {
        Ok(Vec::new())
    }

    fn diagnostics(&mut self, _: &str, _: &str) -> analysis::Result<Vec<Diagnostic>> {
        Ok(Vec::new())
    }
}

#[test]
fn only_bodies_of_documented_functions_are_asked_about_and_once() {
    let questions = questions(&repository());
    let text: Vec<&str> = questions.iter().map(|question| &TEXT[question.span.clone()]).collect();
    expect!["total inner name os stat name item items total inner item st_size total"].assert_eq(&text.join(" "));
    assert!(questions.iter().all(|question| TEXT[question.function.clone()].starts_with("def outer")));
}

#[test]
fn every_identifier_can_be_asked_about() {
    let questions = questions_everywhere(&repository());
    assert_eq!(questions.len(), occurrences(TEXT, Language::Python).len());
    let outcome = ask(&mut Fixed(&["x"]), &repository(), &questions, Mode::Online, || {});
    assert_eq!(outcome.answers.len(), questions.len());
}

#[test]
fn a_sample_keeps_the_order_and_is_the_same_for_a_seed() {
    let all = questions(&repository());
    let chosen = sample(&all, 5, 7);
    assert_eq!((chosen.len(), &chosen), (5, &sample(&all, 5, 7)));
    assert!(chosen.is_sorted_by_key(|question| question.span.start));
    assert_eq!(sample(&all, 99, 7), all);
}

#[test]
fn the_table_counts_finds_ranks_and_failures() {
    let (repository, questions) = (repository(), questions(&repository()));
    let intact = ask(&mut Fixed(&["total", "item", "os"]), &repository, &questions, Mode::Intact, || {});
    let online = ask(&mut Fixed(&["total"]), &repository, &questions, Mode::Online, || {});
    let mut found = rows("a", Mode::Intact, &questions, &intact, None);
    found.extend(rows("b", Mode::Online, &questions, &online, Some(&intact.answers)));
    for row in &mut found {
        (row.calls_per_cpu_second, row.calls_per_second) = (None, None);
    }
    expect![[r#"
        tool,mode,kind,n,found,recall,list_mean,list_p95,reciprocal_rank,in_first_ten,failures,calls_per_cpu_second,calls_per_second
        a,intact,all,13,0.3846,,2.8,3,0.1538,0.3846,1,,
        a,intact,uses,10,0.3000,,2.7,3,0.1333,0.3000,0,,
        a,intact,parameter,3,0.0000,,3.0,3,0.0000,0.0000,0,,
        a,intact,local,4,0.7500,,3.0,3,0.3333,0.7500,0,,
        a,intact,first_binding,3,0.6667,,3.0,3,0.2222,0.6667,0,,
        a,intact,import,1,0.0000,,0.0,0,0.0000,0.0000,0,,
        a,intact,import_attribute,1,0.0000,,3.0,3,0.0000,0.0000,0,,
        a,intact,chain,1,0.0000,,3.0,3,0.0000,0.0000,0,,
        b,online,all,13,0.2308,0.6000,1.0,1,0.2308,0.2308,0,,
        b,online,uses,10,0.2000,0.6667,1.0,1,0.2000,0.2000,0,,
        b,online,parameter,3,0.0000,0.0000,1.0,1,0.0000,0.0000,0,,
        b,online,local,4,0.5000,0.6667,1.0,1,0.5000,0.5000,0,,
        b,online,first_binding,3,0.3333,0.5000,1.0,1,0.3333,0.3333,0,,
        b,online,import,1,0.0000,0.0000,1.0,1,0.0000,0.0000,0,,
        b,online,import_attribute,1,0.0000,0.0000,1.0,1,0.0000,0.0000,0,,
        b,online,chain,1,0.0000,0.0000,1.0,1,0.0000,0.0000,0,,
    "#]]
    .assert_eq(&csv(&found));
    assert_eq!(text(&found).lines().count(), found.len() + 1);
}
