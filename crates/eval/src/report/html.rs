//! `report.html`: one file that needs nothing else.

use std::path::Path;

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use serde::Serialize;

use super::arms::label;
use super::headline::{deciding, headline};
use super::{Comparison, Prediction, Report, json, panels, samples, tables};
use crate::metrics::definition;
use crate::significance::Direction;
use crate::{Error, Result};

/// The largest number of samples the page shows.
pub const SAMPLES_MAX: usize = 200;

const TEMPLATES: [(&str, &str); 12] = [
    ("page.html", include_str!("page.html")),
    ("style.css", include_str!("style.css")),
    ("filter.js", include_str!("filter.js")),
    ("arms.html", include_str!("arms.html")),
    ("comparisons.html", include_str!("comparisons.html")),
    ("breakdown.html", include_str!("breakdown.html")),
    ("figures.html", include_str!("figures.html")),
    ("rewards.html", include_str!("rewards.html")),
    ("curves.html", include_str!("curves.html")),
    ("corpus.html", include_str!("corpus.html")),
    ("samples.html", include_str!("samples.html")),
    ("sample.html", include_str!("sample.html")),
];

/// Writes `report.html`, replacing it in one step.
///
/// # Errors
///
/// Fails if the page cannot be rendered or the file cannot be written.
pub fn write_html(path: &Path, report: &Report, predictions: &[Prediction]) -> Result<()> {
    json::replace(path, render_html(report, predictions)?.as_bytes())
}

/// Returns the page: the report, and up to [`SAMPLES_MAX`] samples with those on which the arms disagree first.
///
/// Every text is escaped; the page loads nothing and works without scripts.
///
/// # Errors
///
/// Fails if a chart cannot be drawn.
pub fn render_html(report: &Report, predictions: &[Prediction]) -> Result<String> {
    let arms: Vec<&str> = report.arms.iter().map(|arm| arm.arm.as_str()).collect();
    let versus = deciding(report).map(|comparison| (comparison.arm.as_str(), comparison.baseline.as_str()));
    let (shown, n_samples) = samples::select(predictions, &arms, versus, SAMPLES_MAX);
    let sentences = headline(report);
    let page = Page {
        report,
        headline: sentences.first(),
        sentences: sentences.get(1..).unwrap_or_default(),
        verdict: deciding(report).map(verdict),
        arms: report.arms.iter().map(|arm| (label(&arm.arm), arm.n)).collect(),
        arm_rows: tables::arm_rows(report),
        pairs: tables::pairs(report).into_iter().map(|(arm, baseline)| (label(arm), label(baseline))).collect(),
        pair_rows: tables::pair_rows(report),
        breakdown: tables::breakdown(report),
        figure_rows: tables::figure_rows(report),
        rewards: report.rewards.as_ref().filter(|rewards| rewards.n > 0).map(panels::rewards),
        curves: panels::curves(&report.curves)?,
        dropped: panels::dropped(&report.corpus),
        samples: shown,
        n_samples,
        versus: versus.map(|(arm, baseline)| (label(arm), label(baseline))),
        timing: panels::seconds(&report.timing),
    };
    let environment = environment().map_err(Error::Template)?;
    environment.get_template("page.html").and_then(|template| template.render(Serde(&page))).map_err(Error::Template)
}

