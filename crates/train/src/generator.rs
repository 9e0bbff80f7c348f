//! The generator loop: `ToolGen`'s fine-tuning on functions that say where to ask the completion tool.
//!
//! A step takes functions, lays them out as the model will read them, and moves the model toward writing them, triggers
//! included. The model is validated on functions of other repositories, and the best one is kept.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, ensure};
use burn::module::Module;
use burn::optim::{AdamWConfig, ModuleOptimizer};
use burn::train::Interrupter;
use models::decoder::{CountedSequence, DecoderModel};
use models::{Decoder, Workers};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{Checkpoints, Position};
use crate::evaluator::Interrupted;
use crate::examples::Example;
use crate::experiment::GeneratorExperiment;
use crate::fine_tuning::{BatchRule, batch_gradients, mean_nll};
use crate::gradients::clip_by_global_norm;
use crate::metrics_log::{self, MetricsLog, StepMetrics};
use crate::run::{RunDirectory, replace_directory};
use crate::schedule::Schedule;
use crate::stage::hash_file;

/// What the loop works with.
pub struct GeneratorLoop<'a> {
    /// The experiment.
    pub experiment: &'a GeneratorExperiment,
    /// Where everything is written.
    pub run: &'a RunDirectory,
    /// Functions that the model learns from.
    pub train: &'a [Example],
    /// Functions that choose the best checkpoint.
    pub validation: &'a [Example],
    /// Threads.
    pub workers: &'a Workers,
    /// Checkpoints of this run.
    pub checkpoints: Checkpoints,
    /// Set by SIGTERM and SIGINT.
    pub interrupter: &'a Interrupter,
}

/// A line of `metrics.jsonl`; the first validation is that of the model before training.
pub type Line = metrics_log::Line<StepLine, ValidationLine>;

/// What one optimizer step measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepLine {
    /// Steps done, this one included.
    pub step: usize,
    /// Epoch, counted from 0.
    pub epoch: usize,
    /// Mean NLL of the tokens that count, in nats.
    pub loss: f64,
    /// Tokens that count.
    pub n_counted: usize,
    /// Tokens read.
    pub n_tokens: usize,
    /// Places of the rows that held no token.
    pub n_padding: usize,
    /// Functions whose end was cut.
    pub n_cut: usize,
    /// Global norm of the gradient before clipping.
    pub gradient_norm: f64,
    /// Learning rate.
    pub learning_rate: f64,
    /// Tokens read per second of the step.
    pub tokens_per_second: f64,
    /// Wall time, in seconds.
    pub seconds: f64,
}

impl StepMetrics for StepLine {
    fn step(&self) -> usize {
        self.step
    }
}

/// What one validation measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValidationLine {
    /// Steps done.
    pub step: usize,
    /// Mean NLL of the tokens that count, in nats: what chooses the best checkpoint.
    pub loss: f64,
    /// Whether it is the lowest so far.
    pub is_best: bool,
    /// Wall time, in seconds.
    pub seconds: f64,
}

