//! What binds the identifiers of small files.

use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;

fn check(text: &str, language: Language, expected: &Expect) {
    let lines = occurrences(text, language).into_iter().map(|found| format!("{} {}\n", &text[found.span], found.kind));
    expected.assert_eq(&lines.collect::<String>());
}

#[test]
fn python_identifiers_have_the_kind_of_what_binds_them() {
    let text = "\
import os
from a.b import c as d

class A(B):
    def f(self, x, *args):
        y = x.z
        self.g = y
        y.h(key=len(self.g), other=self.i)
        os.path.join(d(x)[0].j, A)
        def inner(): return y, __name__
        for k, v in args: print(f'{k}')
";
    check(
        text,
        Language::Python,
        &expect![[r"
            os imported_name
            a imported_name
            b imported_name
            c imported_name
            d imported_name
            A first_binding
            B outside
            f first_binding
            self self_name
            x parameter
            args parameter
            y first_binding
            x parameter
            z parameter_attribute
            self self_name
            g self_attribute
            y local
            y local
            h local_attribute
            key keyword_argument
            len outside
            self self_name
            g self_attribute
            other keyword_argument
            self self_name
            i inherited_attribute
            os import
            path import_attribute
            join chain
            d import
            x parameter
            j chain
            A global
            inner first_binding
            y enclosing
            k first_binding
            v first_binding
            args parameter
            print outside
            k local
        "]],
    );
}

#[test]
fn java_identifiers_have_the_kind_of_what_binds_them() {
    let text = "\
import java.util.List;
class A extends B {
    private List<A> items;
    int f(String x) {
        int y = x.length();
        this.items.add(this);
        for (A item : items) item.g(y);
        List.of(x -> x.h()).size();
        return inherited() + super.other;
    }
}
";
    check(
        text,
        Language::Java,
        &expect![[r"
        java imported_name
        util imported_name
        List imported_name
        A first_binding
        B outside
        List import
        A global
        items self_attribute
        f self_attribute
        String outside
        x parameter
        y first_binding
        x parameter
        length parameter_attribute
        items self_attribute
        add chain
        A global
        item first_binding
        items self_attribute
        item local
        g local_attribute
        y local
        List import
        of import_attribute
        x parameter
        x parameter
        h parameter_attribute
        size chain
        inherited inherited_attribute
        other inherited_attribute
    "]],
    );
}

proptest! {
    #[test]
    fn odd_text_has_ordered_occurrences(text in "[a-z(){}\\[\\];:=.,\"'@\n ]{0,60}") {
        for language in Language::ALL {
            prop_assert!(occurrences(&text, language).is_sorted_by(|a, b| a.span.end <= b.span.start));
        }
    }
}
