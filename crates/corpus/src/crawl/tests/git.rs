//! Hostile git repositories, cloned from `file://` addresses.

use std::io::Write;
use std::process::{Command, Stdio};

use super::*;

/// A bare repository whose trees are written object by object, so that any name can be in them.
struct GitRepository {
    directory: PathBuf,
}

impl GitRepository {
    fn new(directory: PathBuf) -> Self {
        let repository = Self { directory };
        repository.git(&["init", "--bare", "--quiet", "--initial-branch=main"], b"");
        repository
    }

    fn git(&self, arguments: &[&str], input: &[u8]) -> String {
        fs::create_dir_all(&self.directory).unwrap();
        let mut command = Command::new("git");
        command.args(arguments).current_dir(&self.directory).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs([("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null"), ("HOME", "/nonexistent")]);
        for name in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{name}_NAME"), "n")
                .env(format!("GIT_{name}_EMAIL"), "e")
                .env(format!("GIT_{name}_DATE"), "1700000000 +0000");
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Commits a tree of (mode, name, content) to `main`; the content of a submodule is its commit.
    fn commit(&self, entries: &[(&str, &[u8], &[u8])]) -> String {
        let mut list = Vec::new();
        for (mode, name, content) in entries {
            let (kind, id) = match *mode {
                "160000" => ("commit", String::from_utf8(content.to_vec()).unwrap()),
                "040000" => ("tree", String::from_utf8(content.to_vec()).unwrap()),
                _ => ("blob", self.git(&["hash-object", "-w", "--stdin"], content)),
            };
            list.extend(format!("{mode} {kind} {id}\t").bytes());
            list.extend_from_slice(name);
            list.push(0);
        }
        let tree = self.git(&["mktree", "-z", "--missing"], &list);
        let commit = self.git(&["commit-tree", &tree, "-m", "c"], b"");
        self.git(&["update-ref", "refs/heads/main", &commit], b"");
        commit
    }

    fn spec(&self) -> String {
        format!("git:file://{}", self.directory.display())
    }
}

#[test]
fn a_hostile_repository_is_read_from_its_objects_only() {
    let place = Place::new();
    let git = GitRepository::new(place.data("org/r.git"));
    let big = vec![b'#'; 3_000_000];
    let commit = git.commit(&[
        ("100644", b".gitattributes", b"*.py filter=evil\n"),
        ("100644", b"A.py", b"x = 1\n"),
        ("100644", b"a.py", A.as_bytes()),
        ("100755", b"b.py", B.as_bytes()),
        ("120000", b"link.py", b"/etc/passwd"),
        ("160000", b"module.py", b"0123456789012345678901234567890123456789"),
        ("100644", b"bad\xff.py", b"x = 2\n"),
        ("100644", b"back\\slash.py", b"x = 3\n"),
        ("100644", b"new\nline.py", b"x = 4\n"),
        ("100644", b"big.py", &big),
        ("100644", b"tab\tname.py", b"x = 5\n"),
        ("100644", b"COPYING", b"GNU General Public License"),
    ]);
    let before = place.all_paths();
    let corpus = place.crawl(&git.spec()).unwrap();
    assert_eq!(place.all_paths(), before);
    expect_test::expect![[r"
        org/r | .gitattributes | unsupported_language |
        org/r | A.py | no_cross_file_dependency |
        org/r | COPYING | unsupported_language |
        org/r | a.py | name_collision | collides with A.py
        org/r | b.py | no_cross_file_dependency |
        org/r | back\\slash.py | bad_name | holds a backslash
        org/r | bad\xff.py | bad_name | is not UTF-8
        org/r | big.py | too_large | 3000000 bytes
        org/r | link.py | symlink | not followed
        org/r | module.py | submodule | 0123456789012345678901234567890123456789
        org/r | new\nline.py | bad_name | holds a control character
        org/r | tab\tname.py | bad_name | holds a control character
    "]]
    .assert_eq(&verdicts(&corpus));
    let provenance = &corpus.repositories[0].provenance;
    assert_eq!(provenance.revision, format!("commit:{commit}"));
    assert_eq!(provenance.license, "GPL");
    let clone = fs::read_dir(place.cache().join("git")).unwrap().next().unwrap().unwrap().path();
    assert!(!clone.join("index").exists() && !clone.join("hooks").exists() && !clone.join("a.py").exists());
    assert!(!fs::read_to_string(clone.join("config")).unwrap().contains("url"));
}

#[test]
fn blobs_that_a_server_left_out_are_too_large() {
    let place = Place::new();
    let git = GitRepository::new(place.data("r"));
    git.git(&["config", "uploadpack.allowFilter", "true"], b"");
    git.commit(&[
        ("100644", b"a.py", b"x = 1\n"),
        ("100644", b"big.bin", &vec![0; 3_000_000]),
        ("100644", b"big.py", &vec![b'#'; 3_000_000]),
    ]);
    let corpus = place.crawl(&git.spec()).unwrap();
    expect_test::expect![[r"
        data/r | a.py | no_cross_file_dependency |
        data/r | big.bin | unsupported_language |
        data/r | big.py | too_large | not transferred
    "]]
    .assert_eq(&verdicts(&corpus));
}

#[test]
fn a_tree_that_climbs_out_is_refused_while_it_is_transferred() {
    let place = Place::new();
    let git = GitRepository::new(place.data("r"));
    let blob = git.git(&["hash-object", "-w", "--stdin"], b"x = 1\n");
    let tree: Vec<u8> = [b"100644 evil.py\0".as_slice(), &bytes_of(&blob)].concat();
    let tree = git.git(&["hash-object", "-w", "-t", "tree", "--literally", "--stdin"], &tree);
    let root: Vec<u8> = [b"40000 ..\0".as_slice(), &bytes_of(&tree)].concat();
    let root = git.git(&["hash-object", "-w", "-t", "tree", "--literally", "--stdin"], &root);
    let commit = git.git(&["commit-tree", &root, "-m", "c"], b"");
    git.git(&["update-ref", "refs/heads/main", &commit], b"");
    let before = place.all_paths();
    let message = chain(&place.crawl(&git.spec()).unwrap_err());
    assert!(message.contains("cannot read the git repository file://"), "{message}");
    assert!(message.contains("git says: error: ") && message.contains("; fatal: "), "{message}");
    assert_eq!(place.all_paths(), before);
}

#[test]
fn a_commit_or_a_branch_can_be_named_and_a_commit_is_cloned_once() {
    let place = Place::new();
    let git = GitRepository::new(place.data("r"));
    git.git(&["config", "uploadpack.allowAnySHA1InWant", "true"], b"");
    let first = git.commit(&[("100644", b"a.py", b"x = 'first'\n")]);
    git.git(&["branch", "feature/old", &first], b"");
    git.commit(&[("100644", b"a.py", b"x = 'second'\n")]);
    let text = |revision: &str| {
        let corpus = place.crawl(&format!("{}{revision}", git.spec()))?;
        Ok::<_, Error>(corpus.repositories[0].repository.files()[0].text.clone())
    };
    assert_eq!(text("").unwrap(), "x = 'second'\n");
    assert_eq!(text("@feature/old").unwrap(), "x = 'first'\n");
    assert_eq!(text(&format!("@{first}")).unwrap(), "x = 'first'\n");
    let message = chain(&text("@missing").unwrap_err());
    assert!(message.ends_with("git says: fatal: Remote branch missing not found in upstream origin"), "{message}");
    fs::remove_dir_all(&git.directory).unwrap();
    assert_eq!(text(&format!("@{first}")).unwrap(), "x = 'first'\n");
}

fn bytes_of(id: &str) -> Vec<u8> {
    (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap()).collect()
}
