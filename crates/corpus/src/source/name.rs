//! Names of entries: which are acceptable as paths of a repository.

/// The longest path kept, in bytes.
const PATH_BYTES_MAX: usize = 1_024;

/// Returns the entry's path, relative and with `/`, or the phrase that says what is wrong with it.
pub(crate) fn check(name: &[u8]) -> Result<String, &'static str> {
    let Ok(path) = std::str::from_utf8(name) else { return Err("is not UTF-8") };
    let path = path.strip_prefix("./").unwrap_or(path);
    let has_drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
    if path.len() > PATH_BYTES_MAX {
        Err("is longer than 1024 bytes")
    } else if path.starts_with('/') || has_drive {
        Err("is absolute")
    } else if path.contains('\\') {
        Err("holds a backslash")
    } else if path.chars().any(char::is_control) {
        Err("holds a control character")
    } else {
        path.split('/').try_for_each(check_component).map(|()| path.to_owned())
    }
}

fn check_component(component: &str) -> Result<(), &'static str> {
    match component {
        "" => Err("has an empty component"),
        "." | ".." => Err("has a component that is a dot or two"),
        _ if component.eq_ignore_ascii_case(".git") => Err("lies in a git directory"),
        _ => Ok(()),
    }
}

/// Returns a name for people: whatever is not printable is escaped, so that different names stay different.
pub(crate) fn escape(name: &[u8]) -> String {
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => text.push_str("\\\\"),
                character if character.is_control() => text.extend(character.escape_default()),
                character => text.push(character),
            }
        }
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hostile_names_are_refused() {
        for name in [
            &b"../a"[..],
            b"a/../../b",
            b"/etc/passwd",
            b"C:/a",
            b"c:a",
            b"a\\..\\b",
            b"a\0b",
            b"a\nb",
            b"\xff.py",
            b"",
            b"a//b",
            b"./",
            b".git/config",
            b"a/.GIT/hooks/x",
            b"..",
            b"././a",
        ] {
            assert!(check(name).is_err(), "{}", escape(name));
        }
        assert!(check("a".repeat(1_025).as_bytes()).is_err());
    }

    #[test]
    fn ordinary_names_are_kept() {
        assert_eq!(check(b"./pkg/a.py").as_deref(), Ok("pkg/a.py"));
        assert_eq!(check("пакет/модуль.py".as_bytes()).as_deref(), Ok("пакет/модуль.py"));
        assert_eq!(check(b"..a/b...py").as_deref(), Ok("..a/b...py"));
    }

    proptest! {
        #[test]
        fn different_names_are_escaped_differently(a: Vec<u8>, b: Vec<u8>) {
            prop_assert_eq!(a == b, escape(&a) == escape(&b));
        }

        #[test]
        fn a_kept_name_stays_below_the_directory_it_is_joined_to(name: Vec<u8>) {
            if let Ok(path) = check(&name) {
                let joined = std::path::Path::new("/base").join(&path);
                prop_assert!(joined.starts_with("/base"));
                prop_assert!(joined.components().all(|c| !matches!(c, std::path::Component::ParentDir)));
            }
        }
    }
}
