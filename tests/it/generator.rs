//! A generator fine-tuned on the fixture repositories: `experiments/toolgen/smoke.toml`, run as a user runs it.

use burn::train::Interrupter;
use train::pipeline::{Outcome, Until};

use crate::place::Place;

const SMOKE: &str = "experiments/toolgen/smoke.toml";
const ADAPTER: &str = "run/generator/adapter_model.safetensors";

#[test]
fn two_runs_give_the_same_adapter_on_any_number_of_threads() {
    let (first, second) = (Place::new(SMOKE), Place::new(SMOKE));
    first.finish(&["hardware.threads=1"]);
    second.finish(&["hardware.threads=4"]);
    for name in ["data/functions.parquet", ADAPTER] {
        assert!(first.bytes(name) == second.bytes(name), "{name} differs");
    }
}

#[test]
fn an_interrupted_run_resumes_to_the_same_bits() {
    let (straight, stopped) = (Place::new(SMOKE), Place::new(SMOKE));
    straight.finish(&[]);
    let interruptions = stopped.finish_in_rounds(&[]);
    assert!(interruptions >= 3, "only {interruptions} interruptions");
    assert!(straight.bytes(ADAPTER) == stopped.bytes(ADAPTER), "the adapter differs");
}

#[test]
fn all_weights_are_trained_without_an_adapter_and_resume_to_the_same_bits() {
    let (straight, stopped) = (without_adapter(), without_adapter());
    straight.finish(&["training.epochs=1"]);
    assert!(stopped.finish_in_rounds(&["training.epochs=1"]) >= 2);
    let weights = "run/generator/model.safetensors";
    assert!(straight.bytes(weights) == stopped.bytes(weights), "the weights differ");
}

/// Returns a place for runs of the experiment without its section on the adapter.
fn without_adapter() -> Place {
    let mut place = Place::new(SMOKE);
    let text = std::fs::read_to_string(&place.experiment).unwrap();
    let (before, after) = text.split_once("[adapter]").unwrap();
    let (_, after) = after.split_once("\n[").unwrap();
    let manifest = crate::root().join("datasets/smoke.toml");
    let text = format!("{before}[{after}").replace("../../datasets/smoke.toml", manifest.to_str().unwrap());
    place.experiment = place.path("full.toml");
    std::fs::write(&place.experiment, text).unwrap();
    place
}

#[test]
fn the_generator_learns_its_functions_by_heart() {
    let place = without_adapter();
    let overrides = ["dataset.functions.train_max=4", "training.epochs=60", "optimizer.learning_rate=3e-3"];
    let outcome = place.run_with(&place.experiment(&overrides), Until::Train, &Interrupter::new());
    assert!(matches!(outcome, Outcome::Finished(_)));
    let metrics = String::from_utf8(place.bytes("run/metrics.jsonl")).unwrap();
    let lines = metrics.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let losses: Vec<f64> =
        lines.filter(|line| line["kind"] == "step").filter_map(|line| line["loss"].as_f64()).collect();
    let (first, last) = (losses[0], losses[losses.len() - 1]);
    assert!(last < 0.5 * first, "from {first} to {last}");
}

#[test]
fn the_baseline_learns_from_the_same_functions_without_triggers() {
    let place = Place::new(SMOKE);
    place.finish(&["dataset.marked=false", "evaluation.arms=[\"plain\"]"]);
    assert!(!place.path("run/generator/tokenizer.json").exists(), "no token was added");
}
