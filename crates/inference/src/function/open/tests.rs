//! Tests on whole functions, stubs and signatures alone.

use super::*;

const TEXT: &str = "\
class Shape:
    def area(self, scale):  # in meters
        '''
        Return the area. It is positive.
        '''
        def inner():
            return 1
        return inner()

    def edge(self, n: int = 1,
             name='a:b') -> str:

class Line:
    def area(self): pass

def helper(x):
";

fn python(text: &str) -> SourceFile {
    SourceFile { path: "shapes.py".into(), language: Language::Python, text: text.into() }
}

#[test]
fn a_function_is_found_by_class_and_name_or_by_line() {
    let file = python(TEXT);
    // The signatures without a body are errors elsewhere in the file, not in this function.
    let area = OpenFunction::find(&file, Place::Name("Shape.area")).unwrap();
    assert_eq!((area.signature.as_str(), area.docstring.as_str()), ("def area(self, scale):", "Return the area"));
    assert_eq!(area.indentation, "        ");
    assert!(file.text[area.span.clone()].ends_with("return inner()"));
    assert_eq!(OpenFunction::find(&file, Place::Line(7)).unwrap(), area);
    assert_eq!(OpenFunction::find(&file, Place::Line(6)).unwrap().signature, "def inner():");
    let text = "def area(self, scale):\n        return 1";
    let documented =
        "def area(self, scale):\n        '''\n        Return the area. It is positive.\n        '''\n        return 1";
    assert_eq!(area.documented(text), documented);
    let other = area.with_docstring("Return\n  it.");
    assert_eq!(other.documented(text), "def area(self, scale):\n        \"\"\"Return it.\"\"\"\n        return 1");
}

#[test]
fn a_stub_needs_no_body() {
    for body in [" pass", " ...", "\n    pass", "\n    '''Return it.'''", ""] {
        let file = python(&format!("x = 1\n\ndef f(a: int):{body}\n"));
        let stub = OpenFunction::find(&file, Place::Name("f")).unwrap();
        assert_eq!((stub.signature.as_str(), stub.indentation.as_str()), ("def f(a: int):", "    "), "{body:?}");
        assert_eq!(file.text[stub.span], format!("def f(a: int):{body}"));
    }
    let file = python("class A:\n\tasync def f(self):\n\nx = 1\n");
    let stub = OpenFunction::find(&file, Place::Name("A.f")).unwrap();
    assert_eq!((&file.text[stub.span], stub.indentation.as_str()), ("async def f(self):", "\t\t"));
    let file = python("class Shape:\n    def edge(self, n: int = 1,\n             name='a:b') -> str:\n\n    x = 1\n");
    let stub = OpenFunction::find(&file, Place::Line(2)).unwrap();
    assert!(stub.signature.ends_with("name='a:b') -> str:"), "{}", stub.signature);
}

#[test]
fn what_is_not_there_or_not_alone_is_named() {
    let file = python("class A:\n    def f(self): pass\n\nclass B:\n    def f(self): pass\n\ndef broken(x:\n");
    let error = |place| OpenFunction::find(&file, place).unwrap_err().to_string();
    assert_eq!(error(Place::Name("f")), "shapes.py has more than one function `f`, at lines 2, 5");
    assert_eq!(error(Place::Name("C.f")), "shapes.py has no function `C.f`");
    assert_eq!(error(Place::Name("broken")), "shapes.py has no function `broken`");
    assert_eq!(error(Place::Line(2)), "shapes.py has no function at line 3");
}

#[test]
fn javadoc_stays_before_the_method() {
    let text = "class A {\n    /** Returns the size of it. */\n    int size() { return 0; }\n}\n";
    let file = SourceFile { path: "A.java".into(), language: Language::Java, text: text.into() };
    let size = OpenFunction::find(&file, Place::Name("A.size")).unwrap();
    assert_eq!((size.signature.as_str(), size.docstring.as_str()), ("int size()", "Returns the size of it."));
    assert_eq!(size.documented("int size() { return 1; }"), "int size() { return 1; }");
}
