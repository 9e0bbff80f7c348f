//! Runs the workload that each line of standard input names, and prints its seconds of wall and of CPU time.
//!
//! `RETORT_MINILM` and `RETORT_SMOLLM2` name an encoder's directory and a decoder's GGUF file; `tests/bench/compare.py`
//! speaks to this program and to PyTorch in turn.

#[path = "../benches/workloads.rs"]
mod workloads;

use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Instant;

use workloads::{Workloads, path_of};

fn main() -> Result<(), Box<dyn Error>> {
    let n_workers = std::env::args().nth(1).map_or(Ok(2), |argument| argument.parse())?;
    let mut workloads = Workloads::new(path_of("RETORT_MINILM"), path_of("RETORT_SMOLLM2"), n_workers);
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let loaded = workloads.load(line.trim());
        let (start, cpu_start) = (Instant::now(), cpu_seconds());
        let result = loaded.and_then(|()| workloads.run(line.trim()));
        let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu_start);
        match result {
            Ok(sum) => writeln!(output, "{wall:.4} {cpu:.4} {sum}")?,
            Err(message) => writeln!(output, "error {message}")?,
        }
        output.flush()?;
    }
    Ok(())
}

/// Returns the CPU time of this process so far, in ticks of 10 ms; 0 where the system does not tell.
fn cpu_seconds() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_SECOND
}
