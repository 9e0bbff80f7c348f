//! Progress of long work: bars on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Seconds between two plain lines.
const LINE_SECONDS: u64 = 10;

static HIDDEN: AtomicBool = AtomicBool::new(false);

/// Hides all bars from now on, because something else has the screen.
pub fn hide() {
    HIDDEN.store(true, Ordering::Relaxed);
}

/// The progress of one piece of work.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    plain: Option<Mutex<Instant>>,
    name: String,
}

impl Progress {
    /// Starts the progress of `total` units of work.
    #[must_use]
    pub fn new(name: &str, total: usize, unit: &str) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target = if terminal && !HIDDEN.load(Ordering::Relaxed) {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let template = format!("{{prefix}} {{bar:30}} {{pos}}/{{len}} {unit} {{per_sec}} eta {{eta}}");
        let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(total as u64), target).with_style(style);
        bar.set_prefix(name.to_owned());
        let plain = (!terminal).then(|| Mutex::new(Instant::now()));
        Self { bar, plain, name: format!("{name} ({unit})") }
    }

    /// Adds finished work.
    pub fn add(&self, n: usize) {
        self.set(self.bar.position() as usize + n);
    }

    /// Sets the finished work; what several threads report may arrive out of order and never goes back.
    pub fn set(&self, done: usize) {
        self.bar.set_position(self.bar.position().max(done as u64));
        let Some(last) = &self.plain else { return };
        let mut last = last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if last.elapsed() >= Duration::from_secs(LINE_SECONDS) {
            *last = Instant::now();
            let (done, total) = (self.bar.position(), self.bar.length().unwrap_or_default());
            tracing::info!("{}: {done} of {total}, about {} s left", self.name, self.bar.eta().as_secs());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