impl GeneratorLoop<'_> {
    /// Trains, from the newest checkpoint if there is one; in the end the best generator lies in the run directory.
    ///
    /// `decoder` holds the pretrained weights, what is trained attached, and is differentiable.
    ///
    /// # Errors
    ///
    /// Returns [`Interrupted`] after a signal, once a checkpoint is saved; an error if a file cannot be written, or if
    /// the loss or the gradient is not finite.
    pub fn train(&self, decoder: &mut Decoder) -> anyhow::Result<()> {
        let schedule = self.experiment.schedule(self.train.len());
        let mut state = self.start(decoder)?;
        let mut log = MetricsLog::resume(&self.run.metrics(), &state.position)?;
        let (from, total) = (state.position.step, schedule.steps_total());
        tracing::info!("training: {total} steps, {} an epoch, from step {from}", schedule.steps_per_epoch());
        loop {
            match self.advance(&mut state, decoder, &schedule, &mut log) {
                Ok(Advance::On) => {}
                Ok(Advance::Done) => return self.publish(&state.position),
                Err(error) if error.is::<Interrupted>() => {
                    self.save(&state)?;
                    return Err(error);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Does what comes next: a validation where one is due (and before the first step), a step, or nothing more.
    ///
    /// An interrupted validation or step leaves the state as it was.
    fn advance(
        &self,
        state: &mut State,
        decoder: &mut Decoder,
        schedule: &Schedule,
        log: &mut MetricsLog<Line>,
    ) -> anyhow::Result<Advance> {
        if self.interrupter.should_stop() {
            return Err(Interrupted.into());
        }
        let step = state.position.step;
        if state.position.validations.len() < self.validations_due(step, schedule) {
            let line = self.validate(state, decoder)?;
            tracing::info!("validation after step {step}: loss {:.4}, {:.1} s", line.loss, line.seconds);
            log.write(&Line::Validation(line))?;
            self.save(state)?;
        } else if state.position.is_stale(self.experiment.training.early_stopping.patience)
            || step == schedule.steps_total()
        {
            return Ok(Advance::Done);
        } else {
            let line = self.step(state, schedule)?;
            tracing::info!(
                "step {}: loss {:.4}, gradient {:.2}, {:.0} tokens/s, {:.1} s",
                line.step,
                line.loss,
                line.gradient_norm,
                line.tokens_per_second,
                line.seconds
            );
            log.write(&Line::Step(line))?;
            let every = self.experiment.training.checkpoint_steps;
            if every > 0 && state.position.step.is_multiple_of(every) {
                self.save(state)?;
            }
        }
        Ok(Advance::On)
    }

    /// One step: functions, their gradient, a move.
    fn step(&self, state: &mut State, schedule: &Schedule) -> anyhow::Result<StepLine> {
        let State { model, optimizer, position } = state;
        let step = position.step;
        let started = Instant::now();
        let examples: Vec<&Example> = schedule.batch(step).into_iter().map(|index| &self.train[index]).collect();
        let sequences: Vec<CountedSequence> = examples.iter().map(|example| self.counted(example)).collect();
        let stream = format!("train/dropout/{step}");
        let rule = BatchRule {
            micro_batch_tokens_max: self.experiment.training.micro_batch_tokens_max,
            packing: self.experiment.training.packing,
            dropout: (self.experiment.seed, &stream),
        };
        let (batch, gradients) = batch_gradients(model, &sequences, rule, self.workers);
        let norm_max = self.experiment.optimizer.gradient_norm_max;
        let (gradients, gradient_norm) = clip_by_global_norm(model, gradients, norm_max);
        ensure!(
            batch.loss.is_finite() && gradient_norm.is_finite(),
            "step {step}: the loss is {} and the gradient norm {gradient_norm}; a lower optimizer.learning_rate may help",
            batch.loss
        );
        let learning_rate = schedule.learning_rate(step);
        *model = optimizer.step(learning_rate, model.clone(), gradients);
        position.step += 1;
        let seconds = started.elapsed().as_secs_f64();
        Ok(StepLine {
            step: position.step,
            epoch: schedule.epoch(step),
            loss: batch.loss,
            n_counted: batch.n_counted,
            n_tokens: batch.n_tokens,
            n_padding: batch.n_padding,
            n_cut: examples.iter().filter(|example| example.cut > 0).count(),
            gradient_norm,
            learning_rate,
            tokens_per_second: batch.n_tokens as f64 / seconds,
            seconds,
        })
    }

    /// Measures the model on the validation functions, and keeps it if it is the best so far.
    fn validate(&self, state: &mut State, decoder: &mut Decoder) -> anyhow::Result<ValidationLine> {
        let State { model, position, .. } = state;
        let started = Instant::now();
        let sequences: Vec<CountedSequence> = self.validation.iter().map(|example| self.counted(example)).collect();
        let frozen = model.valid();
        let tokens_max = self.experiment.training.micro_batch_tokens_max;
        let should_stop = || self.interrupter.should_stop();
        let loss = mean_nll(&frozen, &sequences, tokens_max, self.workers, &should_stop).ok_or(Interrupted)?.loss;
        ensure!(loss.is_finite(), "the validation loss is {loss}");
        position.validations.push(loss);
        let index = position.validations.len() - 1;
        let is_best = position.best() == Some(index);
        if is_best {
            drop(decoder.replace_model(frozen));
            let directory = self.checkpoints.best(index);
            self.write(decoder, &directory)?;
            position.best_weights = hash_file(&self.weights(&directory))?;
        }
        Ok(ValidationLine { step: position.step, loss, is_best, seconds: started.elapsed().as_secs_f64() })
    }

    /// Writes a generator where others load it: its adapter, or all of it if all of it was trained.
    fn write(&self, decoder: &Decoder, directory: &Path) -> anyhow::Result<()> {
        if self.experiment.adapter.is_some() {
            decoder.save_peft(directory, &self.experiment.generator.model)?;
        } else {
            decoder.save_merged(directory, models::export::ExportFormat::default())?;
        }
        Ok(())
    }

    fn weights(&self, directory: &Path) -> std::path::PathBuf {
        directory.join(if self.experiment.adapter.is_some() {
            "adapter_model.safetensors"
        } else {
            "model.safetensors"
        })
    }

    fn counted(&self, example: &Example) -> CountedSequence {
        example.counted(self.experiment.loss())
    }

    /// Returns how many validations there are up to a step: before the first, at the interval, and after the last.
    fn validations_due(&self, step: usize, schedule: &Schedule) -> usize {
        let every = match self.experiment.training.validation_steps {
            0 => schedule.steps_per_epoch(),
            every => every,
        };
        let is_off_beat = step == schedule.steps_total() && !step.is_multiple_of(every);
        1 + step / every + usize::from(is_off_beat)
    }

    /// Returns the state of the newest checkpoint, or that before the first step.
    fn start(&self, decoder: &Decoder) -> anyhow::Result<State> {
        let config = &self.experiment.optimizer;
        let optimizer = AdamWConfig::new()
            .with_beta_1(config.beta_1)
            .with_beta_2(config.beta_2)
            .with_epsilon(config.epsilon)
            .with_weight_decay(config.weight_decay)
            .init();
        if let Some((model, optimizer, position)) = self.checkpoints.resume(decoder.model(), &optimizer)? {
            if self.is_whole(&position)? {
                tracing::info!("resuming after step {}", position.step);
                return Ok(State { model, optimizer, position });
            }
            tracing::warn!("the best generator or metrics.jsonl is damaged or missing: training starts again");
        }
        self.checkpoints.discard()?;
        Ok(State { model: decoder.model().clone(), optimizer, position: Position::default() })
    }

    /// Returns whether what lies beside a checkpoint is what it was saved with.
    fn is_whole(&self, position: &Position) -> anyhow::Result<bool> {
        let best = position.best().map(|index| hash_file(&self.weights(&self.checkpoints.best(index))));
        let best_is_whole = best.is_none_or(|hash| hash.is_ok_and(|hash| hash == position.best_weights));
        Ok(best_is_whole && metrics_log::covers::<Line>(&self.run.metrics(), position)?)
    }

    fn save(&self, state: &State) -> anyhow::Result<()> {
        self.checkpoints.save(&state.model, &state.optimizer, &state.position)
    }

    /// Puts the best generator where users look for it.
    fn publish(&self, position: &Position) -> anyhow::Result<()> {
        let best = position.best().context("a finished run has a validation")?;
        replace_directory(&self.checkpoints.best(best), &self.run.generator())
    }
}

/// Everything that training changes.
struct State {
    model: DecoderModel,
    optimizer: ModuleOptimizer,
    position: Position,
}

/// Whether there is more to do.
enum Advance {
    On,
    Done,
}
