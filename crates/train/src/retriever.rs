//! The retriever loop: RLCoder as the paper states it.
//!
//! The policy chooses candidates, the stop candidate among them; the evaluator scores the target after each of them
//! alone; the best one is rewarded; the policy is moved toward it. Rewards live inside the loop, because the candidates
//! are those of the policy as it is now.

use std::time::Instant;

use anyhow::{Context, ensure};
use burn::optim::{AdamWConfig, ModuleOptimizer};
use burn::train::Interrupter;
use models::Workers;
use models::encoder::Encoder;

use crate::checkpoint::{Checkpoints, Position};
use crate::dashboard::Dashboard;
use crate::evaluator::{Evaluator, Interrupted};
use crate::experiment::{LabelRule, RetrieverExperiment, RewardRule};
use crate::gradients::clip_by_global_norm;
use crate::metrics::{Choices, Line, StepLine, ValidationLine, first_choice_nll};
use crate::metrics_log::{self, MetricsLog};
use crate::objective::{BatchRule, Example, batch_gradients, expected_reward, probabilities};
use crate::policy::{Judged, choose_and_score};
use crate::reward::{advantages, rewards};
use crate::run::{RunDirectory, replace_directory};
use crate::schedule::Schedule;
use crate::stage::hash_file;
use crate::task::Task;

/// The weights in a retriever's directory.
const WEIGHTS: &str = "model.safetensors";

/// What the loop works with.
pub struct RetrieverLoop<'a> {
    /// The experiment.
    pub experiment: &'a RetrieverExperiment,
    /// Where everything is written.
    pub run: &'a RunDirectory,
    /// The frozen language model that rewards.
    pub evaluator: Evaluator<'a>,
    /// Samples the policy learns from.
    pub train: &'a [Task],
    /// Samples that choose the best checkpoint.
    pub validation: &'a [Task],
    /// Threads.
    pub workers: &'a Workers,
    /// Checkpoints of this run.
    pub checkpoints: Checkpoints,
    /// Set by SIGTERM and SIGINT.
    pub interrupter: &'a Interrupter,
    /// What a person watches.
    pub dashboard: Dashboard,
}

