//! Names that the language gives to every file, which a model knows without a tool.

use repo::Language;

/// Returns whether `name` is one of the built-in names that may stay unmarked.
///
/// # References
///
/// Python: the skip set of `ToolGen`'s released code (arXiv 2401.06391), 122 of its 182 strings: 24 attributes of every
/// object, 67 functions, 31 exceptions. The other 60 are keywords, operators and `self`, which are no identifiers here or
/// have a switch of their own. Java is our adaptation: the common types of `java.lang` and the methods of `Object`.
#[must_use]
pub fn is_builtin(name: &str, language: Language) -> bool {
    match language {
        Language::Python => PYTHON.binary_search(&name).is_ok(),
        Language::Java => JAVA.binary_search(&name).is_ok(),
    }
}

/// Returns whether the released code of `ToolGen` counts `name` as no suggestion: a [built-in name](is_builtin), or
/// Python's `self`.
#[must_use]
pub fn is_skipped(name: &str, language: Language) -> bool {
    (language == Language::Python && name == "self") || is_builtin(name, language)
}

/// Sorted.
#[rustfmt::skip]
const PYTHON: [&str; 122] = [
    "ArithmeticError", "AssertionError", "AttributeError", "EOFError", "FloatingPointError", "GeneratorExit",
    "ImportError", "IndentationError", "IndexError", "KeyError", "KeyboardInterrupt", "MemoryError", "NameError",
    "NotImplementedError", "OSError", "OverflowError", "ReferenceError", "RuntimeError", "StopIteration",
    "SyntaxError", "SystemError", "SystemExit", "TabError", "TypeError", "UnboundLocalError", "UnicodeDecodeError",
    "UnicodeEncodeError", "UnicodeError", "UnicodeTranslateError", "ValueError", "ZeroDivisionError",
    "__annotations__", "__class__", "__delattr__", "__dict__", "__dir__", "__doc__", "__eq__", "__format__",
    "__getattribute__", "__getstate__", "__hash__", "__init__", "__init_subclass__", "__module__", "__ne__",
    "__new__", "__reduce__", "__reduce_ex__", "__repr__", "__setattr__", "__setstate__", "__sizeof__", "__slots__",
    "__str__", "abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr", "classmethod",
    "compile", "complex", "delattr", "dict", "dir", "divmod", "enumerate", "eval", "exec", "filter", "float",
    "format", "frozenset", "getattr", "globals", "hasattr", "hash", "help", "hex", "id", "input", "int", "isinstance",
    "issubclass", "iter", "len", "list", "locals", "map", "max", "memoryview", "min", "next", "object", "oct", "open",
    "ord", "pow", "print", "property", "range", "repr", "reversed", "round", "set", "setattr", "slice", "sorted",
    "staticmethod", "str", "sum", "super", "tuple", "type", "vars", "zip",
];

/// Sorted.
#[rustfmt::skip]
const JAVA: [&str; 83] = [
    "Appendable", "ArithmeticException", "ArrayIndexOutOfBoundsException", "ArrayStoreException", "AssertionError",
    "AutoCloseable", "Boolean", "Byte", "CharSequence", "Character", "Class", "ClassCastException", "ClassLoader",
    "ClassNotFoundException", "CloneNotSupportedException", "Cloneable", "Comparable", "Deprecated", "Double", "Enum",
    "Error", "Exception", "Float", "FunctionalInterface", "IllegalAccessException", "IllegalArgumentException",
    "IllegalMonitorStateException", "IllegalStateException", "IndexOutOfBoundsException", "InstantiationException",
    "Integer", "InterruptedException", "Iterable", "LinkageError", "Long", "Math", "NegativeArraySizeException",
    "NoClassDefFoundError", "NoSuchFieldException", "NoSuchMethodException", "NullPointerException", "Number",
    "NumberFormatException", "Object", "OutOfMemoryError", "Override", "Package", "Process", "ProcessBuilder",
    "Readable", "Record", "ReflectiveOperationException", "Runnable", "Runtime", "RuntimeException", "SafeVarargs",
    "SecurityException", "Short", "StackOverflowError", "StackTraceElement", "StrictMath", "String", "StringBuffer",
    "StringBuilder", "StringIndexOutOfBoundsException", "SuppressWarnings", "System", "Thread", "ThreadGroup",
    "ThreadLocal", "Throwable", "UnsupportedOperationException", "VirtualMachineError", "Void", "clone", "equals",
    "finalize", "getClass", "hashCode", "notify", "notifyAll", "toString", "wait",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sets_are_sorted_and_as_large_as_published() {
        assert!(PYTHON.is_sorted() && JAVA.is_sorted());
        assert_eq!(PYTHON.iter().filter(|name| name.starts_with("__")).count(), 24);
        assert_eq!(PYTHON.len(), 24 + 67 + 31);
        assert_eq!(1 + Language::Python.keywords().len() + 24 + PYTHON.len(), 182);
    }

    #[test]
    fn names_are_looked_up_in_their_language() {
        assert!(is_builtin("len", Language::Python) && !is_builtin("len", Language::Java));
        assert!(is_builtin("String", Language::Java) && !is_builtin("ArrayList", Language::Java));
    }
}
