//! SIGTERM and SIGINT: save, then exit.

use std::os::raw::c_int;

use burn::train::Interrupter;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Exit status of a run that saved and can be resumed; Slurm requeues a job that exits with it (`RequeueExit=75`).
pub const EXIT_RESUMABLE: u8 = 75;

/// Returns an interrupter that the first SIGTERM or SIGINT sets; a second one ends the process at once.
///
/// # Errors
///
/// Returns an error if the handlers cannot be installed.
pub fn interrupter() -> std::io::Result<Interrupter> {
    let interrupter = Interrupter::new();
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let handle = interrupter.clone();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if handle.should_stop() {
                std::process::exit(i32::from(EXIT_RESUMABLE));
            }
            tracing::warn!("{} received: saving, then stopping (once more to stop at once)", name(signal));
            handle.stop(Some(name(signal)));
        }
    })?;
    Ok(interrupter)
}

fn name(signal: c_int) -> &'static str {
    if signal == SIGTERM { "SIGTERM" } else { "SIGINT" }
}