/// Everything the templates name.
#[derive(Serialize)]
struct Page<'a> {
    report: &'a Report,
    headline: Option<&'a String>,
    sentences: &'a [String],
    verdict: Option<(&'static str, String)>,
    arms: Vec<(&'a str, usize)>,
    arm_rows: Vec<tables::Row>,
    pairs: Vec<(&'a str, &'a str)>,
    pair_rows: Vec<tables::Row>,
    breakdown: Vec<tables::Parts<'a>>,
    figure_rows: Vec<tables::FigureRow<'a>>,
    rewards: Option<panels::Rewards>,
    curves: Vec<panels::Chart<'a>>,
    dropped: Vec<panels::Bar>,
    samples: Vec<samples::Sample>,
    n_samples: usize,
    versus: Option<(&'a str, &'a str)>,
    timing: Vec<(&'a str, String)>,
}

fn environment() -> std::result::Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    Ok(environment)
}

/// The outcome of the deciding comparison for the page's head: its kind, and in words.
fn verdict(comparison: &Comparison) -> (&'static str, String) {
    let direction = definition(&comparison.metric).map_or(Direction::Higher, |metric| metric.direction);
    let outcome = tables::outcome(&comparison.difference, direction);
    let words = match outcome {
        "even" => "no difference shown".to_owned(),
        better_or_worse => format!("{better_or_worse} than {}", label(&comparison.baseline)),
    };
    (outcome, words)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{generation, predictions, report};
    use super::*;

    const HOSTILE: &str = "</script></style><img src=x onerror=alert(1)>'\"&{{ 70007 * 3 }}";

    /// Puts the hostile text wherever the page shows a text.
    fn hostile() -> (Report, Vec<Prediction>) {
        let (mut report, mut predictions) = (report(), predictions());
        let text = || HOSTILE.to_owned();
        report.experiment = text();
        report.identity.insert(text(), text());
        report.rewards.as_mut().unwrap().measured_on = text();
        report.notes.push(text());
        report.timing.insert(text(), 1.0);
        report.corpus.dataset = text();
        report.corpus.dropped.insert(text(), 3);
        report.corpus.samples.insert(text(), 3);
        report.corpus.repositories[0].name = text();
        report.corpus.repositories[0].license = text();
        let curve = &mut report.curves[0];
        (curve.name, curve.unit, curve.x, curve.series[0].name) = (text(), text(), text(), text());
        report.arms[0].arm = text();
        for prediction in &mut predictions {
            if prediction.arm == "bm25" {
                prediction.arm = text();
            }
            (prediction.repository, prediction.path, prediction.kind) = (text(), text(), text());
            (prediction.target, prediction.left_context_tail) = (text(), text());
            prediction.prediction.push_str(HOSTILE);
            (prediction.context[0].path, prediction.context[0].text) = (text(), text());
        }
        (report, predictions)
    }

    #[test]
    fn hostile_texts_are_shown_not_run() {
        let (report, predictions) = hostile();
        let html = render_html(&report, &predictions).unwrap();
        assert_eq!(html.matches("<script").count(), 1);
        assert_eq!(html.matches("</script").count(), 1);
        assert_eq!(html.matches("</style").count(), 1);
        assert!(!html.contains("<img"));
        assert!(!html.contains("210021"), "a text was run as a template");
        assert!(html.matches("&lt;img").count() > 20);
    }

    #[test]
    fn the_page_loads_nothing() {
        let html = render_html(&report(), &predictions()).unwrap();
        for loader in ["src=", "href=\"http", "url(", "@import", "<link", "<iframe"] {
            assert!(!html.contains(loader), "{loader}");
        }
        assert_eq!(
            html.matches("http").count(),
            html.matches("http-equiv").count() + html.matches("www.w3.org").count()
        );
    }

    #[test]
    fn equal_reports_give_equal_pages() {
        assert_eq!(render_html(&report(), &predictions()).unwrap(), render_html(&report(), &predictions()).unwrap());
    }

    #[test]
    fn a_report_without_anything_still_renders() {
        let mut report = report();
        report.arms.clear();
        report.comparisons.clear();
        report.curves.clear();
        report.rewards = None;
        report.corpus = super::super::CorpusSummary::default();
        let html = render_html(&report, &[]).unwrap();
        assert!(html.contains("No arm was evaluated.") && html.contains("No prediction was recorded."));
    }

    #[test]
    fn a_generator_run_has_figures_and_no_rewards() {
        let (report, predictions) = generation();
        let html = render_html(&report, &predictions).unwrap();
        for shown in
            ["triggers written", "ToolGen, paper&#x27;s rule", "Dependency Coverage", "relative +33.3 %", "pass"]
        {
            assert!(html.contains(shown), "{shown}");
        }
        for hidden in ["id=\"rewards\"", "weighted perplexity", "No candidate was ranked", "dependency_coverage.hits"] {
            assert!(!html.contains(hidden), "{hidden}");
        }
    }

    #[test]
    fn more_samples_than_the_page_holds_are_counted() {
        let mut predictions = predictions();
        for index in 0..SAMPLES_MAX {
            let mut more = predictions[0].clone();
            more.sample = format!("more{index}");
            predictions.push(more);
        }
        let html = render_html(&report(), &predictions).unwrap();
        assert!(html.contains("200 of 203 samples") && html.contains("the other 3 are left out"));
        assert_eq!(html.matches("<details class=\"sample\"").count(), SAMPLES_MAX);
    }
}
