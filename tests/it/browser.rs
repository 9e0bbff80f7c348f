//! `report.html` in a real browser: what a reader sees, after scripts and style sheets have run.
//!
//! Needs headless Chromium (`$RETORT_CHROMIUM`, else `chromium`), and so the feature `browser`.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::place::Place;

/// Longest that the browser may take.
const DEADLINE: Duration = Duration::from_mins(2);

/// Runs the browser on a file with a profile of its own, and returns what it printed.
fn browse(page: &Path, arguments: &[String]) -> Output {
    let profile = tempfile::tempdir().unwrap();
    let browser = std::env::var("RETORT_CHROMIUM").unwrap_or_else(|_| "chromium".to_owned());
    let (out, errors) = (profile.path().join("out"), profile.path().join("errors"));
    let mut child = Command::new(&browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"])
        .args(["--enable-logging=stderr", "--window-size=1400,2400"])
        .arg(format!("--user-data-dir={}", profile.path().join("profile").display()))
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .stdout(std::fs::File::create(&out).unwrap())
        .stderr(std::fs::File::create(&errors).unwrap())
        .spawn()
        .unwrap_or_else(|error| panic!("{browser} does not start ({error}); install chromium or set RETORT_CHROMIUM"));
    let start = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() > DEADLINE => {
                child.kill().unwrap();
                panic!("{browser} took more than {DEADLINE:?}");
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    Output { status, stdout: std::fs::read(out).unwrap(), stderr: std::fs::read(errors).unwrap() }
}

#[test]
fn the_table_the_curves_and_a_diff_are_there_and_no_script_fails() {
    let place = Place::new("experiments/smoke.toml");
    place.finish(&[]);
    let page = std::fs::canonicalize(place.path("run/report.html")).unwrap();
    let output = browse(&page, &["--dump-dom".to_owned()]);
    let (dom, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{log}");
    assert!(!log.contains("CONSOLE"), "a script or a style sheet complains: {log}");
    let n = |part: &str| dom.matches(part).count();
    for arm in ["no context", "BM25", "RepoCoder", "trained retriever"] {
        assert!(dom.contains(arm), "{arm} is not in the table");
    }
    assert!(n("<section id=\"arms\"") == 1 && n("<td class=\"best\"") > 0);
    assert!(n("<section id=\"breakdown\"") == 1);
    assert!(n("<svg") >= 5 && n("<polyline") >= 5, "{} charts, {} lines", n("<svg"), n("<polyline"));
    assert!(n("<del") > 0 && n("<ins") > 0, "no prediction is compared with its target");
    assert!(n("class=\"sample\"") > 0);

    let picture = tempfile::tempdir().unwrap();
    let picture = picture.path().join("report.png");
    let output = browse(&page, &[format!("--screenshot={}", picture.display())]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(&picture).unwrap();
    // A blank picture of this size packs to a few kilobytes.
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 50_000, "{} bytes", bytes.len());
    if let Ok(keep) = std::env::var("RETORT_SCREENSHOT") {
        std::fs::write(keep, bytes).unwrap();
    }
}
