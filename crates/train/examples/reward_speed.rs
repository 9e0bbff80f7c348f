//! Prints how fast rewards are scored: in the order of the samples, by length, one by one on all workers, and again from
//! the cache.
//!
//! ```text
//! cargo run --release -p train --example reward_speed -- EXPERIMENT [SAMPLES [ROUNDS]]
//! ```
//!
//! The samples are the first of the training split, each with ten candidates of its cluster and with none, as a step
//! scores them. `ordered` pads batches of eight to their longest, as the released code of RLCoder does. The ways take
//! turns; what is printed is the median of the rounds.

use std::time::Instant;

use anyhow::Context;
use burn::train::Interrupter;
use corpus::manifest::Split;
use inference::perplexity::{WeightRule, WeightedTarget};
use inference::prompt::PromptFrame;
use inference::score::score;
use models::{Decoder, ScoredSequence, Workers};
use repo::candidates::Candidate;
use train::cache::ScoreCache;
use train::evaluator::Evaluator;
use train::experiment::{Experiment, RetrieverExperiment};
use train::pipeline::{Located, Options, Store, Until, tasks};
use train::task::Task;

const CANDIDATES: usize = 10;
const ORDERED_BATCH: usize = 8;
const BATCH_TOKENS: usize = 4096;

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().context("usage: reward_speed EXPERIMENT [SAMPLES [ROUNDS]]")?;
    let n_samples = arguments.next().map_or(Ok(8), |argument| argument.parse())?;
    let n_rounds = arguments.next().map_or(Ok(3), |argument| argument.parse())?;
    let Experiment::Retriever(experiment) = train::experiment::load(path.as_ref(), &[])? else {
        anyhow::bail!("{path} trains no retriever");
    };
    let interrupter = Interrupter::new();
    let options = Options {
        run_directory: std::env::temp_dir(),
        cache: corpus::cache_dir(),
        offline: false,
        until: Until::Train,
        dashboard: false,
        interrupter: &interrupter,
    };
    let evaluator =
        Located::find(&Store::new(&experiment.setting(), &options), "evaluator.model", &experiment.evaluator)?;
    let device = models::device::resolve(&experiment.hardware.device.parse()?)?;
    let decoder = Decoder::load(&evaluator.path, &device)?;
    let tasks: Vec<Task> = tasks(&experiment, Split::Train)?.into_iter().take(n_samples).collect();
    measure(&experiment, &decoder, &interrupter, &tasks, n_rounds)
}

#[expect(clippy::print_stdout, reason = "the figures are the output")]
fn measure(
    experiment: &RetrieverExperiment,
    decoder: &Decoder,
    interrupter: &Interrupter,
    tasks: &[Task],
    n_rounds: usize,
) -> anyhow::Result<()> {
    let workers = experiment.setting().workers();
    let sequences = sequences(experiment, decoder, tasks)?;
    let n_tokens: usize = sequences.iter().map(ScoredSequence::read_tokens).sum();
    let directory = std::env::temp_dir().join(format!("retort-reward-speed-{}", std::process::id()));
    let cache = ScoreCache::open(&directory.join("scores.cache"))?;
    let rule = experiment.prompt.rule(decoder)?;
    let mut evaluator = Evaluator::new(decoder, "speed".into(), rule, &experiment.reward, &workers, interrupter, cache);
    let mut seconds = [const { Vec::new() }; 4];
    for round in 0..=n_rounds {
        let taken = [
            timed(|| ordered(decoder, &workers, &sequences)),
            timed(|| drop(score(decoder, &workers, &sequences, BATCH_TOKENS, &|_| {}))),
            timed(|| drop(score(decoder, &workers, &sequences, 0, &|_| {}))),
            timed(|| drop(cached(&mut evaluator, tasks))),
        ];
        // The first round warms up, and fills the cache.
        if round > 0 {
            seconds.iter_mut().zip(taken).for_each(|(seconds, taken)| seconds.push(taken));
        }
    }
    std::fs::remove_dir_all(&directory).context("cannot remove the folder of the cache")?;
    println!("{} samples, {} prompts, {n_tokens} tokens", tasks.len(), sequences.len());
    println!("{:24} {:>10} {:>10} {:>7}", "", "tokens/s", "samples/s", "ratio");
    let names = ["ordered, batches of 8", "by length, 4096 tokens", "one by one", "from the cache"];
    let before = median(&mut seconds[0]);
    for (name, seconds) in names.iter().zip(&mut seconds) {
        let seconds = median(seconds);
        let per_second = |n: usize| n as f64 / seconds;
        println!("{name:24} {:10.1} {:10.3} {:7.2}", per_second(n_tokens), per_second(tasks.len()), before / seconds);
    }
    Ok(())
}

/// Returns the prompts of all tasks, in the order of the tasks.
fn sequences(
    experiment: &RetrieverExperiment,
    decoder: &Decoder,
    tasks: &[Task],
) -> anyhow::Result<Vec<ScoredSequence>> {
    let tokenizer = decoder.tokenizer();
    let rule = experiment.prompt.rule(decoder)?;
    let weights = WeightRule::from(&experiment.reward);
    let mut sequences = Vec::new();
    for task in tasks {
        let sample = &task.sample;
        let frame = PromptFrame::new(tokenizer, &rule, task.cursor());
        let (_, seam) = rule.seam.split(&sample.left_context);
        let tokens_max = experiment.reward.target_tokens_max;
        let target = WeightedTarget::new(tokenizer, seam, &sample.target, sample.language, tokens_max, &weights);
        sequences.extend(candidates(task).iter().map(|candidate| ScoredSequence {
            prompt: [frame.build(&[candidate]).tokens, target.lead.clone()].concat(),
            target: target.tokens.clone(),
        }));
    }
    Ok(sequences)
}

fn candidates(task: &Task) -> Vec<Candidate> {
    let code = task.candidates.iter().take(CANDIDATES).cloned().map(Candidate::Code);
    code.chain([Candidate::Stop]).collect()
}

fn ordered(decoder: &Decoder, workers: &Workers, sequences: &[ScoredSequence]) {
    let batches: Vec<&[ScoredSequence]> = sequences.chunks(ORDERED_BATCH).collect();
    workers.map(batches, |_, batch| decoder.target_nll(batch));
}

fn cached(evaluator: &mut Evaluator, tasks: &[Task]) -> anyhow::Result<()> {
    let candidates: Vec<Vec<Candidate>> = tasks.iter().map(candidates).collect();
    let candidates: Vec<Vec<&Candidate>> = candidates.iter().map(|list| list.iter().collect()).collect();
    evaluator.score_alone(&tasks.iter().collect::<Vec<_>>(), &candidates).map(drop)
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
