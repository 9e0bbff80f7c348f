//! The whole pipeline on the fixture repositories: `experiments/smoke.toml`, run as a user runs it.

use burn::train::Interrupter;
use eval::report::{Report, read_predictions};
use train::experiment::Experiment;
use train::pipeline::{Options, Outcome, Until, run};

use crate::place::Place;

const SMOKE: &str = "experiments/smoke.toml";

const DATA: [&str; 3] = ["data/files.parquet", "data/samples.parquet", "data/ledger.parquet"];

#[test]
fn two_runs_give_the_same_bytes_on_any_number_of_threads() {
    let (first, second) = (Place::new(SMOKE), Place::new(SMOKE));
    first.finish(&["hardware.threads=1"]);
    second.finish(&["hardware.threads=4"]);
    for name in DATA.into_iter().chain(["run/predictions.jsonl", "run/retriever/model.safetensors"]) {
        assert!(first.bytes(name) == second.bytes(name), "{name} differs");
    }
    assert_eq!(first.report(), second.report());
}

#[test]
fn a_run_reports_all_arms_and_is_then_skipped() {
    let place = Place::new(SMOKE);
    assert!(place.finish(&[]).iter().all(|stage| !stage.skipped));
    let report = Report::read(&place.path("run/report.json")).unwrap();
    let arms: Vec<&str> = report.arms.iter().map(|arm| arm.arm.as_str()).collect();
    let experiment = place.experiment(&[]);
    let Experiment::Retriever(experiment) = &experiment else { panic!("a retriever is trained") };
    assert_eq!(arms, experiment.evaluation.arms);
    assert!(arms.len() >= 12);
    let n = report.arms[0].n;
    assert!(n >= 4 && report.arms.iter().all(|arm| arm.n == n));
    assert!(report.rewards.as_ref().is_some_and(|rewards| rewards.n > 0));
    let predictions = read_predictions(&place.path("run/predictions.jsonl")).unwrap();
    assert_eq!(predictions.len(), arms.len() * n);
    let first_choice = |arm: &str| {
        let of_arm = report.arms.iter().find(|summary| summary.arm == arm).unwrap();
        of_arm.metrics["first_choice_weighted_nll"].mean
    };
    for (oracle, arm) in
        [("best_of_untrained", "untrained"), ("best_of_untrained", "none"), ("best_of_random", "random")]
    {
        assert!(first_choice(oracle) <= first_choice(arm), "{oracle} is worse than {arm}");
    }
    let shown =
        |arm: &str| predictions.iter().filter(|p| p.arm == arm).flat_map(|p| &p.context).filter(|c| c.shown).count();
    assert_eq!(shown("none"), 0);
    assert!(shown("bm25") > 0 && shown("untrained") > 0 && shown("jaccard") > 0);
    let iterations = |arm: &str| {
        let of_arm = predictions.iter().filter(|prediction| prediction.arm == arm);
        of_arm.map(|prediction| prediction.metrics["iterations"]).fold(0.0, f64::max)
    };
    assert_eq!((iterations("jaccard"), iterations("repocoder")), (1.0, 2.0));
    let html = String::from_utf8(place.bytes("run/report.html")).unwrap();
    assert!(html.contains("<svg") && html.contains("untrained"));

    assert!(place.finish(&[]).iter().all(|stage| stage.skipped));
    let stages = place.finish(&["evaluation.generation_tokens_max=4"]);
    let skipped: Vec<bool> = stages.iter().map(|stage| stage.skipped).collect();
    assert_eq!(skipped, [true, true, true, false]);
}

#[test]
fn what_is_predicted_is_tried_in_the_repository() {
    let place = Place::new(SMOKE);
    let folder = crate::root().join("tests/fixtures/python_shop");
    let suite = format!("{{folder = '{}', command = 'python3 -m compileall -q .'}}", folder.display());
    let suites = format!("evaluation.tests.suites={{python_shop = {suite}}}");
    place.finish(&[&suites, "evaluation.arms=['none', 'bm25']"]);
    let predictions = read_predictions(&place.path("run/predictions.jsonl")).unwrap();
    let (tried, others): (Vec<_>, Vec<_>) = predictions.iter().partition(|p| p.metrics.contains_key("pass_rate"));
    assert!(!tried.is_empty() && tried.iter().all(|prediction| prediction.repository == "python_shop"));
    assert!(others.iter().all(|prediction| prediction.repository != "python_shop"));
    assert!(place.report().to_string().contains("\"pass_rate\""));
    // One verdict for each file as it was, and one for each different prediction.
    let verdicts = String::from_utf8(place.bytes("run/trials.jsonl")).unwrap();
    assert!(verdicts.contains("passed") && verdicts.lines().count() > 1, "{verdicts}");
}

