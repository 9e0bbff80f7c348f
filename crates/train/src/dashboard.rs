//! What a person watches while the policy learns: burn's terminal dashboard, or lines in the log.

use std::sync::Arc;

use burn::train::Interrupter;
use burn::train::metric::{
    MetricAttributes, MetricDefinition, MetricEntry, MetricId, NumericAttributes, NumericEntry, SerializedEntry,
};
use burn::train::renderer::tui::TuiMetricsRendererWrapper;
use burn::train::renderer::{MetricState, MetricsRenderer};

use crate::checkpoint::Position;
use crate::metrics::{Choices, StepLine, ValidationLine};
use crate::schedule::Schedule;

/// The metrics that the dashboard plots: name, and whether more is better.
const METRICS: [(&str, bool); 7] = [
    ("Loss (nats)", false),
    ("Mean reward", true),
    ("Weighted perplexity, first choice", false),
    ("Weighted perplexity, best", false),
    ("First choice is best (share)", true),
    ("Stop candidate first (share)", true),
    ("Gradient norm", false),
];

/// A view of the loop.
pub enum Dashboard {
    /// One line of the log for each step and validation.
    Log,
    /// burn's full-screen dashboard.
    Screen {
        /// burn's renderer.
        renderer: Box<dyn MetricsRenderer>,
        /// Steps in an epoch.
        steps_per_epoch: usize,
    },
}

impl Dashboard {
    /// Opens the full-screen dashboard; its own keys can stop the run through `interrupter`.
    #[must_use]
    pub fn screen(interrupter: &Interrupter) -> Self {
        let renderer = TuiMetricsRendererWrapper::new(interrupter.clone(), None);
        Self::Screen { renderer: Box::new(renderer), steps_per_epoch: 1 }
    }

    /// Shows where the run starts.
    pub fn start(&mut self, schedule: &Schedule, position: &Position) {
        match self {
            Self::Log => tracing::info!(
                "training: {} steps, {} an epoch, from step {}",
                schedule.steps_total(),
                schedule.steps_per_epoch(),
                position.step
            ),
            Self::Screen { renderer, steps_per_epoch } => {
                *steps_per_epoch = schedule.steps_per_epoch();
                for (index, (name, higher_is_better)) in METRICS.into_iter().enumerate() {
                    renderer.register_metric(MetricDefinition {
                        metric_id: id(index),
                        name: Arc::new(name.to_owned()),
                        description: None,
                        attributes: MetricAttributes::Numeric(NumericAttributes { unit: None, higher_is_better }),
                    });
                }
                let epochs = schedule.steps_total() / schedule.steps_per_epoch();
                renderer.start(epochs, schedule.epoch(position.step), None, Some("retriever"));
                renderer.start_split("train", *steps_per_epoch);
            }
        }
    }

    /// Shows a step.
    pub fn step(&mut self, line: &StepLine) {
        match self {
            Self::Log => tracing::info!(
                "step {}: loss {:.3}, reward {:.3}, {}, gradient {:.2}, {:.0} tokens/s ({:.0} % cached), {:.1} s",
                line.step,
                line.loss,
                line.mean_reward,
                worth(&line.choices),
                line.gradient_norm,
                line.tokens_per_second,
                100.0 * line.cached_share,
                line.seconds
            ),
            Self::Screen { renderer, steps_per_epoch } => {
                let choices = &line.choices;
                let values = [
                    line.loss,
                    line.mean_reward,
                    choices.weighted_perplexity_first,
                    choices.weighted_perplexity_best,
                    choices.first_choice_best_rate,
                    choices.stop_rate,
                    line.gradient_norm,
                ];
                for (index, value) in values.into_iter().enumerate() {
                    renderer.update_train(state(index, value));
                }
                renderer.update_split((line.step - 1) % *steps_per_epoch + 1);
            }
        }
    }

    /// Shows a validation.
    pub fn validation(&mut self, line: &ValidationLine) {
        match self {
            Self::Log => {
                let best = if line.is_best { " (best so far)" } else { "" };
                tracing::info!("validation after epoch {}: {}{best}", line.epoch, worth(&line.choices));
            }
            Self::Screen { renderer, steps_per_epoch } => {
                let choices = &line.choices;
                renderer.end_split();
                renderer.start_split("valid", 1);
                for (index, value) in [
                    (2, choices.weighted_perplexity_first),
                    (3, choices.weighted_perplexity_best),
                    (4, choices.first_choice_best_rate),
                    (5, choices.stop_rate),
                ] {
                    renderer.update_valid(state(index, value));
                }
                renderer.end_split();
                renderer.update_epoch(line.epoch.saturating_sub(1));
                renderer.start_split("train", *steps_per_epoch);
            }
        }
    }
}

fn worth(choices: &Choices) -> String {
    format!(
        "weighted perplexity {:.2} (none {:.2}, best {:.2}), first choice best {:.0} %, stop first {:.0} %",
        choices.weighted_perplexity_first,
        choices.weighted_perplexity_none,
        choices.weighted_perplexity_best,
        100.0 * choices.first_choice_best_rate,
        100.0 * choices.stop_rate
    )
}

fn id(index: usize) -> MetricId {
    MetricId::new(Arc::new(METRICS[index].0.to_owned()))
}

fn state(index: usize, value: f64) -> MetricState {
    let entry = MetricEntry::new(id(index), SerializedEntry::new(format!("{value:.4}"), value.to_string()));
    MetricState::Numeric(entry, Some(NumericEntry::Value(value)))
}
