//! Records the commit that a binary was built from, for `run.json`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=../../.git/HEAD");
    println!("cargo::rerun-if-changed=../../.git/index");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    if let Some(commit) = git(&["rev-parse", "HEAD"]) {
        println!("cargo::rustc-env=RETORT_GIT_COMMIT={commit}");
    }
    if let Some(status) = git(&["status", "--porcelain", "--untracked-files=no"]) {
        println!("cargo::rustc-env=RETORT_GIT_DIRTY={}", !status.is_empty());
    }
}