impl RetrieverLoop<'_> {
    /// Trains, from the newest checkpoint if there is one; in the end the best retriever lies in the run directory.
    ///
    /// `encoder` holds the pretrained weights and is differentiable.
    ///
    /// # Errors
    ///
    /// Returns [`Interrupted`] after a signal, once a checkpoint is saved; an error if a file cannot be written, or if
    /// the loss or the gradient is not finite.
    pub fn train(mut self, encoder: &Encoder) -> anyhow::Result<()> {
        let schedule = self.experiment.schedule(self.train.len());
        let mut state = self.start(encoder)?;
        let mut log = MetricsLog::resume(&self.run.metrics(), &state.position)?;
        self.dashboard.start(&schedule, &state.position);
        loop {
            match self.advance(encoder, &mut state, &schedule, &mut log) {
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

    /// Puts the best retriever where users look for it.
    fn publish(&self, position: &Position) -> anyhow::Result<()> {
        let best = position.best().context("a finished run has a validation")?;
        replace_directory(&self.checkpoints.best(best), &self.run.retriever())
    }

    /// Does what comes next: a validation after each epoch (and before the first), a step, or nothing more.
    ///
    /// An interrupted validation or step leaves the state as it was.
    fn advance(
        &mut self,
        initial: &Encoder,
        state: &mut State,
        schedule: &Schedule,
        log: &mut MetricsLog<Line>,
    ) -> anyhow::Result<Advance> {
        if self.interrupter.should_stop() {
            return Err(Interrupted.into());
        }
        let step = state.position.step;
        if state.position.validations.len() <= schedule.epoch(step) {
            self.validate(state, schedule, log)?;
            self.save(state)?;
        } else if state.position.is_stale(self.experiment.training.early_stopping.patience)
            || step == schedule.steps_total()
        {
            return Ok(Advance::Done);
        } else {
            let line = self.step(initial, state, schedule)?;
            self.dashboard.step(&line);
            log.write(&Line::Step(line))?;
            if self.checkpoint_is_due(state.position.step) {
                self.save(state)?;
            }
        }
        Ok(Advance::On)
    }

    /// Returns the state of the newest checkpoint, or that before the first step.
    fn start(&self, encoder: &Encoder) -> anyhow::Result<State> {
        let config = &self.experiment.optimizer;
        let optimizer = AdamWConfig::new()
            .with_beta_1(config.beta_1)
            .with_beta_2(config.beta_2)
            .with_epsilon(config.epsilon)
            .with_weight_decay(config.weight_decay)
            .init();
        let resumed = self.checkpoints.resume(&encoder.model, &optimizer)?;
        if let Some((model, optimizer, position)) = resumed {
            if self.is_whole(&position)? {
                tracing::info!("resuming after step {}", position.step);
                return Ok(State { encoder: encoder.with_model(model), optimizer, position });
            }
            tracing::warn!("the best retriever or metrics.jsonl is damaged or missing: training starts again");
        }
        self.checkpoints.discard()?;
        Ok(State { encoder: encoder.clone(), optimizer, position: Position::default() })
    }

    /// Returns whether what lies beside a checkpoint is what it was saved with.
    fn is_whole(&self, position: &Position) -> anyhow::Result<bool> {
        let best = position.best().map(|epoch| hash_file(&self.checkpoints.best(epoch).join(WEIGHTS)));
        let best_is_whole = best.is_none_or(|hash| hash.is_ok_and(|hash| hash == position.best_weights));
        Ok(best_is_whole && metrics_log::covers::<Line>(&self.run.metrics(), position)?)
    }

    fn save(&self, state: &State) -> anyhow::Result<()> {
        self.checkpoints.save(&state.encoder.model, &state.optimizer, &state.position)
    }

    /// One step: choose, score, reward, move.
    fn step(&mut self, initial: &Encoder, state: &mut State, schedule: &Schedule) -> anyhow::Result<StepLine> {
        let State { encoder, optimizer, position } = state;
        let step = position.step;
        let started = Instant::now();
        let before = self.evaluator.counts();
        let tasks: Vec<&Task> = schedule.batch(step).into_iter().map(|index| &self.train[index]).collect();
        let policy = match self.experiment.training.labels {
            LabelRule::Current => encoder.valid(),
            LabelRule::Initial => initial.valid(),
        };
        let judged = choose_and_score(self.experiment, &policy, &mut self.evaluator, &tasks, self.workers)?;
        let examples = self.examples(encoder, step, &tasks, &judged);
        ensure!(!examples.is_empty(), "no sample of step {step} has two candidates to choose from");

        let stream = format!("train/dropout/{step}");
        let training = &self.experiment.training;
        let rule = BatchRule {
            temperature: training.temperature,
            micro_batch_size: training.micro_batch_size,
            dropout: training.dropout.then_some((self.experiment.seed, stream.as_str())),
            in_batch_negatives: training.in_batch_negatives,
        };
        let (loss, gradients) = batch_gradients(encoder, &examples, rule, self.workers);
        let norm_max = self.experiment.optimizer.gradient_norm_max;
        let (gradients, gradient_norm) = clip_by_global_norm(&encoder.model, gradients, norm_max);
        ensure!(
            loss.is_finite() && gradient_norm.is_finite(),
            "step {step}: the loss is {loss} and the gradient norm {gradient_norm}; a lower optimizer.learning_rate may help"
        );
        let learning_rate = schedule.learning_rate(step);
        *encoder = encoder.with_model(optimizer.step(learning_rate, encoder.model.clone(), gradients));
        position.step += 1;

        let counts = self.evaluator.counts() - before;
        let seconds = started.elapsed().as_secs_f64();
        Ok(StepLine {
            step: position.step,
            epoch: schedule.epoch(step),
            loss,
            mean_reward: self.mean_reward(&judged),
            gradient_norm,
            learning_rate,
            choices: Choices::of(&judged),
            targets_cut: counts.targets_cut,
            cached_share: 1.0 - counts.computed as f64 / counts.asked.max(1) as f64,
            tokens_per_second: counts.tokens as f64 / seconds,
            seconds,
        })
    }

    /// Makes the objective's examples; a sample with fewer than two candidates teaches nothing and is left out.
    fn examples(&self, encoder: &Encoder, step: usize, tasks: &[&Task], judged: &[Judged]) -> Vec<Example> {
        let limits = &self.experiment.encoder;
        let pairs = tasks.iter().zip(judged).filter(|(_, judged)| judged.scores.len() >= 2);
        let pairs: Vec<_> = pairs.collect();
        self.workers.map(pairs, |index, (task, judged)| Example {
            query: encoder.query_tokens(&judged.chosen.query, limits.query_tokens_max),
            candidates: judged
                .chosen
                .ranked
                .iter()
                .map(|ranked| {
                    let text = ranked.candidate.text(task.sample.language);
                    encoder.candidate_tokens(&text, limits.candidate_tokens_max)
                })
                .collect(),
            rewards: self.weights(judged, &format!("train/draws/{step}/{index}")),
        })
    }

    /// Returns the weight of each candidate's log-probability in the loss; draws come from the stream named.
    fn weights(&self, judged: &Judged, stream: &str) -> Vec<f32> {
        let rewards = self.rewards(judged);
        let reward = &self.experiment.reward;
        match reward.rule {
            RewardRule::Best | RewardRule::Softmax => rewards,
            RewardRule::Sampled => {
                let policy = probabilities(&judged.similarities(), self.experiment.training.temperature);
                let mut rng = repo::random::stream(self.experiment.seed, stream);
                advantages(&rewards, &policy, reward.draws, &mut rng)
            }
        }
    }

    fn rewards(&self, judged: &Judged) -> Vec<f32> {
        rewards(&judged.scores, judged.none, &self.experiment.reward)
    }

    /// Returns the mean reward of a candidate drawn by the policy.
    fn mean_reward(&self, judged: &[Judged]) -> f64 {
        let temperature = self.experiment.training.temperature;
        let expected = |judged: &Judged| expected_reward(&judged.similarities(), &self.rewards(judged), temperature);
        judged.iter().map(expected).sum::<f64>() / judged.len().max(1) as f64
    }

    /// Measures the policy on the validation samples, and keeps it if it is the best so far.
    fn validate(&mut self, state: &mut State, schedule: &Schedule, log: &mut MetricsLog<Line>) -> anyhow::Result<()> {
        let State { encoder, position, .. } = state;
        let started = Instant::now();
        let tasks: Vec<&Task> = self.validation.iter().collect();
        let frozen = encoder.valid();
        let judged = choose_and_score(self.experiment, &frozen, &mut self.evaluator, &tasks, self.workers)?;
        let mean_nll = judged.iter().map(first_choice_nll).sum::<f64>() / judged.len().max(1) as f64;
        ensure!(mean_nll.is_finite(), "the validation NLL is {mean_nll}");
        position.validations.push(mean_nll);
        let is_best = position.best() == Some(position.validations.len() - 1);
        if is_best {
            let directory = self.checkpoints.best(position.validations.len() - 1);
            frozen.save(&directory)?;
            position.best_weights = hash_file(&directory.join(WEIGHTS))?;
        }
        let line = ValidationLine {
            step: position.step,
            epoch: position.step / schedule.steps_per_epoch(),
            first_choice_nll: mean_nll,
            is_best,
            choices: Choices::of(&judged),
            seconds: started.elapsed().as_secs_f64(),
        };
        self.dashboard.validation(&line);
        log.write(&Line::Validation(line))
    }

    fn checkpoint_is_due(&self, steps_done: usize) -> bool {
        let every = self.experiment.training.checkpoint_steps;
        every > 0 && steps_done.is_multiple_of(every)
    }
}

/// Everything that training changes.
struct State {
    encoder: Encoder,
    optimizer: ModuleOptimizer,
    position: Position,
}

/// Whether there is more to do.
enum Advance {
    On,
    Done,
}
