//! Addresses of files, and the modules that files outside the repository are.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Returns the address of an absolute path.
pub(super) fn of(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            let digit = |value: u8| char::from(b"0123456789ABCDEF"[usize::from(value)]);
            uri.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    uri
}

/// Returns the path of a `file` address; `None` for any other.
pub(super) fn path(uri: &str) -> Option<PathBuf> {
    let encoded = uri.strip_prefix("file://")?;
    Some(OsString::from_vec(decoded(encoded)).into()).filter(|path: &PathBuf| path.is_absolute())
}

/// Returns one spelling for all addresses of a path.
pub(super) fn normalized(uri: &str) -> String {
    path(uri).map_or_else(|| uri.to_owned(), |path| of(&path))
}

fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = if first == b'%' { after.get(..2) } else { None };
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    bytes
}

/// Returns the module or package of an address outside the repository: `os.path`, `java.util`.
pub(super) fn module(uri: &str) -> String {
    // jdtls: jdt://contents/java.base/java.util/List.class?...
    if let Some(contents) = uri.strip_prefix("jdt://contents/") {
        return contents.split('/').nth(1).unwrap_or_default().to_owned();
    }
    let Some(path) = path(uri) else { return uri.chars().take(80).collect() };
    let parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    // Typeshed keeps one folder for each package in `stubs`.
    let folder = |part: &String| ["stdlib", "site-packages", "dist-packages"].contains(&part.as_str());
    let stubs = parts.iter().rposition(|part| part == "stubs").map(|at| at + 2);
    let python = |part: &String| part.strip_prefix("python3").is_some_and(|minor| minor.starts_with(['.']));
    let start = parts.iter().rposition(folder).or_else(|| parts.iter().rposition(python)).map(|at| at + 1);
    let start = start.or(stubs).unwrap_or(parts.len().saturating_sub(1)).min(parts.len());
    let mut names: Vec<&str> = parts[start..].iter().map(String::as_str).collect();
    if let Some(last) = names.pop() {
        let stem = last.split('.').next().unwrap_or(last);
        names.extend((stem != "__init__" || names.is_empty()).then_some(stem));
    }
    names.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_path_has_one_address() {
        assert_eq!(of(Path::new("/a b/é:.py")), "file:///a%20b/%C3%A9%3A.py");
        assert_eq!(path("file:///a%20b/%c3%a9%3A.py"), Some("/a b/é:.py".into()));
        assert_eq!(normalized("file:///a:b"), normalized("file:///a%3Ab"));
        assert_eq!(path("jdt://contents/x"), None);
        assert_eq!(path("file://relative"), None);
    }

    #[test]
    fn outside_files_are_modules() {
        let check = |uri: &str, expected: &str| assert_eq!(module(uri), expected);
        check("file:///x/typeshed/stdlib/builtins.pyi", "builtins");
        check("file:///x/typeshed/stdlib/os/__init__.pyi", "os");
        check("file:///x/typeshed/stdlib/os/path.pyi", "os.path");
        check("file:///x/typeshed/stubs/requests/requests/api.pyi", "requests.api");
        check("file:///x/lib/python3.11/json/decoder.py", "json.decoder");
        check("file:///x/lib/python3.11/site-packages/attr/_make.py", "attr._make");
        check("jdt://contents/java.base/java.util/List.class?=r/x", "java.util");
        check("file:///elsewhere/odd.py", "odd");
        check("untitled:1", "untitled:1");
    }

    proptest! {
        #[test]
        fn any_path_survives(text in "/\\PC{0,20}") {
            prop_assert_eq!(path(&of(Path::new(&text))), Some(PathBuf::from(&text)));
        }

        #[test]
        fn no_address_is_too_odd(uri in "(file://|jdt://contents/)?[%/a-z0-9.é]{0,20}") {
            module(&uri);
            normalized(&uri);
        }
    }
}