#[test]
fn every_step_has_a_loss_and_a_gradient() {
    let place = Place::new(SMOKE);
    place.finish(&[]);
    let metrics = String::from_utf8(place.bytes("run/metrics.jsonl")).unwrap();
    let lines: Vec<serde_json::Value> = metrics.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let steps: Vec<_> = lines.iter().filter(|line| line["kind"] == "step").collect();
    assert_eq!(steps.len(), 4);
    for step in steps {
        assert!(step["loss"].as_f64().unwrap() > 0.0 && step["gradient_norm"].as_f64().unwrap() > 0.0, "{step}");
    }
}

#[test]
fn an_interrupted_run_resumes_to_the_same_bits() {
    let (straight, stopped) = (Place::new(SMOKE), Place::new(SMOKE));
    straight.finish(&[]);
    let interruptions = stopped.finish_in_rounds(&[]);
    assert!(interruptions >= 3, "only {interruptions} interruptions");
    for name in ["run/retriever/model.safetensors", "run/predictions.jsonl"] {
        assert!(straight.bytes(name) == stopped.bytes(name), "{name} differs");
    }
}

#[test]
fn a_missing_model_is_known_before_any_work() {
    let place = Place::new(SMOKE);
    let experiment = place.experiment(&["evaluator.model=dir:no/such/model"]);
    let options = Options {
        run_directory: place.path("run"),
        cache: place.path("cache"),
        offline: true,
        until: Until::Evaluate,
        dashboard: false,
        interrupter: &Interrupter::new(),
    };
    let error = format!("{:#}", run(&experiment, &options).unwrap_err());
    assert!(error.contains("evaluator.model") && error.contains("no/such/model"), "{error}");
    assert!(!place.path("data").exists());
}

#[test]
fn the_policy_learns_one_batch_by_heart() {
    let place = Place::new(SMOKE);
    let experiment = place.experiment(&[
        "dataset.samples.train={ span = 4 }",
        "training.epochs=30",
        "training.dropout=false",
        "training.early_stopping.patience=0",
        "optimizer.learning_rate=3e-3",
    ]);
    let outcome = place.run_with(&experiment, Until::Train, &Interrupter::new());
    assert!(matches!(outcome, Outcome::Finished(_)));
    let metrics = String::from_utf8(place.bytes("run/metrics.jsonl")).unwrap();
    let lines = metrics.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let losses: Vec<f64> = lines.filter_map(|line| line["loss"].as_f64()).collect();
    assert_eq!(losses.len(), 30);
    assert!(losses[29] < 0.5 * losses[0], "from {} to {}", losses[0], losses[29]);
}

#[test]
fn what_is_damaged_after_a_run_is_made_again_to_the_same_bits() {
    let place = Place::new(SMOKE);
    place.finish(&[]);
    let whole = place.bytes("run/retriever/model.safetensors");
    for (name, damage) in [
        ("run/retriever/model.safetensors", &b"damage"[..]),
        ("run/retriever/tokenizer.json", b"{}"),
        ("run/metrics.jsonl", b"damage\n"),
        ("run/scores.cache", b""),
        ("run/report.json", b"{}"),
        ("data/samples.parquet", b"damage"),
    ] {
        let before = place.bytes(name);
        std::fs::write(place.path(name), damage).unwrap();
        place.finish(&[]);
        assert_eq!(place.bytes("run/retriever/model.safetensors"), whole, "after damage to {name}");
        let is_made_of_times = ["run/metrics.jsonl", "run/report.json", "run/scores.cache"].contains(&name);
        assert!(is_made_of_times || place.bytes(name) == before, "{name} was not made again");
    }
}

#[test]
fn a_run_with_another_configuration_in_the_same_directory_makes_progress() {
    let place = Place::new(SMOKE);
    place.finish(&[]);
    place.finish(&["optimizer.learning_rate=2e-3"]);
    let report = Report::read(&place.path("run/report.json")).unwrap();
    assert!(report.arms.len() >= 12);
}

#[test]
fn prompts_that_a_model_cannot_read_are_refused_before_training() {
    let place = Place::new(SMOKE);
    let experiment = place.experiment(&["evaluation.generation_tokens_max=100000"]);
    let interrupter = Interrupter::new();
    let options = Options {
        run_directory: place.path("run"),
        cache: place.path("cache"),
        offline: true,
        until: Until::Evaluate,
        dashboard: false,
        interrupter: &interrupter,
    };
    let error = format!("{:#}", run(&experiment, &options).unwrap_err());
    assert!(error.contains("evaluation.generation_tokens_max"), "{error}");
    assert!(!place.path("run/metrics.jsonl").exists());
}
