//! Prints how fast a decoder scores, reads and writes, in tokens per second and per second of CPU time.
//!
//! ```text
//! cargo run --release -p models --example score_speed -- MODEL [WORKERS [TASK]]
//! ```
//!
//! CPU time is what Linux counts for the process, a measure that other work on the machine disturbs less.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use models::{Decoder, DeviceSpec, LanguageModel, ScoredSequence, Workers, device};

const SEQUENCES: usize = 8;
const SCORED_TOKENS: usize = 320;
const TARGET_TOKENS: usize = 16;
const PROMPT_TOKENS: usize = 512;
const WRITTEN_TOKENS: usize = 48;
const REPETITIONS: usize = 3;

#[expect(clippy::print_stdout, reason = "the figures are the output")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: score_speed MODEL [WORKERS [TASK]]")?;
    let n_workers = arguments.next().map_or(Ok(2), |argument| argument.parse())?;
    let only = arguments.next();
    let decoder = Decoder::load(Path::new(&path), &device::resolve(&DeviceSpec::Auto)?)?;
    let workers = Workers::new(n_workers);
    let tasks: [(&str, Task); 3] = [("score", score), ("prefill", prefill), ("decode", decode)];
    let chosen = tasks.iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name));
    for (name, task) in chosen.cycle().take(REPETITIONS * tasks.len()) {
        let (start, cpu_start) = (Instant::now(), cpu_seconds());
        let n_tokens = task(&decoder, &workers) as f64;
        let per_second = n_tokens / start.elapsed().as_secs_f64();
        let per_cpu_second = n_tokens / (cpu_seconds() - cpu_start);
        println!("{name:8} {per_second:8.1} tokens/s {per_cpu_second:8.1} tokens/CPU-s");
    }
    Ok(())
}

/// Computes something and returns the number of tokens that it took.
type Task = fn(&Decoder, &Workers) -> usize;

/// Scores one batch per worker.
fn score(decoder: &Decoder, workers: &Workers) -> usize {
    let sequence = |index: usize| ScoredSequence {
        prompt: tokens(decoder, index, SCORED_TOKENS - TARGET_TOKENS),
        target: tokens(decoder, index + 1, TARGET_TOKENS),
    };
    let sequences: Vec<ScoredSequence> = (0..SEQUENCES).map(sequence).collect();
    let batches: Vec<_> = sequences.chunks(SEQUENCES.div_ceil(workers.n())).collect();
    workers.map(batches, |_, batch| decoder.target_nll(batch));
    SEQUENCES * SCORED_TOKENS
}

/// Reads one prompt per worker.
fn prefill(decoder: &Decoder, workers: &Workers) -> usize {
    workers.map((0..workers.n()).collect(), |_, index| {
        decoder.feed(&mut decoder.new_cache(), &tokens(decoder, index, PROMPT_TOKENS))
    });
    workers.n() * PROMPT_TOKENS
}

/// Writes one text per worker.
fn decode(decoder: &Decoder, workers: &Workers) -> usize {
    workers.map((0..workers.n()).collect(), |_, index| {
        let mut cache = decoder.new_cache();
        for token in tokens(decoder, index, WRITTEN_TOKENS) {
            decoder.feed(&mut cache, &[token]);
        }
    });
    workers.n() * WRITTEN_TOKENS
}

/// Returns arbitrary tokens.
fn tokens(decoder: &Decoder, seed: usize, length: usize) -> Vec<u32> {
    let token = |position: usize| ((seed * 7919 + position * 104_729) % decoder.vocabulary_size()) as u32;
    (0..length).map(token).collect()
}

/// Returns the CPU time of this process so far, in ticks of 10 ms; 0 where the system does not tell.
fn cpu_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_SECOND
}
