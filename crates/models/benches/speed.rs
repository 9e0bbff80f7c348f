//! The time of encoding, scoring, decoding and training steps.
//!
//! ```text
//! RETORT_MINILM=DIRECTORY RETORT_SMOLLM2=FILE.gguf cargo bench -p models --bench speed -- [--sample-count 1] [NAME]
//! ```
//!
//! A workload without its model is left out. `tests/bench/compare.py` runs the same workloads beside PyTorch.

mod workloads;

use workloads::{Workloads, path_of};

/// The workloads of an encoder.
const OF_ENCODER: [&str; 2] = ["encode", "contrastive"];

/// The workloads of a decoder.
const OF_DECODER: [&str; 5] = ["prefill_1x512", "prefill_8x512", "score_8x512", "decode", "lora"];

fn main() {
    divan::main();
}

fn available() -> impl Iterator<Item = &'static str> {
    let encoder = OF_ENCODER.into_iter().filter(|_| path_of("RETORT_MINILM").is_some());
    encoder.chain(OF_DECODER.into_iter().filter(|_| path_of("RETORT_SMOLLM2").is_some()))
}

#[divan::bench(args = available(), sample_count = 5, sample_size = 1)]
fn workload(bencher: divan::Bencher, name: &str) {
    let mut workloads = Workloads::new(path_of("RETORT_MINILM"), path_of("RETORT_SMOLLM2"), 2);
    workloads.load(name).expect("the model is where the environment says");
    bencher.bench_local(|| workloads.run(name).expect("the workload is one that is listed"));
}
