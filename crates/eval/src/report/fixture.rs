//! Made-up results for the tests of the page.

use std::collections::BTreeMap;

use super::{
    CorpusSummary, Curve, Figure, Prediction, Report, RepositorySummary, RewardPerplexity, RewardSummary, Series,
    ShownCandidate, VERSION, breakdown, compare, summarize,
};
use crate::metrics::generation::{Checks, Dependencies, checked};

pub(super) fn report() -> Report {
    let predictions = predictions();
    Report {
        version: VERSION,
        experiment: "shapes".to_owned(),
        identity: BTreeMap::from([("encoder".to_owned(), "tiny-bert".to_owned()), ("seed".to_owned(), "7".to_owned())]),
        rewards: Some(RewardSummary {
            measured_on: "validation samples".to_owned(),
            n: 20,
            k: 10,
            best_of_k_below_none: 17,
            share: 0.85,
            stop_best_share: 0.1,
            stop_first_share: 0.05,
            first_choice_best_share: 0.3,
            weighted_perplexity: RewardPerplexity { none: 9.0, random: 8.5, first_choice: 8.0, best: 7.0 },
        }),
        arms: summarize(&predictions, &["bm25", "trained"], 7),
        comparisons: compare(&predictions, "trained", "bm25", 7),
        breakdown: breakdown(&predictions, &["bm25", "trained"], "trained", 7),
        figures: Vec::new(),
        curves: vec![Curve {
            name: "Mean reward".to_owned(),
            x: "step".to_owned(),
            unit: "nats per token".to_owned(),
            series: vec![Series { name: "training".to_owned(), points: vec![(1.0, 0.1), (2.0, 1.0 / 3.0)] }],
        }],
        corpus: CorpusSummary {
            dataset: "fixtures".to_owned(),
            repositories: vec![RepositorySummary { name: "shapes".to_owned(), n_files: 4, ..Default::default() }],
            n_files_seen: 6,
            n_files_kept: 4,
            dropped: BTreeMap::from([("too_large".to_owned(), 2)]),
            samples: BTreeMap::from([("test".to_owned(), 3)]),
        },
        notes: vec!["One curve was short.".to_owned()],
        timing: BTreeMap::from([("training".to_owned(), 12.5)]),
    }
}

/// The report of a generator, and its predictions.
pub(super) fn generation() -> (Report, Vec<Prediction>) {
    let predictions = vec![
        function("f0", "baseline", 1, 2, 1.0),
        function("f0", "toolgen_paper", 2, 2, 1.0),
        function("f1", "baseline", 1, 1, 0.0),
        function("f1", "toolgen_paper", 1, 1, 1.0),
        function("f2", "baseline", 1, 2, 0.0),
        function("f2", "toolgen_paper", 1, 2, 1.0),
    ];
    let figure = |name: &str, unit: &str, values: [f64; 2]| Figure {
        name: name.to_owned(),
        unit: unit.to_owned(),
        arms: [("baseline".to_owned(), values[0]), ("toolgen_paper".to_owned(), values[1])].into(),
    };
    let report = Report {
        rewards: None,
        arms: summarize(&predictions, &["baseline", "toolgen_paper"], 7),
        comparisons: compare(&predictions, "toolgen_paper", "baseline", 7),
        figures: vec![
            figure("triggers written", "", [0.0, 17.0]),
            figure("decoding", "seconds per token", [0.0511, 0.0624]),
        ],
        ..report()
    };
    (report, predictions)
}

fn function(sample: &str, arm: &str, hits: usize, keys: usize, valid: f64) -> Prediction {
    let dependencies = Some(Dependencies { hits, keys });
    let checks = Checks { dependencies, valid_native: Some(valid > 0.0), ..Checks::default() };
    Prediction {
        context: Vec::new(),
        target: "    pass\n".to_owned(),
        metrics: checked(&checks),
        ..prediction(sample, arm, "    pass\n", 0.0)
    }
}

pub(super) fn predictions() -> Vec<Prediction> {
    vec![
        prediction("s0", "bm25", "width()\n", 1.0),
        prediction("s0", "trained", "width()\n", 1.0),
        prediction("s1", "bm25", "height()\n", 1.0),
        prediction("s1", "trained", "area()\n", 1.25),
        prediction("s2", "bm25", "area()\n", 2.0),
        prediction("s2", "trained", "width()\n", 1.5),
    ]
}

pub(super) fn prediction(sample: &str, arm: &str, text: &str, weighted_nll: f64) -> Prediction {
    let exact = f64::from(u8::from(text.trim() == "width()"));
    Prediction {
        sample: sample.to_owned(),
        arm: arm.to_owned(),
        repository: if sample == "s2" { "solids" } else { "shapes" }.to_owned(),
        path: "app.py".to_owned(),
        language: "python".to_owned(),
        kind: "line".to_owned(),
        left_context_tail: "shape = load()\nsize = shape.".to_owned(),
        target: "width()\n".to_owned(),
        prediction: text.to_owned(),
        context: vec![
            candidate("lib/shapes.py", (10, 14), 0.75, true),
            ShownCandidate { stop: true, similarity: 0.5, ..Default::default() },
            candidate("lib/load.py", (0, 15), 0.25, false),
        ],
        metrics: BTreeMap::from([("exact_match_cceval".to_owned(), exact), ("weighted_nll".to_owned(), weighted_nll)]),
    }
}

fn candidate(path: &str, lines: (usize, usize), similarity: f64, shown: bool) -> ShownCandidate {
    let text = "def width(self):\n    return 1".to_owned();
    ShownCandidate { path: path.to_owned(), lines, similarity, text, stop: false, shown }
}
